package ratelimit

import "context"

// decidePlain counts the hits of the only descriptor of a request by a plain rule, and decides. So do
// nearly all requests, for which it does in one pass what prepare, count, evaluate and conclude
// do for any, in three quarters of the time.
func (e *Engine) decidePlain(ctx context.Context, u *inUse, r *Request, d *Decision, n *node, hits uint64) error {
	w, s, t := &d.work, &d.Statuses[0], e.clock.read()
	w.checks[0] = check{hits: hits, rule: n, live: true}
	if e.opts.CounterKeyPrefix != "" {
		w.keys = append(w.keys, e.opts.CounterKeyPrefix...)
	}
	s.Limited, s.Quota, s.RequestsPerUnit, s.Unit = true, e.opts.QuotaMode || n.quota, n.requests, n.unit
	s.UnitMultiplier, s.Name = 0, ""
	if n.named {
		s.Name = n.limit.rule.Limit.Name
	}
	var err error
	if n.charging {
		err = e.chargePlain(ctx, u, r, d, t, n, hits)
	} else {
		window := &t.units[n.unit]
		w.keys = n.plan.append(w.keys, e.keys, r.Descriptors[0].Entries, window.text[e.keys])
		h := next(&w.hits[mainStore])
		h.Key, h.N, h.Limit, h.Unit, h.Window = w.keys, hits, n.requests, n.unit, window.start
		h.Fixed, h.Lease, h.Claim, h.Length, h.Jitter = n.fixed, n.lease, false, 0, 0
		err = guard(func() error { return e.store.Add(ctx, w.hits[mainStore]) })
		s.Code, s.Algorithm, s.Remaining = OverLimit, FixedWindow, 0
		s.ResetSeconds, s.RetrySeconds, s.early = uint32(window.end-t.now), 0, 0
		if h.Count <= uint64(n.requests) {
			s.Code, s.Remaining = OK, n.requests-uint32(h.Count)
		}
		switch {
		case e.limits == nil || err != nil:
		case h.Count <= nearLimit(n.requests, e.ratio):
			u.stats[w.first+int(n.id)].stripe(w.stripe).passed.Add(hits)
		default:
			stats := u.stats[w.first+int(n.id)].stripe(w.stripe)
			stats.total.Add(hits)
			stats.add(countsOf(n.requests, e.ratio, hits, h.Count), n.shadow)
		}
	}
	if err != nil { // go on as with any request after the store failed
		store := int(w.checks[0].store)
		w.empty()
		e.prepare(u, r, d, t)
		return d.failed(e.finish(ctx, u, r, d, t, w.note(store, err)))
	}
	if e.top != nil && e.top.due(w, t.now) {
		e.top.add(u, &w.checks[0], w, r, 0, s.Code == OverLimit, t.now)
	}
	if n.shadow {
		s.Code = OK
	}
	if d.Code = OK; s.Code == OverLimit || e.opts.Metadata {
		e.conclude(d)
		e.refine(d, t)
	}
	return nil
}

// chargePlain charges a limit of another Algorithm than FixedWindow, and sets the rest of the status.
func (e *Engine) chargePlain(ctx context.Context, u *inUse, r *Request, d *Decision, t *clockSecond, n *node, hits uint64) error {
	w, s, c := &d.work, &d.Statuses[0], &d.work.checks[0]
	l := n.limit.charge
	c.store, c.charge, w.now = charging, l, e.clock.micro(t)+w.ahead
	w.keys = n.plan.append(w.keys, e.keys, r.Descriptors[0].Entries, l.name[e.keys])
	w.addCharge(w.keys, c, l)
	if err := guard(func() error { return chargeError(e.store, e.charges.Charge(ctx, w.charges)) }); err != nil {
		return err
	}
	charge := &w.charges[0]
	report := charge.report()
	report.fillStatus(charge, s)
	w.permits = charge.holdsPermits()
	if n.periodic && n.limit.period.multiplier > 1 {
		s.UnitMultiplier = n.limit.period.multiplier
	}
	if e.limits != nil {
		stats := u.stats[w.first+int(n.id)].stripe(w.stripe)
		if counts := l.counts(charge, hits, report.remaining, e.ratio); counts.WithinLimit == hits && counts.NearLimit == 0 {
			stats.passed.Add(hits)
		} else {
			stats.total.Add(hits)
			stats.add(counts, n.shadow)
		}
	}
	return nil
}
