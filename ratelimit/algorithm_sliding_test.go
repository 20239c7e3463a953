package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// slidingLimit returns a limit with a SlidingWindow. Windows of a calendar differ in length.
func slidingLimit(random *rand.Rand) ratelimit.Limit {
	limit := pick(
		random,
		ratelimit.Limit{Unit: ratelimit.Second}, ratelimit.Limit{Unit: ratelimit.Minute, UnitMultiplier: 15},
		ratelimit.Limit{Unit: ratelimit.Hour}, ratelimit.Limit{Unit: ratelimit.Hour, UnitMultiplier: 15, Align: ratelimit.AlignCalendar},
		ratelimit.Limit{Unit: ratelimit.Day, Align: ratelimit.AlignCalendar, TimeZone: "Europe/Vienna"},
		ratelimit.Limit{Unit: ratelimit.Month, Align: ratelimit.AlignCalendar, TimeZone: "Pacific/Apia"},
	)
	limit.Algorithm, limit.RequestsPerUnit = ratelimit.SlidingWindow, 1+random.Uint32N(20)
	return limit
}

// passed is hits that passed, in a window.
type passed struct{ at, n, start, end int64 }

// TestSlidingWindowAgainstLog compares a sliding window with a log of the hits that passed.
func TestSlidingWindowAgainstLog(t *testing.T) {
	t.Parallel()
	seeds(t, 100, func(random *rand.Rand) error {
		limit := slidingLimit(random)
		k, most := newCharger(t, limit, start), int64(limit.RequestsPerUnit)
		var log []passed
		for range 100 {
			k.now += k.step(random, micros(limit))
			charge := k.charge(uint64(pick(random, 0, 1, 1, 2, random.Int64N(most+1), most, most+1)))
			n, from, before, to := int64(charge.N), charge.Params[0], charge.Params[1], charge.Params[4]
			hits, hitsBefore := int64(0), int64(0)
			for _, p := range log {
				switch p.start {
				case from:
					hits += p.n
				case before:
					hitsBefore += p.n
				}
			}
			// Hits over the limit, in parts of the window. Hits before weigh as much as is left of it.
			over := (hits+n-most)*(to-from) + hitsBefore*(to-k.now)
			switch {
			case n == 0:
			case charge.Allowed && over > 0:
				return fmt.Errorf("%d hits passed beside %d and %d before: %d of %d parts too much", n, hits, hitsBefore, over, to-from)
			case !charge.Allowed && over <= -(to-from): // weights are rounded up, by less than a hit
				return fmt.Errorf("%d hits beside %d and %d before were refused, %d parts of %d within the limit", n, hits, hitsBefore, -over, to-from)
			case charge.Allowed:
				log = append(log, passed{k.now, n, from, to})
			}
			if err := k.check(most); err != nil {
				return fmt.Errorf("%d hits by %d per %s: %w", n, most, limit.Unit.Text(limit.UnitMultiplier), err)
			}
		}
		return checkLog(log, most)
	})
}

// checkLog checks what SlidingWindow promises: in any time of a part p of a window, at most 1+p times
// the limit pass; so in a window at most the limit, and in two at most twice that.
func checkLog(log []passed, most int64) error {
	for i, first := range log {
		sum := int64(0)
		for _, last := range log[i:] {
			sum += last.n
			length, time := last.end-last.start, last.at-first.at
			if time > length || first.start < last.start && first.end < last.start {
				break // longer than a window, or from one that is not next to it
			}
			if first.start == last.start && sum > most {
				return fmt.Errorf("%d hits passed in one window of a limit of %d", sum, most)
			}
			if sum*length > most*(length+time) {
				return fmt.Errorf("%d hits passed in %d µs, with %d in a window of %d µs", sum, time, most, length)
			}
		}
	}
	return nil
}

// TestSlidingWindowHoldsItsBound shows that the bound is not lower: as many hits as possible, at the worst times.
func TestSlidingWindowHoldsItsBound(t *testing.T) {
	t.Parallel()
	const most, length = 100, 60_000_000
	limit := ratelimit.Limit{RequestsPerUnit: most, Unit: ratelimit.Minute, Algorithm: ratelimit.SlidingWindow}
	k := newCharger(t, limit, start-start%length+length-1) // the end of a window
	if !k.charge(most).Allowed {
		t.Fatal("the limit did not pass")
	}
	for part := int64(1); part <= most; part++ {
		k.now = start - start%length + length + part*length/most + 100 // weights may be rounded up a little
		if !k.charge(1).Allowed || k.charge(1).Allowed {
			t.Fatalf("after %d %% of a window not one hit passed", part)
		}
	}
}

// TestSlidingWindowsOfACalendar has windows in which clocks change.
func TestSlidingWindowsOfACalendar(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ at, after string }{
		{"2026-03-28T12:00:00+01:00", "2026-03-29T12:30:00+02:00"}, // half of 23 hours
		{"2026-10-24T12:00:00+02:00", "2026-10-25T11:30:00+01:00"}, // half of 25
		{"2026-03-29T12:00:00+02:00", "2026-03-30T12:00:00+02:00"}, // half of 24, after 23
	} {
		limit := ratelimit.Limit{RequestsPerUnit: 10, Unit: ratelimit.Day, Align: ratelimit.AlignCalendar, TimeZone: "Europe/Vienna", Algorithm: ratelimit.SlidingWindow}
		at, _ := time.Parse(time.RFC3339, row.at)
		k := newCharger(t, limit, at.UnixMicro())
		k.charge(10)
		after, _ := time.Parse(time.RFC3339, row.after)
		k.now = after.UnixMicro() - 1
		if k.charge(5).Allowed {
			t.Errorf("%s: half of the limit passed before the day was half over", row.after)
		}
		k.now++
		if _, left := k.would(0, 0); left != 5 {
			t.Errorf("%s: %d hits remain when the day is half over, want 5", row.after, left)
		}
	}
}

// TestSlidingWindowRefunds refunds more than there is.
func TestSlidingWindowRefunds(t *testing.T) {
	t.Parallel()
	seeds(t, 40, func(random *rand.Rand) error {
		limit := slidingLimit(random)
		k, most := newCharger(t, limit, start), int64(limit.RequestsPerUnit)
		for range 100 {
			k.now += k.step(random, micros(limit))
			if n := 1 + random.Uint64N(uint64(most)+1); random.IntN(2) == 0 {
				k.charge(n)
			} else {
				k.refund(n)
			}
			if s := k.state; s[1] < 0 || s[2] < 0 || s[1] > most || s[2] > most {
				return fmt.Errorf("the state is %d, with a limit of %d", s, most)
			}
			if err := k.check(most); err != nil {
				return err
			}
		}
		return nil
	})
}
