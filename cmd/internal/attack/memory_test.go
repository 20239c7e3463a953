//go:build linux && !race

package attack_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/cmd/internal/attack"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

const (
	dataLimit = 512 << 20       // bytes of private memory of a server under attack, enforced by the kernel
	goLimit   = "400MiB"        // GOMEMLIMIT, below it
	client    = "127.0.0.2"     // the normal client; the attackers have other addresses
	patience  = time.Second     // for a normal request
	pause     = 2 * time.Second // before an attacker connects again: the attacks are on memory, not on the processor
	plain     = "Accept-Encoding: identity"
)

// assault is an attack with its numbers.
type assault struct {
	name string
	run  func(context.Context) (attack.Result, error)
}

// survive runs each attack, and then all together, while a normal client sends requests. Each of
// these must succeed in time, and the server must not end.
func survive(t *testing.T, p *servertest.Process, normal func(context.Context) error, attacks []assault) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) { withstand(t, p, normal, 5*time.Second, a) })
	}
	t.Run("all together", func(t *testing.T) { withstand(t, p, normal, 8*time.Second, attacks...) })
}

func withstand(t *testing.T, p *servertest.Process, normal func(context.Context) error, length time.Duration, attacks ...assault) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	results := make([]attack.Result, len(attacks))
	errs := make([]error, len(attacks))
	var group sync.WaitGroup
	for i, a := range attacks {
		group.Go(func() { results[i], errs[i] = a.run(ctx) })
	}
	requests, slowest := 0, time.Duration(0)
	for ctx.Err() == nil {
		start := time.Now()
		limited, stop := context.WithTimeout(t.Context(), patience)
		err := normal(limited)
		stop()
		took := time.Since(start)
		require.NoError(t, err, "normal request %d, after %v", requests, took)
		requests, slowest = requests+1, max(slowest, took)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	group.Wait()
	for i, a := range attacks {
		require.NoError(t, errs[i], a.name)
		t.Logf("%s: %v", a.name, results[i])
	}
	t.Logf("%d normal requests, the slowest took %v; peak of the resident memory so far: %s", requests, slowest.Round(time.Millisecond), peakMemory(t, p))
}

// buildServers builds programs without the race detector, whose memory does not fit the limit.
func buildServers(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	args := []string{"build", "-o", dir}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// startLimited starts a program under the memory limit. env and args may use the port.
func startLimited(t *testing.T, program string, ready func(context.Context, string) error, env, args func(port string) []string) *servertest.Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() {
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the end of the log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	return servertest.StartWith(t, "prlimit", func(port string) []string {
		return slices.Concat([]string{fmt.Sprintf("--data=%d", dataLimit), "env", "GOMEMLIMIT=" + goLimit}, env(port), []string{program}, args(port))
	}, ready, func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = log, log })
}

func peakMemory(t *testing.T, p *servertest.Process) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	require.NoError(t, err, "the server has ended")
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(kib)
		}
	}
	return "unknown"
}

// fromClient dials as the normal client.
func fromClient(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}
	return d.DialContext(ctx, network, addr)
}

// send sends a request on a connection of its own and requires status 200.
func send(ctx context.Context, method, url, body string, headers ...string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: fromClient, DisableKeepAlives: true}}
	res, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.200s", res.Status, text)
	}
	return text, err
}

// TestMemory attacks each server under a data limit of 512 MiB. None may end, and a normal client
// gets its responses within a second throughout.
func TestMemory(t *testing.T) {
	servertest.Find(t, "prlimit")
	dir := buildServers(t, "inventoryd", "ratelimitd", "bookcatalogd")
	for name, attacked := range map[string]func(t *testing.T, program string){
		"inventoryd": attackInventory, "ratelimitd": attackRateLimit, "bookcatalogd": attackBooks,
	} {
		t.Run(name, func(t *testing.T) { attacked(t, filepath.Join(dir, name)) })
	}
}

// three returns a target with connections from three addresses, and one from a single one.
func three(addr string, connections int) *attack.Target {
	return &attack.Target{Addr: addr, Connections: connections, From: []string{"127.0.0.3", "127.0.0.4", "127.0.0.5"}, Pause: pause}
}

func one(addr string, connections int) *attack.Target {
	return &attack.Target{Addr: addr, Connections: connections, From: []string{"127.0.0.3"}, Pause: pause}
}

func none(string) []string { return nil }

// httpAttacks are those that every HTTP server must withstand.
func httpAttacks(addr, path string) []assault {
	return []assault{
		{"300 bodies of 1 MiB", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfBodies(ctx, three(addr, 300), path, 1<<20)
		}},
		{"3,000 headers of 60 KB from one address", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfHeaders(ctx, one(addr, 3000), 60_000)
		}},
		{"1,500 headers of 15 KB from three addresses", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfHeaders(ctx, three(addr, 1500), 15_000)
		}},
	}
}

