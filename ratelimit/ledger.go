package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LedgerStore is a Store that keeps a small value for a key, which the engine computes: the ledger of a limit
// with [Limit].Reservations.
type LedgerStore interface {
	Store
	// Update replaces the value of key by what change makes of it, as one atomic step. The old value is nil if
	// there is none. If the new one is nil, nothing is written; otherwise the store keeps it for ttl at least, and
	// may drop it then. change may be called several times, with other old values, and not any more
	// after Update has returned. It does not block, nor keep or modify the old value.
	//
	// An error means that the value may have been replaced or not. With a nil key nothing is done: a wrapper around a
	// Store that is no LedgerStore returns errors.ErrUnsupported then, as always.
	Update(ctx context.Context, key []byte, change func(old []byte) (value []byte, ttl time.Duration)) error
}

// ledger is what a limit with reservations keeps for a key. Hits that are reserved are charged to state like
// others, by the arithmetic of the algorithm, and are in open too until they are settled or expire.
//
// With windows, hits may be above the limit by what was settled above it: the debt, which becomes
// the first hits of the next window. With a TokenBucket debt is a bucket that is more than empty.
type ledger struct {
	state   State
	since   int64 // when it began, in Unix microseconds
	last    int64 // the number of the newest hold; since without one
	carried int64 // how many of the hits of this window are debt of those before
	open    []hold
}

// hold is hits that are reserved. Those of several reservations have one hold if there are many.
type hold struct {
	number, expires, hits int64
	from                  int64 // the start of the window; with a TokenBucket when the bucket is full again after these hits
}

const (
	// fewHolds is the number of holds above which reservations of a window that expire at nearly the same time share one.
	fewHolds = 32
	// maxHolds bounds the holds of a key: with short windows and long reservations few can share one.
	maxHolds = 1000
)

// booking is what a charge does to a ledger.
type booking struct {
	maxDebt   int64
	ttl       int64 // above 0: the hits are reserved for so many microseconds
	settles   bool  // the hits of hold become actual
	hold      hold  // set if hits were reserved
	actual    int64
	uncharged int64 // set: the hits of actual that would have been above the debt that is allowed
}

// chargeFrom calls Charge of a store that may be no ChargeStore, and Update for limits with reservations.
func chargeFrom(ctx context.Context, store Store, charges []Charge) error {
	for len(charges) > 0 {
		n := 0
		for n < len(charges) && charges[n].book == nil {
			n++
		}
		switch {
		case n == len(charges):
			return chargeOthers(ctx, store, charges)
		case n > 0:
			if err := chargeOthers(ctx, store, charges[:n]); err != nil {
				return err
			}
		}
		t := &charges[n]
		err := update(ctx, store, t.Key, func(old []byte) ([]byte, time.Duration) {
			l := parseLedger(old)
			if !l.apply(t) {
				return nil, 0
			}
			return l.text(), time.Duration(max(l.expires(t)-t.Now, second)) * time.Microsecond
		})
		if err != nil {
			return err
		}
		charges = charges[n+1:]
	}
	return nil
}

// update calls Update of a store that may be no LedgerStore.
func update(ctx context.Context, store Store, key []byte, change func([]byte) ([]byte, time.Duration)) error {
	err := errors.ErrUnsupported
	if s, ok := store.(LedgerStore); ok {
		err = s.Update(ctx, key, change)
	}
	if err != nil && errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("the counter store (%T) can't keep reservations: %w", store, err)
	}
	return err
}

// apply applies a charge to the ledger, and reports whether it has to be written: what time makes of a ledger is
// made again by later charges.
func (l *ledger) apply(t *Charge) bool {
	t.Allowed, t.apart = true, false
	if l.since == 0 {
		l.since, l.last = t.Now, t.Now
	}
	l.advance(t)
	b, changed := t.book, t.book.settles
	switch {
	case b.settles:
		b.uncharged = l.settle(t)
	case t.Refund:
		l.subtract(t, int64(t.N))
		if l.carried = min(l.carried, l.state[1]); t.N >= maxHits { // a reset
			l.open = nil
		}
		changed = t.N > 0
	case t.N > 0:
		if t.Allowed = l.fits(t) && (b.ttl == 0 || len(l.open) < maxHolds); t.Allowed {
			l.add(t, int64(t.N))
			changed = true
			if b.ttl > 0 {
				l.reserve(t)
			}
		}
	}
	t.State = l.state
	return changed
}

// advance makes of the ledger what it is at the time of the charge.
func (l *ledger) advance(t *Charge) {
	if t.Algorithm.HasWindows() {
		l.roll(t)
	} else {
		s := &l.state
		if most := t.Now + bucketTime(t, t.book.maxDebt); s[0] > most { // as by another limit or clock
			*s = State{most}
		}
		if s[0] < t.Now {
			*s = State{t.Now}
		}
	}
	l.open = slices.DeleteFunc(l.open, func(h hold) bool {
		if h.expires <= t.Now {
			l.giveBack(t, h.from, h.hits)
		}
		return h.expires <= t.Now
	})
}

