//go:build unix

package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// TestDrain stops a server under load, as a rollout does. While it drains, it is unhealthy, and no
// call may fail.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, map[string]string{"SHUTDOWN_DRAIN_DELAY": "10s"})
	load := start(t, nil, "ratelimit-load", "-addr", s.grpc, "-domain", "shop", "-entry", "load",
		"-distribution", "hot", "-warmup", "0s", "-duration", "1h", "-concurrency", "16")
	eventually(t, "hundreds of calls", func() bool { return s.counted(t) > 500 })
	s.signal(syscall.SIGTERM)
	eventually(t, "an unhealthy server", func() bool { return !s.healthy() })
	before := s.counted(t)
	eventually(t, "more calls while it drains", func() bool { return s.counted(t) > before+500 })

	load.stop()
	r := reportOf(t, load)
	// Calls in flight when the load is stopped count as unfinished, not as errors.
	require.Empty(t, r.Errors)
	require.Equal(t, r.Calls, r.OK)
	s.ends()
}

// counted returns the number of counted calls for the key of the load, including its own call.
func (s *server) counted(t *testing.T) int {
	t.Helper()
	_, response := httpDo(t, http.MethodPost, "http://"+s.http+"/json", `{"domain":"shop","descriptors":[{"entries":[{"key":"load","value":"0"}]}]}`)
	return 4_000_000_000 - number(t, response, `"limitRemaining":(\d+)`)
}

// TestOpenCalls begins a call on each port, stops the server, and completes the calls after the
// listeners are closed.
func TestOpenCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, nil)

	stream, err := dial(t, s.grpc).NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName, grpc.WaitForReady(true))
	require.NoError(t, err)
	_, err = ratelimitv3.NewRateLimitServiceClient(dial(t, s.grpc)).ShouldRateLimit(t.Context(), newRequest("shop", "client", "bob"))
	require.NoError(t, err)

	conn, err := net.Dial("tcp", s.http)
	require.NoError(t, err)
	defer conn.Close()
	body := shopJSON("ann")
	fmt.Fprintf(conn, "POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line, "the handler must wait for the body")
	_, err = reader.ReadString('\n')
	require.NoError(t, err)

	s.signal(syscall.SIGTERM)
	for _, addr := range []string{s.grpc, s.http} {
		eventually(t, "no listener on "+addr, func() bool { return refuses(addr) })
	}
	require.NoError(t, stream.SendMsg(newRequest("shop", "client", "ann")))
	require.NoError(t, stream.CloseSend())
	response := new(ratelimitv3.RateLimitResponse)
	require.NoError(t, stream.RecvMsg(response))
	require.Equal(t, ratelimitv3.RateLimitResponse_OK, response.GetOverallCode())

	fmt.Fprint(conn, body)
	reply, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	defer reply.Body.Close()
	require.Equal(t, http.StatusOK, reply.StatusCode)
	s.ends()
}

func refuses(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		conn.Close()
	}
	return err != nil
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		s := serve(t, map[string]string{"shop.yaml": yearly}, map[string]string{"SHUTDOWN_DRAIN_DELAY": "1h"})
		s.signal(syscall.SIGTERM)
		eventually(t, "an unhealthy server", func() bool { return !s.healthy() })
		require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"), "the server must serve while it drains")
		s.signal(second)
		require.Equal(t, 128+int(second), s.code())
	}
}

// number returns the first submatch of a pattern as a number.
func number(t *testing.T, text, pattern string) int {
	t.Helper()
	n, err := strconv.Atoi(submatch(t, text, pattern))
	require.NoError(t, err)
	return n
}
