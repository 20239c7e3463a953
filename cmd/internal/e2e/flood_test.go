//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
)

// TestFlood has clients invent keys, and then domains, many times what the server may
// take for them. What was counted before is not forgotten.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, map[string]string{
		"EMBEDDED_MAX_BYTES": "2000000", "GOGC": "100", // without the room for garbage, which would hide it
	})
	for _, want := range []string{"OK", "OK", "OK", "OVER_LIMIT"} {
		require.Equal(t, want, decision(t, s.grpc, "shop", "client=ann"))
	}
	// Of a call of each kind the server is sent some 20 KB, which are different each time.
	padding := strings.Repeat("x", 180)
	keys := func(call int) *ratelimitv3.RateLimitRequest {
		values := make([]string, 100)
		for i := range values {
			values[i] = fmt.Sprint(padding, " ", call, " ", i)
		}
		return question("shop", "load", values...)
	}
	domains := func(call int) *ratelimitv3.RateLimitRequest {
		return question(fmt.Sprint(strings.Repeat(padding, 100), call), "client", "ann")
	}
	s.flood(0, 500, keys)
	s.flood(0, 500, domains)
	// When garbage is collected is nobody's promise. What is kept grows with each flood.
	grown := 0
	for from := 500; from < 4*2500; from += 2500 {
		before := s.memory()
		s.flood(from, from+2500, keys)
		s.flood(from, from+2500, domains)
		grown = s.memory() - before
		t.Logf("%d MB, and %d MB more after another 100 MB of inventions", before>>20, grown>>20)
		if grown < 25<<20 {
			break
		}
	}
	require.Less(t, grown, 25<<20, "bytes, again and again")

	require.Equal(t, "OVER_LIMIT", decision(t, s.grpc, "shop", "client=ann"), "from before the flood")
	s.terminate()
}

// flood asks the questions from one number to another, several at a time.
func (s *server) flood(from, to int, question func(call int) *ratelimitv3.RateLimitRequest) {
	s.t.Helper()
	client := ratelimitv3.NewRateLimitServiceClient(dial(s.t, s.grpc))
	const callers = 4
	failures := make([]error, callers)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for call := from + caller; call < to && failures[caller] == nil; call += callers {
				_, failures[caller] = client.ShouldRateLimit(s.t.Context(), question(call))
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		require.NoError(s.t, err)
	}
}

// memory is what the process has resident, in bytes; always 0 where there is no
// proc file system, and only the decisions are checked.
func (s *server) memory() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return number(s.t, string(text), `VmRSS:\s+(\d+) kB`) << 10
}
