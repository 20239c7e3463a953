package ratelimit

import (
	"context"
	"strings"
	"sync/atomic"
)

// Algorithm is how a limit counts. The zero Algorithm is FixedWindow.
type Algorithm uint8

// The algorithms.
const (
	// FixedWindow counts the hits of each window, those over the limit included, as the
	// reference service does.
	FixedWindow Algorithm = iota
	// SlidingWindow also counts the hits of the window before, by the share of it that is less
	// than a window ago. Hits over the limit do not count. At no time do the hits of the window and
	// that share of those before exceed the limit; so in any time of a part p of a window, at most
	// 1+p times the limit pass.
	SlidingWindow
	// TokenBucket lets Burst hits pass at once and RequestsPerUnit in each unit after that, evenly:
	// each hit takes a token, and tokens come back one by one. Hits over the limit take none.
	TokenBucket
	// Concurrency bounds how many hits are in progress at the same time: a hit takes a place, which
	// [Decision.Release] or a negative hit gives back, or the end of the unit. A place that is
	// not given back becomes free between one and 8/7 units after it was taken.
	Concurrency
)

var algorithmNames = [...]string{"fixed_window", "sliding_window", "token_bucket", "concurrency"}

// AlgorithmNames lists the algorithms of rates, for error messages.
const AlgorithmNames = "fixed_window, sliding_window or token_bucket"

// ParseAlgorithm returns the algorithm with a name, in any letter case. It reports false for
// unknown names.
func ParseAlgorithm(name string) (Algorithm, bool) {
	for i, n := range algorithmNames {
		if strings.EqualFold(name, n) {
			return Algorithm(i), true
		}
	}
	return 0, false
}

// Valid reports whether a is one of the constants.
func (a Algorithm) Valid() bool { return int(a) < len(algorithmNames) }

// String returns the name, or "unknown".
func (a Algorithm) String() string {
	if !a.Valid() {
		return "unknown"
	}
	return algorithmNames[a]
}

// ChargeStore is a Store that can hold limits of every Algorithm. An Engine fails decisions by
// rules with another Algorithm than FixedWindow if its store is none; see [Engine.Check].
type ChargeStore interface {
	Store
	// Charge applies each charge to the state named by its Key, in order, as [Charge.Apply] does
	// to that of a Key without one, which is zero. Each take is one atomic step. The store keeps
	// a state at least until [Charge.Expires], and may drop it then. It need not write what a charge
	// of 0 hits or one that was refused makes of a state: later ones make it again.
	//
	// An error means that the results are not to be used. Some takes may have happened all
	// the same. Without takes nothing is done. The takes belong to the caller, as the hits of
	// Add do. A wrapper around a Store that is no ChargeStore returns errors.ErrUnsupported.
	Charge(ctx context.Context, charges []Charge) error
}

// Charge is a request to a ChargeStore to take N hits from a limit.
type Charge struct {
	// Key names the state. It holds the algorithm and the length of the window.
	Key []byte
	// Algorithm is not FixedWindow.
	Algorithm Algorithm
	// Refund gives the hits back instead.
	Refund bool
	// Fixed reports that the Key does not depend on the request: see Hit.Fixed.
	Fixed bool
	// Lease reports that a store may claim hits of a TokenBucket ahead: see Limit.Lease.
	Lease bool
	// N is how many hits to take; 0 reads.
	N uint64
	// Now is the time in Unix microseconds.
	Now int64
	// Params are the limit as whole numbers below 2^53, so that scripts can compute with them.
	// Their meaning depends on the Algorithm: see its file in this package.
	Params [6]int64

	// Allowed is set by the store: whether the hits were within the limit. It is true if N is
	// 0 and for hits that are given back.
	Allowed bool
	// State is set by the store: as it is after the charge.
	State State
}

// State is what a ChargeStore keeps for a Key: whole numbers below 2^53. Those that an algorithm
// does not use are 0.
type State [9]int64

// Apply applies the charge to a state, which it changes, and sets Allowed and State.
func (t *Charge) Apply(s *State) {
	t.Allowed = true
	if t.Algorithm != TokenBucket {
		algorithms[t.Algorithm].apply(s, t)
		t.State = *s
		return
	}
	// Without an interface, and without a copy of what was written just now in wider words, which
	// processors wait for.
	tokenBucket{}.apply(s, t)
	t.State = State{}
	t.State[0], t.State[1] = s[0], s[1]
}

// SetHits sets N, at most 1<<33, and the Params that depend on it.
func (t *Charge) SetHits(n uint64) {
	t.N = min(n, maxHits)
	if t.Algorithm == TokenBucket {
		time := timeOf(t.N, t.Params[4], t.Params[5])
		t.Params[0], t.Params[1] = time.micro, time.rest
	}
}

// Expires returns the time in Unix microseconds from which on the State, as it is after the
// take, is as good as none.
func (t *Charge) Expires() int64 {
	if t.Algorithm == TokenBucket {
		return tokenBucket{}.expires(t)
	}
	return algorithms[t.Algorithm].expires(t)
}

// report describes the State after the charge.
func (t *Charge) report() report {
	if t.Algorithm == TokenBucket {
		return tokenBucket{}.report(t)
	}
	return algorithms[t.Algorithm].report(t)
}

// algorithm is what the engine knows of an Algorithm.
type algorithm interface {
	// params sets the Params of a charge of N hits.
	params(l *chargeLimit, t *Charge, now *moment)
	// apply changes the state as Charge.Apply describes. Allowed is true before.
	apply(s *State, t *Charge)
	// report describes the State after a charge. Times are microseconds from Now.
	report(t *Charge) report
	expires(t *Charge) int64
}

// report is what clients are told of a limit.
type report struct {
	remaining int64 // hits that would pass now
	reset     int64 // until as many pass as at first
	retry     int64 // until the hits that did not pass would
}

var algorithms = [...]algorithm{
	SlidingWindow: slidingWindow{},
	TokenBucket:   tokenBucket{},
	Concurrency:   concurrency{},
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
	name      [keyFormats]string     // the end of the keys
}

// newChargeLimit returns nil for a FixedWindow. The limit is valid.
func newChargeLimit(l *Limit, p *period) *chargeLimit {
	if l.Algorithm == FixedWindow {
		return nil
	}
	t := &chargeLimit{algorithm: l.Algorithm, rate: int64(l.RequestsPerUnit), capacity: int64(l.capacity())}
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
	t.name = [...]string{unambiguous: "|" + name, reference: "_" + name}
	return t
}

// capacity returns how many hits may come at once.
func (l *Limit) capacity() uint32 {
	if l.Burst > 0 {
		return l.Burst
	}
	return l.RequestsPerUnit
}

// second is one in microseconds.
const second = 1_000_000

// maxHits bounds the hits of a charge: more are over every limit, and must not overflow.
const maxHits = 1 << 33

// moment is a time at which takes are made.
type moment struct {
	micro int64 // Unix
}

// fill makes t a charge of n hits.
func (l *chargeLimit) fill(t *Charge, n uint64, m *moment) {
	t.Algorithm, t.N, t.Now = l.algorithm, min(n, maxHits), m.micro
	t.Allowed = false
	if l.algorithm == TokenBucket {
		tokenBucket{}.params(l, t, m)
		return
	}
	algorithms[l.algorithm].params(l, t, m)
}
