package modeltest

import (
	"cmp"
	"math"
	"math/bits"
	"sort"
	"strconv"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// For limits of other algorithms than fixed windows the model makes charges by itself and applies them with
// Charge.Apply, which the tests of package ratelimit compare with exact models. The report to clients
// follows from asking what would pass later.

// charging reports whether the limit has another algorithm than FixedWindow.
func (t *target) charging() bool { return t.live && t.algorithm != ratelimit.FixedWindow }

// ending returns the end of the key of a limit's state.
func (t *target) ending() string {
	ending := t.algorithm.String() + "_"
	if t.units > 1 {
		ending += strconv.FormatUint(uint64(t.units), 10) + "_" + t.unit.String() + "s"
	} else {
		ending += t.unit.String()
	}
	if t.zone != nil {
		ending += "_" + t.rule.Limit.TimeZone
	}
	return ending
}

// charge returns a charge of n hits at a time in Unix seconds.
func (t *target) charge(n uint64, now int64) ratelimit.Charge {
	const second, full = 1_000_000, 1 << 20
	charge := ratelimit.Charge{Key: []byte(t.key), Algorithm: t.algorithm, N: min(n, 1<<33), Now: now * second}
	length := t.length * second
	switch t.algorithm {
	case ratelimit.SlidingWindow:
		start, end := t.bounds(now)
		before, _ := t.bounds(start - 1)
		_, next := t.bounds(end)
		spent, _ := ratio(now-start, full, end-start)
		charge.Params = [...]int64{start * second, before * second, full - spent, int64(t.requests), end * second, next * second}
	case ratelimit.TokenBucket:
		charge.Params[0], charge.Params[1] = tokens(int64(charge.N), length, t.requests)
		charge.Params[2], charge.Params[3] = tokens(int64(t.capacity()), length, t.requests)
		charge.Params[4], charge.Params[5] = int64(t.requests), length
	case ratelimit.Concurrency:
		slot := length / 7
		charge.Params = [...]int64{charge.Now / slot, int64(t.requests), slot, 0, 0, 0}
	}
	return charge
}

// tokens returns the time in which n tokens come.
func tokens(n, length int64, rate uint32) (micro, rest int64) {
	const most = 1 << 51
	switch {
	case n == 0:
		return 0, 0
	case rate == 0:
		return most, 0
	}
	if micro, rest = ratio(n, length, int64(rate)); micro >= most {
		return most, 0
	}
	return micro, rest
}

// ratio returns a*b/c, and what is left over.
func ratio(a, b, c int64) (quotient, rest int64) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return math.MaxInt64, 0
	}
	q, r := bits.Div64(high, low, uint64(c))
	return int64(min(q, math.MaxInt64)), int64(r)
}

// capacity returns how many hits pass on a new key.
func (t *target) capacity() uint32 { return cmp.Or(t.burst, t.requests) }

// passes reports whether n hits would pass at a time.
func (t *target) passes(state ratelimit.State, n uint64, at int64) bool {
	charge := t.charge(n, at)
	charge.Apply(&state)
	return charge.Allowed
}

// first returns the smallest number from which on something is true.
func first(is func(n int64) bool) int64 {
	end := int64(1)
	for !is(end) && end < 1<<40 {
		end *= 2
	}
	return int64(sort.Search(int(end), func(n int) bool { return is(int64(n)) }))
}

// statusOfCharge sets the status after a charge, and returns the statistics of it.
func (m *model) statusOfCharge(t *target, s *ratelimit.Status, now int64) (c ratelimit.LimitCounts) {
	state, capacity := t.charged.State, uint64(t.capacity())
	remaining := uint64(sort.Search(int(capacity), func(n int) bool { return !t.passes(state, uint64(n)+1, now) }))
	reset := first(func(s int64) bool { return t.passes(state, capacity, now+s) })
	s.Algorithm, s.ResetSeconds = t.algorithm, uint32(reset)
	if t.charged.Allowed {
		s.Remaining = uint32(min(remaining, math.MaxUint32-1))
		used := capacity - remaining
		return m.verdict(&target{requests: uint32(capacity), hits: min(t.hits, used), after: used}, new(ratelimit.Status))
	}
	s.Code = ratelimit.OverLimit
	switch {
	case t.algorithm == ratelimit.Concurrency:
		s.RetrySeconds = 1
	case t.hits > capacity: // they never pass
		s.RetrySeconds = max(s.ResetSeconds, 1)
	default:
		s.RetrySeconds = uint32(first(func(s int64) bool { return t.passes(state, t.hits, now+s) }))
	}
	return ratelimit.LimitCounts{OverLimit: t.hits}
}

// release releases the permits of a request that was refused.
func (m *model) release(targets []*target) {
	for _, t := range targets {
		if t == nil || t.algorithm != ratelimit.Concurrency || !t.charged.Allowed || t.charged.Refund || t.charged.N == 0 {
			continue
		}
		back := t.charged
		back.Refund, back.Params[3] = true, t.charged.State[0]
		state := m.states[t.key]
		back.Apply(&state)
		m.states[t.key] = state
	}
}

// addsAndGivesBack reports whether a request adds to a counter and gives back to it, in which order is up
// to the stores.
func (m *model) addsAndGivesBack(r *ratelimit.Request, now int64) bool {
	back := make(map[string]bool)
	for _, t := range m.live(r, now) {
		if t.charging() {
			continue
		}
		if was, known := back[t.key]; known && was != t.back {
			return true
		}
		back[t.key] = t.back
	}
	return false
}
