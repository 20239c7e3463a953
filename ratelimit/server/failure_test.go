package server_test

import (
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/store/redistest"
)

const policies = `domain: d
descriptors:
  - key: client
    rate_limit: {unit: day, requests_per_unit: 2}
  - key: open
    on_store_failure: allow
    rate_limit: {unit: day, requests_per_unit: 1}
`

// A dead store costs the first few calls their timeouts and then nobody anything; limits
// go on in the process, until the store is back.
func TestStoreFailurePolicy(t *testing.T) {
	redis := redistest.Start(t, nil)
	r := prepare(t, map[string]string{"d.yaml": policies}, map[string]string{
		"REDIS_URL": redis.Addr, "REDIS_TIMEOUT": "100ms", "ON_STORE_FAILURE": "local",
		"STORE_BREAKER_FAILURES": "3", "STORE_BREAKER_WAIT": "200ms", "STORE_BREAKER_MAX_WAIT": "200ms",
	}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	code := func(key string) ratelimitv3.RateLimitResponse_Code {
		request := ask("d", "x")
		request.Descriptors[0].Entries[0].Key = key
		out, err := client.ShouldRateLimit(t.Context(), request)
		require.NoError(t, err)
		return out.GetOverallCode()
	}
	const ok, over = ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT
	require.Equal(t, ok, code("client"))
	redis.Freeze()
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ok, ok, over, over} {
		require.Equal(t, want, code("client"), "local call %d: the full limit", i)
	}
	require.EqualValues(t, 1, r.srv.Statistics().Snapshot().Gauges["ratelimit.store_breaker.state"])
	start := time.Now()
	for range 100 {
		require.Equal(t, ok, code("open"))
	}
	require.Less(t, time.Since(start), 5*time.Second, "not a timeout of 100ms for each call")
	require.NotZero(t, r.count("ratelimit.store_breaker.refused"))
	require.EqualValues(t, 104, r.count("ratelimit.service.call.should_rate_limit.redis_error"))
	require.EqualValues(t, 100, r.count("ratelimit.service.store_failure.allow"))
	require.EqualValues(t, 4, r.count("ratelimit.service.store_failure.local"))

	redis.Thaw()
	r.becomes("the store counts again", func() bool {
		code("open")
		return r.srv.Statistics().Snapshot().Gauges["ratelimit.store_breaker.state"] == 0
	})
	r.end()
}
