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

// TestFlood sends many new keys, and then new domains. The memory of the server must stay bounded,
// and existing counters must keep their values.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, map[string]string{
		"EMBEDDED_MAX_BYTES": "2000000", "GOGC": "100", // a larger heap would hide growth
	})
	for _, want := range []string{"OK", "OK", "OK", "OVER_LIMIT"} {
		require.Equal(t, want, decision(t, s.grpc, "shop", "client=ann"))
	}
	// Each call sends about 20 KB of new data.
	padding := strings.Repeat("x", 180)
	keys := func(call int) *ratelimitv3.RateLimitRequest {
		values := make([]string, 100)
		for i := range values {
			values[i] = fmt.Sprint(padding, " ", call, " ", i)
		}
		return newRequest("shop", "load", values...)
	}
	domains := func(call int) *ratelimitv3.RateLimitRequest {
		return newRequest(fmt.Sprint(strings.Repeat(padding, 100), call), "client", "ann")
	}
	s.flood(0, 500, keys)
	s.flood(0, 500, domains)
	// The time of a garbage collection is not predictable, but a leak would grow with each flood.
	grown := 0
	for from := 500; from < 4*2500; from += 2500 {
		before := s.memory()
		s.flood(from, from+2500, keys)
		s.flood(from, from+2500, domains)
		grown = s.memory() - before
		t.Logf("%d MB, and %d MB more after another 100 MB of new keys", before>>20, grown>>20)
		if grown < 25<<20 {
			break
		}
	}
	require.Less(t, grown, 25<<20, "growth in bytes")

	require.Equal(t, "OVER_LIMIT", decision(t, s.grpc, "shop", "client=ann"), "the counter from before the flood")
	s.terminate()
}

// flood sends the requests of the numbers from one to another, several at a time.
func (s *server) flood(from, to int, newRequest func(call int) *ratelimitv3.RateLimitRequest) {
	s.t.Helper()
	connection := dial(s.t, s.grpc)
	defer connection.Close() // else memory would grow with the calls of a test
	client := ratelimitv3.NewRateLimitServiceClient(connection)
	const callers = 4
	failures := make([]error, callers)
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for call := from + caller; call < to && failures[caller] == nil; call += callers {
				_, failures[caller] = client.ShouldRateLimit(s.t.Context(), newRequest(call))
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		require.NoError(s.t, err)
	}
}

// memory returns the resident memory of the process in bytes, or 0 without a proc file system.
func (p *process) memory() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return number(p.t, string(text), `VmRSS:\s+(\d+) kB`) << 10
}
