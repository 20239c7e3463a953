package ratelimit

import (
	"context"
	"math"
	"slices"
)

// CounterState describes the limit and the counter of a descriptor.
type CounterState struct {
	// Status is that of a request without hits: the limit, Remaining and ResetSeconds.
	Status
	// Used is the number of hits that count against the limit: those of the window, which may be more than
	// the limit; with a SlidingWindow also the share of the window before, with a TokenBucket the
	// tokens that are missing, with Concurrency the permits in use, all three up to the limit. It is
	// 0 without a limit.
	Used uint64
}

// Counters reads the counters of the limits of the descriptors of r, in their order. It counts
// nothing, in statistics either; numbers of hits and Descriptor.Refund have no effect. Where the
// over-limit cache would decide, it asks the store nevertheless. FailurePolicies don't apply, and the
// counters of Options.Fallback are not read.
//
// Errors are those of Decide. The error wraps errors.ErrUnsupported if the store is no ChargeStore and
// a limit has another Algorithm than FixedWindow.
func (e *Engine) Counters(ctx context.Context, r *Request) ([]CounterState, error) {
	return e.counters(ctx, r, func(c *check) { c.hits, c.refund = 0, false })
}

// ResetCounters subtracts all hits from the counters of the limits of the descriptors of r, and
// returns what Counters does after that: nothing is used then, buckets are full and all permits are
// free. Statistics are not corrected. The over-limit cache of this engine
// forgets the counters; those of other instances remember them until their time is over.
//
// Errors are those of Counters; errors.ErrUnsupported also if a limit is a FixedWindow and its store
// no SubtractStore. After an error some counters may have been reset.
func (e *Engine) ResetCounters(ctx context.Context, r *Request) ([]CounterState, error) {
	return e.counters(ctx, r, func(c *check) { c.hits, c.refund = math.MaxUint64, true })
}

// Refund subtracts the hits of r, never below zero, and returns what Counters does after that. It
// is a Decide where all descriptors have Refund, except that it does not count, and that errors are
// those of ResetCounters.
func (e *Engine) Refund(ctx context.Context, r *Request) ([]CounterState, error) {
	return e.counters(ctx, r, func(c *check) { c.refund = true })
}

// counters calls the stores for r, whose checks were changed, and returns the result.
func (e *Engine) counters(ctx context.Context, r *Request, change func(*check)) ([]CounterState, error) {
	if err := validate(r); err != nil {
		return nil, err
	}
	u := e.inUse.Load()
	if u == nil {
		return nil, sentinelError(NotReady, ErrNoRules)
	}
	// On the same stores and counters, without statistics and without an over-limit cache.
	quiet, d := &Engine{store: e.store, keys: e.keys, opts: Options{
		CounterKeyPrefix: e.opts.CounterKeyPrefix, PerSecond: e.opts.PerSecond, QuotaMode: e.opts.QuotaMode,
	}}, new(Decision)
	quiet.clock.now, quiet.clock.system = e.clock.now, e.clock.system
	d.reset(quiet, len(r.Descriptors))
	quiet.match(u, r, d)
	w := &d.work
	for i := range w.checks {
		change(&w.checks[i])
	}
	t := e.clock.read()
	quiet.prepare(&inUse{rules: u.rules}, r, d, t)
	err := quiet.add(ctx, w)
	if cache := e.opts.OverLimitCache; cache != nil {
		// A decision that is made at the same time may have it remember a counter again.
		for _, h := range slices.Concat(w.hits[refunds:]...) {
			cache.Remove(h.Key)
		}
	}
	if err != nil {
		return nil, counterError(err)
	}
	quiet.evaluate(&inUse{rules: u.rules}, r, d, t)
	return d.counterStates(), nil
}

func (d *Decision) counterStates() []CounterState {
	w := &d.work
	states := make([]CounterState, len(d.Statuses))
	for i, c := range w.checks {
		states[i].Status = d.Statuses[i]
		switch {
		case !c.live:
		case c.charge != nil:
			states[i].Used = uint64(max(c.charge.capacity-int64(d.Statuses[i].Remaining), 0))
		default:
			states[i].Used = w.hits[c.store][c.hit].Count
		}
	}
	return states
}
