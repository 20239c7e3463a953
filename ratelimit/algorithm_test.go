package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// charger holds one key to a limit, at times that it sets. It is the store of its Limiter.
type charger struct {
	t       *testing.T
	limit   ratelimit.Limit
	limiter *ratelimit.Limiter
	now     int64 // Unix microseconds
	slot    int64 // when released permits were acquired; 0 is unknown

	state   ratelimit.State
	drops   bool // the state when it expires
	expires int64
	last    ratelimit.Charge
}

func newCharger(t *testing.T, limit ratelimit.Limit, now int64) *charger {
	k := &charger{t: t, limit: limit, now: now}
	var err error
	k.limiter, err = ratelimit.NewLimiter("charger", k, limit, &ratelimit.Options{Now: func() time.Time { return time.UnixMicro(k.now) }})
	if err != nil {
		t.Fatal(err)
	}
	k.charge(0)
	return k
}

func (k *charger) Add(context.Context, []ratelimit.Hit) error { return errors.New("not called") }

func (k *charger) Charge(_ context.Context, charges []ratelimit.Charge) error {
	if len(charges) == 0 { // whether it holds the algorithm
		return nil
	}
	t := &charges[0]
	if k.drops && t.Now >= k.expires {
		k.state = ratelimit.State{}
	}
	if t.Refund && t.Algorithm == ratelimit.Concurrency {
		t.Params[3] = k.slot
	}
	t.Apply(&k.state)
	k.expires, k.last = t.Expires(), *t
	return nil
}

// charge charges n hits. The charge is valid until the next one.
func (k *charger) charge(n uint64) *ratelimit.Charge {
	if _, err := k.limiter.AllowN(k.t.Context(), "key", n); err != nil {
		k.t.Fatal(err)
	}
	return &k.last
}

func (k *charger) refund(n uint64) {
	if err := k.limiter.Refund(k.t.Context(), "key", n); err != nil {
		k.t.Fatal(err)
	}
}

// result describes the last charge.
func (k *charger) result() string {
	remaining, reset, retry := ratelimit.Report(&k.last)
	return fmt.Sprintf("allowed %t, remaining %d, reset %d, retry %d", k.last.Allowed, remaining, reset, retry)
}

// would reports whether n hits would pass after some microseconds, and how many more would then.
func (k *charger) would(n uint64, after int64) (passes bool, remaining int64) {
	before := *k
	k.now += after
	passes = k.charge(n).Allowed
	remaining, _, _ = ratelimit.Report(&k.last)
	k.state, k.now, k.expires, k.last = before.state, before.now, before.expires, before.last
	return passes, remaining
}

// check compares the last report to clients with what happens then. full is how many hits pass
// on a new key.
func (k *charger) check(full int64) error {
	t := k.last
	remaining, reset, retry := ratelimit.Report(&t)
	if remaining < 0 || remaining > full || reset < 0 || retry < 0 {
		return fmt.Errorf("remaining %d, reset %d, retry %d of a limit of %d", remaining, reset, retry, full)
	}
	if passes, left := k.would(uint64(remaining), 0); !passes || left != 0 {
		return fmt.Errorf("%d hits remain; they pass: %t, and leave %d", remaining, passes, left)
	}
	if passes, _ := k.would(uint64(remaining)+1, 0); passes {
		return fmt.Errorf("more pass than the %d hits that remain", remaining)
	}
	if _, left := k.would(0, reset); left != full {
		return fmt.Errorf("after the reset in %d µs %d hits remain, want %d", reset, left, full)
	}
	if _, left := k.would(0, reset-1); reset > 0 && left == full {
		return fmt.Errorf("before the reset in %d µs as many remain as after it", reset)
	}
	if t.Allowed || int64(t.N) > full || t.Algorithm == ratelimit.Concurrency {
		return nil
	}
	if passes, _ := k.would(t.N, retry); !passes {
		return fmt.Errorf("%d hits do not pass after %d µs, when they are to be tried again", t.N, retry)
	}
	if passes, _ := k.would(t.N, retry-1); passes {
		return fmt.Errorf("%d hits pass 1 µs before they are to be tried again, in %d µs", t.N, retry)
	}
	return nil
}

// step returns a time to wait that reaches the edges of an algorithm often.
func (k *charger) step(random *rand.Rand, length int64) int64 {
	_, reset, retry := ratelimit.Report(&k.last)
	steps := []int64{0, 0, 1, retry, max(retry-1, 0), reset, max(reset-1, 0), random.Int64N(length/10 + 1), random.Int64N(length + 1), random.Int64N(5*length/2 + 1)}
	return steps[random.IntN(len(steps))]
}

