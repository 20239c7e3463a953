package ratelimit

import (
	"context"
	"strings"
)

// Algorithm selects how a limit counts. The zero Algorithm is FixedWindow.
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
	// each hit uses a token, and tokens are refilled one by one. Hits over the limit use none.
	TokenBucket
	// Concurrency bounds how many hits are in progress at the same time: a hit holds a permit, which
	// [Decision.Release] or a negative hit releases. A permit that is not released expires between one
	// and 8/7 units after the hit.
	Concurrency
)

var algorithms = [...]algorithm{
	FixedWindow:   fixedWindow,
	SlidingWindow: slidingWindow,
	TokenBucket:   tokenBucket,
	Concurrency:   concurrency,
	fixedLedger:   fixedWindows,
}

// algorithmNames lists the algorithms of rates, for error messages.
const algorithmNames = "fixed_window, sliding_window or token_bucket"

// ParseAlgorithm returns the algorithm with a name, in any letter case. It reports false for
// unknown names.
func ParseAlgorithm(name string) (Algorithm, bool) {
	for i := range algorithms {
		if strings.EqualFold(name, algorithms[i].name) {
			return Algorithm(i), true
		}
	}
	return 0, false
}

// Valid reports whether a is one of the constants.
func (a Algorithm) Valid() bool { return a < fixedLedger }

// value returns the description, an empty one for an invalid algorithm.
func (a Algorithm) value() algorithm {
	if int(a) >= len(algorithms) {
		return algorithm{name: "unknown"}
	}
	return algorithms[a]
}

// String returns the name, or "unknown".
func (a Algorithm) String() string { return a.value().name }

// HasWindows reports whether hits are counted in windows, which may be aligned to a calendar.
func (a Algorithm) HasWindows() bool { return a.value().windows }

// HasBursts reports whether a limit may have a Burst.
func (a Algorithm) HasBursts() bool { return a.value().bursts }

// HasPermits reports whether a limit is about the hits in progress, which [Decision.Release] ends.
func (a Algorithm) HasPermits() bool { return a.value().permits }

// Leasable reports whether a store may claim hits ahead: see [Limit].Lease.
func (a Algorithm) Leasable() bool { return a.value().leasable }

// NeedsChargeStore reports whether limits need a [ChargeStore].
func (a Algorithm) NeedsChargeStore() bool { return a.value().charger != nil }

// SupportedBy returns an error, which wraps errors.ErrUnsupported, if a store can't hold limits of the
// algorithm. Wrappers around a store ask it about the inner one.
func (a Algorithm) SupportedBy(store Store) error {
	if !a.NeedsChargeStore() {
		return nil
	}
	if s, ok := store.(AlgorithmStore); ok {
		return chargeError(store, s.Supports(a))
	}
	return chargeOthers(context.Background(), store, nil)
}
