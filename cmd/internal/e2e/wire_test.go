//go:build unix

package e2e_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// preface begins every HTTP/2 connection (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// malformedInput generates invalid bytes.
type malformedInput func(*rand.Rand) []byte

func malformedInputs() map[string]malformedInput {
	noise := func(r *rand.Rand, n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	return map[string]malformedInput{
		"noise":             func(r *rand.Rand) []byte { return noise(r, 1+r.IntN(4096)) },
		"preface, noise":    func(r *rand.Rand) []byte { return append([]byte(preface), noise(r, r.IntN(4096))...) },
		"part of a preface": func(r *rand.Rand) []byte { return []byte(preface[:r.IntN(len(preface))]) },
		"frames of noise":   func(r *rand.Rand) []byte { return append([]byte(preface), frames(r, noise)...) },
		"HTTP/1, noise": func(r *rand.Rand) []byte {
			return append([]byte("POST /json HTTP/1.1\r\nHost: x\r\n"), noise(r, 512)...)
		},
		"HTTP/1, no body": func(*rand.Rand) []byte {
			return []byte("POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
		},
		"HTTP/1, bad chunks": func(*rand.Rand) []byte {
			return []byte("POST /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n")
		},
		"HTTP/1, long line": func(*rand.Rand) []byte { return []byte("GET /" + strings.Repeat("a", 1<<20)) },
	}
}

// frames returns a settings frame and then frames with a correct length and random type and content
// (RFC 9113, section 4.1).
func frames(r *rand.Rand, noise func(*rand.Rand, int) []byte) []byte {
	b := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	for range 20 {
		payload := noise(r, r.IntN(200))
		b = append(b, 0, 0, byte(len(payload)), byte(r.IntN(11)), byte(r.Uint32()))
		b = binary.BigEndian.AppendUint32(b, r.Uint32N(8))
		b = append(b, payload...)
	}
	return b
}

// TestMalformedInput sends malformed input to both ports. The server must keep working.
func TestMalformedInput(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, nil)
	for _, addr := range []string{s.grpc, s.http} {
		for name, make := range malformedInputs() {
			r := rand.New(rand.NewPCG(1, 2))
			for range 20 {
				sendRaw(t, addr, make(r))
			}
			require.False(t, refuses(addr), "after %s", name)
		}
	}
	require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"))
	code, _ := httpDo(t, http.MethodPost, "http://"+s.http+"/json", shopJSON("ann"))
	require.Equal(t, http.StatusOK, code)
	s.terminate()
	require.NotContains(t, s.stderr.String(), "panic")
}

// sendRaw sends bytes, closes the sending side, and reads until the server closes the connection.
func sendRaw(t *testing.T, addr string, data []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(timeout)))
	if _, err := conn.Write(data); err == nil { // the server may have closed the connection earlier
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	_, err = io.Copy(io.Discard, conn)
	if e, ok := err.(net.Error); ok {
		require.False(t, e.Timeout(), "the server must close the connection")
	}
}

// TestHeldConnections opens many connections that send little or nothing. The server must still serve
// other clients.
func TestHeldConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, nil)
	starts := map[string][]string{
		s.grpc: {"", "PRI", preface, preface + "\x00\x00"},
		s.http: {"", "G", "POST /json HTTP/1.1\r\nHost:", "POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"},
	}
	for addr, words := range starts {
		for i := range 100 {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, words[i%len(words)])
			require.NoError(t, err)
		}
	}
	for _, want := range []string{"OK", "OK", "OK", "OVER_LIMIT"} {
		require.Equal(t, want, decision(t, s.grpc, "shop", "client=ann"))
	}
	code, _ := httpDo(t, http.MethodPost, "http://"+s.http+"/json", shopJSON("ann"))
	require.Equal(t, http.StatusTooManyRequests, code)
}

// raw is a codec that sends bytes unchanged as a message.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

// TestBrokenMessages sends invalid messages.
func TestBrokenMessages(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, nil)
	conn := dial(t, s.grpc)
	send := func(message []byte) codes.Code {
		return status.Code(conn.Invoke(t.Context(), ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName, message, nil, grpc.ForceCodecV2(raw{})))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		message := make([]byte, r.IntN(300))
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		require.Contains(t, []codes.Code{codes.OK, codes.Internal, codes.InvalidArgument}, send(message), "%x", message)
	}
	require.Equal(t, codes.ResourceExhausted, send(make([]byte, 5<<20)), "a message that is too long")
	for _, body := range []string{strings.Repeat("[", 1<<19), `{"domain":` + strings.Repeat(`{"a":`, 1<<16), "\xff\xfe", "null"} {
		code, _ := httpDo(t, http.MethodPost, "http://"+s.http+"/json", body)
		require.Equal(t, http.StatusBadRequest, code, "%.20q", body)
	}
	code, _ := httpDo(t, http.MethodPost, "http://"+s.http+"/json", strings.Repeat(" ", 5<<20))
	require.Contains(t, []int{0, http.StatusRequestEntityTooLarge}, code, "the server may close the connection early")
	require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"))
	s.terminate()
}
