package xds

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Backoff says how long to wait between attempts to reach the server. The zero
// value is the default.
type Backoff struct {
	// Initial is the wait after the first failure; 0 means 10 s
	// (XDS_CLIENT_BACKOFF_INITIAL_INTERVAL).
	Initial time.Duration
	// Max is the longest wait; 0 means 60 s (XDS_CLIENT_BACKOFF_MAX_INTERVAL). An
	// Initial above it is cut to it.
	Max time.Duration
	// Factor is the part of itself by which each wait is longer than the one before:
	// 0.5 makes it half as long again, 1 twice as long. 0 means 0.5
	// (XDS_CLIENT_BACKOFF_RANDOM_FACTOR).
	Factor float64
	// Jitter takes a random part of each wait away, up to half of it, so that many
	// clients of one server do not come back at the same moment
	// (XDS_CLIENT_BACKOFF_JITTER).
	Jitter bool
}

// Wait is how long to wait after so many failures in a row that have been waited
// for, 0 for the first:
//
//	min(Max, Initial × (1+Factor)^failures)
//
// With Jitter, random, from 0 up to 1, says where the wait is between half of that
// and the whole; without it random is ignored.
func (b Backoff) Wait(failures int, random float64) time.Duration {
	b = b.withDefaults()
	wait := float64(b.Initial) * math.Pow(1+b.Factor, float64(max(failures, 0)))
	wait = min(wait, float64(b.Max)) // infinity too
	if b.Jitter {
		wait *= (1 + random) / 2
	}
	return time.Duration(wait)
}

func (b Backoff) withDefaults() Backoff {
	if b.Initial == 0 {
		b.Initial = 10 * time.Second
	}
	if b.Max == 0 {
		b.Max = 60 * time.Second
	}
	if b.Factor == 0 {
		b.Factor = 0.5
	}
	return b
}

func (b Backoff) check() error {
	factor := error(nil)
	if !(b.Factor >= 0) || math.IsInf(b.Factor, 1) { // NaN is no number that is >= 0
		factor = fmt.Errorf("Options.Backoff.Factor %v: must be a number above 0, or 0 for the default", b.Factor)
	}
	return errors.Join(
		notNegative("Options.Backoff.Initial", b.Initial),
		notNegative("Options.Backoff.Max", b.Max),
		factor)
}
