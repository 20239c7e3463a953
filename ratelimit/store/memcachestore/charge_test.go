package memcachestore_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func limiter(t testing.TB, store ratelimit.Store, limit ratelimit.Limit) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.NewLimiter("limit", store, limit, nil)
	require.NoError(t, err)
	return l
}

// TestChargesOfInstances has several instances with several callers each compete for one key: no more than
// the limit may pass, and each hit that passed must be on the node.
func TestChargesOfInstances(t *testing.T) {
	const instances, callers, each, most = 5, 4, 60, 300
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		t.Run(a.String(), func(t *testing.T) {
			_, nodes := start(t, 1, nil)
			limit := ratelimit.Limit{RequestsPerUnit: most, Unit: ratelimit.Year, Algorithm: a}
			var passed, contended atomic.Int64
			var all sync.WaitGroup
			for range instances {
				l := limiter(t, open(t, nil, nodes...), limit)
				for range callers {
					all.Go(func() {
						for range each {
							switch s, err := l.Allow(context.Background(), "key"); {
							case errors.Is(err, memcachestore.ErrContended) && errors.Is(err, ratelimit.ErrOverloaded):
								contended.Add(1)
							case err != nil:
								t.Error(err)
							case s.Allowed():
								passed.Add(1)
							}
						}
					})
				}
			}
			all.Wait()
			require.LessOrEqual(t, passed.Load(), int64(most))
			if made := instances*callers*each - contended.Load(); made >= most {
				require.EqualValues(t, most, passed.Load(), "%d calls failed", contended.Load())
			}
			s, err := limiter(t, open(t, nil, nodes...), limit).AllowN(t.Context(), "key", 0)
			require.NoError(t, err)
			require.EqualValues(t, most-passed.Load(), s.Remaining)
		})
	}
}

// TestSwapsAreBounded has another instance change a state whenever it is written.
func TestSwapsAreBounded(t *testing.T) {
	server, p, store := openProxied(t, nil)
	l := limiter(t, store, ratelimit.Limit{RequestsPerUnit: 9, Unit: ratelimit.Hour, Algorithm: ratelimit.TokenBucket})
	_, err := l.Allow(t.Context(), "key")
	require.NoError(t, err)
	const key = "limit|key|key|token_bucket_hour"
	value := server.Value(key)
	require.NotEmpty(t, value)
	p.intercept(func(line string) {
		if strings.HasPrefix(line, "cas ") {
			server.Set(key, value)
		}
	})
	_, err = l.Allow(t.Context(), "key")
	require.ErrorIs(t, err, memcachestore.ErrContended)
	require.ErrorIs(t, err, ratelimit.ErrOverloaded)
	require.Equal(t, memcachestore.Codes{Conflict: 8}, store.Stats().CompareAndSwap)
	require.Equal(t, value, server.Value(key))
	p.intercept(nil)
	s, err := l.Allow(t.Context(), "key")
	require.NoError(t, err)
	require.EqualValues(t, 7, s.Remaining)
}

// TestCallersShareExchanges delays an exchange: the charges that come meanwhile share the next one.
func TestCallersShareExchanges(t *testing.T) {
	_, p, store := openProxied(t, nil)
	l := limiter(t, store, ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Hour, Algorithm: ratelimit.Concurrency})
	p.hold("add")
	var all sync.WaitGroup
	var passed atomic.Int32
	for i := range 9 {
		all.Go(func() {
			if s, err := l.Allow(t.Context(), "key"); err == nil && s.Allowed() {
				passed.Add(1)
			}
		})
		if i == 0 {
			require.Eventually(t, func() bool { return p.held() == 1 }, timeout, time.Millisecond)
		}
	}
	require.Eventually(t, func() bool { return store.WaitingCharges() == 8 }, timeout, time.Millisecond)
	p.release()
	all.Wait()
	require.EqualValues(t, 5, passed.Load())
	require.EqualValues(t, 1, store.Stats().CompareAndSwap.Success)
}

func TestLifetimesOfStates(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	for name, c := range map[string]struct {
		unit     ratelimit.Unit
		from, to int // seconds
	}{
		"minute": {ratelimit.Minute, 60, 120},
		"year":   {ratelimit.Year, 365 * 86400, 2 * 365 * 86400},
	} {
		l := limiter(t, store, ratelimit.Limit{RequestsPerUnit: 1, Unit: c.unit, Algorithm: ratelimit.SlidingWindow})
		_, err := l.Allow(t.Context(), name)
		require.NoError(t, err)
		reply := servers[0].Do("mg limit|key|" + name + "|sliding_window_" + name + " t")
		left, err := strconv.Atoi(strings.TrimPrefix(reply, "HD t"))
		require.NoError(t, err, reply)
		const about = 30 // the clock of a busy node is late
		require.GreaterOrEqual(t, left, c.from-about, name)
		require.LessOrEqual(t, left, c.to+about, name)
	}
}

func TestNotAState(t *testing.T) {
	servers, nodes := start(t, 1, nil)
	store := open(t, nil, nodes...)
	l := limiter(t, store, ratelimit.Limit{RequestsPerUnit: 9, Unit: ratelimit.Hour, Algorithm: ratelimit.TokenBucket})
	for _, value := range []string{"", "x", "5", "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 x", "1 2 3 4 5 6 7 8 9007199254740993"} {
		servers[0].Set("limit|key|key|token_bucket_hour", value)
		_, err := l.Allow(t.Context(), "key")
		require.ErrorIs(t, err, memcachestore.ErrNotAState, "%q", value)
		require.ErrorContains(t, err, servers[0].Addr)
	}
}

// TestChargesWithFailingNode charges on a node that does not reply.
func TestChargesWithFailingNode(t *testing.T) {
	server, p, store := openProxied(t, &memcachestore.Options{Timeout: 200 * time.Millisecond})
	l := limiter(t, store, ratelimit.Limit{RequestsPerUnit: 9, Unit: ratelimit.Hour, Algorithm: ratelimit.TokenBucket})
	p.hold("gets")
	_, err := l.Allow(t.Context(), "key")
	require.ErrorIs(t, err, memcachestore.ErrTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Allow(ctx, "key")
	require.ErrorIs(t, err, context.Canceled)
	p.release()
	require.NoError(t, store.Close())
	_, err = l.Allow(t.Context(), "key")
	require.ErrorIs(t, err, memcachestore.ErrClosed)
	require.Empty(t, server.Value("limit|key|key|token_bucket_hour"), "a call that nobody waits for charges nothing")
}

// FuzzState checks that only what the store has written is read, and that as it was.
func FuzzState(f *testing.F) {
	for _, value := range []string{"1 2 3 4 5 6 7 8 9", "0 0 0 0 0 0 0 0 0", "-1 0 0 0 0 0 0 0 9007199254740991", "1", "", "1  2 3 4 5 6 7 8 9 "} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		state, err := memcachestore.ParseState([]byte(value))
		if err != nil {
			require.ErrorIs(t, err, memcachestore.ErrNotAState)
			return
		}
		again, err := memcachestore.ParseState(memcachestore.FormatState(state))
		require.NoError(t, err)
		require.Equal(t, state, again)
	})
}
