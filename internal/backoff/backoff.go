// Package backoff computes how long to wait between attempts: exponential growth
// up to a maximum, with optional jitter.
//
//	retry := backoff.Backoff{Initial: time.Second, Max: 30 * time.Second, Jitter: 0.25}
//	for failures := 0; ; failures++ {
//		if err := attempt(); err == nil {
//			return nil
//		}
//		if err := backoff.Sleep(ctx, retry.Wait(failures)); err != nil {
//			return err
//		}
//	}
//
// # Design notes
//
// Wait takes the number of failures and keeps no state, so that callers decide
// when a failure counts and when to start over, and a schedule can be printed in
// advance. Jitter only shortens waits: Max is a true maximum.
package backoff

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Backoff is a schedule of waits.
type Backoff struct {
	// Initial is the wait after the first failure.
	Initial time.Duration
	// Max is the longest wait, also for Initial; 0 means no maximum.
	Max time.Duration
	// Factor multiplies each wait to give the next; 0 means 2.
	Factor float64
	// Jitter is the fraction of each wait, from 0 to 1, of which a random part is
	// removed, so that many clients do not retry at the same moment.
	Jitter float64
}

// Wait returns how long to wait after the given number of earlier failures, 0 for
// the first wait, with jitter.
func (b Backoff) Wait(failures int) time.Duration {
	longest := b.longest(failures)
	return longest - time.Duration(float64(longest)*b.Jitter*rand.Float64())
}

// longest returns the upper bound of Wait: min(Max, Initial × Factor^failures).
func (b Backoff) longest(failures int) time.Duration {
	factor := b.Factor
	if factor == 0 {
		factor = 2
	}
	longest := time.Duration(math.MaxInt64)
	if b.Max > 0 {
		longest = b.Max
	}
	wait := float64(b.Initial) * math.Pow(factor, float64(max(failures, 0)))
	if wait < float64(longest) {
		return time.Duration(wait)
	}
	return longest // for infinity and NaN too
}

// Sleep waits for d, or until ctx ends; then it returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
