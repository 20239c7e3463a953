package ratelimit

import "context"

// isSingle reports whether the request has one descriptor, which counts hits by a plain rule. So
// have nearly all requests.
func (e *Engine) isSingle(w *workspace) bool {
	return len(w.checks) == 1 && e.plain && w.checks[0].rule != nil && w.checks[0].rule.plain && !w.checks[0].back
}

// decideSingle does for such a request what prepare, count, evaluate and conclude do for any,
// in one pass.
func (e *Engine) decideSingle(ctx context.Context, u *inUse, r *Request, d *Decision, t *tick) error {
	w := &d.work
	c, entries := &w.checks[0], r.Descriptors[0].Entries
	n := c.rule
	window := &t.units[n.unit]
	if e.opts.CounterKeyPrefix != "" {
		w.keys = append(w.keys, e.opts.CounterKeyPrefix...)
	}
	w.keys = n.plan.append(w.keys, e.keys, entries, window.text[e.keys])
	hits := w.oneHit()
	h := &hits[0]
	h.Key, h.N, h.Limit, h.Unit, h.Window = w.keys, c.hits, n.requests, n.unit, window.start
	h.Fixed, h.Lease, h.Length, h.Jitter = n.fixed, n.lease, 0, 0
	if err := guardedAdd(ctx, e.store, hits); err != nil {
		return e.singleFailed(ctx, u, r, d, t, err)
	}
	over := h.Count > uint64(n.requests)
	if e.limits != nil {
		stripe := u.stats[n.id].stripe(w.stripe)
		if h.Count <= nearLimit(n.requests, e.ratio) {
			stripe.passed.Add(c.hits)
		} else {
			stripe.total.Add(c.hits)
			stripe.add(countsOf(n.requests, e.ratio, c.hits, h.Count), n.shadow)
		}
	}
	if e.top != nil && e.top.due(w, t.now) {
		e.top.add(u, c, w, r, 0, over, t.now)
	}
	s := &d.Statuses[0]
	s.Code, s.Limited, s.Quota, s.RequestsPerUnit, s.Unit = OK, true, e.opts.QuotaMode || n.quota, n.requests, n.unit
	s.UnitMultiplier, s.Algorithm, s.Name = 0, FixedWindow, ""
	s.ResetSeconds, s.RetrySeconds, s.Remaining = uint32(window.end-t.now), 0, 0
	if n.named {
		s.Name = n.limit.name
	}
	if !over {
		s.Remaining = n.requests - uint32(h.Count)
	} else if !n.shadow {
		s.Code = OverLimit
	}
	if d.Code = OK; s.Code == OverLimit || e.opts.Metadata {
		e.conclude(d)
	}
	return nil
}

// singleFailed goes on as with any request after the store failed.
func (e *Engine) singleFailed(ctx context.Context, u *inUse, r *Request, d *Decision, t *tick, err error) error {
	w := &d.work
	e.prepare(u, r, d, t)
	return e.finish(ctx, u, r, d, t, w.note(mainStore, err))
}

// oneHit returns room for one hit for the main store. It is not listed.
func (w *workspace) oneHit() []Hit {
	if cap(w.hits[mainStore]) == 0 {
		w.hits[mainStore] = make([]Hit, 0, 1)
	}
	return w.hits[mainStore][:1]
}
