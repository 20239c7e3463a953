package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// TestExact: two hits pass in any minute. The sliding window of the package allows the third hit, because that is in
// the next minute, of which half has passed.
func TestExact(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	limit := ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute, Algorithm: ratelimit.SlidingWindow}
	opts := &ratelimit.Options{Now: func() time.Time { return now }}
	own, err := ratelimit.NewLimiter("calls", &exact{ChargeStore: memstore.MustNew(nil), hits: map[string][]int64{}}, limit, opts)
	require.NoError(t, err)
	estimate, err := ratelimit.NewLimiter("calls", memstore.MustNew(nil), limit, opts)
	require.NoError(t, err)
	allowed := func(l *ratelimit.Limiter, seconds int64) bool {
		now = time.Unix(seconds, 0)
		status, err := l.Allow(t.Context(), "ann")
		require.NoError(t, err)
		return status.Allowed()
	}
	for _, l := range []*ratelimit.Limiter{own, estimate} {
		require.True(t, allowed(l, 50))
		require.True(t, allowed(l, 55))
	}
	require.True(t, allowed(estimate, 92))
	require.False(t, allowed(own, 92))
	require.True(t, allowed(own, 111))
	require.False(t, allowed(own, 114), "55 and 111")
	require.True(t, allowed(own, 116))
}
