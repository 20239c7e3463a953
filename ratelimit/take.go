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

// TakeStore is a Store that can hold limits of every Algorithm. An Engine fails decisions by
// rules with another Algorithm than FixedWindow if its store is none; see [Engine.Check].
type TakeStore interface {
	Store
	// Take applies each take to the state named by its Key, in order, as [Take.Apply] does
	// to that of a Key without one, which is zero. Each take is one atomic step. The store keeps
	// a state at least until [Take.Expires], and may drop it then. It need not write what a take
	// of 0 hits or one that was refused makes of a state: later ones make it again.
	//
	// An error means that the results are not to be used. Some takes may have happened all
	// the same. Without takes nothing is done. The takes belong to the caller, as the hits of
	// Add do. A wrapper around a Store that is no TakeStore returns errors.ErrUnsupported.
	Take(ctx context.Context, takes []Take) error
}

// Take is a request to a TakeStore to take N hits from a limit.
type Take struct {
	// Key names the state. It holds the algorithm and the length of the window.
	Key []byte
	// Algorithm is not FixedWindow.
	Algorithm Algorithm
	// Back gives the hits back instead.
	Back bool
	// Fixed reports that the Key does not depend on the request: see Hit.Fixed.
	Fixed bool
	// Lease reports that a store may claim hits of a TokenBucket ahead: see Limit.Lease.
	Lease bool
	// N is how many hits to take; 0 reads.
	N uint64
	// Now is the time in Unix microseconds.
	Now int64
	// Terms are the limit as whole numbers below 2^53, so that scripts can compute with them.
	// Their meaning depends on the Algorithm: see its file in this package.
	Terms [6]int64

	// Taken is set by the store: whether the hits were within the limit. It is true if N is
	// 0 and for hits that are given back.
	Taken bool
	// State is set by the store: as it is after the take.
	State State
}

// State is what a TakeStore keeps for a Key: whole numbers below 2^53. Those that an algorithm
// does not use are 0.
type State [9]int64

// Apply applies the take to a state, which it changes, and sets Taken and State.
func (t *Take) Apply(s *State) {
	t.Taken = true
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

// SetHits sets N, at most 1<<33, and the Terms that depend on it.
func (t *Take) SetHits(n uint64) {
	t.N = min(n, maxHits)
	if t.Algorithm == TokenBucket {
		time := timeOf(t.N, t.Terms[4], t.Terms[5])
		t.Terms[0], t.Terms[1] = time.micro, time.rest
	}
}

// Expires returns the time in Unix microseconds from which on the State, as it is after the
// take, is as good as none.
func (t *Take) Expires() int64 {
	if t.Algorithm == TokenBucket {
		return tokenBucket{}.expires(t)
	}
	return algorithms[t.Algorithm].expires(t)
}

// report describes the State after the take.
func (t *Take) report() report {
	if t.Algorithm == TokenBucket {
		return tokenBucket{}.report(t)
	}
	return algorithms[t.Algorithm].report(t)
}

// algorithm is what the engine knows of an Algorithm.
type algorithm interface {
	// terms sets the Terms of a take of N hits.
	terms(l *takeLimit, t *Take, now *moment)
	// apply changes the state as Take.Apply describes. Taken is true before.
	apply(s *State, t *Take)
	// report describes the State after a take. Times are microseconds from Now.
	report(t *Take) report
	expires(t *Take) int64
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

// takeLimit is a limit with another Algorithm than FixedWindow.
type takeLimit struct {
	algorithm Algorithm
	rate      int64                  // hits in a window
	capacity  int64                  // hits at once
	length    int64                  // of a window of a fixed length, in microseconds
	one, full tokenTime              // of one hit and of the capacity
	period    *period                // of a sliding window
	window    atomic.Pointer[window] // the last one
	name      [keyFormats]string     // the end of the keys
}

// newTakeLimit returns nil for a FixedWindow. The limit is valid.
func newTakeLimit(l *Limit, p *period) *takeLimit {
	if l.Algorithm == FixedWindow {
		return nil
	}
	t := &takeLimit{algorithm: l.Algorithm, rate: int64(l.RequestsPerUnit), capacity: int64(l.capacity())}
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

// maxHits bounds the hits of a take: more are over every limit, and must not overflow.
const maxHits = 1 << 33

// moment is a time at which takes are made.
type moment struct {
	micro int64 // Unix
}

// fill makes t a take of n hits.
func (l *takeLimit) fill(t *Take, n uint64, m *moment) {
	t.Algorithm, t.N, t.Now = l.algorithm, min(n, maxHits), m.micro
	t.Taken = false
	if l.algorithm == TokenBucket {
		tokenBucket{}.terms(l, t, m)
		return
	}
	algorithms[l.algorithm].terms(l, t, m)
}
