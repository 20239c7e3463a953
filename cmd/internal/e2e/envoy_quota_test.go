//go:build unix

package e2e_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// quotaFilter returns the filter rate_limit_quota with a bucket for each value of the header x-client.
func quotaFilter(cluster, interval, options string) string {
	return `{name: quota, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.rate_limit_quota.v3.RateLimitQuotaFilterConfig,
  domain: shop, rlqs_server: {envoy_grpc: {cluster_name: ` + cluster + `}},
  bucket_matchers: {on_no_match: {action: {name: bucket, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.rate_limit_quota.v3.RateLimitQuotaBucketSettings,
    bucket_id_builder: {bucket_id_builder: {client: {custom_value: {name: client, typed_config: {"@type": type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput, header_name: x-client}}}}},
    reporting_interval: ` + interval + options + `}}}}}}`
}

// quotaStub is a quota service whose streams are those of the test.
type quotaStub struct {
	rlqs.UnimplementedRateLimitQuotaServiceServer
	reports chan quotaReport
	streams chan rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer
	end     chan error
}

type quotaReport struct {
	*rlqs.RateLimitQuotaUsageReports
	at time.Time
}

func (s *quotaStub) StreamRateLimitQuotas(stream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	s.streams <- stream
	failed := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			s.reports <- quotaReport{m, time.Now()}
		}
	}()
	select {
	case err := <-s.end:
		return err
	case err := <-failed:
		return err
	}
}

// quotaEnvoy is an Envoy whose quotas come from a stub.
type quotaEnvoy struct {
	*testing.T
	*quotaStub
	*envoyProxy
	stream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer
}

// passes sends requests of the client ann, and returns how many passed.
func (e *quotaEnvoy) passes(n int) (passed int) {
	for range n {
		code, _ := e.get(e.T, "front", "/", "x-client: ann")
		if code == http.StatusOK {
			passed++
		}
	}
	return passed
}

// assign sends one message with strategies for the client ann, and waits until Envoy has certainly read it.
func (e *quotaEnvoy) assign(ttl time.Duration, all ...*typev3.RateLimitStrategy) {
	e.Helper()
	m := &rlqs.RateLimitQuotaResponse{}
	for _, s := range all {
		m.BucketAction = append(m.BucketAction, &rlqs.RateLimitQuotaResponse_BucketAction{
			BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": "ann"}},
			BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
				AssignmentTimeToLive: durationpb.New(ttl), RateLimitStrategy: s,
			}},
		})
	}
	require.NoError(e, e.stream.Send(m))
	time.Sleep(100 * time.Millisecond)
}

func blanketRule(rule typev3.RateLimitStrategy_BlanketRule) *typev3.RateLimitStrategy {
	return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_BlanketRule_{BlanketRule: rule}}
}

func tokenBucket(tokens uint32) *typev3.RateLimitStrategy {
	return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_TokenBucket{TokenBucket: &typev3.TokenBucket{
		MaxTokens: tokens, TokensPerFill: wrapperspb.UInt32(1), FillInterval: durationpb.New(365 * 24 * time.Hour),
	}}}
}

// report returns the next report with requests of the client ann.
func (e *quotaEnvoy) report() quotaReport {
	e.Helper()
	for {
		select {
		case r := <-e.reports:
			for _, u := range r.BucketQuotaUsages {
				if u.NumRequestsAllowed+u.NumRequestsDenied > 0 {
					return r
				}
			}
		case <-time.After(timeout):
			require.Fail(e, "no report")
		}
	}
}

