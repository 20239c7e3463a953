package grpclimit_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/grpclimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is 20 seconds into a minute.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 20, 0, time.UTC) }

// service counts the calls that reach it.
type service struct {
	healthpb.UnimplementedHealthServer
	calls int
	watch func(healthpb.Health_WatchServer) error // nil sends three messages
}

func (s *service) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s.calls++
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (s *service) Watch(_ *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	s.calls++
	if s.watch != nil {
		return s.watch(stream)
	}
	for range 3 {
		if err := stream.Send(&healthpb.HealthCheckResponse{}); err != nil {
			return err
		}
	}
	return nil
}

// start serves the health protocol behind the interceptors.
func start(t *testing.T, limit *grpclimit.Interceptor, opts ...grpc.ServerOption) (healthpb.HealthClient, *service) {
	t.Helper()
	opts = append(opts, grpc.ChainUnaryInterceptor(limit.Unary), grpc.ChainStreamInterceptor(limit.Stream))
	server, s := grpc.NewServer(opts...), &service{}
	healthpb.RegisterHealthServer(server, s)
	return healthpb.NewHealthClient(dial(t, server)), s
}

// dial runs a server until the end of the test, and returns a connection to it.
func dial(t *testing.T, server *grpc.Server) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-done)
	})
	return conn
}

func limiter(t *testing.T, store ratelimit.Store, n uint32) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.NewLimiter("calls", store, ratelimit.Per(n, ratelimit.Minute), &ratelimit.Options{Now: now})
	require.NoError(t, err)
	return l
}

func check(t *testing.T, client healthpb.HealthClient, pairs ...string) (metadata.MD, error) {
	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), pairs...)
	_, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header))
	return header, err
}

// requireRejected checks the code, the message and when to retry.
func requireRejected(t *testing.T, err error, code codes.Code, message string, retry time.Duration) {
	t.Helper()
	s := status.Convert(err)
	require.Equal(t, code, s.Code(), "%v", err)
	require.Equal(t, message, s.Message())
	require.Len(t, s.Details(), 1)
	require.Equal(t, retry, s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
}

func TestUnaryPerKey(t *testing.T) {
	client, s := start(t, grpclimit.PerKey(limiter(t, memstore.MustNew(nil), 2), grpclimit.Peer, nil))
	for _, remaining := range []string{"1", "0"} {
		header, err := check(t, client)
		require.NoError(t, err)
		require.Equal(t, []string{"2"}, header.Get("ratelimit-limit"))
		require.Equal(t, []string{remaining}, header.Get("ratelimit-remaining"))
		require.Equal(t, []string{"40"}, header.Get("ratelimit-reset"))
	}
	header, err := check(t, client)
	requireRejected(t, err, codes.ResourceExhausted, "too many requests: try again in 40 s", 40*time.Second)
	require.Equal(t, []string{"0"}, header.Get("ratelimit-remaining"))
	require.Equal(t, 2, s.calls)
}

func TestMetadataKey(t *testing.T) {
	client, _ := start(t, grpclimit.PerKey(limiter(t, memstore.MustNew(nil), 1), grpclimit.Metadata("x-api-key"), nil))
	for range 3 {
		header, err := check(t, client)
		require.NoError(t, err, "a call without a key is not limited")
		require.Empty(t, header.Get("ratelimit-limit"))
	}
	for _, key := range []string{"a", "b"} {
		_, err := check(t, client, "x-api-key", key)
		require.NoError(t, err)
		_, err = check(t, client, "x-api-key", key)
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
	}
}

// A stream counts when it is opened, whatever it carries.
func TestStreamPerCall(t *testing.T) {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "grpc", Rules: []ratelimit.Rule{
		{Key: "method", Value: healthpb.Health_Watch_FullMethodName, Limit: new(ratelimit.Per(1, ratelimit.Minute))},
	}}}, nil)
	require.NoError(t, err)
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Now: now})
	engine.Use(rules)
	client, s := start(t, grpclimit.PerCall(engine, "grpc", func(_ context.Context, method string) []ratelimit.Descriptor {
		if method == healthpb.Health_Check_FullMethodName {
			return nil
		}
		return []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "method", Value: method}}}}
	}, &grpclimit.Options{Headers: ratelimit.HeaderNames{Limit: "X-Limit"}}))

	stream, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	for range 3 {
		_, err = stream.Recv()
		require.NoError(t, err)
	}
	header, err := stream.Header()
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, header.Get("x-limit"))

	stream, err = client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	requireRejected(t, err, codes.ResourceExhausted, "too many requests: try again in 40 s", 40*time.Second)
	for range 3 {
		_, err = check(t, client)
		require.NoError(t, err, "a call without descriptors is not limited")
	}
	require.Equal(t, 4, s.calls)
}

type storeFunc func(context.Context) error

func (f storeFunc) Add(ctx context.Context, _ []ratelimit.Hit) error { return f(ctx) }

