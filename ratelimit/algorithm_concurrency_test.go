package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// holder has permits since some time.
type holder struct{ since, n, slot int64 }

// TestConcurrencyAgainstSet compares permits with a set of their holders. Those who keep them longer than a unit
// may have lost them, and after 8/7 units have.
func TestConcurrencyAgainstSet(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("known=%t", known), func(t *testing.T) {
			t.Parallel()
			seeds(t, 150, func(random *rand.Rand) error { return runConcurrency(t, random, known) })
		})
	}
}

// rounding is by how many microseconds a slot of time may be short, times seven.
const rounding = 6

// runConcurrency acquires and releases permits at random. With known, those who release know when they
// took.
func runConcurrency(t *testing.T, random *rand.Rand, known bool) error {
	limit := ratelimit.Limit{
		RequestsPerUnit: 1 + random.Uint32N(6), Unit: pick(random, ratelimit.Second, ratelimit.Minute, ratelimit.Hour),
		UnitMultiplier: pick[uint32](random, 0, 3), Algorithm: ratelimit.Concurrency,
	}
	k, most, unit := newCharger(t, limit, start), int64(limit.RequestsPerUnit), micros(limit)
	var holders []holder
	held := func(age int64) (n int64) {
		for _, h := range holders {
			if k.now-h.since < age {
				n += h.n
			}
		}
		return n
	}
	for range 200 {
		k.now += pick(random, 0, 1, random.Int64N(unit/10), random.Int64N(unit/2), unit, unit+unit/7, random.Int64N(3*unit))
		if len(holders) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(holders))
			h := holders[i]
			holders = slices.Delete(holders, i, i+1)
			if !known && k.now-h.since >= unit-rounding {
				continue // its permit may be that of another by now
			}
			if k.slot = 0; known {
				k.slot = h.slot
			}
			k.refund(uint64(h.n))
		} else {
			n := random.Int64N(most + 2)
			sure, possible := held(unit-rounding), held(unit+unit/7+1)
			charge := k.charge(uint64(n))
			switch {
			case n == 0:
			case charge.Allowed && sure+n > most:
				return fmt.Errorf("%d got a permit while %d of %d permits were held", n, sure, most)
			case !charge.Allowed && known && possible+n <= most:
				return fmt.Errorf("%d got no permit while at most %d of %d permits were held", n, possible, most)
			case charge.Allowed:
				holders = append(holders, holder{k.now, n, charge.State[0]})
			}
		}
		if err := k.check(most); err != nil {
			return err
		}
	}
	return nil
}

// TestPermitsAreHeldForAUnit releases nothing.
func TestPermitsAreHeldForAUnit(t *testing.T) {
	t.Parallel()
	seeds(t, 300, func(random *rand.Rand) error {
		limit := ratelimit.Limit{RequestsPerUnit: 1, Unit: pick(random, ratelimit.Second, ratelimit.Minute, ratelimit.Day), Algorithm: ratelimit.Concurrency}
		unit := micros(limit)
		k := newCharger(t, limit, start+random.Int64N(2*unit))
		k.charge(1)
		if passes, _ := k.would(1, unit-rounding); passes {
			return fmt.Errorf("a permit was free before a %s was over", limit.Unit)
		}
		if passes, _ := k.would(1, unit+unit/7+1); !passes {
			return fmt.Errorf("a permit was not free after 8/7 of a %s", limit.Unit)
		}
		return nil
	})
}

// A limit of 0 lets as many pass now as on a new key, though permits of another limit are in use.
func TestConcurrencyOfNone(t *testing.T) {
	l, err := ratelimit.NewLimiter("l", newChargeStore(), ratelimit.Limit{Algorithm: ratelimit.Concurrency, RequestsPerUnit: 2, Unit: ratelimit.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Allow(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	if err := l.SetLimit(ratelimit.Limit{Algorithm: ratelimit.Concurrency, Unit: ratelimit.Minute}); err != nil {
		t.Fatal(err)
	}
	s, err := l.Allow(t.Context(), "key")
	if err != nil || s.Code != ratelimit.OverLimit || s.ResetSeconds != 0 || s.RetrySeconds != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