// TestEnvoyQuotaProtocol is what Envoy does with the protocol, on which package quota relies: docs/decisions/quota.md.
func TestEnvoyQuotaProtocol(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	envoyProgram(t)
	stub := &quotaStub{reports: make(chan quotaReport, 1000), streams: make(chan rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer, 10), end: make(chan error)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	rlqs.RegisterRateLimitQuotaServiceServer(g, stub)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	e := &quotaEnvoy{T: t, quotaStub: stub, envoyProxy: startEnvoy(t, []envoyListener{{
		Name: "front", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", "")}, Routes: []string{`{match: {prefix: /}, route: {cluster: backend}}`},
	}}, []envoyCluster{{Name: "limits", Addrs: []string{l.Addr().String()}}})}
	const long = time.Minute
	deny, allow := blanketRule(typev3.RateLimitStrategy_DENY_ALL), blanketRule(typev3.RateLimitStrategy_ALLOW_ALL)

	require.Equal(t, 1, e.passes(1), "the first request, without no_assignment_behavior")
	e.stream = <-stub.streams
	first := e.report()
	require.Equal(t, "shop", first.Domain)
	require.EqualValues(t, 1, first.BucketQuotaUsages[0].NumRequestsAllowed, "it is reported at once")

	e.assign(long, tokenBucket(10))
	require.Equal(t, 4, e.passes(4))
	e.assign(long, tokenBucket(20))
	require.Equal(t, 12, e.passes(30), "a changed bucket has the same share of its tokens")
	e.assign(long, deny, tokenBucket(20))
	require.Equal(t, 5, e.passes(5), "one after DENY_ALL is full")
	e.assign(long, tokenBucket(20))
	require.Equal(t, 15, e.passes(30), "the same one keeps its tokens")
	e.assign(long, deny, tokenBucket(20))
	require.Equal(t, 20, e.passes(30), "the same one after DENY_ALL is full")
	e.assign(long, &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_RequestsPerTimeUnit_{RequestsPerTimeUnit: &typev3.RateLimitStrategy_RequestsPerTimeUnit{
		RequestsPerTimeUnit: 9, TimeUnit: typev3.RateLimitUnit_YEAR,
	}}})
	require.Zero(t, e.passes(5), "requests per time unit are ignored")
	e.assign(long, allow)
	require.Equal(t, 5, e.passes(5))
	second := e.report()
	require.InDelta(t, 5, second.at.Sub(first.at).Seconds(), 0.5, "reporting_interval is ignored")
	require.Equal(t, "shop", second.Domain)
	require.EqualValues(t, 4+12+5+15+20+5, second.BucketQuotaUsages[0].NumRequestsAllowed)
	require.EqualValues(t, 18+15+10+5, second.BucketQuotaUsages[0].NumRequestsDenied)

	e.assign(1900*time.Millisecond, deny)
	require.Zero(t, e.passes(1))
	time.Sleep(time.Second) // 1.1 s after it was sent
	require.Equal(t, 1, e.passes(1), "ends after whole seconds")
	e.assign(2*time.Second, deny, tokenBucket(30))
	require.Equal(t, 5, e.passes(5))
	for range 3 {
		time.Sleep(time.Second)
		e.assign(2*time.Second, tokenBucket(30))
	}
	require.Equal(t, 25, e.passes(30), "the same one begins its time again, and keeps its tokens")

	e.assign(long, deny, tokenBucket(50))
	stub.end <- nil
	require.Equal(t, 5, e.passes(5), "an assignment stays when the stream ends")
	e.stream = <-stub.streams
	require.Equal(t, 45, e.passes(60), "and when there is another one")
	require.NoError(t, e.stream.Send(&rlqs.RateLimitQuotaResponse{BucketAction: []*rlqs.RateLimitQuotaResponse_BucketAction{{
		BucketId:     &rlqs.BucketId{Bucket: map[string]string{"client": "ann"}},
		BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction_{AbandonAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction{}},
	}}}))
	time.Sleep(100 * time.Millisecond)
	require.Equal(t, 1, e.passes(1), "an abandoned bucket has no assignment")
}