func TestStoreFailure(t *testing.T) {
	for _, closed := range []bool{false, true} {
		var failed []string
		store := storeFunc(func(context.Context) error { return errors.New("connection refused") })
		client, s := start(t, grpclimit.PerKey(limiter(t, store, 1), grpclimit.Peer, &grpclimit.Options{
			FailClosed: closed,
			OnError: func(_ context.Context, method string, err error) {
				require.Equal(t, ratelimit.StoreFailure, ratelimit.KindOf(err))
				failed = append(failed, method)
			},
		}))
		header, err := check(t, client)
		require.Empty(t, header.Get("ratelimit-limit"))
		require.Equal(t, []string{healthpb.Health_Check_FullMethodName}, failed)
		if closed {
			requireRejected(t, err, codes.Unavailable, "rate limit unavailable: try again in 1 s", time.Second)
			require.Zero(t, s.calls)
		} else {
			require.NoError(t, err)
			require.Equal(t, 1, s.calls)
		}
	}
}

// A client that goes away while its call is counted gets past no limit, and is not
// reported as a failure of the store.
func TestCanceledWhileCounting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := storeFunc(func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return errors.New("read: i/o timeout")
	})
	key := func(context.Context, string) string { return "client" }
	limit := grpclimit.PerKey(limiter(t, store, 1), key, &grpclimit.Options{OnError: func(_ context.Context, _ string, err error) {
		t.Errorf("OnError was called with %v", err)
	}})
	_, err := limit.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, func(context.Context, any) (any, error) {
		t.Error("the handler was called")
		return nil, nil
	})
	require.Equal(t, codes.Canceled, status.Code(err))
}

// atOnce is a limit of one call in progress.
func atOnce() ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.Concurrency, RequestsPerUnit: 1, Unit: ratelimit.Hour}
}

// atOnceLimits returns each interceptor with such a limit.
func atOnceLimits(t *testing.T, store ratelimit.Store, opts *grpclimit.Options) map[string]*grpclimit.Interceptor {
	t.Helper()
	l, err := ratelimit.NewLimiter("calls", store, atOnce(), nil)
	require.NoError(t, err)
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "grpc", Rules: []ratelimit.Rule{{Key: "all", Limit: new(atOnce())}}}}, nil)
	require.NoError(t, err)
	engine := ratelimit.MustNew(store, nil)
	engine.Use(rules)
	all := []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "all"}}}}
	return map[string]*grpclimit.Interceptor{
		"PerKey":  grpclimit.PerKey(l, grpclimit.Peer, opts),
		"PerCall": grpclimit.PerCall(engine, "grpc", func(context.Context, string) []ratelimit.Descriptor { return all }, opts),
	}
}

// A stream holds its permit until it has ended, also when its client goes away.
func TestStreamHoldsItsPlace(t *testing.T) {
	for name, limit := range atOnceLimits(t, memstore.MustNew(nil), nil) {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			client := serve(t, limit, func(stream healthpb.Health_WatchServer) error {
				close(started)
				<-stream.Context().Done()
				return errors.New("the client went away")
			}, func() { close(ended) })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
			require.NoError(t, err)
			<-started
			_, err = client.Check(t.Context(), &healthpb.HealthCheckRequest{})
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			cancel()
			<-ended
			for range 2 {
				_, err = client.Check(t.Context(), &healthpb.HealthCheckRequest{})
				require.NoError(t, err)
			}
		})
	}
}

// serve serves streams with a function behind the interceptors. ended is called when the
// interceptors have returned.
func serve(t *testing.T, limit *grpclimit.Interceptor, watch func(healthpb.Health_WatchServer) error, ended func()) healthpb.HealthClient {
	t.Helper()
	client, s := start(t, limit, grpc.ChainStreamInterceptor(
		func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			defer ended()
			return handler(srv, stream)
		}))
	s.watch = watch
	return client
}

// A call releases its permit however its handler ends.
func TestUnaryHoldsItsPlace(t *testing.T) {
	info := &grpc.UnaryServerInfo{FullMethod: "/a/b"}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}})
	for name, limit := range atOnceLimits(t, memstore.MustNew(nil), nil) {
		for _, end := range []func() (any, error){
			func() (any, error) { return nil, nil },
			func() (any, error) { return nil, errors.New("no") },
			func() (any, error) { panic("bug") },
		} {
			reached := false
			func() {
				defer func() { _ = recover() }()
				_, _ = limit.Unary(ctx, nil, info, func(context.Context, any) (any, error) {
					reached = true
					_, err := limit.Unary(ctx, nil, info, nil)
					require.Equal(t, codes.ResourceExhausted, status.Code(err), name)
					return end()
				})
			}()
			require.True(t, reached, name)
		}
	}
}

// failingRelease is a store whose permits can't be released.
type failingRelease struct{ *memstore.Store }

func (s failingRelease) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	for i := range charges {
		if charges[i].Refund {
			return errors.New("connection refused")
		}
	}
	return s.Store.Charge(ctx, charges)
}

