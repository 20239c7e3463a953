package ratelimit

import "context"

// Release releases the permits that the request holds under limits of Concurrency. Call it when the
// work of the request has ended, before the Decision is used again. It has no effect without such
// limits, after a request that was refused, which holds no permit, and the second time. It does not
// end with ctx, which the caller of a request may have canceled. The error is an *Error of kind
// StoreFailure; the permits then expire.
func (d *Decision) Release(ctx context.Context) error {
	w := &d.work
	if !w.permits {
		return nil
	}
	w.permits = false
	e := w.engine
	now := e.clock.micro(e.clock.read())
	ctx = context.WithoutCancel(ctx)
	var err error
	for i := range w.checks {
		c := &w.checks[i]
		if c.failure != "" && c.failure != FailLocal {
			continue
		}
		w.released = w.released[:0]
		for i := range c.charges() {
			t := w.charges[c.hit+i]
			if !t.holdsPermits() {
				continue
			}
			slot := t.State[0]
			c.chargeLimit(i).fill(&t, c.hits, now)
			t.Refund, t.Params[3] = true, slot
			w.released = append(w.released, t)
		}
		if len(w.released) == 0 {
			continue
		}
		store := e.store
		if c.failure == FailLocal {
			store = e.opts.Fallback
		}
		if failed := guard(func() error { return chargeFrom(ctx, store, w.released) }); failed != nil && err == nil {
			err = storeError(failed)
		}
	}
	return err
}

// holdsPermits reports whether the charge holds permits.
func (t *Charge) holdsPermits() bool {
	return t.Algorithm.HasPermits() && t.Allowed && t.N > 0 && !t.Refund
}

// HoldsPermits reports whether the request holds permits, which Release releases.
func (d *Decision) HoldsPermits() bool { return d.work.permits }