func attackInventory(t *testing.T, program string) {
	const password = "correct horse 9"
	database := filepath.Join(t.TempDir(), "inventory.db")
	p := startLimited(t, program, func(ctx context.Context, addr string) error {
		_, err := send(ctx, "GET", "http://"+addr+"/healthz", "")
		return err
	}, func(string) []string {
		return []string{"DATABASE_URL=" + database, "ADMIN_PASSWORD=" + password, "RATE_LIMIT=100000", "LOG_LEVEL=warn"}
	}, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port, "-demo", "-devices", "2000"} })
	text, err := send(t.Context(), "POST", "http://"+p.Addr+"/users/login", `{"username":"admin","password":"`+password+`"}`)
	require.NoError(t, err)
	found := regexp.MustCompile(`"token":"([^"]+)"`).FindSubmatch(text)
	require.NotNil(t, found, "%s", text)
	token := "Authorization: Bearer " + string(found[1])

	survive(t, p, func(ctx context.Context) error {
		_, err := send(ctx, "GET", "http://"+p.Addr+"/devices?limit=5", "", token)
		return err
	}, append(
		httpAttacks(p.Addr, "/devices"),
		assault{"300 bodies of 1 MiB to log in", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfBodies(ctx, three(p.Addr, 300), "/users/login", 1<<20)
		}},
		assault{"300 bodies of 1 MiB from a user", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfBodies(ctx, three(p.Addr, 300), "/devices", 1<<20-1000, token)
		}},
		assault{"60 slow readers", func(ctx context.Context) (attack.Result, error) {
			return attack.SlowReaders(ctx, three(p.Addr, 60), "/interfaces?limit=100", 100, plain, token)
		}},
	))
}

func attackRateLimit(t *testing.T, program string) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "config"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "config", "shop.yaml"),
		[]byte("domain: shop\ndescriptors:\n- key: client\n  rate_limit: {unit: day, requests_per_unit: 1000000}\n"), 0o600))
	httpAddr := "127.0.0.1:" + servertest.FreePort(t)
	request := &ratelimitv3.RateLimitRequest{Domain: "shop", Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "client", Value: "ann"}}},
	}}
	call := func(ctx context.Context, addr string) error {
		conn, err := grpc.NewClient("passthrough:"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return fromClient(ctx, "tcp", addr) }))
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, request, grpc.WaitForReady(true))
		return err
	}
	p := startLimited(t, program, call, func(port string) []string {
		_, httpPort, _ := net.SplitHostPort(httpAddr)
		return []string{
			"RUNTIME_ROOT=" + root, "BACKEND_TYPE=embedded", "GRPC_HOST=127.0.0.1", "GRPC_PORT=" + port, "HOST=127.0.0.1", "PORT=" + httpPort,
			"DEBUG_HOST=127.0.0.1", "DEBUG_PORT=0", "DISABLE_STATS=true", "LOG_LEVEL=warn",
		}
	}, none)

	survive(t, p, func(ctx context.Context) error {
		if err := call(ctx, p.Addr); err != nil {
			return fmt.Errorf("gRPC: %w", err)
		}
		_, err := send(ctx, "POST", "http://"+httpAddr+"/json", `{"domain":"shop","descriptors":[{"entries":[{"key":"client","value":"ann"}]}]}`)
		return err
	}, append(
		httpAttacks(httpAddr, "/json"),
		assault{"100 messages of 4 MiB", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfMessages(ctx, three(p.Addr, 10), 10, 4<<20, 0)
		}},
		assault{"3,000 messages of 256 KiB", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfMessages(ctx, three(p.Addr, 100), 30, 256<<10-100, 0)
		}},
		assault{"messages in frames of 100 bytes", func(ctx context.Context) (attack.Result, error) {
			return attack.HalfMessages(ctx, three(p.Addr, 100), 30, 256<<10-100, 100)
		}},
		assault{"1,203 streams of compressed headers", func(ctx context.Context) (attack.Result, error) {
			return attack.HeaderBombs(ctx, three(p.Addr, 12), 101, 5_000, 3_000)
		}},
		assault{"calls whose responses are not read", func(ctx context.Context) (attack.Result, error) {
			message, err := proto.Marshal(request)
			require.NoError(t, err)
			return attack.UnreadCalls(ctx, three(p.Addr, 100), 100, message)
		}},
	))
}

func attackBooks(t *testing.T, program string) {
	p := startLimited(t, program, func(ctx context.Context, addr string) error {
		_, err := send(ctx, "GET", "http://"+addr+"/api/books?limit=1", "")
		return err
	}, none, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port} })
	subjects := strings.Repeat(`"`+strings.Repeat("x", 99)+`",`, 49) + `"y"`
	for i := range 2000 { // 10 MB
		_, err := send(t.Context(), "POST", "http://"+p.Addr+"/api/books", fmt.Sprintf(`{"isbn":"","title":"Book %d","subjects":[%s]}`, i, subjects))
		require.NoError(t, err)
	}
	survive(t, p, func(ctx context.Context) error {
		_, err := send(ctx, "GET", "http://"+p.Addr+"/api/books?limit=1", "")
		return err
	}, append(
		httpAttacks(p.Addr, "/api/books"),
		assault{"20 slow readers", func(ctx context.Context) (attack.Result, error) {
			return attack.SlowReaders(ctx, one(p.Addr, 20), "/api/books", 100, plain)
		}},
		assault{"100 slow readers", func(ctx context.Context) (attack.Result, error) {
			return attack.SlowReaders(ctx, three(p.Addr, 100), "/api/books?limit=100", 100, plain)
		}},
	))
}
