package redisstore_test

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// Instances with any clocks hold a limit like those with one: at most twice the limit passes in any second,
// and none is refused for longer than others.
func TestInstancesWithWrongClocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	const limit, seconds = 20, 4
	limiters := make(map[ratelimit.Algorithm][]*ratelimit.Limiter)
	algorithms := []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindow, ratelimit.TokenBucket}
	for _, wrong := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour, 7 * time.Hour, 90 * time.Second, -2 * time.Second} {
		store := open(t, server.Addr, &redisstore.Options{Log: slog.New(slog.DiscardHandler)})
		store.WrongBy(wrong)
		require.NoError(t, store.WaitReady(t.Context(), nil))
		for _, a := range algorithms {
			l := ratelimit.Per(limit, ratelimit.Second)
			l.Algorithm = a
			limiter, err := ratelimit.NewLimiter("wrong clocks", store, l, nil)
			require.NoError(t, err)
			limiters[a] = append(limiters[a], limiter)
		}
	}
	var mu sync.Mutex
	passed := make(map[ratelimit.Algorithm][][]time.Time)
	var all sync.WaitGroup
	for a, instances := range limiters {
		passed[a] = make([][]time.Time, len(instances))
	}
	for a, instances := range limiters {
		for i, l := range instances {
			all.Go(func() {
				for began := time.Now(); time.Since(began) < seconds*time.Second; time.Sleep(5 * time.Millisecond) {
					s, err := l.Allow(t.Context(), "key")
					if err == nil && s.Code == ratelimit.OK {
						mu.Lock()
						passed[a][i] = append(passed[a][i], time.Now())
						mu.Unlock()
					}
				}
			})
		}
	}
	all.Wait()
	for a, instances := range passed {
		for i, times := range instances {
			require.NotEmpty(t, times, "%v: instance %d", a, i)
		}
		times := slices.Concat(instances...)
		slices.SortFunc(times, time.Time.Compare)
		require.GreaterOrEqual(t, len(times), (seconds-1)*limit, "%v", a)
		for i := range times {
			if i >= 2*limit {
				require.Greater(t, times[i].Sub(times[i-2*limit]), 900*time.Millisecond, "%v: more than twice the limit in a second", a)
			}
		}
	}
}

// A store follows the clock of its server, or of one server of a cluster, and says so once.
func TestClockOfTheServer(t *testing.T) {
	t.Parallel()
	var log logtest.Log
	opts := &redisstore.Options{Log: log.Logger()}
	near := func(store ratelimit.ClockStore) bool { return time.Since(store.Now()).Abs() < 10*time.Second }

	store := open(t, redistest.Start(t, nil).Addr, opts)
	store.WrongBy(-time.Hour)
	require.False(t, near(store))
	require.Eventually(t, func() bool { return near(store) }, time.Minute, 10*time.Millisecond)
	require.NoError(t, store.WaitReady(t.Context(), nil))
	require.Equal(t, 1, log.Count("ahead_of_server=-"), &log)

	cluster := openCluster(t, redistest.StartCluster(t, 3, false, nil).Addrs(), opts)
	cluster.WrongBy(time.Hour)
	require.NoError(t, cluster.WaitReady(t.Context(), nil))
	require.Eventually(t, func() bool { return near(cluster) }, time.Minute, 10*time.Millisecond)

	// A user who may not ask has the clock of the machine, and so has a program that sets one.
	denied := redistest.Start(t, &redistest.Options{Args: []string{"--rename-command", "TIME", ""}})
	store = open(t, denied.Addr, opts)
	store.WrongBy(time.Hour)
	require.NoError(t, store.WaitReady(t.Context(), nil))
	require.False(t, near(store))
	require.Equal(t, 1, log.Count("own clocks"), &log)
	store = open(t, denied.Addr, &redisstore.Options{Now: func() time.Time { return time.Unix(1, 0) }})
	require.Equal(t, time.Unix(1, 0), store.Now())
}
