package main

import (
	"bytes"
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a real service that records requests.
type recorder struct {
	*service.Service
	mu       sync.Mutex
	requests []*ratelimitv3.RateLimitRequest
	left     []time.Duration // until the deadline; 0 for none
}

func (r *recorder) ShouldRateLimit(ctx context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	left := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	r.mu.Lock()
	r.requests, r.left = append(r.requests, in), append(r.left, left)
	r.mu.Unlock()
	if in.GetDomain() == "stalled" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return r.Service.ShouldRateLimit(ctx, in)
}

// last returns the last request for a domain and the time until its deadline.
func (r *recorder) last(t *testing.T, domain string) (*ratelimitv3.RateLimitRequest, time.Duration) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.requests) - 1; i >= 0; i-- {
		if r.requests[i].GetDomain() == domain {
			return r.requests[i], r.left[i]
		}
	}
	require.FailNow(t, "no request for domain "+domain)
	return nil, 0
}

// bucketStore has one state for all limits that are no fixed windows.
type bucketStore struct {
	*memstore.Store
	mu    sync.Mutex
	state ratelimit.State
}

func (s *bucketStore) Charge(_ context.Context, charges []ratelimit.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range charges {
		charges[i].Apply(&s.state)
	}
	return nil
}

// start starts a service whose clock stands at 12:00:15. Its rule `a: "b"  c` allows each
// client two requests per minute.
func start(t *testing.T, opts ...grpc.ServerOption) (*recorder, string) {
	t.Helper()
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "demo", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute, Name: `a: "b"  c`}},
		{Key: "login", Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Year, UnitMultiplier: 2}},
		{Key: "bucket", Limit: &ratelimit.Limit{RequestsPerUnit: 60, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket, Burst: 10}},
		{Key: "free", Limit: &ratelimit.Limit{Unlimited: true}},
	}}}, nil)
	require.NoError(t, err)
	now := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 15, 0, time.UTC) }
	store := &bucketStore{Store: memstore.MustNew(&memstore.Options{Now: now})}
	engine := ratelimit.MustNew(store, &ratelimit.Options{Now: now})
	engine.Use(rules)
	r := &recorder{Service: service.New(engine, nil)}
	g := grpc.NewServer(opts...)
	ratelimitv3.RegisterRateLimitServiceServer(g, r)
	counters, err := r.Counters(&service.CountersOptions{Token: adminToken})
	require.NoError(t, err)
	counters.Register(g)
	quotas, err := quota.New(engine, &quota.Options{Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, quotas.Close()) })
	quotas.Register(g)
	return r, listen(t, g)
}

// listen serves on a free port until the test ends, and returns the address.
func listen(t *testing.T, g *grpc.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() { g.Serve(l) })
	t.Cleanup(func() { g.Stop(); done.Wait() })
	return l.Addr().String()
}

// runClient runs the program and returns its exit code and output.
func runClient(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runClientWith(t, nil, args...)
}

// runClientWith is runClient with environment variables.
func runClientWith(t *testing.T, environ map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), "ratelimit-client", run, cli.Env{Args: args, Environ: environ, Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// golden compares output with a file of testdata, in which ADDR stands for the address.
func golden(t *testing.T, name, addr, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, addr, "ADDR")
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestGolden compares the output of each case, which has a server of its own.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   int
		args   []string
		stderr string
	}{
		{"plain", 0, []string{"-domain", "demo", "-descriptors", "client=bob"}, ""},
		{"many", 0, []string{"-domain", "demo", "-descriptors", "client=a=b", "-descriptors", "client=,path=/x", "-descriptors", "nope="}, ""},
		{"tightest", 0, []string{"-domain", "demo", "-descriptors", "client=bob", "-descriptors", "login=x", "-n", "3"}, ""},
		{"own-flags", 0, []string{"-domain", "demo", "-descriptors", "client=bob", "-hits", "3", "-timeout", "20s"}, ""},
		{"repeated", 0, []string{"-domain", "demo", "-descriptors", "client=bob", "-n", "4"}, ""},
		{"unlimited", 0, []string{"-domain", "demo", "-descriptors", "free=x"}, ""},
		{"fail", 1, []string{"-domain", "demo", "-descriptors", "client=bob", "-n", "3", "-fail"}, ""},
		{"fail-allowed", 0, []string{"-domain", "demo", "-descriptors", "client=bob", "-fail"}, ""},
		{"color", 0, []string{"-domain", "demo", "-descriptors", "client=bob", "-n", "3", "-color", "always"}, ""},
		{"invalid", 1, []string{"-domain", "demo", "-descriptors", strings.Repeat("a=b,", 100) + "a=b"}, "ratelimit-client: request error: "},
		{"json", 0, []string{"-json", "-domain", "demo", "-descriptors", "client=bob"}, ""},
		{
			"json-repeated", 0,
			[]string{"-json", "-domain", "demo", "-descriptors", "client=bob", "-n", "3"},
			"summary: 3 of 3 requests succeeded, 2 OK, 1 OVER_LIMIT\n",
		},
		{
			"traces", 0,
			[]string{"-oltp-protocol", "grpc", "-domain", "demo", "-descriptors", "client=bob"},
			"ratelimit-client: -oltp-protocol has no effect: this client does not export trace spans\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, addr := start(t)
			code, out, errs := runClient(t, append([]string{"-dial_string", addr}, c.args...)...)
			assert.Equal(t, c.code, code)
			if strings.HasSuffix(c.stderr, ": ") {
				assert.Contains(t, errs, c.stderr)
			} else {
				assert.Equal(t, c.stderr, errs)
			}
			golden(t, c.name, addr, out)
		})
	}
}

