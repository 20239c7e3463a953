package ratelimit

import "context"

// decidePlain counts the hits of the only descriptor of a request by a plain rule, and decides. So do
// nearly all requests, for which it does in one pass what prepare, count, evaluate and conclude
// do for any.
func (e *Engine) decidePlain(ctx context.Context, u *inUse, r *Request, d *Decision, n *node, hits uint64) error {
	w, t := &d.work, e.clock.read()
	w.checks[0] = check{hits: hits, rule: n, live: true}
	window := &t.units[n.unit]
	if e.opts.CounterKeyPrefix != "" {
		w.keys = append(w.keys, e.opts.CounterKeyPrefix...)
	}
	w.keys = n.plan.append(w.keys, e.keys, r.Descriptors[0].Entries, window.text[e.keys])
	h := next(&w.hits[mainStore])
	h.Key, h.N, h.Limit, h.Unit, h.Window = w.keys, hits, n.requests, n.unit, window.start
	h.Fixed, h.Lease, h.Length, h.Jitter = n.fixed, n.lease, 0, 0
	if err := guard(func() error { return e.store.Add(ctx, w.hits[mainStore]) }); err != nil {
		return e.plainFailed(ctx, u, r, d, t, err)
	}
	over := h.Count > uint64(n.requests)
	if e.limits != nil {
		u.stats[n.id].stripe(w.stripe).addPlain(n, e.ratio, hits, h.Count)
	}
	if e.top != nil && e.top.due(w, t.now) {
		e.top.add(u, &w.checks[0], w, r, 0, over, t.now)
	}
	s := &d.Statuses[0]
	s.Code, s.Limited, s.Quota, s.RequestsPerUnit, s.Unit = OK, true, e.opts.QuotaMode || n.quota, n.requests, n.unit
	s.UnitMultiplier, s.Algorithm, s.Name = 0, FixedWindow, ""
	s.ResetSeconds, s.RetrySeconds, s.Remaining = uint32(window.end-t.now), 0, 0
	if n.named {
		s.Name = n.limit.rule.Limit.Name
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

// addPlain adds all statistics of hits by a plain rule.
func (l *stripe) addPlain(n *node, ratio float32, hits, after uint64) {
	if after <= nearLimit(n.requests, ratio) {
		l.passed.Add(hits)
		return
	}
	l.total.Add(hits)
	l.add(countsOf(n.requests, ratio, hits, after), n.shadow)
}

// decidePlainCharge is decidePlain for a rule with another Algorithm than FixedWindow.
func (e *Engine) decidePlainCharge(ctx context.Context, u *inUse, r *Request, d *Decision, n *node, hits uint64) error {
	w, now, l := &d.work, e.clock.read(), n.limit.charge
	w.now = e.clock.micro(now)
	w.checks[0] = check{hits: hits, rule: n, live: true, store: charging, charge: l}
	if e.opts.CounterKeyPrefix != "" {
		w.keys = append(w.keys, e.opts.CounterKeyPrefix...)
	}
	w.keys = n.plan.append(w.keys, e.keys, r.Descriptors[0].Entries, l.name[e.keys])
	t := w.nextCharge()
	t.Key, t.Refund, t.Fixed, t.Lease = w.keys, false, n.fixed, n.lease
	l.fill(t, hits, w.now)
	if err := guard(func() error { return chargeError(e.store, e.charges.Charge(ctx, w.charges)) }); err != nil {
		return e.plainFailed(ctx, u, r, d, now, err)
	}
	report := t.report()
	if e.limits != nil {
		u.stats[n.id].stripe(w.stripe).addPlainCharge(n, t, e.ratio, hits, report.remaining)
	}
	if e.top != nil && e.top.due(w, now.now) {
		e.top.add(u, &w.checks[0], w, r, 0, !t.Allowed, now.now)
	}
	w.permits = t.holdsPermits()
	s := &d.Statuses[0]
	s.Limited, s.Quota, s.RequestsPerUnit, s.Unit = true, e.opts.QuotaMode || n.quota, n.requests, n.unit
	s.UnitMultiplier, s.Name = 0, ""
	if n.periodic && n.limit.period.multiplier > 1 {
		s.UnitMultiplier = n.limit.period.multiplier
	}
	if n.named {
		s.Name = n.limit.rule.Limit.Name
	}
	report.fillStatus(t, s)
	if n.shadow {
		s.Code = OK
	}
	if d.Code = OK; s.Code == OverLimit || e.opts.Metadata {
		e.conclude(d)
	}
	return nil
}

// addPlainCharge adds all statistics of hits by a plain rule.
func (l *stripe) addPlainCharge(n *node, t *Charge, ratio float32, hits uint64, remaining int64) {
	charge := n.limit.charge
	used := uint64(charge.capacity - min(remaining, charge.capacity))
	if t.Allowed && hits <= used && used <= nearLimit(uint32(charge.capacity), ratio) {
		l.passed.Add(hits)
		return
	}
	l.total.Add(hits)
	l.add(charge.counts(t, hits, remaining, ratio), n.shadow)
}

// plainFailed goes on as with any request after the store failed.
func (e *Engine) plainFailed(ctx context.Context, u *inUse, r *Request, d *Decision, t *clockSecond, err error) error {
	w := &d.work
	store := int(w.checks[0].store)
	w.empty()
	e.prepare(u, r, d, t)
	return d.failed(e.finish(ctx, u, r, d, t, w.note(store, err)))
}
