package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// ChargeStore is a Store that can hold limits of every Algorithm. [Engine.Use] refuses rules
// with another Algorithm than FixedWindow if its store does not implement ChargeStore.
type ChargeStore interface {
	Store
	// Charge applies each charge to the state named by its Key, in order, as [Charge.Apply] does
	// to that of a Key without one, which is zero. Each charge is one atomic step. The store keeps
	// a state at least until [Charge.Expires], and may drop it then. It need not write what a charge
	// of 0 hits or one that was refused makes of a state: later ones make it again.
	//
	// An error means that the results are not to be used. Some charges may already have been
	// applied. Without charges nothing is done. The charges belong to the caller, as the hits of
	// Add do. A wrapper around a Store that is no ChargeStore returns errors.ErrUnsupported.
	Charge(ctx context.Context, charges []Charge) error
}

// AlgorithmStore is a ChargeStore that may not hold every Algorithm, or a wrapper around one. Other
// ChargeStores hold all.
type AlgorithmStore interface {
	ChargeStore
	// Supports returns an error, which wraps errors.ErrUnsupported, if the store can't hold limits of an
	// algorithm that needs a ChargeStore. It does not call a server.
	Supports(a Algorithm) error
}

// Charge is a request to a ChargeStore to charge N hits to a limit.
type Charge struct {
	// Key names the state. It holds the algorithm and the length of the window.
	Key []byte
	// Algorithm is not FixedWindow.
	Algorithm Algorithm
	// Refund subtracts the hits instead.
	Refund bool
	// Fixed reports that the Key does not depend on the request: see Hit.Fixed.
	Fixed bool
	// Lease reports that a store may claim hits of a TokenBucket ahead: see Limit.Lease.
	Lease bool
	// Claim is that of Hit.
	Claim bool
	// N is the number of hits to charge; 0 reads.
	N uint64
	// Now is the time in Unix microseconds.
	Now int64
	// Params are the limit as whole numbers below 2^53, so that scripts can compute with them. Times are in
	// microseconds, those of windows and Now since the Unix epoch. Numbers of an algorithm:
	//
	//	SlidingWindow  0 the start of the window, 1 that of the one before, 2 the weight of that one in parts of
	//	               2^20, rounded up, 3 the limit, 4 the end of the window, 5 that of the next
	//	TokenBucket    0 the time in which N tokens are refilled, 1 its rest, 2 the time for a full bucket,
	//	               3 its rest, 4 the hits in a window, 5 its length. A rest is in parts of a microsecond,
	//	               of which there are as many as hits in a window.
	//	Concurrency    0 the slot of Now, which is Now divided by the length of a slot, 1 the limit,
	//	               2 the length of a slot, a seventh of the unit, 3 for a Refund the slot of the permits, or 0 if it is unknown
	Params [6]int64

	// Allowed is set by the store: whether the hits were within the limit. It is true if N is
	// 0 and for hits that are refunded.
	Allowed bool
	// apart reports that Apply found the state of a clock that is ahead.
	apart bool
	// book is what the charge does to a ledger; nil for a limit without reservations.
	book *booking
	// State is set by the store: as it is after the charge.
	State State
}

// State holds the numbers that a ChargeStore keeps for a Key, each whole and below 2^53. Those that an algorithm
// does not use are 0. A store with an algorithm of its own, which decides by Charge.Params and not by Charge.Apply, sets
// that of the Charge as if the other had made it, because the engine computes from it what remains and how long to wait:
//
//	SlidingWindow  0 the start of the window, 1 its hits, 2 the hits of the window before
//	TokenBucket    0 the time when the bucket is full, 1 its rest
//	Concurrency    0 the newest slot, 1 to 8 the permits acquired in the last eight, each at 1 plus the slot modulo 8
//
// The other numbers are those of clocks that disagree.
type State [9]int64

// Apply applies the charge to a state, which it changes, and sets Allowed and State.
func (t *Charge) Apply(s *State) {
	t.Allowed, t.apart = true, false
	algorithms[t.Algorithm].apply(s, t)
}

// recent is the time in microseconds for which stores with an expiry of their own keep a state after its
// use has ended, and a second more: if they have an older one, a clock has been set.
const recent = 3 * second

// applyApart applies the charge to a state of another clock: one that is ahead of this one, or that this
// one is ahead of. Each has a state of its own, so that neither uses up the limit of the other: the first
// three numbers are those of the clock that is ahead, the next three those of the one behind it, which
// begins with the state own. The seventh is 1 if that clock has charged hits: then a state that is old may be
// that of this clock. Like a charge of no hits, one that was refused changes nothing.
func (t *Charge) applyApart(s *State, latest int64, own State) {
	ahead := s[0] > latest
	if ahead && s[3] > 0 && s[3] <= latest {
		own = State{s[3], s[4], s[5]}
	}
	algorithms[t.Algorithm].apply(&own, t)
	t.apart = ahead
	switch {
	case !t.Allowed || t.N == 0:
	case ahead:
		copy(s[3:6], own[:])
		s[6] = 1
	case s[6] == 0:
		*s = State{own[0], own[1], own[2], s[0], s[1], s[2]}
	default:
		copy(s[:3], own[:])
	}
}