// TestRequest checks the request messages that the client sends.
func TestRequest(t *testing.T) {
	r, addr := start(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-descriptors", "client=bob,path=/a=b", "-descriptors", "x="}, `{"domain":"demo","hitsAddend":1,"descriptors":[
			{"entries":[{"key":"client","value":"bob"},{"key":"path","value":"/a=b"}]},
			{"entries":[{"key":"x"}]}]}`},
		{
			[]string{"-descriptors", "a=b", "-hits", "7"},
			`{"domain":"demo","hitsAddend":7,"descriptors":[{"entries":[{"key":"a","value":"b"}]}]}`,
		},
		{
			[]string{"-descriptors", "a=b", "-hits", "0"},
			`{"domain":"demo","descriptors":[{"entries":[{"key":"a","value":"b"}],"hitsAddend":"0"}]}`,
		},
	} {
		code, _, errs := runClient(t, append([]string{"-dial_string", addr, "-domain", "demo"}, c.args...)...)
		require.Zero(t, code, errs)
		sent, _ := r.last(t, "demo")
		got, err := protojson.Marshal(sent)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(got))
	}
}

// TestZeroHits checks that requests with -hits 0 do not increment counters.
func TestZeroHits(t *testing.T) {
	_, addr := start(t)
	args := []string{"-dial_string", addr, "-domain", "demo", "-descriptors", "client=bob", "-hits", "0", "-n", "5"}
	_, out, _ := runClient(t, args...)
	require.Equal(t, 5, strings.Count(out, ", 2 remaining,"), out)
	require.Contains(t, out, "\nsummary: 5 of 5 requests succeeded, 5 allowed\n")
}

func TestDeadline(t *testing.T) {
	r, addr := start(t)
	args := []string{"-dial_string", addr, "-descriptors", "a=b", "-domain"}
	code, out, errs := runClient(t, append(args, "stalled", "-timeout", "1ms", "-n", "3")...)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "request error: rpc error: code = DeadlineExceeded ")
	require.Equal(t, "summary: 0 of 3 requests succeeded\n", out, "the client must stop after the first failure")

	code, _, _ = runClient(t, append(args, "demo", "-timeout", "0")...)
	require.Zero(t, code)
	_, left := r.last(t, "demo")
	require.Zero(t, left, "0 must mean no deadline")
	code, _, _ = runClient(t, append(args, "demo", "-timeout", "1h")...)
	require.Zero(t, code)
	_, left = r.last(t, "demo")
	require.InDelta(t, time.Hour, left, float64(10*time.Minute))
}

// TestInterrupted checks that the exit code is 0 if a signal interrupts a request.
func TestInterrupted(t *testing.T) {
	r, addr := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		var out bytes.Buffer
		done <- cli.Run(ctx, "ratelimit-client", run, cli.Env{
			Args:   []string{"-dial_string", addr, "-domain", "stalled", "-descriptors", "a=b", "-timeout", "0"},
			Stdout: &out, Stderr: &out,
		})
	}()
	received := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.requests) > 0
	}
	require.Eventually(t, received, 20*time.Second, time.Millisecond)
	cancel()
	require.Zero(t, <-done)
}

func TestFailures(t *testing.T) {
	unused := "unix:" + filepath.Join(t.TempDir(), "unused") // another process could take a free port
	ok := []string{"-domain", "d", "-descriptors", "a=b"}
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{append([]string{"-dial_string", unused}, ok...), 1, "code = Unavailable "},
		{append([]string{"-json", "-dial_string", unused}, ok...), 1, "code = Unavailable "},
		{append([]string{"-dial_string", "x\x00:y"}, ok...), 1, "ratelimit-client: error connecting: "},
		{append([]string{"-color", "red"}, ok...), 2, "use auto, always or never"},
		{[]string{"-domain", "d", "-descriptors", "ab"}, 2, `"ab"`},
		{[]string{"-domain", "d", "-descriptors", "=b"}, 2, "invalid descriptor list"},
		{[]string{"-domain", "d", "-descriptors", "a=b,"}, 2, "invalid descriptor list"},
		{[]string{"-domain", "d"}, 2, "-descriptors is missing"},
		{[]string{"-descriptors", "a=b"}, 2, "-domain is missing"},
		{append(ok, "extra"), 2, "no arguments"},
		{append([]string{"-hits", "4294967296"}, ok...), 2, "-hits 4294967296"},
		{append([]string{"-hits", "-1"}, ok...), 2, `"-1" for "--hits"`},
		{append([]string{"-n", "0"}, ok...), 2, "-n 0"},
		{append([]string{"-timeout", "-1s"}, ok...), 2, "-timeout -1s"},
		{append([]string{"-oltp-protocol", "udp"}, ok...), 2, `-oltp-protocol "udp"`},
		{append([]string{"-n", "0", "-timeout", "-1s"}, ok...), 2, "use at least 1\nnegative -timeout"},
	} {
		code, out, errs := runClient(t, c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, errs)
		assert.Empty(t, out, "%q", c.args)
		assert.Contains(t, errs, c.errs, "%q", c.args)
	}
}

func FuzzDescriptors(f *testing.F) {
	f.Add("a=b,c=d=e")
	f.Add("a=")
	f.Add(",=")
	f.Fuzz(func(t *testing.T, list string) {
		var d descriptors
		if err := d.add(list); err != nil {
			require.Empty(t, d, "add must add nothing if it fails")
			return
		}
		var pairs []string
		for _, e := range d[0].Entries {
			require.NotEmpty(t, e.GetKey())
			pairs = append(pairs, e.GetKey()+"="+e.GetValue())
		}
		require.Equal(t, list, strings.Join(pairs, ","))
	})
}
