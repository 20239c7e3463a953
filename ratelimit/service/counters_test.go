package service_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

const adminToken = "0123456789abcdef"

// countersServer is a gRPC server with a Counters, which records the calls of its hooks.
type countersServer struct {
	t    *testing.T
	conn *grpc.ClientConn

	mu     sync.Mutex
	denied []string
	calls  []string
}

func serveCounters(t *testing.T, store ratelimit.Store, options ...grpc.ServerOption) *countersServer {
	t.Helper()
	s := &countersServer{t: t}
	g := s.server(store, options...)
	s.conn = serve(t, g)
	return s
}

func (s *countersServer) server(store ratelimit.Store, options ...grpc.ServerOption) *grpc.Server {
	svc := service.New(newEngine(s.t, store, nil), nil)
	counters, err := svc.Counters(&service.CountersOptions{
		Token: adminToken,
		Now:   func() time.Time { return time.Date(2026, 1, 2, 12, 0, 15, 0, time.UTC) },
		OnDenied: func(_ context.Context, address string, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.denied = append(s.denied, address+" "+status.Code(err).String())
		},
		OnCall: func(_ context.Context, c *service.CountersCall) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls = append(s.calls, c.Method+" "+c.Request.Domain)
		},
	})
	require.NoError(s.t, err)
	g := grpc.NewServer(options...)
	svc.Register(g)
	counters.Register(g)
	return g
}

// call calls a method with an authorization, "" for none.
func (s *countersServer) call(method, authorization string, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	s.t.Helper()
	ctx := s.t.Context()
	if authorization != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", authorization)
	}
	out := new(ratelimitv3.RateLimitResponse)
	err := s.conn.Invoke(ctx, "/"+service.CountersService+"/"+method, in, out)
	return out, err
}

// recorded returns the calls of the hooks.
func (s *countersServer) recorded() (calls, denied []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, s.denied
}

func TestCountersOverGRPC(t *testing.T) {
	pass := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		if info.FullMethod != ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName && !strings.HasPrefix(info.FullMethod, "/"+service.CountersService+"/") {
			return nil, errors.New(info.FullMethod)
		}
		return h(ctx, req.(*ratelimitv3.RateLimitRequest))
	}
	for name, options := range map[string][]grpc.ServerOption{
		"plain":       nil,
		"codec":       {grpc.ForceServerCodecV2(service.Codec())},
		"interceptor": {grpc.UnaryInterceptor(pass)},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveCounters(t, nil, options...)
			in := ask("a")
			in.HitsAddend = 3
			_, err := ratelimitv3.NewRateLimitServiceClient(s.conn).ShouldRateLimit(t.Context(), in)
			require.NoError(t, err)
			in.Descriptors = append(in.Descriptors, ask("free").GetDescriptors()...)
			call := func(method, overall, code, used, remaining string) {
				t.Helper()
				out, err := s.call(method, "Bearer "+adminToken, in)
				require.NoError(t, err)
				requireJSON(t, `{"overallCode":"`+overall+`","statuses":[
					{"code":"`+code+`","currentLimit":{"name":"per-client","requestsPerUnit":2,"unit":"MINUTE"},`+remaining+`"durationUntilReset":"45s"},
					{"code":"OK","limitRemaining":4294967295}
				],"dynamicMetadata":{"counters":[{"algorithm":"fixed_window","used":`+used+`},{}]}}`, out)
			}
			call("Get", "OVER_LIMIT", "OVER_LIMIT", "3", "")
			call("Get", "OVER_LIMIT", "OVER_LIMIT", "3", "")
			in.HitsAddend = 0 // one
			call("GiveBack", "OK", "OK", "2", "")
			in.Descriptors[0].HitsAddend = wrapperspb.UInt64(2)
			call("GiveBack", "OK", "OK", "0", `"limitRemaining":2,`)
			call("Reset", "OK", "OK", "0", `"limitRemaining":2,`)
			calls, denied := s.recorded()
			require.Equal(t, []string{"Get d", "Get d", "GiveBack d", "GiveBack d", "Reset d"}, calls)
			require.Empty(t, denied)
		})
	}
}

