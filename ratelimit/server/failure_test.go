package server_test

import (
	"maps"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

const policies = `domain: d
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: open
    on_store_failure: allow
    rate_limit: {unit: year, requests_per_unit: 1}
`

const (
	ok   = ratelimitv3.RateLimitResponse_OK
	over = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// outage starts a server with a store that can be frozen and a breaker that opens at the
// third failure.
func outage(t *testing.T, environ map[string]string) (*redistest.Server, *running, func(key, value string) ratelimitv3.RateLimitResponse_Code) {
	t.Helper()
	redis := redistest.Start(t, nil)
	all := map[string]string{
		"REDIS_URL": redis.Addr, "REDIS_TIMEOUT": "100ms", "ON_STORE_FAILURE": "local", "STORE_BREAKER_FAILURES": "3",
	}
	maps.Copy(all, environ)
	r := prepare(t, map[string]string{"d.yaml": policies}, all).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	return redis, r, func(key, value string) ratelimitv3.RateLimitResponse_Code {
		request := ask("d", value)
		request.Descriptors[0].Entries[0].Key = key
		out, err := client.ShouldRateLimit(t.Context(), request)
		require.NoError(t, err)
		return out.GetOverallCode()
	}
}

// When the store hangs, only the first few calls wait for their timeouts, and limits are
// enforced in the process.
func TestStoreFailurePolicy(t *testing.T) {
	redis, r, code := outage(t, map[string]string{"STORE_BREAKER_WAIT": "1h", "STORE_BREAKER_MAX_WAIT": "1h"})
	redis.Freeze()
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ok, ok, over, over} {
		require.Equal(t, want, code("client", "x"), "local call %d: the full limit", i)
	}
	require.EqualValues(t, 1, r.gauge("ratelimit.store_breaker.state"))
	for range 100 {
		require.Equal(t, ok, code("open", "x"))
	}
	require.EqualValues(t, 101, r.count("ratelimit.store_breaker.refused"), "not a timeout for each call")
	require.EqualValues(t, 104, r.count("ratelimit.service.call.should_rate_limit.redis_error"))
	require.EqualValues(t, 100, r.count("ratelimit.service.store_failure.allow"))
	require.EqualValues(t, 4, r.count("ratelimit.service.store_failure.local"))
	r.end()
}

// A store that recovers is used again without a restart.
func TestStoreComesBack(t *testing.T) {
	redis, r, code := outage(t, map[string]string{"STORE_BREAKER_WAIT": "200ms", "STORE_BREAKER_MAX_WAIT": "200ms"})
	redis.Freeze()
	r.becomes("the breaker opens", func() bool {
		code("open", "x")
		return r.gauge("ratelimit.store_breaker.state") != 0
	})
	redis.Thaw()
	r.becomes("the store counts again", func() bool {
		code("open", "x")
		return r.gauge("ratelimit.store_breaker.state") == 0
	})
	r.end()
}
