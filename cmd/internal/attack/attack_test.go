package attack_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// serveCalls starts a gRPC server with default limits, and returns it as a target.
func serveCalls(t *testing.T, opts ...grpc.ServerOption) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(opts...)
	ratelimitv3.RegisterRateLimitServiceServer(g, ratelimitv3.UnimplementedRateLimitServiceServer{})
	var done sync.WaitGroup
	done.Go(func() { g.Serve(l) })
	t.Cleanup(func() {
		g.Stop()
		done.Wait()
	})
	return &target{Addr: l.Addr().String(), Connections: 2}
}

// until runs an attack until enough reports true for its result, for at most a minute.
func until(t *testing.T, run func(context.Context) (result, error), enough func(result) bool) {
	t.Helper()
	var last result
	for wait := 200 * time.Millisecond; wait < time.Minute; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		r, err := run(ctx)
		cancel()
		require.NoError(t, err)
		if enough(r) {
			return
		}
		last = r
	}
	t.Fatalf("got %v", last)
}

// A server with default limits refuses nothing and holds everything; one with limits refuses.
func TestGRPCAttacks(t *testing.T) {
	t.Parallel()
	open, bounded := serveCalls(t), serveCalls(t, grpc.MaxRecvMsgSize(1<<10), grpc.MaxHeaderListSize(16<<10))
	type attackOn func(ctx context.Context, on *target) (result, error)
	for name, c := range map[string]struct {
		run     attackOn
		streams int64
		bytes   int64
	}{
		"half messages": {func(ctx context.Context, on *target) (result, error) {
			return halfMessages(ctx, on, 3, 100_000, 0)
		}, 6, 600_000},
		"header bombs": {func(ctx context.Context, on *target) (result, error) {
			return headerBombs(ctx, on, 3, 5_000, 3_000)
		}, 6, 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			until(t, func(ctx context.Context) (result, error) { return c.run(ctx, open) },
				func(r result) bool {
					return r.Streams == c.streams && r.Bytes > c.bytes && r.Refused == 0 && r.Closed == 0
				})
			until(t, func(ctx context.Context) (result, error) { return c.run(ctx, bounded) },
				func(r result) bool { return r.Refused >= c.streams })
		})
	}
	until(t, func(ctx context.Context) (result, error) { return unreadCalls(ctx, open, 3, nil) },
		func(r result) bool { return r.Streams == 6 })
}

func TestHTTPAttacks(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Write(make([]byte, 1<<20))
	}))
	server.Config.ReadTimeout = 50 * time.Millisecond
	server.Config.WriteTimeout = 50 * time.Millisecond
	server.Start()
	defer server.Close()
	on := &target{Addr: server.Listener.Addr().String(), Connections: 2, Pause: time.Millisecond}
	until(t, func(ctx context.Context) (result, error) { return halfHeaders(ctx, on, 10_000) },
		func(r result) bool { return r.Closed >= 2 && r.Bytes >= 20_000 })
	until(t, func(ctx context.Context) (result, error) {
		return halfBodies(ctx, on, "/", 1_000, "X-A: b")
	},
		func(r result) bool { return r.Refused >= 2 })
	until(t, func(ctx context.Context) (result, error) { return slowReaders(ctx, on, "/", 20) },
		func(r result) bool { return r.Streams >= 40 && r.Closed >= 2 })
}

func TestNothingToAttack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := halfHeaders(ctx, &target{Addr: "127.0.0.1:1"}, 10)
	require.Error(t, err)
}
