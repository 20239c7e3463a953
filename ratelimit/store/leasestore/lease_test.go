package leasestore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

const (
	ahead   = 500 * time.Millisecond
	latency = time.Millisecond
)

// remote is a store behind a network. err, if set, is returned by all calls.
type remote struct {
	*memstore.Store
	calls, subtracted atomic.Int64
	err               atomic.Pointer[error]
}

func must(l *leasestore.Leases, err error) *leasestore.Leases {
	if err != nil {
		panic(err)
	}
	return l
}

func newRemote() *remote { return &remote{Store: memstore.MustNew(nil)} }

func (r *remote) call(ctx context.Context, hits []ratelimit.Hit, method func(context.Context, []ratelimit.Hit) error) error {
	if len(hits) == 0 {
		return nil
	}
	r.calls.Add(1)
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.err.Load(); err != nil {
		return *err
	}
	return method(ctx, hits)
}

func (r *remote) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return r.call(ctx, hits, r.Store.Add)
}

func (r *remote) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return r.call(ctx, hits, r.Store.AddUnlessOver)
}

func (r *remote) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	for _, h := range hits {
		r.subtracted.Add(int64(h.N))
	}
	return r.call(ctx, hits, r.Store.Subtract)
}

// count returns the counter's value in the store.
func (r *remote) count(h ratelimit.Hit) uint64 {
	h.N = 0
	hits := []ratelimit.Hit{h}
	_ = r.Store.Add(context.Background(), hits)
	return hits[0].Count
}

// leasedHit returns a hit on a key in this year.
func leasedHit(key string, n uint64, limit uint32) ratelimit.Hit {
	window := ratelimit.Year.Window(time.Now().Unix())
	return ratelimit.Hit{Key: fmt.Appendf(nil, "%s_%d", key, window), N: n, Limit: limit, Unit: ratelimit.Year, Window: window, Lease: true}
}

// add counts hits and returns the count of the first.
func add(t testing.TB, l *leasestore.Leases, hits ...ratelimit.Hit) uint64 {
	t.Helper()
	require.NoError(t, l.Store().Add(t.Context(), hits))
	return hits[0].Count
}

// warm makes enough calls that there is a lease of some hits.
func warm(t testing.TB, l *leasestore.Leases, h ratelimit.Hit) (hits uint64) {
	t.Helper()
	for l.Stats().Held < 10 {
		add(t, l, h)
		hits++
		require.Less(t, hits, uint64(h.Limit), "no lease")
	}
	return hits
}

// Eight instances on one hot key with 1,000,000 hits a minute, which want more: they make at most
// one call for 100 decisions, and admit 99.5 to 100 % of the limit.
func TestHotKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const instances = 8
		limit, least := 1_000_000, 995
		if testing.Short() {
			limit, least = limit/10, 970 // what instances that have ended hold is a larger part
		}
		each := limit * 15 / 100
		store := newRemote()
		var admitted atomic.Int64
		var all sync.WaitGroup
		var leases [instances]*leasestore.Leases
		for i := range leases {
			leases[i] = must(leasestore.New(store, nil))
			for range 4 { // callers
				all.Go(func() {
					for n := range each / 4 {
						if add(t, leases[i], leasedHit("hot", 1, uint32(limit))) <= uint64(limit) {
							admitted.Add(1)
						}
						if n%100 == 0 {
							time.Sleep(time.Duration(1+i) * time.Millisecond) // some want more than others
						}
					}
				})
			}
		}
		all.Wait()
		t.Logf("%d calls of the store for %d decisions, %d admitted", store.calls.Load(), instances*each, admitted.Load())
		require.LessOrEqual(t, store.calls.Load(), int64(instances*each/100), "calls of the store")
		require.LessOrEqual(t, admitted.Load(), int64(limit))
		require.GreaterOrEqual(t, admitted.Load(), int64(limit*least/1000))
		for _, l := range leases {
			require.NoError(t, l.Close())
		}
		require.GreaterOrEqual(t, store.count(leasedHit("hot", 0, uint32(limit))), uint64(admitted.Load()))
	})
}

// Counts are those of the hits in the order in which they are decided, with a lease or without.
func TestCounts(t *testing.T) {
	l := must(leasestore.New(memstore.MustNew(nil), nil))
	defer func() { require.NoError(t, l.Close()) }()
	for want := range uint64(3000) {
		require.Equal(t, min(want, 2000)+1, min(add(t, l, leasedHit("k", 1, 2000)), 2001))
	}
	require.Equal(t, uint64(2000), add(t, l, leasedHit("k", 0, 2000)), "a hit that reads")
	require.Positive(t, l.Stats().Claims)
}

// A key that comes once, seldom, or without a lease costs one call for each hit, and nothing is
// left of it.
func TestColdKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := must(leasestore.New(store, nil))
		calls := int64(0)
		for i := range 100 {
			add(t, l, leasedHit(fmt.Sprint(i), 1, 1000))
			add(t, l, leasedHit("seldom", 1, 1000))
			unleased := leasedHit("unleased", 1, 1000)
			unleased.Lease = false
			add(t, l, unleased)
			calls += 3
			time.Sleep(40 * time.Millisecond)
		}
		require.Equal(t, calls, store.calls.Load())
		require.Zero(t, l.Stats())
	})
}

