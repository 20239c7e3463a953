package attack_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// addresses says where a running server listens.
type addresses struct{ grpc, http, debug string }

// startServer runs ratelimitd until the test ends, with one rule, client in domain d, that limits
// nobody.
func startServer(t *testing.T, more map[string]string) *addresses {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "config"), 0o755))
	rules := "domain: d\ndescriptors:\n  - key: client\n    rate_limit: {unit: year, requests_per_unit: 1000000000}\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "config", "d.yaml"), []byte(rules), 0o644))
	environ := map[string]string{
		"RUNTIME_ROOT": root, "DISABLE_STATS": "true", "HOST": "127.0.0.1", "PORT": "0",
		"GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "DEBUG_PORT": "0",
	}
	maps.Copy(environ, more)
	parsed, err := settings.Parse(environ)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	listening, ended := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, parsed, &server.Options{
			Log: slog.New(slog.DiscardHandler), Output: io.Discard, Listening: func(a server.Addresses) { listening <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case a := <-listening:
		return &addresses{a.GRPC.String(), a.HTTP.String(), a.Debug.String()}
	case <-time.After(time.Minute):
		t.Fatal("does not start")
		return nil
	}
}

func (a *addresses) dial(t *testing.T, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(a.grpc, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	return conn
}

func ask(value string) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: "d", Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "client", Value: value}}},
	}}
}

func call(ctx context.Context, conn *grpc.ClientConn, in *ratelimitv3.RateLimitRequest) error {
	_, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, in, grpc.WaitForReady(true))
	return err
}

// Each bound on gRPC has a setting.
func TestBounds(t *testing.T) {
	a := startServer(t, map[string]string{
		"GRPC_MAX_MESSAGE_BYTES": "10000", "GRPC_MAX_HEADER_BYTES": "5000", "MAX_DESCRIPTORS_PER_REQUEST": "2", "MAX_ENTRIES_PER_DESCRIPTOR": "1",
		"JSON_MAX_BODY_BYTES": "2000",
	})
	conn := a.dial(t)
	defer conn.Close()
	require.NoError(t, call(t.Context(), conn, ask(strings.Repeat("x", 9000))))
	require.Equal(t, codes.ResourceExhausted, status.Code(call(t.Context(), conn, ask(strings.Repeat("x", 10000)))))

	// The client knows the limit of the server, and does not send the header.
	big := metadata.AppendToOutgoingContext(t.Context(), "x-big", strings.Repeat("x", 5000))
	require.Error(t, call(big, conn, ask("a")))
	until(t, func(ctx context.Context) (result, error) {
		return headerBombs(ctx, &target{Addr: a.grpc}, 3, 2, 3000)
	}, func(r result) bool { return r.Refused == r.Streams && r.Closed == 0 })

	in := ask("a")
	in.Descriptors = append(in.Descriptors, in.Descriptors[0], in.Descriptors[0])
	errtest.Want(t, call(t.Context(), conn, in), "descriptors: 2")
	in = ask("a")
	in.Descriptors[0].Entries = append(in.Descriptors[0].Entries, in.Descriptors[0].Entries[0])
	errtest.Want(t, call(t.Context(), conn, in), "descriptors[0].entries: 1")

	for size, want := range map[int]int{1000: http.StatusOK, 2000: http.StatusRequestEntityTooLarge} {
		body := `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"` + strings.Repeat("x", size) + `"}]}]}`
		res, err := http.Post("http://"+a.http+"/json", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		res.Body.Close()
		require.Equal(t, want, res.StatusCode)
	}
}

// A message that does not arrive in time ends its call with an error, and not the other calls
// of the connection.
func TestMessageTimeout(t *testing.T) {
	a := startServer(t, map[string]string{"GRPC_MESSAGE_TIMEOUT": "200ms"})
	until(t, func(ctx context.Context) (result, error) {
		return halfMessages(ctx, &target{Addr: a.grpc}, 5, 1000, 0)
	}, func(r result) bool { return r.Refused >= r.Streams && r.Closed == 0 })
}

// A client that opens connections up to a limit does not keep others out: connections of the
// address with the most make room, those that are idle and those that wait for their client.
func TestConnectionLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs several loopback addresses")
	}
	for name, run := range map[string]func(context.Context, *target) (result, error){
		"half headers": func(ctx context.Context, to *target) (result, error) {
			return halfHeaders(ctx, to, 0)
		},
		"half messages": func(ctx context.Context, to *target) (result, error) {
			return halfMessages(ctx, to, 1, 1000, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := startServer(t, map[string]string{
				"GRPC_MAX_CONNECTIONS": "20", "GRPC_MAX_CONNECTIONS_PER_ADDRESS": "15", "GRPC_MESSAGE_TIMEOUT": "1h",
			})
			ctx, stop := context.WithCancel(t.Context())
			attacked := make(chan result, 1)
			go func() {
				r, err := run(ctx, &target{Addr: a.grpc, Connections: 30, From: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}})
				if err != nil {
					t.Error(err)
				}
				attacked <- r
			}()
			for full := false; !full; { // or the test times out
				text := a.stats(t)
				full = strings.Contains(text, "refused_connections") || strings.Contains(text, "closed_connections")
			}
			other := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
			for range 20 {
				conn := a.dial(t, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
					return other.DialContext(ctx, "tcp", addr)
				}))
				limit, cancel := context.WithTimeout(t.Context(), time.Minute)
				require.NoError(t, call(limit, conn, ask("a")))
				cancel()
				conn.Close()
			}
			stop()
			require.Positive(t, (<-attacked).Closed)
		})
	}
}

// When unfinished calls hold too much, the connection that holds the most is closed, and calls
// of others are decided.
func TestBytesInFlight(t *testing.T) {
	a := startServer(t, map[string]string{"GRPC_MAX_BYTES_IN_FLIGHT": "4194304"})
	conn := a.dial(t)
	defer conn.Close()
	require.NoError(t, call(t.Context(), conn, ask("a")))
	for name, run := range map[string]func(context.Context) (result, error){
		"half messages": func(ctx context.Context) (result, error) {
			return halfMessages(ctx, &target{Addr: a.grpc, Connections: 2}, 100, 100_000, 0)
		},
		"small frames": func(ctx context.Context) (result, error) {
			return halfMessages(ctx, &target{Addr: a.grpc, Connections: 2}, 10, 60_000, 1)
		},
		"headers": func(ctx context.Context) (result, error) {
			return headerBombs(ctx, &target{Addr: a.grpc, Connections: 2}, 1000, 100, 1)
		},
		"unread": func(ctx context.Context) (result, error) {
			return unreadCalls(ctx, &target{Addr: a.grpc, Connections: 2}, 1000, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			until(t, run, func(r result) bool { return r.Closed > 0 })
			require.NoError(t, call(t.Context(), conn, ask("a")))
		})
	}
	a.stats(t)
}

// stats returns the page /stats.
func (a *addresses) stats(t *testing.T) string {
	t.Helper()
	res, err := http.Get("http://" + a.debug + "/stats?filter=grpc")
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}