// SetHits sets N, at most 1<<33, and the Params that depend on it.
func (t *Charge) SetHits(n uint64) {
	t.N = min(n, maxHits)
	algorithms[t.Algorithm].setHits(t)
}

// Ahead reports that the permits of the State are those of a clock that is ahead, by which they expire. A
// store lets such a state expire when it would have without the charge, and then, or at Expires if
// that is earlier, drops it.
func (t *Charge) Ahead() bool { return t.apart && t.Algorithm.HasPermits() }

// Expires returns the time in Unix microseconds after which the State, as it is after the
// charge, equals the zero State and may be dropped.
func (t *Charge) Expires() int64 { return algorithms[t.Algorithm].expires(t) }

// report describes the State after the charge.
func (t *Charge) report() report {
	r := algorithms[t.Algorithm].report(t)
	if t.book != nil {
		r = t.book.report(t, r)
	}
	return r
}

// chargeLimit is a limit with another Algorithm than FixedWindow.
type chargeLimit struct {
	algorithm Algorithm
	rate      int64                  // hits in a window
	capacity  int64                  // hits at once
	length    int64                  // of a window of a fixed length, in microseconds
	one, full tokenTime              // of one hit and of the capacity
	period    *period                // of a sliding window
	window    atomic.Pointer[window] // the last one
	reserves  bool                   // there are reservations
	maxDebt   int64                  // of them
	name      [keyFormats]string     // the end of the keys
}

// newChargeLimit returns nil for a FixedWindow without reservations. The limit is valid.
func newChargeLimit(l *Limit, p *period) *chargeLimit {
	if !l.Algorithm.NeedsChargeStore() && !l.Reservations {
		return nil
	}
	t := &chargeLimit{algorithm: l.Algorithm, rate: int64(l.RequestsPerUnit), capacity: int64(cmp.Or(l.Burst, l.RequestsPerUnit))}
	length := l.Unit.Text(l.UnitMultiplier)
	if l.Align == AlignCalendar {
		length += " " + l.TimeZone
	}
	t.length = l.Unit.Seconds() * int64(max(l.UnitMultiplier, 1)) * second
	t.one, t.full = timeOf(1, t.rate, t.length), timeOf(uint64(t.capacity), t.rate, t.length)
	if t.period = p; p == nil {
		t.period = &period{unit: l.Unit, multiplier: 1}
	}
	name := strings.ReplaceAll(l.Algorithm.String()+" "+length, " ", "_")
	if l.Reservations {
		t.reserves, t.maxDebt, name = true, l.maxDebt(), "reserved_"+name
		if l.Algorithm == FixedWindow {
			t.algorithm = fixedLedger
		}
	}
	t.name = [...]string{unambiguous: "|" + name, reference: "_" + name}
	return t
}

// maxHits bounds the hits of a charge: more are over every limit, and must not overflow.
const maxHits = 1 << 33

// fill makes t a charge of n hits at a time in Unix microseconds.
func (l *chargeLimit) fill(t *Charge, n uint64, now int64) {
	t.Algorithm, t.N, t.Now = l.algorithm, min(n, maxHits), now
	t.Allowed = false
	algorithms[l.algorithm].params(l, t)
}

// algorithm describes an Algorithm: what it needs of a limit and of a store, and how it counts.
type algorithm struct {
	name     string
	windows  bool // limits may be aligned to a calendar
	bursts   bool // limits may have a Burst
	leasable bool // a store may claim hits ahead
	permits  bool // hits are in progress until they are released
	charger       // nil if it counts the hits of windows in a Store
}

// charger is the arithmetic of an Algorithm on the State that a ChargeStore keeps.
type charger interface {
	// params sets the Params of a charge, whose other fields are set.
	params(l *chargeLimit, t *Charge)
	// setHits sets those Params that depend on the number of hits.
	setHits(t *Charge)
	// apply changes the state as Charge.Apply describes, and sets that of the charge. Allowed is true before.
	apply(s *State, t *Charge)
	// report describes the State after a charge. Times are microseconds from Now.
	report(t *Charge) report
	expires(t *Charge) int64
}

// report describes a limit to clients.
type report struct {
	remaining int64 // hits that would pass now
	reset     int64 // until as many pass as at first
	retry     int64 // until the hits that did not pass would
}

// chargeOthers calls Charge of a store that may be no ChargeStore, for limits without reservations.
func chargeOthers(ctx context.Context, store Store, charges []Charge) error {
	err := errors.ErrUnsupported
	if s, ok := store.(ChargeStore); ok {
		err = s.Charge(ctx, charges)
	}
	return chargeError(store, err)
}

// chargeError explains an error of Charge.
func chargeError(store Store, err error) error {
	if err != nil && errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("the counter store (%T) can't hold limits of other algorithms than fixed_window: %w", store, err)
	}
	return err
}
