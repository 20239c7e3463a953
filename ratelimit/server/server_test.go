package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goodConfig has limits per year, so that no window ends during a test.
const goodConfig = `domain: d
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 2}
`

// testTimeout limits every wait; machines may be busy.
const testTimeout = time.Minute

// running is a server on free ports with the files of a directory.
type running struct {
	t     *testing.T
	set   *settings.Settings
	store ratelimit.Store // nil for that of the settings
	root  string
	lines bool // AccessLog
	table []ratelimit.Field
	log   *logtest.Log
	srv   *server.Server
	addr  server.Addresses // when it listens
	up    chan server.Addresses
	stop  context.CancelFunc
	done  chan error
}

// prepare writes files below a temporary RUNTIME_ROOT.
func prepare(t *testing.T, files map[string]string, environ map[string]string) *running {
	t.Helper()
	r := &running{t: t, root: t.TempDir(), log: new(logtest.Log), done: make(chan error, 1)}
	for name, data := range files {
		path := filepath.Join(r.root, "sub", "config", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
	}
	all := map[string]string{
		"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0",
		"RUNTIME_ROOT": r.root, "RUNTIME_SUBDIRECTORY": "sub", "LOG_LEVEL": "INFO",
	}
	maps.Copy(all, map[string]string{"DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0", "DISABLE_STATS": "true", "RUNTIME_WATCH_ROOT": "false"})
	maps.Copy(all, environ)
	var err error
	r.set, err = settings.Parse(all)
	require.NoError(t, err)
	return r
}

// run starts the server and does not wait for it.
func (r *running) run() *running {
	r.t.Helper()
	r.up = make(chan server.Addresses, 1)
	var err error
	r.srv, err = server.New(r.t.Context(), r.set, &server.Options{
		Log:       server.NewLogTo(r.log, r.set),
		Store:     r.store,
		AccessLog: r.lines,
		Fields:    r.table,
		Listening: func(a server.Addresses) { r.up <- a },
	})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- r.srv.Run(ctx) }()
	r.t.Cleanup(cancel)
	return r
}

// start runs the server and waits until it listens.
func (r *running) start() *running {
	r.t.Helper()
	return r.run().await()
}

// await waits until the server listens.
func (r *running) await() *running {
	r.t.Helper()
	select {
	case r.addr = <-r.up:
	case err := <-r.done:
		r.t.Fatalf("the server did not start: %v", err)
	case <-time.After(testTimeout):
		r.t.Fatalf("the server does not listen\n%s", r.log)
	}
	return r
}

// end stops the server and requires an orderly shutdown.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	require.NoError(r.t, r.wait())
}

// fail runs the server and returns the error that kept it from starting.
func (r *running) fail() error {
	r.t.Helper()
	return server.Run(r.t.Context(), r.set, &server.Options{
		Log:       server.NewLogTo(r.log, r.set),
		Listening: func(server.Addresses) { r.t.Error("the server listens though it should not have started") },
	})
}

func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(testTimeout):
		r.t.Fatal("the server does not end")
		return nil
	}
}

func (r *running) dial() *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient(r.addr.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

// get sends a GET request to the HTTP listener, getAt to another one.
func (r *running) get(path string) (int, string) {
	r.t.Helper()
	return r.getAt(r.addr.HTTP, path)
}

func (r *running) getAt(at net.Addr, path string) (int, string) {
	r.t.Helper()
	code, body, err := r.tryAt(at, path)
	require.NoError(r.t, err)
	return code, body
}

// tryAt is getAt with an error if there is no response.
func (r *running) tryAt(at net.Addr, path string) (code int, body string, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + at.String() + path)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

func ask(domain, client string) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "client", Value: client}}},
	}}
}

