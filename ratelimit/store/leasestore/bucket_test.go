package leasestore_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func (r *remote) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	r.calls.Add(1)
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.err.Load(); err != nil {
		return *err
	}
	return r.Store.Charge(ctx, charges)
}

// bucketOf returns a token bucket with a lease.
func bucketOf(rate uint32, unit ratelimit.Unit, burst uint32) ratelimit.Limit {
	return ratelimit.Limit{RequestsPerUnit: rate, Unit: unit, Algorithm: ratelimit.TokenBucket, Burst: burst, Lease: true}
}

// charger is an instance that asks for tokens of one bucket.
type charger struct {
	*ratelimit.Engine
	leases *leasestore.Leases
}

func newCharger(t testing.TB, store ratelimit.Store, limit ratelimit.Limit, opts *ratelimit.Options) *charger {
	l := must(leasestore.New(store, &leasestore.Options{MaxKeys: 8})) // Stats is faster then
	i := &charger{ratelimit.MustNew(l.Store(), opts), l}
	i.use(t, limit)
	return i
}

func (i *charger) use(t testing.TB, limit ratelimit.Limit) {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{{Key: "k", Limit: &limit}}}}, nil)
	require.NoError(t, err)
	require.Empty(t, rules.Warnings())
	i.Use(rules)
}

// decide asks for n tokens, or gives them back.
func (i *charger) decide(ctx context.Context, n uint64, back bool) (ratelimit.Status, error) {
	d, err := i.Decide(ctx, &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "k", Value: "v"}}, HitsAddend: &n, Refund: back},
	}})
	if err != nil {
		return ratelimit.Status{}, err
	}
	return d.Statuses[0], nil
}

// charge is decide without failures. It reports whether the hits passed, and how many more would.
func (i *charger) charge(t testing.TB, n uint64) (bool, uint32) {
	s, err := i.decide(t.Context(), n, false)
	if err != nil {
		t.Fatal(err) // require would take most of the time
	}
	return s.Allowed(), s.Remaining
}

// Eight instances on one bucket of 1,000,000 tokens a minute make at most one call for 100
// decisions. If they want more, they admit 99.5 to 100 % of the burst and the rate; if they want
// half of it, they refuse nothing.
func TestHotBucket(t *testing.T) {
	for name, c := range map[string]struct{ burst, percent, calls int }{
		"more, small bucket": {20_000, 150, 100}, "less": {0, 50, 100}, "less, small bucket": {20_000, 50, 40},
	} {
		synctest.Test(t, func(t *testing.T) {
			const instances, callers = 8, 4
			limit := bucketOf(1_000_000, ratelimit.Minute, uint32(c.burst))
			all, step, duration, least := int(limit.RequestsPerUnit), 10*time.Millisecond, time.Minute, 995
			if testing.Short() {
				duration, least, c.calls = duration/10, 960, c.calls/2 // what instances hold at the end is a larger part
			}
			each := all / 6000 * c.percent / 100
			store := newRemote()
			var admitted, asked atomic.Int64
			var group sync.WaitGroup
			for i := range instances {
				instance := newCharger(t, store, limit, nil)
				for j := range callers {
					group.Go(func() {
						time.Sleep(time.Duration(i*callers+j) * step / 40)
						debt := 0
						for range duration / step {
							for debt += each; debt >= instances*callers; debt -= instances * callers {
								asked.Add(1)
								if passed, _ := instance.charge(t, 1); passed {
									admitted.Add(1)
								}
							}
							time.Sleep(step)
						}
					})
				}
			}
			began := time.Now()
			group.Wait()
			t.Logf("%s: %d calls of the store for %d decisions, %d admitted", name, store.calls.Load(), asked.Load(), admitted.Load())
			require.LessOrEqual(t, store.calls.Load(), asked.Load()/int64(c.calls), name)
			if c.percent < 100 {
				require.Equal(t, asked.Load(), admitted.Load(), name)
				return
			}
			most := int(max(limit.Burst, limit.RequestsPerUnit))
			if c.burst > 0 {
				most = int(limit.Burst)
			}
			require.LessOrEqual(t, int(admitted.Load()), most+int(float64(all)*time.Since(began).Minutes()), name)
			require.GreaterOrEqual(t, int(admitted.Load()), (most+int(float64(all)*duration.Minutes()))*least/1000, name)
		})
	}
}

