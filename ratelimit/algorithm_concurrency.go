package ratelimit

// permitCharger counts permits in use, by the slot of time in which they were acquired. A permit that
// is not released expires: the permits of a slot are dropped when it is eight slots old.
//
//	State: 0 the newest slot of time, 1 to 8 the permits acquired in the last eight slots, each
//	       at 1 plus the slot modulo 8
//
// [Charge] describes the Params.
type permitCharger struct{}

var concurrency = algorithm{name: "concurrency", permits: true, charger: (*permitCharger)(nil)}

// slots is the number of slots of time. A unit is as long as one less, or up to 6 microseconds
// longer.
const slots = 8

func (*permitCharger) params(l *chargeLimit, t *Charge) {
	t.Params[1] = l.rate
	t.Params[2] = max(l.length/(slots-1), 1)
	t.Params[0] = floor(t.Now, t.Params[2]) / t.Params[2]
}

func (*permitCharger) setHits(*Charge) {}

func (*permitCharger) apply(s *State, t *Charge) {
	now := t.Params[0]
	for next := max(s[0]+1, now-slots+1); next <= now; next++ {
		s[1+next%slots] = 0
	}
	s[0] = max(s[0], now)
	t.apart = s[0] > now
	used := permits(s)
	switch n := int64(t.N); {
	case t.Refund && t.Params[3] > 0 && t.Params[3] <= s[0]-slots: // they have expired already
	case t.Refund:
		if slot := t.Params[3]; slot > 0 && slot <= s[0] {
			n -= free(s, slot, n)
		}
		// Those whose slot is unknown are the oldest.
		for slot := s[0] - slots + 1; slot <= s[0] && n > 0; slot++ {
			n -= free(s, slot, n)
		}
	case n > 0 && used+n > t.Params[1]:
		t.Allowed = false
	default:
		s[1+s[0]%slots] += n
	}
	t.State = *s
}

// free releases up to n permits of a slot, and returns how many.
func free(s *State, slot, n int64) int64 {
	if slot < 0 {
		return 0
	}
	n = min(n, s[1+slot%slots])
	s[1+slot%slots] -= n
	return n
}

// permits returns how many permits are in use.
func permits(s *State) (n int64) {
	for _, c := range s[1:] {
		n += c
	}
	return n
}

func (*permitCharger) report(t *Charge) (r report) {
	used := permits(&t.State)
	r.remaining = max(t.Params[1]-used, 0)
	if used > 0 && t.Params[1] > 0 { // nothing passes a limit of 0, then as now
		last := t.State[0]
		for last > 0 && t.State[1+last%slots] == 0 {
			last--
		}
		r.reset = min((last+slots)*t.Params[2]-t.Now, 2*slots*t.Params[2])
	}
	if !t.Allowed {
		r.retry = second // it is unknown when a permit is released
	}
	return r
}

func (*permitCharger) expires(t *Charge) int64 { return (t.Params[0] + slots) * t.Params[2] }
