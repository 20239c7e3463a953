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

// Record counts in statistics and TopKeys what clients report who decide by themselves, with hits of [Descriptor.Claim]. It calls no
// store and decides nothing. r has one descriptor, whose hits have no effect. remaining is what was left of its limit: allowed
// hits are near the limit as far as what is used of it is. Candidates are not counted. Without a limit for r nothing is.
func (e *Engine) Record(r *Request, allowed, refused, remaining uint64) {
	u := e.inUse.Load()
	if u == nil || validate(r) != nil || allowed+refused == 0 {
		return
	}
	d, t := new(Decision), e.clock.read()
	d.reset(e, len(r.Descriptors))
	e.match(u, r, d)
	w, c := &d.work, &d.work.checks[0]
	c.hits, c.refund, c.claim = allowed+refused, false, false
	e.prepare(u, r, d, t)
	if c.live && c.stats != nil {
		capacity := uint64(c.requests)
		if c.charge != nil {
			capacity = uint64(c.charge.capacity)
		}
		used, near := capacity-min(remaining, capacity), nearLimit(uint32(capacity), e.ratio)
		c.stats.stripe(w.stripe).add(LimitCounts{WithinLimit: allowed, NearLimit: min(allowed, used-min(used, near)), OverLimit: refused}, false)
	}
	for i, hits := range []uint64{allowed, refused} {
		if c.hits = hits; c.live && e.top != nil && e.top.due(w, t.now) {
			e.top.add(u, c, w, r, 0, i > 0, t.now)
		}
	}
}