// Instances whose demand is half of the rate on average refuse nothing while it comes in groups of up to a
// quarter of the bucket, and one that is alone never holds on to tokens that others want.
func TestBucketBelowLimit(t *testing.T) {
	for seed := range scaletest.Seeds(t, 5, 20) {
		random := rand.New(rand.NewPCG(seed, 0))
		now := time.Unix(1_700_000_000, 0)
		clock := &ratelimit.Options{Now: func() time.Time { return now }}
		store := memstore.MustNew(&memstore.Options{Now: clock.Now})
		limit := bucketOf(uint32(100+random.IntN(20_000)), ratelimit.Second, uint32(100+random.IntN(20_000)))
		var instances []*charger
		for range 1 + random.IntN(16) {
			instances = append(instances, newCharger(t, store, limit, clock))
		}
		group := 1 + random.IntN(int(limit.Burst)/4)
		for range 30_000 / group {
			i := instances[random.IntN(len(instances))]
			for range group {
				if passed, _ := i.charge(t, 1); !passed {
					t.Fatalf("seed %d: refused with %d instances, groups of %d hits, %+v", seed, len(instances), group, limit)
				}
			}
			now = now.Add(2 * time.Second * time.Duration(group) / time.Duration(limit.RequestsPerUnit))
		}
	}
}

// An instance that gives hits back moves its claims with them: after quiet times of any length, and beside
// one without leases, it admits nothing that an exact bucket would not.
func TestBucketBack(t *testing.T) {
	for seed := range scaletest.Seeds(t, 5, 20) {
		random := rand.New(rand.NewPCG(seed, 0))
		now := time.Unix(1_700_000_000, 0)
		clock := &ratelimit.Options{Now: func() time.Time { return now }}
		store := memstore.MustNew(&memstore.Options{Now: clock.Now})
		limit := bucketOf(1000, ratelimit.Second, 500)
		plainLimit := limit
		plainLimit.Lease = false
		i, plain := newCharger(t, store, limit, clock), newCharger(t, store, plainLimit, clock)
		exact := newCharger(t, memstore.MustNew(&memstore.Options{Now: clock.Now}), plainLimit, clock)
		for range 100 {
			for range random.IntN(200) {
				now = now.Add(time.Duration(random.IntN(200)) * time.Microsecond)
				who := i
				if random.IntN(8) == 0 {
					who = plain
				}
				if passed, _ := who.charge(t, 1); passed {
					if passed, _ = exact.charge(t, 1); !passed {
						t.Fatalf("seed %d: admitted too much", seed)
					}
				}
			}
			n := 1 + random.Uint64N(100)
			for _, e := range []*charger{i, exact} {
				_, err := e.decide(t.Context(), n, true)
				require.NoError(t, err)
			}
			now = now.Add(time.Duration(random.IntN(20_000)) * time.Microsecond)
			for passed := true; passed; {
				if passed, _ = plain.charge(t, 1); passed {
					if passed, _ = exact.charge(t, 1); !passed {
						t.Fatalf("seed %d: admitted too much", seed)
					}
				}
			}
		}
	}
}

// Keys that come in turn do not replace each other while there is room.
func TestBucketsOfFewKeys(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := &ratelimit.Options{Now: func() time.Time { return now }}
	for range 50 { // hashes differ
		i := newCharger(t, memstore.MustNew(&memstore.Options{Now: clock.Now}), bucketOf(1_000_000, ratelimit.Second, 0), clock)
		q, most := &ratelimit.Request{Domain: "d", Descriptors: make([]ratelimit.Descriptor, 1)}, 0
		for n := range 1000 {
			q.Descriptors[0].Entries = []ratelimit.Entry{{Key: "k", Value: []string{"a", "b", "c"}[n%3]}}
			_, err := i.Decide(t.Context(), q)
			require.NoError(t, err)
			now = now.Add(10 * time.Microsecond)
			most = max(most, i.leases.Stats().Keys)
		}
		require.Equal(t, 3, most, "keys with claims at the same time")
	}
}

// Buckets of keys that are not in use any more make room, also after the clock is set back.
func TestBucketsAfterClockIsSetBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := &ratelimit.Options{Now: func() time.Time { return now }}
	i := newCharger(t, memstore.MustNew(&memstore.Options{Now: clock.Now}), bucketOf(1_000_000, ratelimit.Second, 0), clock)
	q := &ratelimit.Request{Domain: "d", Descriptors: make([]ratelimit.Descriptor, 1)}
	claims := func(keys ...string) uint64 {
		before := i.leases.Stats().Claims
		for n := range 1000 * len(keys) {
			q.Descriptors[0].Entries = []ratelimit.Entry{{Key: "k", Value: keys[n%len(keys)]}}
			_, err := i.Decide(t.Context(), q)
			require.NoError(t, err)
			now = now.Add(10 * time.Microsecond)
		}
		return i.leases.Stats().Claims - before
	}
	require.NotZero(t, claims("a", "b", "c", "d", "e", "f", "g", "h"))
	now = now.Add(-time.Hour)
	require.NotZero(t, claims("new"), "a key that was not known before the clock was set back")
}

