package ratelimit

import "math/bits"

// slidingCharger counts the hits of two windows and weighs those of the one before by the share
// of it that is less than a window ago.
//
//	State: 0 the start of the window, 1 its hits, 2 the hits of the window before; 3 to 5 those
//	       of a clock that is behind (applyApart)
//
// [Charge] describes the Params.
type slidingCharger struct{}

var slidingWindow = algorithm{name: "sliding_window", windows: true, charger: (*slidingCharger)(nil)}

// window is a window, the start of the one before and the end of the next, in Unix microseconds.
type window struct{ before, start, end, next int64 }

const (
	// fullWeight is the weight of the window before at the start of a window.
	fullWeight = 1 << 20
	// maxProduct bounds what is multiplied.
	maxProduct = 1 << 52
)

func (*slidingCharger) params(l *chargeLimit, t *Charge) {
	w := l.window.Load()
	if w == nil || t.Now < w.start || t.Now >= w.end {
		start, end := l.period.bounds(floor(t.Now, second) / second)
		before, _ := l.period.bounds(start - 1)
		_, next := l.period.bounds(end)
		w = &window{before * second, start * second, end * second, next * second}
		l.window.Store(w)
	}
	t.Params[0], t.Params[1], t.Params[3], t.Params[4] = w.start, w.before, l.rate, w.end
	t.Params[5] = w.next
	t.Params[2] = fullWeight - scale(t.Now-w.start, fullWeight, w.end-w.start)
}

func (*slidingCharger) setHits(*Charge) {}

func (*slidingCharger) apply(s *State, t *Charge) {
	switch {
	case s[0] == t.Params[0]:
	case s[0] == t.Params[1]:
		s[0], s[1], s[2] = t.Params[0], 0, s[1]
	case s[0] > t.Params[4]:
		own := State{t.Params[0]} // as if by a multiple of three windows, of which two count, if that is much less
		switch ahead := (s[0] - t.Params[0]) / max(t.Params[4]-t.Params[0], 1); {
		case ahead <= 3:
		case ahead%3 == 0:
			own[1], own[2] = s[1], s[2]
		case ahead%3 == 2:
			own[2] = s[1]
		}
		t.applyApart(s, t.Params[4], own)
		return
	case s[0] < t.Now-recent-(t.Params[5]-t.Params[0]) && s[0] > 0:
		t.applyApart(s, s[0], State{})
		return
	case s[0] > t.Params[0]: // the clock of another instance is a little ahead
	default:
		s[0], s[1], s[2] = t.Params[0], 0, 0
	}
	n := int64(t.N)
	switch used := s[1] + weighed(s, t); {
	case t.Refund: // then from the window before
		back := min(n, s[1])
		s[1], s[2] = s[1]-back, s[2]-min(n-back, s[2])
	case n > 0 && used+n > t.Params[3]:
		t.Allowed = false
	default:
		s[1] += n
	}
	t.State = State{s[0], s[1], s[2]}
}

// weighed returns the hits of the window before that count, rounded up. So that products stay below
// 2^53, very many of them in a very long window are weighed in parts of 2^20.
func weighed(s *State, t *Charge) int64 {
	length := max(t.Params[4]-t.Params[0], 1)
	switch hits := s[2]; {
	case t.Params[2] == noWeight:
		return 0
	case s[0] > t.Params[0] || t.Now < t.Params[0]: // as if its window had just begun
		return hits
	case hits <= maxProduct/length:
		return (hits*(t.Params[4]-t.Now) + length - 1) / length
	default:
		return (hits*t.Params[2] + fullWeight - 1) / fullWeight
	}
}

func (*slidingCharger) report(t *Charge) (r report) {
	start, end, next := t.Params[0], t.Params[4], t.Params[5]
	rest := end - t.Now
	hits, before, limit, n := t.State[1], t.State[2], t.Params[3], int64(t.N)
	r.remaining = max(limit-hits-weighed(&t.State, t), 0)
	switch {
	case hits > 0:
		r.reset = next - t.Now
	case before > 0:
		r.reset = rest
	}
	switch {
	case t.Allowed:
	case n > limit:
		r.retry = max(r.reset, second) // they never pass
	case hits+n <= limit: // once less of the window before counts
		r.retry = rest - timeLeft(limit-hits-n, before, end-start)
	default: // once less of this one counts, in the next window
		r.retry = next - t.Now - timeLeft(limit-n, hits, next-end)
	}
	return r
}

// timeLeft returns the longest time before the end of a window at which so many hits of the one
// before count as at most some.
func timeLeft(some, hits, length int64) int64 {
	length = max(length, 1)
	if hits <= maxProduct/length {
		return scale(some, length, hits)
	}
	weight := min(scale(some, fullWeight, hits), fullWeight)
	return scale(weight, length, fullWeight)
}

// scale returns a*b/c, rounded down. None is negative. A result that is too large, as a store that
// returns a wrong State may cause, is maxTime.
func scale(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return maxTime
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(quotient)
}

// expires returns the end of the window after that of the state, which may be longer than
// that one: 28 days before 31, or the rest of a day before 15 hours.
func (*slidingCharger) expires(t *Charge) int64 {
	if t.apart || t.State[0] > t.Params[0] { // the clock of another instance is ahead
		return 2*t.Params[5] - t.Params[4]
	}
	return t.Params[5]
}
