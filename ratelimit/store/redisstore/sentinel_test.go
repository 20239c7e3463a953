package redisstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redistest"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func openSentinel(t *testing.T, s *redistest.Sentinels, opts *redisstore.Options) *redisstore.Store {
	t.Helper()
	store, err := redisstore.NewSentinel(s.Name, s.Addrs, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, store.WaitReady(t.Context(), &redisstore.Backoff{Initial: 10 * time.Millisecond}))
	return store
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, &redistest.Options{Password: "da:ta"}, "watch")
	opts := &redisstore.Options{Auth: ":da:ta", SentinelAuth: "watch", Timeout: 5 * time.Second}
	store := openSentinel(t, s, opts)
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) ratelimit.Store { return store }, contract())
	})

	wrong, err := redisstore.NewSentinel("other", s.Addrs, opts)
	require.NoError(t, err)
	require.ErrorContains(t, wrong.Ping(t.Context()), "watches no master of that name")
	require.NoError(t, wrong.Close())

	s.Processes[0].Kill()
	s.Processes = s.Processes[1:] // two are enough to agree
	t.Run("one sentinel is gone", func(t *testing.T) {
		require.NoError(t, openSentinel(t, s, opts).Ping(t.Context()))
	})
	t.Run("failover", func(t *testing.T) { failover(t, s, store, s.Failover) })
	t.Run("killed", func(t *testing.T) {
		before := s.Master()
		failover(t, s, store, func() {
			before.Kill()
			s.WaitForOther(before.Addr)
		})
	})
}

// failover has callers count while the master changes. Those that fail in between may
// have been counted or not; a write that the old master acknowledged last may be lost,
// for it is copied after that. Nothing may be counted twice.
func failover(t *testing.T, s *redistest.Sentinels, store *redisstore.Store, change func()) {
	h := hit(name(), 1)
	var tried, counted atomic.Int64
	stop, changed := make(chan struct{}), make(chan struct{})
	after := make(chan struct{}, 1)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				tried.Add(1)
				if store.Add(context.Background(), []ratelimit.Hit{h}) != nil {
					continue
				}
				counted.Add(1)
				select {
				case <-changed:
					select {
					case after <- struct{}{}:
					default:
					}
				default:
				}
			}
		})
	}
	change()
	close(changed)
	select {
	case <-after:
	case <-time.After(forever):
		t.Error("no call has got through after the failover")
	}
	close(stop)
	all.Wait()
	got := add(t, store, hit("reached", 1))
	require.NotZero(t, got)
	value, err := s.Master().Client().Get(t.Context(), string(h.Key)).Int64()
	require.NoError(t, err, "calls go to the new master")
	require.LessOrEqual(t, value, tried.Load(), "no hit is counted twice")
	require.Positive(t, counted.Load())
	mortal(t, s.Master().Client())
}
