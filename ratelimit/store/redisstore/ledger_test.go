package redisstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// Instances with connections of their own, one of them with leases, reserve and settle on one key at the same time:
// nothing is charged twice or lost.
func TestReservations(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	limit := ratelimit.Per(1000, ratelimit.Hour)
	limit.Algorithm, limit.Reservations = ratelimit.TokenBucket, true
	var limiters []*ratelimit.Limiter
	for i := range 3 {
		var store ratelimit.Store = open(t, server.Addr, nil)
		if i == 0 {
			leases, err := leasestore.New(store, nil)
			require.NoError(t, err)
			t.Cleanup(func() { _ = leases.Close() })
			store = leases.Store()
		}
		l, err := ratelimit.NewLimiter("tokens", store, limit, nil)
		require.NoError(t, err)
		limiters = append(limiters, l)
	}
	var reserved, used atomic.Int64
	var all sync.WaitGroup
	for _, l := range limiters {
		for range 4 {
			all.Go(func() {
				for range 20 {
					v, err := l.Reserve(t.Context(), "ann", 10, time.Minute)
					if err != nil || !v.Status.Allowed() {
						reserved.Add(-1 << 32)
						return
					}
					reserved.Add(10)
					if _, err := v.Settle(t.Context(), 3); err == nil {
						used.Add(3)
					}
				}
			})
		}
	}
	all.Wait()
	require.EqualValues(t, 2400, reserved.Load(), "what is given back can be reserved again")
	require.EqualValues(t, 720, used.Load())
	s, err := limiters[1].Peek(t.Context(), "ann")
	require.NoError(t, err)
	require.InDelta(t, 280, s.Remaining, 10, "tokens come in the meantime")
	requireExpiries(t, server.Client())

	memory, err := redisstore.New(server.Addr, nil)
	require.NoError(t, err)
	require.NoError(t, memory.Close())
	l, err := ratelimit.NewLimiter("tokens", memory, limit, nil)
	require.NoError(t, err)
	_, err = l.Reserve(t.Context(), "ann", 10, time.Minute)
	require.ErrorIs(t, err, redisstore.ErrClosed)
}
