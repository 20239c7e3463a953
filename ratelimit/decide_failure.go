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

// countsLocally reports whether the hits go to the fallback store. Refunds of windows do not.
func (c *check) countsLocally() bool {
	return c.failure == FailLocal && (c.store < refunds || c.store == charging)
}

// countLocally counts the descriptors with FailLocal in the fallback store.
func (e *Engine) countLocally(ctx context.Context, w *workspace) error {
	w.local, w.localCharge = w.local[:0], w.localCharge[:0]
	for i := range w.checks {
		switch c := &w.checks[i]; {
		case !c.countsLocally():
		case c.charge != nil:
			for i := range c.charges() {
				t := w.charges[c.hit+i]
				c.chargeLimit(i).fill(&t, c.hits, w.now) // N may have been held back
				w.localCharge = append(w.localCharge, t)
			}
		default:
			h := w.hits[c.store][c.hit]
			h.N, h.Count = c.hits, 0
			w.local = append(w.local, h)
		}
	}
	if len(w.local) > 0 {
		if err := guard(func() error { return e.opts.Fallback.Add(ctx, w.local) }); err != nil {
			return err
		}
	}
	if len(w.localCharge) > 0 {
		if err := guard(func() error { return chargeFrom(ctx, e.opts.Fallback, w.localCharge) }); err != nil {
			return err
		}
	}
	hit, charge := 0, 0
	for i := range w.checks {
		switch c := &w.checks[i]; {
		case !c.countsLocally():
		case c.charge != nil:
			charge += copy(w.charges[c.hit:c.hit+c.charges()], w.localCharge[charge:])
		default:
			w.hits[c.store][c.hit].Count = w.local[hit].Count
			hit++
		}
	}
	return nil
}