// roll begins the window of the charge. What was above the limit in those before is paid by those after them.
func (l *ledger) roll(t *Charge) {
	s, start, before, limit, end := &l.state, t.Params[0], t.Params[1], t.Params[3], t.Params[4]
	switch {
	case s[0] == start, s[0] > start && s[0] <= end: // the clock of another instance is a little ahead
		return
	case s[0] > end || s[0] == 0: // a clock was set back
		*s, l.carried = State{start}, 0
		return
	}
	length := max(end-start, 1)
	passed := min((before-s[0]+length-1)/length, maxHits/max(limit, 1)+1) // windows between
	hits := s[1]
	if passed > 0 {
		hits = max(min(max(hits-limit, 0), t.book.maxDebt)-(passed-1)*limit, 0)
	}
	debt := min(max(hits-limit, 0), t.book.maxDebt)
	*s, l.carried = State{start, debt, min(hits, limit)}, debt
}

// fits reports whether the hits of the charge are within the limit.
func (l *ledger) fits(t *Charge) bool {
	t.State = l.state
	return int64(t.N) <= algorithms[t.Algorithm].report(t).remaining
}

// add charges hits, whatever the limit.
func (l *ledger) add(t *Charge, n int64) {
	if t.Algorithm.HasWindows() {
		l.state[1] += n
		return
	}
	l.applyTokens(t, n, false)
}

// subtract gives hits back to the window, or to the one before, or to the bucket.
func (l *ledger) subtract(t *Charge, n int64) {
	if s := &l.state; t.Algorithm.HasWindows() {
		back := min(n, s[1])
		s[1], s[2] = s[1]-back, s[2]-min(n-back, s[2])
		return
	}
	l.applyTokens(t, n, true)
}

// applyTokens charges tokens to a bucket, which may be more than empty then, or gives them back.
func (l *ledger) applyTokens(t *Charge, n int64, refund bool) {
	c := *t
	c.Refund = refund
	c.SetHits(uint64(n))
	c.Params[2], c.Params[3] = maxTime, 0
	algorithms[t.Algorithm].apply(&l.state, &c)
}

// reserve opens a hold for the hits of the charge, or enlarges one that expires up to an eighth later.
func (l *ledger) reserve(t *Charge) {
	b := t.book
	from := l.state[0]
	if !t.Algorithm.HasWindows() {
		from = ceilTime(&l.state)
	}
	b.hold = hold{max(l.last+1, t.Now), t.Now + b.ttl, int64(t.N), from}
	if len(l.open) >= fewHolds {
		for i := range l.open {
			h := &l.open[i]
			if h.expires >= b.hold.expires && h.expires <= b.hold.expires+b.ttl/8 && (h.from == from || !t.Algorithm.HasWindows()) {
				h.hits += b.hold.hits
				b.hold.number, b.hold.expires = h.number, h.expires
				return
			}
		}
		b.hold.expires += b.ttl / 8
	}
	l.last = b.hold.number
	l.open = append(l.open, b.hold)
}

// settle makes the hits of a hold the actual ones, and returns how many of these it does not charge. A hold that
// has expired was given back, so all are charged. One that was settled before changes nothing.
func (l *ledger) settle(t *Charge) (uncharged int64) {
	b := t.book
	from, actual := l.state[0], b.actual
	i := slices.IndexFunc(l.open, func(h hold) bool { return h.number == b.hold.number })
	switch {
	case i >= 0:
		h := &l.open[i]
		held := min(b.hold.hits, h.hits)
		from, actual = h.from, actual-held
		if h.hits -= held; h.hits == 0 {
			l.open = slices.Delete(l.open, i, i+1)
		}
	case b.hold.expires > t.Now && b.hold.number >= l.since: // otherwise the store has lost the ledger
		return 0
	}
	if actual <= 0 {
		l.giveBack(t, from, -actual)
		return 0
	}
	return l.charge(t, from, actual)
}

// giveBack gives back hits that were charged to a window, or to a bucket that would be full again at a time because of
// them: only those for which tokens have not come meanwhile.
func (l *ledger) giveBack(t *Charge, from, n int64) {
	s := &l.state
	switch {
	case !t.Algorithm.HasWindows():
		before, ahead := s[0], max(from-t.Now, 0)
		if tokensIn(t, ahead) >= n {
			l.applyTokens(t, n, true)
		} else if s[0] -= ahead; s[0] <= t.Now {
			*s = State{t.Now}
		}
		for i := range l.open {
			if h := &l.open[i]; h.from > from {
				h.from -= before - s[0]
			}
		}
	case from == s[0]:
		s[1] -= min(n, s[1]-l.carried)
	case from == t.Params[1]:
		paid := min(n, l.carried)
		s[1], l.carried, s[2] = s[1]-paid, l.carried-paid, s[2]-min(n-paid, s[2])
	}
}

