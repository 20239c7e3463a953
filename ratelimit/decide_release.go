package ratelimit

import (
	"context"
)

// Release gives back the places that the request took under limits of Concurrency. Call it when
// what the request was for has ended, before the Decision is used again. It has no effect without such
// limits, after a request that was refused, which holds no place, and the second time. It does not
// end with ctx, which the caller of a request may have canceled. The error is an *Error of kind
// StoreFailure; the places become free by themselves then.
func (d *Decision) Release(ctx context.Context) error {
	w := &d.work
	if !w.places {
		return nil
	}
	w.places = false
	e := w.engine
	m := e.clock.moment(e.clock.read())
	ctx = context.WithoutCancel(ctx)
	var err error
	for i := range w.checks {
		c := &w.checks[i]
		if c.failure != failUnset && c.failure != failLocal {
			continue
		}
		w.localCharge = w.localCharge[:0]
		for i := range c.charges() {
			t := w.charges[c.hit+i]
			if !t.holdsPlaces() {
				continue
			}
			slot := t.State[0]
			c.chargeLimit(i).fill(&t, c.hits, &m)
			t.Refund, t.Params[3] = true, slot
			w.localCharge = append(w.localCharge, t)
		}
		if len(w.localCharge) == 0 {
			continue
		}
		store := e.store
		if c.failure == failLocal {
			store = e.opts.Fallback
		}
		if failed := guard(func() error { return chargeFrom(ctx, store, w.localCharge) }); failed != nil && err == nil {
			err = storeError(failed)
		}
	}
	return err
}

// holdsPlaces reports whether the charge has taken places.
func (t *Charge) holdsPlaces() bool {
	return t.Algorithm.HasPermits() && t.Allowed && t.N > 0 && !t.Refund
}

// HoldsPermits reports whether the request holds places that Release gives back.
func (d *Decision) HoldsPermits() bool { return d.work.places }

// abandon gives back the places of a request that failed because of another store.
func (d *Decision) abandon(ctx context.Context) {
	// If the charges failed, which places were taken is unknown.
	d.work.places = len(d.work.charges) > 0 && !d.work.failed[charging]
	_ = d.Release(ctx)
}
