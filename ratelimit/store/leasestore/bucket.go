package leasestore

import (
	"math/bits"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// bucket has what an instance knows of a token bucket in the store, and what it has claimed of
// it. Times are Unix microseconds, of the charges.
type bucket struct {
	params   [4]int64 // Params 2 to 5 of its charges: the limit
	capacity int64    // in tokens

	// left tokens of claims may be used, each before its position in the schedule of tokens. These
	// positions are consecutive and end at until.
	left, until int64
	// virtual is the state of the bucket as if the tokens that are left had not been claimed.
	virtual   ratelimit.State
	asked     int64 // when the store was called last
	full      int64 // when the bucket in the store is full, after that
	available int64 // tokens that it had after that
	pause     int64 // until when hits are refused, because the bucket was found empty
	caller    *chargeCall
	done      chan struct{} // closed when the call of the caller has ended; nil if nobody waits

	// Demand.
	since, used int64 // tokens that were asked for since then
	busy        bool
	short       bool // it was empty, and did not have many tokens since
}

// decide decides a charge from what is claimed, or refuses it while the bucket is known to be empty.
func (b *bucket) decide(t *ratelimit.Charge) bool {
	if t.Now < b.asked { // not to be used before it was claimed
		return false
	}
	n := int64(t.N)
	if b.left > 0 {
		b.expire(t.Now)
	}
	switch {
	case b.left > 0 && b.left >= n:
		if t.Apply(&b.virtual); !t.Allowed {
			return false
		}
		b.left -= n
	case t.Now < b.pause:
		b.refuse(t)
	default:
		return false
	}
	b.used += n
	return true
}

// expire drops the tokens whose position in the schedule has begun.
func (b *bucket) expire(now int64) {
	if fit := b.tokens(b.until-now, 0); fit < b.left {
		b.left = fit
	}
}

// refuse refuses a charge as an empty bucket does, with the last known state if that is empty.
func (b *bucket) refuse(t *ratelimit.Charge) {
	state := b.virtual
	if state[0] < t.Now {
		state = ratelimit.State{t.Now}
	}
	if b.left == 0 && b.room(&state, t.Now) > 0 {
		state = ratelimit.State{t.Now + b.params[0], b.params[1]}
	}
	t.Allowed, t.State = t.N == 0, state
}

// tokens returns how many tokens come in a time and a rest, rounded down.
func (b *bucket) tokens(micro, rest int64) int64 {
	rate, length := b.params[2], b.params[3]
	if rest < 0 {
		micro, rest = micro-1, rest+rate
	}
	if micro < 0 || length <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(micro), uint64(rate))
	low, carry := bits.Add64(low, uint64(rest), 0)
	if high += carry; high >= uint64(length) {
		return maxClaim
	}
	n, _ := bits.Div64(high, low, uint64(length))
	return int64(min(n, maxClaim))
}

// room returns how many tokens a bucket with a state has.
func (b *bucket) room(s *ratelimit.State, now int64) int64 {
	if s[0] < now {
		return b.capacity
	}
	return b.tokens(b.params[0]-(s[0]-now), b.params[1]-s[1])
}

// without returns a state as if n tokens of it had not been charged.
func (b *bucket) without(s ratelimit.State, n int64) ratelimit.State {
	if n <= 0 {
		return s
	}
	micro, rest := b.time(n)
	if s[0], s[1] = s[0]-micro, s[1]-rest; s[1] < 0 {
		s[0], s[1] = s[0]-1, s[1]+b.params[2]
	}
	return s
}

// time returns the time in which n tokens come.
func (b *bucket) time(n int64) (micro, rest int64) {
	t := ratelimit.Charge{Algorithm: ratelimit.TokenBucket}
	copy(t.Params[2:], b.params[:])
	t.SetHits(uint64(n))
	return t.Params[0], t.Params[1]
}

// demand sets how many tokens an entry claims in addition to those of its charge.
func (b *bucket) demand(t *ratelimit.Charge, ahead int64, e *chargeEntry) {
	b.used += int64(t.N)
	fill := b.params[0]
	elapsed := max(t.Now-b.since, 1)
	horizon := min(ahead, fill/bucketAhead)
	rate := float64(b.used) / float64(elapsed)
	least := int64(minDemand)
	if b.busy {
		least = minDemand / growth
	}
	if b.used < least || b.capacity < minDemand*bucketShare || rate*float64(horizon) < minDemand {
		if elapsed > horizon {
			b.busy, b.since, b.used = false, t.Now, 0
		}
		return
	}
	b.busy = true
	most := float64(2 * b.used)
	pause := pauseOf(rate, ahead, fill)
	if elapsed > max(horizon, pause) { // demand changes
		b.since, b.used = t.Now-elapsed/2, b.used/2
	}
	expected := min(b.available+b.tokens(max(t.Now-b.asked, 0), 0), b.capacity)
	e.extra = int64(min(rate*float64(horizon), most, maxClaim))
	micro, _ := b.time(e.extra)
	if lives := max(b.full-t.Now, 0) + micro; rate*float64(lives) < worthClaim {
		e.extra = 0 // tokens are dropped before they are used
		return
	}
	if !b.short && e.extra <= expected/bucketShare {
		return
	}
	// Few are left. What comes in a pause may be claimed at once.
	few := max(b.tokens(pause, 0), minDemand*bucketShare)
	e.extra = int64(min(rate*float64(max(horizon, pause)), most, maxClaim))
	e.extra = max(min(e.extra, max(expected/bucketShare, min(expected, few)))-int64(t.N), 0)
	// Instances come in another order each time, so that all get some.
	e.parts, e.pause = true, pause-pause/4*(b.virtual[0]&255)/256
}

// pauseOf returns how long hits are refused after the bucket was found empty: long enough that a call
// is worth it, and short enough that the bucket does not fill by more than a part.
func pauseOf(rate float64, ahead, fill int64) int64 {
	pause := max(ahead/reviewsPerAhead, int64(min(worthCall/rate, float64(maxPause*ahead))))
	return min(pause, maxPause*ahead, fill/bucketPause)
}

// claimed adds n tokens of a charge, after which the store has a state.
func (b *bucket) claimed(n int64, state ratelimit.State) {
	begin := b.without(state, n)[0]
	if b.left > 0 {
		begin = min(begin, b.until) // as if they followed at once: they may come later
	}
	micro, _ := b.time(n)
	b.left, b.until = b.left+n, begin+micro
}