// seeds calls test with a random source for each of some seeds.
func seeds(t *testing.T, n uint64, test func(random *rand.Rand) error) {
	t.Helper()
	if scaletest.Race() {
		n /= 5 // nothing here is concurrent
	}
	for seed := range n {
		if err := test(rand.New(rand.NewPCG(seed, 3))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// start is a time at which no window begins.
const start = 1_774_000_000_123_457 // March 2026

// micros is the length of a limit's window.
func micros(l ratelimit.Limit) int64 {
	return l.Unit.Seconds() * int64(max(l.UnitMultiplier, 1)) * 1_000_000
}

// TestTokenBucketIsExact compares a token bucket with one that holds parts of tokens: as many in a token as
// there are microseconds in a window, of which as many come each microsecond as there are hits in a window.
func TestTokenBucketIsExact(t *testing.T) {
	t.Parallel()
	seeds(t, 150, func(random *rand.Rand) error {
		limit := ratelimit.Limit{
			RequestsPerUnit: pick[uint32](random, 1, 2, 3, 7, 10, 60, 999, 1000), Algorithm: ratelimit.TokenBucket,
			Unit: pick(random, ratelimit.Second, ratelimit.Minute, ratelimit.Hour, ratelimit.Day), UnitMultiplier: pick[uint32](random, 0, 1, 3, 15),
			Burst: pick[uint32](random, 0, 1, 2, 5, 100, 2000),
		}
		k := newCharger(t, limit, start)
		rate, length, most := int64(limit.RequestsPerUnit), micros(limit), int64(limit.Burst)
		if most == 0 {
			most = rate
		}
		parts := most * length // in the bucket
		for range 120 {
			n := pick(random, 0, 1, 1, 1, 2, random.Int64N(most+1), most, most+1)
			wait := k.step(random, 2*(n+1)*length/rate)
			k.now += wait
			parts = min(parts+min(wait, most*length/rate+1)*rate, most*length)
			if random.IntN(5) == 0 {
				k.refund(uint64(n))
				parts = min(parts+n*length, most*length)
			} else {
				want := n*length <= parts
				if k.charge(uint64(n)).Allowed != want {
					return fmt.Errorf("%d hits of a bucket with %d of %d parts of a token: passed %t", n, parts, length, !want)
				}
				if want {
					parts -= n * length
				}
				if n > 0 {
					if err := k.check(most); err != nil {
						return fmt.Errorf("%d hits from %d per %d µs and %d at once: %w", n, rate, length, most, err)
					}
				}
			}
			if _, left := k.would(0, 0); left != parts/length {
				return fmt.Errorf("%d hits remain of a bucket with %d of %d parts of a token", left, parts, length)
			}
		}
		return nil
	})
}

// TestTokenBucketSustains uses each token as soon as there is one: after the burst they come at the rate, without drift.
func TestTokenBucketSustains(t *testing.T) {
	t.Parallel()
	for _, limit := range []ratelimit.Limit{
		{RequestsPerUnit: 7, Unit: ratelimit.Second},
		{RequestsPerUnit: 999_983, Unit: ratelimit.Second, Burst: 10},
		{RequestsPerUnit: 3_000_001, Unit: ratelimit.Second, Burst: 10}, // several in a microsecond
		{RequestsPerUnit: 1000, Unit: ratelimit.Year, Burst: 1},
	} {
		limit.Algorithm = ratelimit.TokenBucket
		k := newCharger(t, limit, start)
		burst := int64(max(limit.Burst, 1))
		if limit.Burst == 0 {
			burst = int64(limit.RequestsPerUnit)
		}
		rate, length := int64(limit.RequestsPerUnit), micros(limit)
		for hit := int64(1); hit <= 5_000; hit++ {
			if !k.charge(1).Allowed {
				_, _, retry := ratelimit.Report(&k.last)
				k.now += retry
				if !k.charge(1).Allowed {
					t.Fatalf("%d per %d µs: hit %d did not pass when it was to be tried again", rate, length, hit)
				}
			}
			want := max(((hit-burst)*length+rate-1)/rate, 0)
			if k.now-start != want {
				t.Fatalf("%d per %d µs: hit %d passed after %d µs, want %d", rate, length, hit, k.now-start, want)
			}
		}
	}
}

// TestStatesExpire compares stores that drop a state when it has expired with such that don't.
func TestStatesExpire(t *testing.T) {
	t.Parallel()
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		seeds(t, 40, func(random *rand.Rand) error {
			limit := ratelimit.Limit{RequestsPerUnit: 1 + random.Uint32N(9), Unit: pick(random, ratelimit.Second, ratelimit.Hour, ratelimit.Day), Algorithm: a}
			if a == ratelimit.SlidingWindow {
				limit = slidingLimit(random)
			}
			keeps, drops := newCharger(t, limit, start), newCharger(t, limit, start)
			drops.drops = true
			for i := range 200 {
				wait := keeps.step(random, micros(limit))
				n, refund := random.Uint64N(uint64(limit.RequestsPerUnit)+1), random.IntN(6) == 0
				for _, k := range []*charger{keeps, drops} {
					if k.now += wait; refund {
						k.refund(n)
					} else {
						k.charge(n)
					}
				}
				if a, b := keeps.result(), drops.result(); a != b {
					return fmt.Errorf("step %d of %d per %s: %s of a store that keeps states, and %s of one that drops them", i, limit.RequestsPerUnit, limit.Unit.Text(limit.UnitMultiplier), a, b)
				}
			}
			return nil
		})
	}
}
