package modeltest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// clockStores opens every store. A store on servers is opened twice, for two instances.
func clockStores(t *testing.T, test func(t *testing.T, stores [2]ratelimit.Store)) {
	t.Run("memory", func(t *testing.T) {
		store := memstore.MustNew(nil)
		test(t, [2]ratelimit.Store{store, store})
	})
	t.Run("redis", func(t *testing.T) {
		addr := redistest.Start(t, nil).Addr
		test(t, [2]ratelimit.Store{openRedis(t, addr), openRedis(t, addr)})
	})
	t.Run("leases", func(t *testing.T) {
		addr := redistest.Start(t, nil).Addr
		var stores [2]ratelimit.Store
		for i := range stores {
			l, err := leasestore.New(openRedis(t, addr), &leasestore.Options{All: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			stores[i] = l.Store()
		}
		test(t, stores)
	})
	t.Run("memcached", func(t *testing.T) {
		nodes := []string{memcachetest.Start(t, nil).Addr}
		var stores [2]ratelimit.Store
		for i := range stores {
			s, err := memcachestore.New(nodes, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			stores[i] = s
		}
		test(t, stores)
	})
}

func openRedis(t *testing.T, addr string) *redisstore.Store {
	s, err := redisstore.New(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// clockTest has two instances with clocks of their own on one key. The right time is that of the test, which
// passes faster than real time: stores with an expiry of their own drop nothing meanwhile.
type clockTest struct {
	now      int64    // the right time, in Unix microseconds
	offset   [2]int64 // of the clocks
	limiters [2]*ratelimit.Limiter
	length   int64 // of a window, or the time in which a bucket fills
	most     int64
	passed   map[int64][]pass // by the offset of the clock
}

type pass struct{ at, n int64 }

func newClockTest(t *testing.T, stores [2]ratelimit.Store, limit ratelimit.Limit, name string) *clockTest {
	c := &clockTest{
		now: time.Now().UnixMicro(), most: int64(limit.RequestsPerUnit), passed: make(map[int64][]pass),
		length: limit.Unit.Seconds() * int64(max(limit.UnitMultiplier, 1)) * 1e6,
	}
	for i, store := range stores {
		var err error
		c.limiters[i], err = ratelimit.NewLimiter(name, store, limit, &ratelimit.Options{
			Now: func() time.Time { return time.UnixMicro(c.now + c.offset[i]) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// allow has an instance decide n hits.
func (c *clockTest) allow(t *testing.T, i int, n int64) bool {
	s, err := c.limiters[i].AllowN(context.Background(), "key", uint64(n))
	if err != nil {
		t.Fatal(err)
	}
	if s.Allowed() && n > 0 {
		c.passed[c.offset[i]] = append(c.passed[c.offset[i]], pass{c.now, n})
	}
	return s.Allowed()
}

// check returns an error if more hits passed by one clock than the limit lets pass: in any time of a part p of
// a window, 1+p times the limit; so in a window twice that.
func (c *clockTest) check() error {
	for offset, log := range c.passed {
		for i := range log {
			sum := int64(0)
			for _, last := range log[i:] {
				time := last.at - log[i].at
				if sum += last.n; time <= c.length && sum*c.length > c.most*(c.length+time) {
					return fmt.Errorf("%d hits of a limit of %d passed in %v of %v, by a clock that is %v ahead",
						sum, c.most, micros(time), micros(c.length), micros(offset))
				}
			}
		}
	}
	return nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

const day = 86_400e6

// TestClocksApart has a right instance, and one whose clock steps between the right time and another one, up to
// a day away: each clock has its limit, so that neither locks out the other.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	clockStores(t, func(t *testing.T, stores [2]ratelimit.Store) {
		for _, a := range []ratelimit.Algorithm{ratelimit.SlidingWindow, ratelimit.TokenBucket} {
			for seed := range scaletest.Seeds(t, 4, 30) {
				r := rand.New(rand.NewPCG(seed, uint64(a)))
				c := newClockTest(t, stores, ratelimit.Limit{
					RequestsPerUnit: 1 + r.Uint32N(9), Unit: []ratelimit.Unit{ratelimit.Second, ratelimit.Minute, ratelimit.Hour}[r.IntN(3)], Algorithm: a,
				}, fmt.Sprintf("%s-%d", a, seed))
				c.now = 1_795_000_000e6 + r.Int64N(day)
				ahead := (20*c.length + 5e6 + r.Int64N(day)) * (2*r.Int64N(2) - 1)
				rare := 1 + r.IntN(20)
				waited := int64(0) // since a hit of the right instance passed
				for range 300 {
					step := r.Int64N(c.length / 10)
					c.now += step
					if r.IntN(30) == 0 {
						c.offset[1] = ahead - c.offset[1]
					}
					if r.IntN(rare) == 0 {
						c.allow(t, 1, 1)
					}
					if waited += step; c.allow(t, 0, 1) || c.offset[1] == 0 {
						waited = 0
					}
					if waited > c.length*(c.most+2)/c.most {
						t.Fatalf("%s, seed %d: %d per %v are refused for %v, beside a clock that is %v ahead", a, seed, c.most, micros(c.length), micros(waited), micros(ahead))
					}
				}
				if err := c.check(); err != nil {
					t.Fatalf("%s, seed %d: %v", a, seed, err)
				}
			}
		}
	})
}

// TestClockSteps has the hits of a limit from a clock that is set back then, by seconds to days: with each
// algorithm further hits pass when they would anyway, or a window later, by which clocks may differ.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	clockStores(t, func(t *testing.T, stores [2]ratelimit.Store) {
		_, inMemory := stores[0].(*memstore.Store)
		r := rand.New(rand.NewPCG(1, 2))
		for a := ratelimit.FixedWindow; a.Valid(); a++ {
			if a.HasPermits() && !inMemory {
				continue // permits from a clock that is ahead expire by the clock of the store
			}
			for i := range 4 {
				unit, most := []ratelimit.Unit{ratelimit.Second, ratelimit.Minute}[i%2], uint32(i/2*4+1)
				for _, ahead := range []int64{1e6, 2e6, 10e6, 61e6, 130e6, 3600e6, day, 30 * day, r.Int64N(20e6), r.Int64N(400e6), r.Int64N(day)} {
					c := newClockTest(t, stores, ratelimit.Limit{RequestsPerUnit: most, Unit: unit, Algorithm: a}, fmt.Sprintf("%s-%d-%d", a, i, ahead))
					c.offset[1] = ahead
					if !c.allow(t, 1, c.most) || c.allow(t, 1, 1) {
						t.Fatalf("%s: the limit does not pass by the clock that is ahead", a)
					}
					from := c.now
					for !c.allow(t, 0, 1) {
						if c.now += c.length / 20; c.now-from > c.length*(2*c.most+1)/c.most+c.length/10 {
							t.Fatalf("%s: refused for %v after %d per %s from a clock %v ahead", a, micros(c.now-from), most, unit, micros(ahead))
						}
					}
					if a.HasPermits() || !a.NeedsChargeStore() || ahead%(3*c.length) != 0 {
						continue
					}
					// A clock that is wrong by whole hours or days has used up the limit of the right one, too.
					for range 60 {
						c.now += c.length / 20
						c.allow(t, 0, 1)
					}
					c.passed = map[int64][]pass{0: append(c.passed[ahead], c.passed[0]...)}
					if err := c.check(); err != nil {
						t.Fatalf("%s, clocks %v apart: %v", a, micros(ahead), err)
					}
				}
			}
		}
	})
}