// A call without the token is refused. After ten of them an address has to wait before it may try another one, and the
// right one is accepted all the time.
func TestCountersToken(t *testing.T) {
	s := serveCounters(t, nil)
	_, err := s.call("Get", "bearer "+adminToken, ask("a")) // schemes have no letter case
	require.NoError(t, err)
	for i, authorization := range []string{
		"", "Bearer", "Bearer ", adminToken, "Basic " + adminToken, "Bearer " + adminToken[:15], "Bearer " + adminToken + "0",
		"Bearer " + strings.Repeat("x", 16), "Bearer  " + adminToken, "Bearer " + strings.ToUpper(adminToken),
	} {
		_, err := s.call("Reset", authorization, ask("a"))
		require.Equal(t, codes.Unauthenticated, status.Code(err), "%d %q: %v", i, authorization, err)
		require.NotContains(t, err.Error(), adminToken)
	}
	for _, method := range []string{"Get", "Reset", "GiveBack"} {
		_, err = s.call(method, "Bearer "+adminToken+"0", ask("a"))
		require.Equal(t, codes.ResourceExhausted, status.Code(err), method)
		_, err = s.call(method, "Bearer "+adminToken, ask("a"))
		require.NoError(t, err, method)
	}
	calls, denied := s.recorded()
	require.Len(t, denied, 13)
	require.Equal(t, []string{"Get d", "Get d", "Reset d", "GiveBack d"}, calls)
	_, err = ratelimitv3.NewRateLimitServiceClient(s.conn).ShouldRateLimit(t.Context(), ask("a"))
	require.NoError(t, err, "other calls need no token")
}

// Two tokens are as bad as none: a proxy may have added one.
func TestCountersTwoTokens(t *testing.T) {
	s := serveCounters(t, nil)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+adminToken, "authorization", "Bearer "+adminToken)
	err := s.conn.Invoke(ctx, "/"+service.CountersService+"/Get", ask("a"), new(ratelimitv3.RateLimitResponse))
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

// A proxy on the machine forwards calls of others, over connections that anybody may read: what its headers say of these
// is not believed.
func TestCountersBehindProxy(t *testing.T) {
	for _, header := range []string{"x-forwarded-proto", "x-forwarded-for", "forwarded", "via"} {
		s := serveCounters(t, nil)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+adminToken, header, "https")
		err := s.conn.Invoke(ctx, "/"+service.CountersService+"/Get", ask("a"), new(ratelimitv3.RateLimitResponse))
		require.Equal(t, codes.FailedPrecondition, status.Code(err), header)
	}
}

func TestCountersShortToken(t *testing.T) {
	_, err := service.New(newEngine(t, nil, nil), nil).Counters(&service.CountersOptions{Token: adminToken[:15]})
	require.ErrorContains(t, err, "use at least 16 bytes")
}

func TestCountersErrors(t *testing.T) {
	plain := serveCounters(t, onlyStore{memstore.MustNew(nil)})
	for method, want := range map[string]codes.Code{"Get": codes.OK, "Reset": codes.FailedPrecondition, "GiveBack": codes.FailedPrecondition} {
		_, err := plain.call(method, "Bearer "+adminToken, ask("a"))
		require.Equal(t, want, status.Code(err), method)
		if err != nil {
			require.ErrorContains(t, err, "can't subtract hits")
		}
	}
	broken := serveCounters(t, storeFunc(failing))
	_, err := broken.call("Get", "Bearer "+adminToken, ask("a"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.NotContains(t, err.Error(), "hunter2")
	_, err = broken.call("Get", "Bearer "+adminToken, &ratelimitv3.RateLimitRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// onlyStore hides the optional methods of a store.
type onlyStore struct{ ratelimit.Store }

// farListener makes its connections come from another machine.
type farListener struct{ net.Listener }

type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 1234} }

func (l farListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return farConn{c}, err
}

// Connections from other machines must be encrypted. Those over unix sockets need not be.
func TestCountersEncryption(t *testing.T) {
	authority := certstest.NewAuthority(t)
	secret := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{authority.Issue("limits.example")}})
	for name, c := range map[string]struct {
		network string
		remote  bool
		tls     bool
		code    codes.Code
		denied  string
	}{
		"remote":      {"tcp", true, false, codes.FailedPrecondition, "192.0.2.7:1234 FailedPrecondition"},
		"remote, TLS": {"tcp", true, true, codes.OK, ""},
		"unix":        {"unix", false, false, codes.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			address := "127.0.0.1:0"
			if c.network == "unix" {
				address = t.TempDir() + "/s"
			}
			l, err := net.Listen(c.network, address)
			require.NoError(t, err)
			target := l.Addr().String()
			if c.network == "unix" {
				target = "unix:" + target
			}
			if c.remote {
				l = farListener{l}
			}
			s := &countersServer{t: t}
			var options []grpc.ServerOption
			creds := insecure.NewCredentials()
			if c.tls {
				options = append(options, grpc.Creds(secret))
				creds = credentials.NewTLS(&tls.Config{RootCAs: authority.Pool(), ServerName: "limits.example"})
			}
			g := s.server(nil, options...)
			var done sync.WaitGroup
			done.Go(func() { g.Serve(l) })
			s.conn, err = grpc.NewClient(target, grpc.WithTransportCredentials(creds))
			require.NoError(t, err)
			t.Cleanup(func() {
				s.conn.Close()
				g.Stop()
				done.Wait()
			})
			_, err = s.call("Get", "Bearer "+adminToken, ask("a"))
			require.Equal(t, c.code, status.Code(err), "%v", err)
			_, denied := s.recorded()
			require.Equal(t, c.denied, strings.Join(denied, ","))
		})
	}
}