// charge charges hits to a window, also one that has ended, or to a bucket. What is above the limit is debt. It returns how
// many hits would be above the debt that is allowed.
func (l *ledger) charge(t *Charge, from, n int64) (uncharged int64) {
	s, limit := &l.state, t.Params[3]
	if !t.Algorithm.HasWindows() {
		now := min(n, tokensIn(t, t.Now+bucketTime(t, t.book.maxDebt)-ceilTime(s)))
		l.add(t, now)
		return n - now
	}
	late := int64(0)
	if from == t.Params[1] && l.carried == 0 { // the window before may have room
		late = min(n, max(limit-s[2], 0))
	}
	now := min(n-late, max(limit+t.book.maxDebt-s[1], 0))
	s[1], s[2] = s[1]+now, s[2]+late
	if from != s[0] {
		l.carried += now
	}
	return n - late - now
}

// expires returns the time in Unix microseconds at which the ledger is like a new one.
func (l *ledger) expires(t *Charge) int64 {
	end := algorithms[t.Algorithm].expires(t)
	if limit := t.Params[3]; t.Algorithm.HasWindows() && l.state[1] > limit && limit > 0 {
		end += (l.state[1] - 1) / limit * (t.Params[5] - t.Params[4])
	}
	for _, h := range l.open {
		end = max(end, h.expires)
	}
	return end
}

// report adds to the report of an algorithm with windows how long debt takes.
func (b *booking) report(t *Charge, r report) report {
	hits, limit, n := t.State[1], t.Params[3], int64(t.N)
	if !t.Algorithm.HasWindows() || hits <= limit || limit == 0 {
		return r
	}
	length := max(t.Params[5]-t.Params[4], 1)
	r.reset += (hits - 1) / limit * length
	if windows := (hits + n - 1) / limit; !t.Allowed && n <= limit { // after so many windows the hits fit
		r.retry = t.Params[4] - t.Now + (windows-1)*length
	}
	return r
}

// bucketTime returns the time, in microseconds rounded up, of the tokens of a bucket and some more.
func bucketTime(t *Charge, more int64) int64 {
	return t.Params[2] + timeOf(uint64(more), t.Params[4], t.Params[5]).micro + 2
}

// tokensIn returns how many tokens come in a time.
func tokensIn(t *Charge, time int64) int64 {
	return scale(max(time, 0), t.Params[4], max(t.Params[5], 1))
}

// ceilTime returns the time at which a bucket is full, rounded up.
func ceilTime(s *State) int64 { return s[0] + min(s[1], 1) }

// text writes the numbers of the ledger in decimal.
func (l *ledger) text() []byte {
	b := fmt.Appendf(nil, "%d %d %d %d %d %d", l.state[0], l.state[1], l.state[2], l.since, l.last, l.carried)
	for _, h := range l.open {
		b = fmt.Appendf(b, " %d %d %d %d", h.number, h.expires, h.hits, h.from)
	}
	return b
}

// parseLedger reads what text has written. Anything else is an empty ledger.
func parseLedger(text []byte) *ledger {
	var numbers []int64
	for field := range strings.FieldsSeq(string(text)) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 || n >= 1<<53 {
			return new(ledger)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) < 6 || (len(numbers)-6)%4 != 0 {
		return new(ledger)
	}
	l := &ledger{State{numbers[0], numbers[1], numbers[2]}, numbers[3], numbers[4], numbers[5], nil}
	for h := range slices.Chunk(numbers[6:], 4) {
		l.open = append(l.open, hold{h[0], h[1], h[2], h[3]})
	}
	l.carried = min(l.carried, l.state[1])
	return l
}

// fixedCharger counts the hits of windows as slidingCharger does, and does not weigh those of the window before. FixedWindow
// limits with reservations have it; the others are counted by [Store.Add].
type fixedCharger struct{ slidingCharger }

const (
	// fixedLedger is the Algorithm of FixedWindow limits with reservations.
	fixedLedger Algorithm = 4
	// noWeight is a Params[2] of slidingCharger that weighs nothing.
	noWeight = -1
)

var fixedWindows = algorithm{name: fixedWindow.name, windows: true, charger: new(fixedCharger)}

func (c *fixedCharger) params(l *chargeLimit, t *Charge) {
	c.slidingCharger.params(l, t)
	t.Params[2] = noWeight
}

func (*fixedCharger) report(t *Charge) report {
	rest := t.Params[4] - t.Now
	return report{remaining: max(t.Params[3]-t.State[1], 0), reset: rest, retry: rest}
}

// visible returns the Algorithm that users know.
func (a Algorithm) visible() Algorithm {
	if a == fixedLedger {
		return FixedWindow
	}
	return a
}

// maxDebt returns the debt that a limit allows.
func (l *Limit) maxDebt() int64 { return int64(cmp.Or(l.MaxDebt, l.RequestsPerUnit)) }
