//go:build unix

package e2e_test

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/connectivity"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

func TestLimiterExample(t *testing.T) {
	t.Parallel()
	p := run(t, 0, "limiter")
	require.Empty(t, p.stderr.String())
	require.Regexp(t, `^ann: welcome, 2 left
ann: welcome, 1 left
ann: welcome, 0 left
ann: denied, 3 an hour are too few: come back in (\d+m)?\d+s
bob: welcome, 2 left
eve, four times at once: OVER_LIMIT
$`, p.stdout.String())
}

func TestMuxExample(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./examples/mux")
	at := "http://" + w.addrs["8082"]
	code, answer := httpDo(t, http.MethodGet, at+"/", "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "hello\n", answer)

	// Each limit refuses at last, and the route's own before that of the client.
	refusals := func(method, path string, limit int) (n int) {
		for range 2*limit + 1 {
			code, answer = httpDo(t, method, at+path, "")
			if code == http.StatusTooManyRequests {
				require.JSONEq(t, `{"status":"error","message":"too many requests"}`, answer)
				n++
			} else {
				require.Equal(t, http.StatusOK, code)
			}
		}
		return n
	}
	require.Positive(t, refusals(http.MethodPost, "/login?user=ann", 3))
	require.Positive(t, refusals(http.MethodGet, "/", 20))
	w.stop()

	w = startServer(t, "go run ./examples/mux")
	w.signal(syscall.SIGTERM)
	require.Zero(t, w.code())
	p := start(t, nil, "mux", "-addr", "256.0.0.1:1")
	require.Equal(t, 1, p.code())
	require.Regexp(t, `^mux: listen tcp: .*256\.0\.0\.1`, p.stderr.String())
}

func TestGRPCServerExample(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./examples/grpcserver")
	for range 4 { // more than what others get
		require.Equal(t, "OK", decision(t, w.addrs["8083"], "shop", "user=partner-ann"))
	}
	conn := dial(t, w.addrs["8083"])
	health := healthv1.NewHealthClient(conn)
	answer, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, answer.GetStatus(), "the service beside it")
	watch, err := health.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)
	w.stop() // though somebody watches
	require.NotEqual(t, connectivity.Shutdown, conn.GetState(), "it was not the client that hung up")
}
