package ratelimit

import "context"

// fallBack applies the policies of descriptors whose store failed. It returns the store's
// error if a policy is FailError, if the context is done, and if the request is invalid.
func (e *Engine) fallBack(ctx context.Context, d *Decision, cause error) error {
	w := &d.work
	if !e.mayGoOn(ctx, w, cause) {
		return cause
	}
	if err := e.countLocally(ctx, w); err != nil {
		return cause
	}
	for i := range w.checks {
		if counter := e.fallbacks[w.checks[i].failure]; counter != nil {
			counter.Add(1)
		}
	}
	if e.opts.OnFallback != nil {
		e.opts.OnFallback(ctx, cause)
	}
	return nil
}

// countLocally counts the descriptors with FailLocal in the fallback store. Refunds of windows are not counted.
func (e *Engine) countLocally(ctx context.Context, w *workspace) (err error) {
	for i := 0; i < len(w.checks) && err == nil; i++ {
		switch c := &w.checks[i]; {
		case c.failure != FailLocal:
		case c.charge != nil:
			charges := w.charges[c.hit : c.hit+c.charges()]
			for j := range charges {
				c.chargeLimit(j).fill(&charges[j], c.hits, w.now) // N may have been held back
			}
			err = guard(func() error { return chargeFrom(ctx, e.opts.Fallback, charges) })
		case c.store < refunds:
			hits := w.hits[c.store][c.hit : c.hit+1]
			hits[0].N, hits[0].Count = c.hits, 0
			err = guard(func() error { return e.opts.Fallback.Add(ctx, hits) })
		}
	}
	return err
}