func TestFailedReleaseIsReported(t *testing.T) {
	var failed []string
	opts := &grpclimit.Options{OnError: func(_ context.Context, method string, err error) {
		require.ErrorContains(t, err, "connection refused")
		failed = append(failed, method)
	}}
	for name, limit := range atOnceLimits(t, failingRelease{memstore.MustNew(nil)}, opts) {
		failed = nil
		client, s := start(t, limit)
		_, err := check(t, client)
		require.NoError(t, err, name)
		require.Equal(t, []string{healthpb.Health_Check_FullMethodName}, failed, name)
		require.Equal(t, 1, s.calls)
	}
}

func TestNoHeaders(t *testing.T) {
	client, _ := start(t, grpclimit.PerKey(limiter(t, memstore.MustNew(nil), 1), grpclimit.Peer, &grpclimit.Options{NoHeaders: true}))
	header, err := check(t, client)
	require.NoError(t, err)
	require.Empty(t, header.Get("ratelimit-limit"))
}

// defaultLog returns what slog.Default logs during the test.
func defaultLog(t *testing.T) *logtest.Log {
	log, before := new(logtest.Log), slog.Default()
	slog.SetDefault(log.Logger())
	t.Cleanup(func() { slog.SetDefault(before) })
	return log
}

// calls makes three calls within a minute and one afterwards, and returns their last status and the
// lines of the log.
func calls(t *testing.T, build func() *grpclimit.Interceptor) (code codes.Code, lines []string) {
	log := defaultLog(t)
	synctest.Test(t, func(t *testing.T) {
		limit := build()
		for _, wait := range []time.Duration{0, 0, 59 * time.Second, 2 * time.Second} {
			time.Sleep(wait)
			_, err := limit.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, func(context.Context, any) (any, error) { return nil, nil })
			code = status.Code(err)
		}
	})
	return code, strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
}

// Calls that pass without a limit, or by a caller's mistake never do, are logged once a minute.
func TestUnenforcedLimitsAreLogged(t *testing.T) {
	key := func(context.Context, string) string { return "client" }
	down := storeFunc(func(context.Context) error { return errors.New("connection refused") })
	all := func(context.Context, string) []ratelimit.Descriptor {
		return []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "all"}}}}
	}
	empty := ratelimit.MustNew(memstore.MustNew(nil), nil)
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "grpc", Rules: []ratelimit.Rule{{Key: "one"}}}}, nil)
	require.NoError(t, err)
	engine := func() *ratelimit.Engine { // with the default log of the moment
		e := ratelimit.MustNew(memstore.MustNew(nil), nil)
		require.NoError(t, e.Use(rules))
		return e
	}
	for name, tt := range map[string]struct {
		build       func(*grpclimit.Options) *grpclimit.Interceptor
		open, close codes.Code
		words       []string
	}{
		"store": {func(o *grpclimit.Options) *grpclimit.Interceptor {
			return grpclimit.PerKey(limiter(t, down, 1), key, o)
		}, codes.OK, codes.Unavailable, []string{"connection refused", "FailClosed"}},
		"no rules":       {func(o *grpclimit.Options) *grpclimit.Interceptor { return grpclimit.PerCall(empty, "grpc", all, o) }, codes.OK, codes.Unavailable, []string{"no rate limit configuration", "Engine.Use"}},
		"unknown domain": {func(o *grpclimit.Options) *grpclimit.Interceptor { return grpclimit.PerCall(engine(), "grcp", all, o) }, codes.OK, codes.OK, []string{"grcp", "Engine.Use"}},
		"no limiter":     {func(o *grpclimit.Options) *grpclimit.Interceptor { return grpclimit.PerKey(nil, key, o) }, codes.Internal, codes.Internal, []string{"NewLimiter"}},
		"no key": {func(o *grpclimit.Options) *grpclimit.Interceptor {
			return grpclimit.PerKey(limiter(t, down, 1), nil, o)
		}, codes.Internal, codes.Internal, []string{"key function"}},
		"no engine":    {func(o *grpclimit.Options) *grpclimit.Interceptor { return grpclimit.PerCall(nil, "grpc", all, o) }, codes.Internal, codes.Internal, []string{"engine"}},
		"no domain":    {func(o *grpclimit.Options) *grpclimit.Interceptor { return grpclimit.PerCall(engine(), "", all, o) }, codes.Internal, codes.Internal, []string{"domain"}},
		"no describer": {func(o *grpclimit.Options) *grpclimit.Interceptor { return grpclimit.PerCall(engine(), "grpc", nil, o) }, codes.Internal, codes.Internal, []string{"describes"}},
	} {
		t.Run(name, func(t *testing.T) {
			for closed, want := range map[bool]codes.Code{false: tt.open, true: tt.close} {
				code, lines := calls(t, func() *grpclimit.Interceptor { return tt.build(&grpclimit.Options{FailClosed: closed}) })
				require.Equal(t, want, code)
				require.Len(t, lines, 2)
				for _, word := range append(tt.words, "level=WARN") {
					require.Contains(t, lines[0], word)
				}
			}
		})
	}
	matched := func() *grpclimit.Interceptor { return grpclimit.PerCall(engine(), "grpc", all, nil) }
	code, lines := calls(t, matched)
	require.Equal(t, codes.OK, code)
	require.Equal(t, []string{""}, lines, "a domain that has rules, none of which matches")
}
