package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startBaseline runs the program as the baseline until the test ends, and returns the
// address it prints.
func startBaseline(t *testing.T) string {
	t.Helper()
	addr, stop := runBaseline(t)
	t.Cleanup(func() {
		require.NoError(t, stop(), "the baseline stops without an error")
	})
	return addr
}

// runBaseline is startBaseline for a test that stops the baseline itself.
func runBaseline(t *testing.T) (addr string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, cli.Env{Args: []string{"-serve-baseline", "127.0.0.1:0"}, Stdout: in, Stderr: in})
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr, _, found := strings.Cut(strings.TrimPrefix(line, "baseline listens on "), ", pid ")
	require.True(t, found, "the baseline prints address and process id, got %q", line)
	return addr, func() error {
		cancel()
		return <-done
	}
}

// service responds with its function.
type service struct {
	ratelimitv3.UnimplementedRateLimitServiceServer
	response func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error)
}

func (s *service) ShouldRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return s.response(ctx, r)
}

// startService serves on a free port until the test ends.
func startService(t *testing.T, s *service) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(server, s)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-done)
	})
	return listener.Addr().String()
}

// program runs the generator with arguments as a user would write them.
func program(ctx context.Context, arguments string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := cli.Env{Args: strings.Fields(arguments), Stdout: &out, Stderr: &errs}
	code = cli.Run(ctx, "ratelimit-load", run, env)
	return code, out.String(), errs.String()
}

// responseWith returns a service's response that has nothing but a code.
func responseWith(code ratelimitv3.RateLimitResponse_Code) *ratelimitv3.RateLimitResponse {
	return &ratelimitv3.RateLimitResponse{OverallCode: code}
}