// TestEnvoyQuotaFile starts Envoy with the configuration that the documentation describes.
func TestEnvoyQuotaFile(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	program := envoyProgram(t)
	text := content(t, filepath.Join(checkout, "deploy", "envoy-quota.yaml"))
	var rules strings.Builder
	for line := range strings.Lines(text) {
		if rule, ok := strings.CutPrefix(line, "#   "); ok {
			rules.WriteString(rule)
		}
	}
	s := serve(t, map[string]string{"edge.yaml": strings.ReplaceAll(rules.String(), "6000", "60")}, map[string]string{"QUOTA_ENABLED": "true"})
	_, grpcPort, _ := net.SplitHostPort(s.grpc)
	front := servertest.FreePort(t)
	text = strings.NewReplacer("address: ratelimitd, port_value: 8081", "address: 127.0.0.1, port_value: "+grpcPort, "0.0.0.0", "127.0.0.1", "10000", front).Replace(text)
	file := filepath.Join(t.TempDir(), "envoy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	startBinary(t, checkout, nil, program, "-c", file, "--use-dynamic-base-id", "--log-level", "error")
	e := &envoyProxy{addrs: map[string]string{"front": "127.0.0.1:" + front}, client: &http.Client{Timeout: timeout}}
	get := func() int {
		code, _, err := e.send(t.Context(), http.MethodGet, "front", "/", "x-client: ann")
		if err != nil {
			return 0
		}
		return code
	}
	eventually(t, "Envoy responds", func() bool { return get() == http.StatusOK })
	eventually(t, "the limit is reached", func() bool { return get() == http.StatusTooManyRequests })
}

const quotaRules = `domain: shop
descriptors:
- key: client
  value: free
  rate_limit: {unlimited: true}
- key: client
  value: shadow
  shadow_mode: true
  rate_limit: {requests_per_unit: 5, unit: year}
- key: client
  value: small
  rate_limit: {requests_per_unit: 3, unit: year}
- key: client
  rate_limit: {requests_per_unit: 1000, unit: second, unit_multiplier: 20}
`

// denyWithout has Envoy refuse requests without an assignment.
const denyWithout = `, no_assignment_behavior: {fallback_rate_limit: {blanket_rule: DENY_ALL}}, expired_assignment_behavior: {expired_assignment_behavior_timeout: 60s, fallback_rate_limit: {blanket_rule: DENY_ALL}}`

// TestEnvoyQuota has Envoy get quotas of ratelimitd: each rule limits as it would by the rate limit service.
func TestEnvoyQuota(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": quotaRules}, map[string]string{"QUOTA_ENABLED": "true"})
	e := startEnvoy(t, []envoyListener{{
		Name: "front", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", denyWithout)}, Routes: []string{`{match: {prefix: /}, route: {cluster: backend}}`},
	}}, []envoyCluster{{Name: "limits", Addrs: []string{s.grpc}}})
	sent := map[string]int{}
	get := func(client string, n int) (passed int) {
		sent[client] += n
		for range n {
			if code, _ := e.get(t, "front", "/", "x-client: "+client); code == http.StatusOK {
				passed++
			} else {
				require.Equal(t, http.StatusTooManyRequests, code)
			}
		}
		return passed
	}
	for client, passed := range map[string]int{"free": 100, "shadow": 100, "small": 3} {
		get(client, 1)
		eventually(t, "the first quota", func() bool { return get(client, 1) == 1 })
		require.Equal(t, passed-1, get(client, 99), client)
	}
	eventually(t, "what Envoy has reported is in the statistics", func() bool {
		_, page := httpDo(t, http.MethodGet, "http://"+s.debug+"/stats?filter=client_s", "")
		return strings.Contains(page, fmt.Sprintf("client_small.total_hits: %d\n", sent["small"])) && strings.Contains(page, "client_small.within_limit: 3\n") &&
			strings.Contains(page, fmt.Sprintf("client_shadow.total_hits: %d\n", sent["shadow"]))
	})
	counts := passedBy(t, 20*time.Second, time.Now().Truncate(20*time.Second).Add(60*time.Second), []*envoyProxy{e}, 200)
	requireUsed(t, counts, 1, 1000, 98)
}

// windowCounts are the requests of a window, and those that passed.
type windowCounts struct{ sent, passed int }

// requireUsed checks that a limit was never exceeded, and used to some percent in one of the windows from first on, unless a busy
// machine has sent too little in all of them.
func requireUsed(t *testing.T, counts []windowCounts, first, limit, percent int) {
	t.Helper()
	t.Logf("windows, sent and passed: %v", counts)
	used, tried := 0, false
	for window, n := range counts {
		require.LessOrEqual(t, n.passed, limit, "window %d of %v", window, counts)
		if window >= first && n.sent >= limit*6/5 {
			used, tried = max(used, n.passed), true
		}
	}
	if tried {
		require.GreaterOrEqual(t, used, limit*percent/100, "%v", counts)
	}
}

// passedBy sends requests of the client ann through Envoys until a time, at a rate, and returns how many were sent and passed in
// each window. Those during which a window ended are not counted.
func passedBy(t *testing.T, window time.Duration, end time.Time, all []*envoyProxy, rate int) []windowCounts {
	t.Helper()
	const senders = 8
	begin := time.Now().Truncate(window)
	sent, counts := make([]atomic.Int64, end.Sub(begin)/window+1), make([]atomic.Int64, end.Sub(begin)/window+1)
	pause := time.Second * time.Duration(senders*len(all)) / time.Duration(rate)
	var wait sync.WaitGroup
	for _, e := range all {
		for range senders {
			wait.Go(func() {
				for next := time.Now(); next.Before(end); next = next.Add(pause) {
					time.Sleep(time.Until(next))
					before := time.Now().Truncate(window)
					if before.After(end) {
						return // the machine is busy
					}
					code, _, err := e.send(t.Context(), http.MethodGet, "front", "/", "x-client: ann")
					sent[before.Sub(begin)/window].Add(1)
					if err == nil && code == http.StatusOK && time.Now().Truncate(window).Equal(before) {
						counts[before.Sub(begin)/window].Add(1)
					}
				}
			})
		}
	}
	wait.Wait()
	windows := make([]windowCounts, len(counts))
	for i := range counts {
		windows[i] = windowCounts{int(sent[i].Load()), int(counts[i].Load())}
	}
	return windows
}

// startQuotaEnvoy starts Envoy with the filter rate_limit_quota, which responds by itself.
func startQuotaEnvoy(t *testing.T, servers ...string) *envoyProxy {
	return startEnvoy(t, []envoyListener{{
		Name: "front", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", denyWithout)}, Routes: []string{`{match: {prefix: /}, direct_response: {status: 200}}`},
	}}, []envoyCluster{{Name: "limits", Addrs: servers}})
}

// TestEnvoyQuotaShared has three Envoys share a limit, with two instances of ratelimitd and one Redis.
func TestEnvoyQuotaShared(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	envoyProgram(t)
	store := redistest.Start(t, nil)
	var servers []string
	for range 2 {
		s := serve(t, map[string]string{"shop.yaml": "domain: shop\ndescriptors:\n- key: client\n  rate_limit: {requests_per_unit: 25000, unit: second, unit_multiplier: 20}\n"}, map[string]string{
			"QUOTA_ENABLED": "true", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "LOG_LEVEL": "error",
		})
		servers = append(servers, s.grpc)
	}
	var all []*envoyProxy
	for i := range 3 {
		all = append(all, startQuotaEnvoy(t, servers[i%2]))
	}
	counts := passedBy(t, 20*time.Second, time.Now().Truncate(20*time.Second).Add(60*time.Second), all, 2000)
	requireUsed(t, counts, 1, 25_000, 75) // the shares need some seconds of a window to follow the demand
}

// windowHeader has the window in which a request was sent. The upstream counts it if it arrives in the same one.
const windowHeader = "x-window"

// TestEnvoyQuotaKilled kills Envoys and instances of ratelimitd at random, and restarts them: in no window does more than the
// limit reach the upstream. QUOTA_TTL and expired_assignment_behavior bound how long an Envoy goes on without ratelimitd. An
// instance is not killed when quotas may outlast the window: nobody would know what is left of them in the next.
func TestEnvoyQuotaKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	envoyProgram(t)
	const (
		window, ttl, limit, windows = 20 * time.Second, 4 * time.Second, 4000, 3
		rate                        = 150 // of each of three Envoys: 225 %
	)
	begin := time.Now().Truncate(window)
	end := begin.Add(windows * window)
	at := func() int { return int(time.Since(begin) / window) }
	var sent, passed [windows + 1]atomic.Int64
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if n := at(); r.Header.Get(windowHeader) == strconv.Itoa(n) {
			passed[n].Add(1)
		}
	}))
	upstream.Config.Protocols = new(http.Protocols)
	upstream.Config.Protocols.SetUnencryptedHTTP2(true)
	upstream.Start()
	t.Cleanup(upstream.Close)

	store := redistest.Start(t, nil)
	var servers [2]*server
	ports := [2]string{servertest.FreePort(t), servertest.FreePort(t)}
	startServer := func(i int) {
		servers[i] = serve(t, map[string]string{"shop.yaml": fmt.Sprintf("domain: shop\ndescriptors:\n- key: client\n  rate_limit: {requests_per_unit: %d, unit: second, unit_multiplier: 20}\n", limit)}, map[string]string{
			"QUOTA_ENABLED": "true", "QUOTA_TTL": ttl.String(), "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "LOG_LEVEL": "error", "GRPC_PORT": ports[i],
		})
	}
	var envoys [3]atomic.Pointer[envoyProxy]
	startOne := func(i int) {
		envoys[i].Store(startEnvoy(t, []envoyListener{{
			Name: "front", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", denyWithout)}, Routes: []string{`{match: {prefix: /}, route: {cluster: upstream}}`},
		}}, []envoyCluster{{Name: "limits", Addrs: []string{"127.0.0.1:" + ports[i%2]}}, {Name: "upstream", Addrs: []string{upstream.Listener.Addr().String()}}}))
	}
	for i := range servers {
		startServer(i)
	}
	for i := range envoys {
		startOne(i)
	}
	var senders sync.WaitGroup
	for i := range envoys {
		for range 4 {
			senders.Go(func() {
				for next := time.Now(); next.Before(end); next = next.Add(4 * time.Second / rate) {
					time.Sleep(time.Until(next))
					n := at()
					sent[n].Add(1)
					_, _, _ = envoys[i].Load().send(t.Context(), http.MethodGet, "front", "/", "x-client: ann", windowHeader+": "+strconv.Itoa(n))
				}
			})
		}
	}
	seed := uint64(time.Now().UnixNano())
	random, kills := rand.New(rand.NewPCG(seed, 0)), [2]int{}
	for time.Now().Before(end.Add(-5 * time.Second)) {
		time.Sleep(time.Duration(2000+random.IntN(5000)) * time.Millisecond)
		victim, down := random.IntN(5), time.Duration(random.IntN(2000))*time.Millisecond
		kill := func(p *process) {
			p.signal(syscall.SIGKILL)
			<-p.ended
			time.Sleep(down)
		}
		switch left := window - time.Since(begin)%window; {
		case victim < len(envoys):
			kill(envoys[victim].Load().process)
			startOne(victim)
			kills[0]++
		case left > ttl+time.Second:
			kill(servers[victim-len(envoys)].process)
			startServer(victim - len(envoys))
			kills[1]++
		}
	}
	senders.Wait()
	text := ""
	for n := range windows {
		text += fmt.Sprintf(" %d/%d", passed[n].Load(), sent[n].Load())
		require.LessOrEqual(t, passed[n].Load(), int64(limit), "window %d, seed %d", n, seed)
	}
	t.Logf("%d Envoys and %d instances killed, seed %d: passed of sent by window:%s", kills[0], kills[1], seed, text)
	require.Greater(t, passed[0].Load()+passed[1].Load()+passed[2].Load(), int64(limit), "quotas were assigned")
}