// A key with few hits, a limit that changes, hits that are given back, reads, and a clock that is set back.
func TestBucketState(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := &ratelimit.Options{Now: func() time.Time { return now }}
	store := newRemote()
	synctest.Test(t, func(t *testing.T) {
		i := newCharger(t, store, bucketOf(1000, ratelimit.Second, 500), clock)
		store.calls.Store(0) // one asked for the algorithm
		for range 100 {
			passed, remaining := i.charge(t, 1)
			require.True(t, passed)
			require.EqualValues(t, 499, remaining)
			now = now.Add(100 * time.Millisecond)
		}
		require.EqualValues(t, 100, store.calls.Load(), "a key that comes seldom is asked for each time")

		for n := range uint32(300) {
			passed, remaining := i.charge(t, 1)
			require.True(t, passed)
			require.Equal(t, 499-n, remaining, "what is claimed is not used")
		}
		require.Less(t, store.calls.Load(), int64(150))
		held := i.leases.Stats()
		require.Positive(t, held.Held)
		require.Equal(t, 1, held.Keys)
		require.Positive(t, held.Claims)
		_, remaining := i.charge(t, 0)
		require.EqualValues(t, 200, remaining)
		_, err := i.decide(t.Context(), 50, true)
		require.NoError(t, err)
		_, remaining = i.charge(t, 1)
		require.EqualValues(t, 249, remaining)

		calls := store.calls.Load()
		now = now.Add(-time.Millisecond)
		i.charge(t, 1)
		require.Equal(t, calls+1, store.calls.Load(), "nothing is used before it was claimed")

		i.use(t, bucketOf(10, ratelimit.Second, 10))
		now = now.Add(time.Minute)
		for n := range 30 {
			passed, _ := i.charge(t, 1)
			require.Equal(t, n < 10, passed, "the limit was changed")
		}
		require.NoError(t, i.leases.Close())
		require.Zero(t, i.leases.Stats().Lost)
	})
}

// Many callers wait for one claim, also one that fails, and give up when their context ends.
func TestBucketCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		stopped := time.Now()
		i := newCharger(t, store, bucketOf(1_000_000, ratelimit.Second, 0), &ratelimit.Options{Now: func() time.Time { return stopped }})
		use := func() {
			for i.leases.Stats().Held < 200 {
				i.charge(t, 1)
			}
			for i.leases.Stats().Held > 0 {
				i.charge(t, 1)
			}
			store.calls.Store(0)
		}
		together := func(ctx context.Context) (failed int64) {
			var all sync.WaitGroup
			var failures atomic.Int64
			for range 20 {
				all.Go(func() {
					if _, err := i.decide(ctx, 1, false); err != nil {
						failures.Add(1)
					}
				})
			}
			all.Wait()
			return failures.Load()
		}
		use()
		require.Zero(t, together(t.Context()))
		require.EqualValues(t, 1, store.calls.Load())

		use()
		ctx, cancel := context.WithTimeout(t.Context(), latency/2)
		defer cancel()
		began := time.Now()
		require.EqualValues(t, 20, together(ctx))
		require.Equal(t, latency/2, time.Since(began))

		use()
		store.err.Store(&errLink)
		require.EqualValues(t, 20, together(t.Context()))
		require.Positive(t, i.leases.Stats().Lost)
		store.err.Store(nil)
		require.Zero(t, together(t.Context()))
		require.NoError(t, i.leases.Close())
		store.calls.Store(0)
		require.Zero(t, together(t.Context()))
		require.EqualValues(t, 20, store.calls.Load(), "after Close there are no leases")
	})
}

// A decision by a lease, and a refusal, allocate nothing.
func TestBucketAllocations(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := &ratelimit.Options{Now: func() time.Time { return now }}
	for _, refused := range []bool{false, true} {
		i := newCharger(t, memstore.MustNew(&memstore.Options{Now: clock.Now}), bucketOf(1_000_000, ratelimit.Minute, 100_000), clock)
		for passed := true; passed && (refused || i.leases.Stats().Held < 10_000); {
			passed, _ = i.charge(t, 1)
		}
		n := uint64(1)
		r := &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "k", Value: "v"}}, HitsAddend: &n}}}
		var d ratelimit.Decision
		require.Zero(t, testing.AllocsPerRun(1000, func() { _ = i.DecideInto(t.Context(), r, &d) }))
		require.Equal(t, refused, d.Code == ratelimit.OverLimit)
	}
}