// What is not in demand is given back, so that others can use it, and no timer stays.
func TestIdleLeaseIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := must(leasestore.New(store, nil))
		h := leasedHit("k", 1, 100_000)
		used := warm(t, l, h)
		require.Greater(t, store.count(h), used)
		time.Sleep(ahead + latency)
		require.Equal(t, used, store.count(h))
		require.Zero(t, l.Stats().Held)
		require.Zero(t, l.Stats().Keys)
		calls := store.calls.Load()
		time.Sleep(time.Hour)
		require.Equal(t, calls, store.calls.Load(), "a timer runs for nothing")
		require.Equal(t, used+1, add(t, l, h))
	})
}

// A part of a lease that is given back does not show in the counts.
func TestPartIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := must(leasestore.New(store, nil))
		h := leasedHit("k", 1, 100_000)
		used := uint64(0)
		for ; l.Stats().Held < 1000; used++ {
			add(t, l, h)
		}
		for range 100 { // less demand
			used++
			require.Equal(t, used, add(t, l, h))
			time.Sleep(ahead / 50)
		}
		require.Positive(t, store.subtracted.Load())
		require.Positive(t, l.Stats().Held)
		require.NoError(t, l.Close())
		require.Equal(t, used, store.count(h))
	})
}

// A full window is not asked about for each hit, and found to be not full any more.
func TestFullWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		one, other := must(leasestore.New(store, nil)), must(leasestore.New(store, nil))
		h := leasedHit("k", 1, 400)
		warm(t, one, h)
		held := one.Stats().Held
		require.Positive(t, held)
		for add(t, other, h) <= 400 {
		}
		calls := store.calls.Load()
		for range 1000 {
			require.Greater(t, add(t, other, h), uint64(400))
		}
		require.Equal(t, calls, store.calls.Load())
		time.Sleep(ahead) // one gives back
		for range held {
			require.LessOrEqual(t, add(t, other, h), uint64(400))
		}
		require.Greater(t, add(t, other, h), uint64(400))
		require.NoError(t, one.Close())
		require.NoError(t, other.Close())
		require.Equal(t, uint64(400), store.count(h), "hits that were refused are not counted")
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := must(leasestore.New(store, nil))
		h := leasedHit("k", 1, 100_000)
		used := warm(t, l, h)
		require.NoError(t, l.Close())
		require.Equal(t, used, store.count(h))
		require.NoError(t, l.Close())
		for range 100 {
			used++
			require.Equal(t, used, add(t, l, h))
		}
		require.Equal(t, used, store.count(h))

		l = must(leasestore.New(store, nil))
		warm(t, l, h)
		held := l.Stats().Held
		store.err.Store(&errLink)
		require.ErrorIs(t, l.Close(), errLink)
		require.Equal(t, held, l.Stats().Lost)
	})
}

// A refund gives the lease back too, so that the count is exact.
func TestRefund(t *testing.T) {
	l := must(leasestore.New(memstore.MustNew(nil), nil))
	defer func() { require.NoError(t, l.Close()) }()
	h := leasedHit("k", 1, 100_000)
	used := warm(t, l, h)
	hits := []ratelimit.Hit{leasedHit("k", 5, 100_000), leasedHit("k", 0, 100_000)}
	require.NoError(t, l.Store().(ratelimit.SubtractStore).Subtract(t.Context(), hits))
	require.Equal(t, used-5, hits[0].Count)
	require.Equal(t, used-5, hits[1].Count)
	require.Zero(t, l.Stats().Held)
	require.Equal(t, used-4, add(t, l, h))

	small := leasedHit("small", 1, 3)
	for range 100 {
		add(t, l, small)
	}
	hits[0] = leasedHit("small", 1, 3)
	require.NoError(t, l.Store().(ratelimit.SubtractStore).Subtract(t.Context(), hits[:1]))
	require.Equal(t, uint64(3), add(t, l, small), "a refund to a full window")
}

// A lease is for one limit: after a change it is not used.
func TestLimitChanges(t *testing.T) {
	l := must(leasestore.New(memstore.MustNew(nil), nil))
	defer func() { require.NoError(t, l.Close()) }()
	used := warm(t, l, leasedHit("k", 1, 100_000))
	require.Greater(t, add(t, l, leasedHit("k", 1, uint32(used))), used)
	require.Equal(t, used+1, add(t, l, leasedHit("k", 1, 100_000)))
}

// A caller that gives up does not lose the claim that it has begun, and one that waits for it
// returns at once.
func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := must(leasestore.New(store, nil))
		h := leasedHit("k", 1, 100_000)
		warm(t, l, h)
		for l.Stats().Held > 0 {
			add(t, l, h)
		}
		gone := errors.New("the client has gone")
		ctx, cancel := context.WithTimeoutCause(t.Context(), latency/2, gone)
		defer cancel()
		began := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				require.ErrorIs(t, l.Store().Add(ctx, []ratelimit.Hit{h}), gone)
			})
		}
		both.Wait()
		require.Equal(t, latency/2, time.Since(began))
		time.Sleep(latency)
		require.Positive(t, l.Stats().Held)
		require.Zero(t, l.Stats().Lost)
		require.NoError(t, l.Close())
	})
}