// TestEnvoyQuotaCost compares the CPU time of ratelimitd per decision: with the filter ratelimit, and with quotas of ten
// buckets.
func TestEnvoyQuotaCost(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	if runtime.GOOS != "linux" {
		t.Skip("it reads the CPU time from /proc")
	}
	envoyProgram(t)
	store := redistest.Start(t, nil)
	s := serve(t, map[string]string{"shop.yaml": "domain: shop\ndescriptors:\n- key: client\n  rate_limit: {requests_per_unit: 4000000000, unit: hour}\n"}, map[string]string{
		"QUOTA_ENABLED": "true", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "LOG_LEVEL": "error",
	})
	back := startEnvoy(t, []envoyListener{{Name: "back", Domains: []string{}, Routes: []string{`{match: {prefix: /}, direct_response: {status: 200}}`}}}, nil)
	routes := []string{`{match: {prefix: /}, route: {cluster: upstream}}`}
	e := startEnvoy(t, []envoyListener{
		{Name: "quota", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", denyWithout)}, Routes: routes},
		{Name: "call", Service: "limits", Routes: routes, RateLimits: `[{actions: [{request_headers: {header_name: x-client, descriptor_key: client}}]}]`},
	}, []envoyCluster{{Name: "limits", Addrs: []string{s.grpc}}, {Name: "upstream", Addrs: []string{back.addrs["back"]}}})
	each := func(listener string, time time.Duration) (micros float64, requests int) {
		before := cpuTime(t, s.process)
		requests = flood(t, e.addrs[listener], time)
		return float64((cpuTime(t, s.process) - before).Microseconds()) / float64(requests), requests
	}
	for _, listener := range []string{"call", "quota"} {
		each(listener, 6*time.Second) // until a report has told the demand
	}
	call, calls := each("call", 5*time.Second)
	quota, quotas := each("quota", 20*time.Second)
	t.Logf("CPU of ratelimitd: %.2f us a call (%d calls), %.3f us a request with quotas (%d requests): 1/%.0f", call, calls, quota, quotas, call/quota)
	if quotas > 200_000 { // the cost is one of time: on a busy machine few requests share it
		require.Less(t, quota, call/100)
	}
}

// cpuTime returns the CPU time of a process, in units of 10 ms.
func cpuTime(t *testing.T, p *process) time.Duration {
	t.Helper()
	text := content(t, fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// flood sends requests of ten clients for some time, one after the other on each connection, and returns how many passed.
func flood(t *testing.T, addr string, d time.Duration) int {
	t.Helper()
	end := time.Now().Add(d)
	var passed atomic.Int64
	var wait sync.WaitGroup
	for n := range 40 {
		wait.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return
			}
			defer conn.Close()
			request := fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: a\r\nX-Client: %d\r\n\r\n", n%10)
			for responses := bufio.NewReader(conn); time.Now().Before(end); {
				_, _ = conn.Write(request)
				response, err := http.ReadResponse(responses, nil)
				if err != nil {
					return
				}
				_ = response.Body.Close()
				if response.StatusCode == http.StatusOK {
					passed.Add(1)
				}
			}
		})
	}
	wait.Wait()
	return int(passed.Load())
}
