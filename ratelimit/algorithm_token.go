package ratelimit

import "math/bits"

// tokenCharger is the generic cell rate algorithm: the state is the time at which the bucket
// will be full. A hit moves it by the time of one token, and passes if the bucket is then not
// emptied by more than its capacity.
//
// Times are microseconds and, because tokens need not come at whole ones, a rest in parts of a
// microsecond: so many parts as there are hits in a window.
//
//	State: 0 the time when the bucket is full, 1 its rest; 3 and 4 those of a clock that is
//	       behind (applyApart)
//
// [Charge] describes the Params.
type tokenCharger struct{}

var tokenBucket = algorithm{name: "token_bucket", bursts: true, leasable: true, charger: (*tokenCharger)(nil)}

// maxTime bounds the times of a charge, so that sums stay below 2^53.
const maxTime = 1 << 51

// late is the time in microseconds by which a charge may come late to a store that stalls, if that is less
// than a window.
const late = 15 * second

func (*tokenCharger) params(l *chargeLimit, t *Charge) {
	time := l.one
	if t.N != 1 {
		time = timeOf(t.N, l.rate, l.length)
	}
	t.Params[0], t.Params[1], t.Params[2], t.Params[3] = time.micro, time.rest, l.full.micro, l.full.rest
	t.Params[4], t.Params[5] = l.rate, l.length
}

// tokenTime is the time of some tokens.
type tokenTime struct{ micro, rest int64 }

// timeOf returns the time of n tokens, of which rate come in a length of time. It is maxTime if that
// is longer, or if there are none.
func timeOf(n uint64, rate, length int64) tokenTime {
	if n == 0 {
		return tokenTime{}
	}
	high, low := bits.Mul64(n, uint64(length))
	if rate == 0 || high >= uint64(rate) {
		return tokenTime{micro: maxTime}
	}
	quotient, remainder := bits.Div64(high, low, uint64(rate))
	if quotient >= maxTime {
		return tokenTime{micro: maxTime}
	}
	return tokenTime{int64(quotient), int64(remainder)}
}

func (*tokenCharger) setHits(t *Charge) {
	time := timeOf(t.N, t.Params[4], t.Params[5])
	t.Params[0], t.Params[1] = time.micro, time.rest
}

func (*tokenCharger) apply(s *State, t *Charge) {
	full, rest := s[0], min(s[1], max(t.Params[4]-1, 0)) // the limit may have been changed
	switch ahead, most := full-t.Now, t.Params[2]; {
	case ahead > most && ahead-most > max(most, min(t.Params[5], late)):
		// Begin as if by a multiple of twice the time in which it fills, if that is much less.
		if begin := 1 + (ahead-1)%max(2*most, 1); begin <= most && ahead > 4*most {
			ahead = begin
		} else {
			ahead = 0
		}
		t.applyApart(s, t.Now+most+max(most, min(t.Params[5], late)), State{t.Now + ahead, rest})
		return
	case ahead < -recent && full > 0:
		t.applyApart(s, full, State{})
		return
	case ahead < 0:
		full, rest = t.Now, 0
	}
	if t.Refund {
		full, rest = full-t.Params[0], rest-t.Params[1]
		if rest < 0 {
			full, rest = full-1, rest+t.Params[4]
		}
		if full < t.Now {
			full, rest = t.Now, 0
		}
		s.set(t, full, rest)
		return
	}
	next, nextRest := full+t.Params[0], rest+t.Params[1]
	if nextRest >= t.Params[4] && nextRest > 0 {
		next, nextRest = next+1, nextRest-t.Params[4]
	}
	if used := next - t.Now; t.N > 0 && (used > t.Params[2] || used == t.Params[2] && nextRest > t.Params[3] || t.Params[0] == maxTime) {
		t.Allowed = false
		next, nextRest = full, rest
	}
	s.set(t, next, nextRest)
}

// set sets the numbers of the state, and the state of the charge without a copy of what was written just
// now in wider words, which processors wait for.
func (s *State) set(t *Charge, full, rest int64) {
	s[0], s[1] = full, rest
	t.State = State{full, rest}
}

func (*tokenCharger) report(t *Charge) (r report) {
	r.reset = t.State[0] - t.Now
	if t.State[1] > 0 {
		r.reset++
	}
	left, rest := t.Params[2]-(t.State[0]-t.Now), t.Params[3]-t.State[1]
	if rate := t.Params[4]; left >= 0 && rate > 0 {
		high, low := bits.Mul64(uint64(left), uint64(rate))
		low, carry := bits.Add64(low, uint64(max(rest, 0)), 0)
		high += carry
		low, carry = bits.Sub64(low, uint64(max(-rest, 0)), 0)
		if high -= carry; high < uint64(t.Params[5]) {
			tokens, _ := bits.Div64(high, low, uint64(t.Params[5]))
			r.remaining = int64(tokens)
		}
	}
	if t.Allowed {
		return r
	}
	r.retry = t.Params[0] - left
	switch missing := t.Params[1] - rest; {
	case missing > t.Params[4]:
		r.retry += 2
	case missing > 0:
		r.retry++
	}
	if t.Params[0] > t.Params[2] || t.Params[0] == t.Params[2] && t.Params[1] > t.Params[3] {
		r.retry = r.reset // more hits than the bucket holds: they never pass
	}
	return r
}

func (*tokenCharger) expires(t *Charge) int64 {
	if t.apart { // the other state lasts for so long at most
		return t.Now + t.Params[2] + 1
	}
	return t.State[0] + 1
}