// While the store fails, leases are used up, and callers that need a claim get the error.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := must(leasestore.New(store, nil))
		h := leasedHit("k", 1, 100_000)
		warm(t, l, h)
		store.err.Store(&errLink)
		for range l.Stats().Held {
			add(t, l, h)
		}
		var all sync.WaitGroup
		began := time.Now()
		for range 10 {
			all.Go(func() { require.ErrorIs(t, l.Store().Add(t.Context(), []ratelimit.Hit{h}), errLink) })
		}
		all.Wait()
		require.Equal(t, latency, time.Since(began), "callers wait for one call")
		require.Positive(t, l.Stats().Lost)
		store.err.Store(nil)
		add(t, l, h)
		require.NoError(t, l.Close())
	})
}

// panicking is a store that panics when it adds many hits.
type panicking struct{ ratelimit.Store }

func (p panicking) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if hits[0].N > 1 {
		panic("many hits")
	}
	return p.Store.Add(ctx, hits)
}

func TestStorePanics(t *testing.T) {
	l := must(leasestore.New(panicking{memstore.MustNew(nil)}, nil))
	var err error
	for range 100 {
		err = errors.Join(err, l.Store().Add(t.Context(), []ratelimit.Hit{leasedHit("k", 1, 100_000)}))
	}
	require.ErrorContains(t, err, "many hits")
	require.NoError(t, l.Close())
}

// Without a way to give back claims stay small.
func TestStoreCannotSubtract(t *testing.T) {
	var most [2]uint64
	for i, store := range []ratelimit.Store{newRemote(), plain{newRemote()}} {
		synctest.Test(t, func(t *testing.T) {
			l := must(leasestore.New(store, &leasestore.Options{MaxKeys: 8})) // Stats is faster then
			for range 10_000 {
				add(t, l, leasedHit("k", 1, 20_000))
				most[i] = max(most[i], l.Stats().Held)
			}
			time.Sleep(time.Minute)
			_ = l.Close()
		})
	}
	require.Greater(t, most[0], uint64(500))
	require.Less(t, most[1], most[0]/8)
	require.Positive(t, most[1])
}

// A request that is over one limit takes nothing from the lease of another.
func TestAddUnlessOver(t *testing.T) {
	l := must(leasestore.New(memstore.MustNew(nil), nil))
	defer func() { require.NoError(t, l.Close()) }()
	store := l.Store().(ratelimit.ConditionalStore)
	ask := func(keys ...string) []uint64 {
		var hits []ratelimit.Hit
		for _, k := range keys {
			h := leasedHit(k, 1, 1_000_000)
			if k == "small" || k == "unleased" {
				h.Limit, h.Lease = 30, k == "small"
			}
			hits = append(hits, h)
		}
		require.NoError(t, store.AddUnlessOver(t.Context(), hits))
		var counts []uint64
		for _, h := range hits {
			counts = append(counts, h.Count)
		}
		return counts
	}
	for i := range uint64(30) {
		require.Equal(t, []uint64{3*i + 1, i + 1, i + 1}, ask("hot", "small", "unleased"))
		require.Equal(t, []uint64{3*i + 2}, ask("hot"))
		require.Equal(t, []uint64{3*i + 3, 2*i + 1}, ask("hot", "other"))
		require.Equal(t, []uint64{2*i + 2}, ask("other"))
	}
	require.Positive(t, l.Stats().Held)
	for i := range uint64(10) {
		counts := ask("hot", "small", "other")
		require.Greater(t, counts[1], uint64(30))
		require.Equal(t, []uint64{90, 60}, []uint64{counts[0], counts[2]})
		require.Equal(t, []uint64{90, 31 + i}, ask("hot", "unleased"))
	}
	require.Equal(t, []uint64{91}, ask("hot"))
}

// A decision by a lease allocates nothing.
func TestAllocations(t *testing.T) {
	l := must(leasestore.New(memstore.MustNew(nil), &leasestore.Options{Ahead: time.Hour, MaxKeys: 8}))
	defer func() { require.NoError(t, l.Close()) }()
	hits := []ratelimit.Hit{leasedHit("k", 1, 1<<32-1)}
	for l.Stats().Held < 100_000 {
		_ = l.Store().Add(t.Context(), hits)
	}
	ctx, store := t.Context(), l.Store()
	require.Zero(t, testing.AllocsPerRun(1000, func() { _ = store.Add(ctx, hits) }))
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []leasestore.Options{{MaxKeys: -1}, {MaxKeys: 1 << 25}, {Ahead: -1}, {Ahead: 2 * time.Hour}} {
		_, err := leasestore.New(memstore.MustNew(nil), &o)
		require.Error(t, err, "%+v", o)
	}
	_, err := leasestore.New(nil, nil)
	require.Error(t, err)
}
