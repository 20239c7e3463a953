package server_test

import (
	"fmt"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
)

// A flood of invented keys fills the memory: it is reported and logged, clients that were there
// before keep their counts, new ones are served, and so is a rule whose key is configured.
func TestCounterFlood(t *testing.T) {
	t.Parallel()
	const rules = `
domain: d
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 3}
  - key: route
    value: login
    rate_limit: {unit: year, requests_per_unit: 1000000}
`
	r := prepare(t, map[string]string{"d.yaml": rules}, map[string]string{"EMBEDDED_MAX_BYTES": "1048576"}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	call := func(in *ratelimitv3.RateLimitRequest) *ratelimitv3.RateLimitResponse {
		out, err := client.ShouldRateLimit(t.Context(), in)
		require.NoError(t, err)
		return out
	}
	for range 3 {
		call(ask("d", "early"))
	}
	flood, n := &ratelimitv3.RateLimitRequest{Domain: "d"}, 0
	for range 500 {
		flood.Descriptors = append(flood.Descriptors, ask("d", "").GetDescriptors()[0])
	}
	for range 60 {
		for _, d := range flood.GetDescriptors() {
			n++
			d.Entries[0].Value = fmt.Sprint("invented", n)
		}
		call(flood)
	}
	require.Equal(t, ratelimitv3.RateLimitResponse_OVER_LIMIT, call(ask("d", "early")).GetOverallCode())
	require.Equal(t, ratelimitv3.RateLimitResponse_OK, call(ask("d", "late")).GetOverallCode())
	route := &ratelimitv3.RateLimitRequest{Domain: "d", Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "route", Value: "login"}}},
	}}
	require.EqualValues(t, 999_999, call(route).GetStatuses()[0].GetLimitRemaining())

	_, statistics := r.getAt(r.addr.Debug, "/stats?filter=embedded")
	require.Contains(t, statistics, "ratelimit.embedded.counters: ")
	require.NotContains(t, statistics, "ratelimit.embedded.evicted_counters: 0\n")
	require.Contains(t, statistics, "ratelimit.embedded.shared_hits: 0\n")
	r.becomes("it is logged and reported", func() bool {
		components := r.srv.Components()
		return strings.Contains(r.log.String(), "memory for counters is full") &&
			strings.Contains(components[len(components)-1].Reason, "EMBEDDED_WHEN_FULL=evict-fewest")
	})
	code, page := r.getAt(r.addr.Debug, "/healthz")
	require.Equal(t, 200, code)
	require.Contains(t, page, "embedded counters: healthy since")
	require.Contains(t, page, "memory is full")
	require.True(t, r.healthy())
	require.Equal(t, 1, strings.Count(r.log.String(), "memory for counters is full"))
	r.end()
}
