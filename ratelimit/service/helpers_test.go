package service_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// newEngine returns an engine at 12:00:15 with the rules of domain "d": two requests a
// minute for each client, named "per-client"; no limit for client "free".
func newEngine(t testing.TB, store ratelimit.Store, opts *ratelimit.Options) *ratelimit.Engine {
	t.Helper()
	if opts == nil {
		opts = &ratelimit.Options{}
	}
	now := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 15, 0, time.UTC) }
	opts.Now = now
	perClient := ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute, Name: "per-client"}
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &perClient, Metadata: map[string]any{"tier": "basic", "list": []any{1, true, nil}}},
		{Key: "client", Value: "free", Limit: &ratelimit.Limit{Unlimited: true}},
	}}}, nil)
	require.NoError(t, err)
	if store == nil {
		store = memstore.MustNew(&memstore.Options{Now: now}) // which forgets no window of then
	}
	e := ratelimit.MustNew(store, opts)
	e.Use(rules)
	return e
}

// storeFunc implements ratelimit.Store with a function.
type storeFunc func(context.Context, []ratelimit.Hit) error

func (f storeFunc) Add(ctx context.Context, hits []ratelimit.Hit) error { return f(ctx, hits) }

var errSecret = errors.New("dial tcp 10.1.2.3:6379: password hunter2 refused")

func failing(context.Context, []ratelimit.Hit) error { return errSecret }

// setup is one of the ways to register a service with a gRPC server.
type setup struct {
	name     string
	options  []grpc.ServerOption
	register func(*service.Service, *grpc.Server)
}

func setups() []setup {
	own := func(s *service.Service, g *grpc.Server) { s.Register(g) }
	generated := func(s *service.Service, g *grpc.Server) { ratelimitv3.RegisterRateLimitServiceServer(g, s) }
	codec := grpc.ForceServerCodecV2(service.Codec())
	pass := grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		if _, ok := req.(*ratelimitv3.RateLimitRequest); !ok || info.FullMethod != ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName {
			return nil, errors.New("the interceptor does not see the generated types")
		}
		return h(ctx, req)
	})
	return []setup{
		{"generated", nil, generated},
		{"own", nil, own},
		{"own with codec", []grpc.ServerOption{codec}, own},
		{"generated with codec", []grpc.ServerOption{codec}, generated},
		{"own with codec and interceptor", []grpc.ServerOption{codec, pass}, own},
	}
}

// serve serves on a free port until the test ends, and returns a connection.
func serve(t testing.TB, g *grpc.Server) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() { g.Serve(l) })
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		g.Stop()
		done.Wait()
	})
	return conn
}

func (s setup) start(t testing.TB, svc *service.Service) ratelimitv3.RateLimitServiceClient {
	t.Helper()
	g := grpc.NewServer(s.options...)
	s.register(svc, g)
	return ratelimitv3.NewRateLimitServiceClient(serve(t, g))
}

// panickingCache is an over-limit cache with a bug.
type panickingCache struct{ ratelimit.OverLimitCache }

func (panickingCache) Contains([]byte) (over, read bool) { panic("hunter2") }