func TestServerDecides(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig, "more/e.yaml": strings.Replace(goodConfig, "domain: d", "domain: e", 1)},
		map[string]string{"LIMIT_RESPONSE_HEADERS_ENABLED": "true", "LOCAL_CACHE_SIZE_IN_BYTES": "1000000"}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	for _, domain := range []string{"d", "e"} {
		for i, want := range []ratelimitv3.RateLimitResponse_Code{1, 1, 2, 2} {
			out, err := client.ShouldRateLimit(t.Context(), ask(domain, "a"))
			require.NoError(t, err)
			require.Equal(t, want, out.GetOverallCode(), "call %d in domain %s", i, domain)
			require.Equal(t, "RateLimit-Limit", out.GetResponseHeadersToAdd()[0].GetKey())
		}
	}
	res, err := http.Post("http://"+r.addr.HTTP.String()+"/json", "application/json", strings.NewReader(`{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"a"}]}]}`))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, 429, res.StatusCode, "HTTP and gRPC share their counters")
	http.DefaultClient.CloseIdleConnections()

	code, body := r.get("/healthcheck")
	require.Equal(t, 200, code)
	require.Equal(t, "OK", body)
	code, _ = r.get("/debug/pprof/")
	require.Equal(t, 404, code, "this port serves only the documented paths")
	r.stop()
	require.NoError(t, r.wait())
}

func TestWarningsAreLogged(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig + "  - key: other\n    rate_limit: {unit: day}\n"}, map[string]string{"LOG_FORMAT": "json"}).start()
	r.stop()
	require.NoError(t, r.wait())
	require.Contains(t, r.log.String(), `"@message":"configuration"`)
	require.Contains(t, r.log.String(), "d.yaml:6:")
	require.Contains(t, r.log.String(), "requests_per_unit")
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	for _, setting := range []string{"GRPC_PORT", "PORT", "DEBUG_PORT"} {
		err := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{setting: port}).fail()
		var failed *server.ListenError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, setting, failed.Setting)
		require.ErrorContains(t, err, l.Addr().String())
		require.ErrorContains(t, err, "set "+setting+" to a free port")
	}
}

// The server turns unhealthy immediately, serves during the drain delay, and health watches
// do not delay the shutdown (REFERENCE.md, 8.3).
func TestDrain(t *testing.T) {
	t.Parallel()
	delay := 300 * time.Millisecond
	for !drains(t, delay) {
		delay *= 2 // the machine is busy
	}
}

// drains checks the server during its drain delay. It reports false if the delay was too
// short for the checks.
func drains(t *testing.T, delay time.Duration) (inTime bool) {
	t.Helper()
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"SHUTDOWN_DRAIN_DELAY": delay.String()}).start()
	conn := r.dial()
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{Service: "ratelimit"})
	require.NoError(t, err)
	state, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, state.GetStatus())

	began := time.Now()
	r.stop()
	state, watchErr := watch.Recv()
	_, callErr := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), ask("d", "late"))
	code, _, getErr := r.tryAt(r.addr.HTTP, "/healthcheck")
	ready, _, readyErr := r.tryAt(r.addr.HTTP, "/readyz")
	alive, _, aliveErr := r.tryAt(r.addr.HTTP, "/livez")
	if inTime = time.Since(began) < delay; inTime {
		require.NoError(t, errors.Join(readyErr, aliveErr))
		require.Equal(t, []int{503, 200}, []int{ready, alive}, "alive and not ready")
		require.NoError(t, watchErr)
		require.Equal(t, healthv1.HealthCheckResponse_NOT_SERVING, state.GetStatus(), "unhealthy from the start of the delay")
		require.NoError(t, callErr, "calls succeed during the drain delay")
		require.NoError(t, getErr)
		require.Equal(t, 500, code)
	}

	require.NoError(t, r.wait())
	_, err = watch.Recv()
	require.Error(t, err, "the watch ended with the server")
	return inTime
}

// A request that does not finish is cut off at the deadline.
func TestShutdownDeadline(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"SHUTDOWN_TIMEOUT": "100ms"}).start()
	conn, err := net.Dial("tcp", r.addr.HTTP.String())
	require.NoError(t, err)
	defer conn.Close()
	// The client never sends the body that the server waits for.
	_, err = io.WriteString(conn, "POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	r.end()
	require.Contains(t, r.log.String(), "HTTP requests did not finish")
}

// Run with a context that has already ended returns no error.
func TestRunWithCanceledContext(t *testing.T) {
	r := prepare(t, nil, map[string]string{"HOST": "localhost", "GRPC_HOST": "localhost", "DEBUG_HOST": "localhost"})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, server.Run(ctx, r.set, &server.Options{Log: server.NewLogTo(r.log, r.set)}))
}
