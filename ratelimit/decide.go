package ratelimit

import (
	"context"
	"maps"
	"math"
	"time"
)

// match finds the limit of every descriptor, and reports whether there are rules for the domain.
func (e *Engine) match(u *inUse, r *Request, d *Decision) bool {
	dom, w := u.rules.domain(r.Domain), &d.work
	for i := range r.Descriptors {
		desc, c := &r.Descriptors[i], &w.checks[i]
		*c = check{hits: hitsOf(r, desc), refund: desc.Refund, claim: desc.Claim}
		switch {
		case dom == nil:
			if e.limits != nil {
				e.limits.domainNotFound(r.Domain).Add(1)
			}
		case desc.Limit != nil:
			c.override = desc.Limit
		default:
			c.rule = dom.match(desc.Entries, &w.text)
		}
	}
	if dom != nil {
		if w.first = dom.first; dom.replaces {
			w.replace()
		}
	}
	return dom != nil
}

// hitsOf returns the number of hits of a descriptor (REFERENCE.md, 1.2).
func hitsOf(r *Request, d *Descriptor) uint64 {
	if d.HitsAddend != nil {
		return *d.HitsAddend
	}
	return uint64(max(1, r.HitsAddend))
}

// replace drops the limits that another limit of the same request replaces. A
// dropped one still replaces others, so two that replace each other both go; an
// unlimited one replaces and is never replaced (REFERENCE.md, 2.4).
func (w *workspace) replace() {
	if w.replaced == nil {
		w.replaced = make(map[string]bool)
	}
	clear(w.replaced)
	for i := range w.checks {
		if n := w.checks[i].rule; n != nil {
			for _, name := range n.limit.rule.Limit.Replaces {
				w.replaced[name] = true
			}
		}
	}
	for i := range w.checks {
		if n := w.checks[i].rule; n != nil && n.named && !n.unlimited && w.replaced[n.limit.rule.Limit.Name] {
			w.checks[i].rule = nil
		}
	}
}

// prepare determines the limit of each descriptor, counts its total hits, and lists the hits
// for the stores.
func (e *Engine) prepare(u *inUse, r *Request, d *Decision, t *clockSecond) {
	w := &d.work
	w.listed = true
	for i := range w.checks {
		c, entries := &w.checks[i], r.Descriptors[i].Entries
		// Keys of earlier descriptors stay valid when append moves the buffer: they
		// refer to the old memory, which is not written any more.
		start := len(w.keys)
		if e.opts.CounterKeyPrefix != "" {
			w.keys = append(w.keys, e.opts.CounterKeyPrefix...)
		}
		switch {
		case c.override != nil:
			e.applyOverride(u, r.Domain, entries, c, w, t)
			window := c.window.text[e.keys]
			if c.charge != nil {
				window = c.charge.name[e.keys]
			}
			w.keys = e.keys.appendCounterKey(w.keys, r.Domain, entries, nil, window)
		case c.rule != nil && !c.rule.unlimited:
			e.applyRule(u, r.Domain, entries, c, w, t)
		default:
			continue
		}
		if c.claim {
			c.stats = nil
		}
		switch {
		case c.stats == nil:
		case !c.refund:
			c.stats.stripe(w.stripe).total.Add(c.hits)
		case c.hits <= maxHits:
			c.stats.stripe(w.stripe).negative.Add(c.hits)
		}
		key := w.keys[start:len(w.keys):len(w.keys)]
		if c.charge != nil {
			e.addCharge(key, c, w, t)
		} else {
			e.addHit(key, c, w)
		}
	}
}

// applyOverride applies the limit sent with the request; rules are not consulted
// (REFERENCE.md, 1.3).
func (e *Engine) applyOverride(u *inUse, domain string, entries []Entry, c *check, w *workspace, t *clockSecond) {
	c.live, c.requests, c.unit = true, c.override.RequestsPerUnit, c.override.Unit
	c.window = &t.units[c.unit]
	m, calendar := max(c.override.UnitMultiplier, 1), u.rules.months && c.unit == Month
	if m > 1 || calendar {
		c.period = &period{unit: c.unit, multiplier: m}
		if calendar {
			c.period.zone = time.UTC
		}
		c.window = c.period.at(t.now)
	}
	if o := c.override; o.Algorithm.NeedsChargeStore() {
		c.charge = newChargeLimit(&Limit{
			RequestsPerUnit: o.RequestsPerUnit, Unit: o.Unit, UnitMultiplier: o.UnitMultiplier, Algorithm: o.Algorithm, Burst: o.Burst,
		}, c.period)
	}
	if e.limits != nil {
		w.text = appendOverrideMetric(w.text[:0], domain, entries, e.opts.OverrideValues, e.opts.SanitizeMetricDots)
		c.stats = e.limits.limit(domain, w.text)
	}
}

func (e *Engine) applyRule(u *inUse, domain string, entries []Entry, c *check, w *workspace, t *clockSecond) {
	n := c.rule
	c.live, c.requests, c.unit, c.window = true, n.requests, n.unit, &t.units[n.unit]
	if n.periodic {
		c.period = n.limit.period
		c.window = c.period.at(t.now)
	}
	switch {
	case e.limits == nil:
	case n.perRequest:
		w.text = n.limit.appendMetric(w.text[:0], entries, e.opts.SanitizeMetricDots)
		c.stats = e.limits.limit(domain, w.text)
		c.stats.setLimit(n.requests)
	default:
		c.stats = u.stats[w.first+int(n.id)]
	}
	window := c.window.text[e.keys]
	if n.charging {
		c.charge = n.limit.charge
		window = c.charge.name[e.keys]
	}
	if n.plan != nil {
		w.keys = n.plan.append(w.keys, e.keys, entries, window)
	} else {
		w.keys = e.keys.appendCounterKey(w.keys, domain, entries, n.limit, window)
	}
}

// addCharge lists a charge. All charges go to the main store.
func (e *Engine) addCharge(key []byte, c *check, w *workspace, t *clockSecond) {
	if len(w.charges) == 0 {
		w.now = e.clock.micro(t) + w.ahead
	}
	c.store, c.hit = charging, len(w.charges)
	w.addCharge(key, c, c.charge)
	if c.onTrial() {
		l, start := c.rule.limit.candidate, len(w.keys)
		w.keys = append(w.keys, key[:len(key)-len(c.charge.name[e.keys])]...)
		w.keys = append(w.keys, l.name[e.keys]...)
		w.addCharge(w.keys[start:len(w.keys):len(w.keys)], c, l)
	}
}

// addCharge appends a charge from a limit of a check.
func (w *workspace) addCharge(key []byte, c *check, l *chargeLimit) {
	charge := next(&w.charges)
	charge.Params = [6]int64{}
	charge.Key, charge.Refund = key, c.refund
	charge.Fixed, charge.Lease = c.flags()
	charge.Claim = c.claim
	charge.Lease = charge.Lease && w.ahead == 0 // the order among processes is that of the store
	if charge.book = nil; l.reserves {
		charge.book = &booking{maxDebt: l.maxDebt, ttl: w.ttl}
		if c.settled != nil {
			*charge.book = booking{maxDebt: l.maxDebt, settles: true, hold: c.settled.hold, actual: c.settled.actual}
		}
	}
	l.fill(charge, c.hits, w.now)
}

func (e *Engine) addHit(key []byte, c *check, w *workspace) {
	if cache := e.opts.OverLimitCache; cache != nil && !c.candidateAbove() {
		if c.refund {
			cache.Remove(key)
		} else if c.cached, c.recheck = cache.Contains(key); c.cached && !c.recheck {
			w.anyCached = true
			return
		}
		w.recheck = w.recheck || c.recheck
	}
	if c.unit == Second && c.period == nil && e.opts.PerSecond != nil {
		c.store = perSecond
	}
	if c.refund {
		c.store += refunds
	}
	c.hit = len(w.hits[c.store])
	h := next(&w.hits[c.store])
	h.Key, h.N, h.Limit = key, c.hits, c.requests
	h.Unit, h.Length, h.Window, h.Jitter = c.unit, 0, c.window.start, 0
	if c.period != nil {
		h.Length = uint32(c.window.seconds())
	}
	h.Count = 0 // a refund has this Count if the store fails
	h.Fixed, h.Lease = c.flags()
	h.Claim = c.claim
	if e.jitter > 0 {
		h.Jitter = e.opts.Rand(e.jitter)
	}
}

// evaluate derives statuses and statistics from counts.
func (e *Engine) evaluate(u *inUse, r *Request, d *Decision, t *clockSecond) {
	w := &d.work
	for i := range w.checks {
		c, s := &w.checks[i], &d.Statuses[i]
		if !c.live {
			*s = Status{Code: OK, Quota: e.opts.QuotaMode}
			if c.rule != nil { // an unlimited one
				s.Remaining, s.Quota = UnlimitedRemaining, false
			}
			continue
		}
		s.Limited, s.RequestsPerUnit, s.Unit, s.UnitMultiplier = true, c.requests, c.unit, 0
		if c.period != nil && c.period.multiplier > 1 {
			s.UnitMultiplier = c.period.multiplier
		}
		s.ResetSeconds, s.RetrySeconds, s.early = uint32(c.window.end-t.now), 0, 0
		s.Name, s.Quota, s.Algorithm = "", e.opts.QuotaMode, FixedWindow
		if c.charge != nil {
			s.Algorithm = c.charge.algorithm.visible()
		}
		shadow := false
		if n := c.rule; n != nil {
			s.Quota, shadow = s.Quota || n.quota, n.shadow
			if n.named {
				s.Name = n.limit.rule.Limit.Name
			}
		}
		e.compare(c, s, w)
		if e.top != nil && !c.refund && !c.claim && e.top.due(w, t.now) {
			e.top.add(u, c, w, r, i, s.Code == OverLimit, t.now)
		}
		if shadow {
			s.Code = OK
		}
	}
}

// compare compares the count with the limit, for the status and the statistics.
func (e *Engine) compare(c *check, s *Status, w *workspace) {
	shadow := c.rule != nil && c.rule.shadow
	if c.cached {
		s.Code, s.Remaining = OverLimit, 0
		if c.stats != nil {
			c.stats.stripe(w.stripe).add(LimitCounts{OverLimit: c.hits, OverLimitWithLocalCache: c.hits}, shadow)
			if c.onTrial() {
				c.countCandidate(w, LimitCounts{OverLimit: c.hits}) // it is not above the limit
			}
		}
		return
	}
	switch c.failure {
	case FailAllow:
		if s.Code, s.Remaining = OK, c.requests; c.charge != nil {
			s.Remaining, s.ResetSeconds = uint32(c.charge.capacity), 0
		}
		return
	case FailDeny:
		// How much is left is unknown, and for how long. Not all callers are to come back at once.
		s.Code, s.Remaining, s.ResetSeconds = OverLimit, 0, 1+e.opts.Rand(2)
		if s.RetrySeconds = s.ResetSeconds; c.refund {
			s.Code, s.RetrySeconds = OK, 0
		}
		return
	}
	if c.charge != nil {
		e.compareCharge(c, s, w)
		return
	}
	h := &w.hits[c.store][c.hit]
	if c.refund {
		s.Code, s.Remaining = OK, uint32(uint64(c.requests)-min(h.Count, uint64(c.requests)))
		return
	}
	if h.Count <= uint64(c.requests) {
		s.Code, s.Remaining = OK, c.requests-uint32(h.Count)
	} else {
		s.Code, s.Remaining = OverLimit, 0
		// A counter that is over in the fallback store only must not be remembered.
		if cache := e.opts.OverLimitCache; cache != nil && c.failure == "" && !c.candidateAbove() {
			cache.Add(h.Key, time.Duration(c.window.seconds())*time.Second)
		}
	}
	if c.stats != nil {
		c.stats.stripe(w.stripe).add(countsOf(c.requests, e.ratio, c.hits, h.Count), shadow)
		if c.rule != nil && c.rule.candidate {
			c.countCandidate(w, countsOf(c.rule.limit.rule.Limit.Candidate.RequestsPerUnit, e.ratio, c.hits, h.Count))
		}
	}
}

// compareCharge is compare for a charge.
func (e *Engine) compareCharge(c *check, s *Status, w *workspace) {
	t := &w.charges[c.hit]
	r := t.report()
	w.permits = w.permits || t.holdsPermits()
	r.fillStatus(t, s)
	if c.stats == nil || c.refund {
		return
	}
	c.stats.stripe(w.stripe).add(c.charge.counts(t, c.hits, r.remaining, e.ratio), c.rule != nil && c.rule.shadow)
	if c.onTrial() {
		t, l := &w.charges[c.hit+1], c.rule.limit.candidate
		w.permits = w.permits || t.holdsPermits()
		c.countCandidate(w, l.counts(t, c.hits, t.report().remaining, e.ratio))
	}
}

// countCandidate adds to the statistics of the candidate.
func (c *check) countCandidate(w *workspace, counts LimitCounts) {
	c.stats.openCandidate().stripe(w.stripe).add(counts, false)
}

// fillStatus fills the status from the report.
func (r *report) fillStatus(t *Charge, s *Status) {
	s.Code, s.Algorithm = OK, t.Algorithm.visible()
	s.Remaining = uint32(min(r.remaining, math.MaxUint32-1))
	s.ResetSeconds, s.RetrySeconds, s.early = seconds(r.reset), 0, 0
	if !t.Allowed {
		retry := r.retry
		if retry <= 0 { // they never pass
			retry = second
		}
		s.Code, s.Remaining, s.RetrySeconds = OverLimit, 0, seconds(retry)
		s.early = uint32(int64(s.RetrySeconds)*second - min(retry, int64(s.RetrySeconds)*second))
	}
}

// refine notes which part of the second has passed for the statuses that are over a limit of windows.
func (e *Engine) refine(d *Decision, t *clockSecond) {
	for i := range d.Statuses {
		if s := &d.Statuses[i]; s.Code == OverLimit && s.RetrySeconds == 0 {
			s.early = uint32(min(max(e.clock.micro(t)-t.now*second, 0), second-1))
		}
	}
}

// counts classifies the hits of a charge.
func (l *chargeLimit) counts(t *Charge, hits uint64, remaining int64, ratio float32) LimitCounts {
	if !t.Allowed {
		return LimitCounts{OverLimit: hits}
	}
	// What is left of the capacity counts like what is left of a window.
	used := l.capacity - min(remaining, l.capacity)
	return countsOf(uint32(l.capacity), ratio, min(hits, uint64(used)), uint64(used))
}

// seconds rounds microseconds up.
func seconds(micro int64) uint32 {
	return uint32(min((max(micro, 0)+second-1)/second, math.MaxUint32))
}

// conclude derives the overall code from the statuses: over limit if any descriptor
// is, where those in quota mode count as one that is over when all of them are
// (REFERENCE.md, 4.2 to 4.4).
func (e *Engine) conclude(d *Decision) {
	quotas, quotasOver := 0, 0
	d.Code = OK
	for i := range d.Statuses {
		s := &d.Statuses[i]
		over := s.Code == OverLimit
		switch {
		case s.Quota:
			quotas++
			if over {
				quotasOver++
			}
		case over:
			d.Code = OverLimit
		}
		if n := d.work.checks[i].rule; e.opts.Metadata && !over && n != nil {
			d.Metadata = mergeMetadata(d.Metadata, n.limit.rule.Metadata)
		}
	}
	if quotas > 0 && quotas == quotasOver {
		d.Code = OverLimit
	}
	if d.Code == OverLimit && e.opts.ShadowMode {
		d.Code = OK
		if e.shadow != nil {
			e.shadow.Add(1)
		}
	}
}

// The arithmetic of the statistics (REFERENCE.md, 4.1). Dashboards compare them with
// those of the reference service, so they must come out the same to the last hit.

// nearLimit is the count above which hits are near the limit. The product is one
// of 32-bit floats, rounded down, as the reference service computes it.
func nearLimit(limit uint32, ratio float32) uint64 {
	near := float32(limit) * ratio
	// Rounding can lift it above the limit, and so can a ratio above one; then no
	// hit is near without being over.
	if !(near < float32(limit)) {
		return uint64(limit)
	}
	return uint64(near)
}

// countsOf classifies hits (REFERENCE.md, 4.1): after is the counter's value with them,
// or without them where they were held back. TotalHits is left to the caller.
func countsOf(limit uint32, ratio float32, hits, after uint64) LimitCounts {
	most, near, before := uint64(limit), nearLimit(limit, ratio), after-hits
	switch {
	case after <= near:
		return LimitCounts{WithinLimit: hits}
	case after <= most && before >= near:
		return LimitCounts{WithinLimit: hits, NearLimit: hits}
	case after <= most:
		return LimitCounts{WithinLimit: hits, NearLimit: after - near}
	case before >= most:
		return LimitCounts{OverLimit: hits}
	}
	return LimitCounts{OverLimit: after - most, NearLimit: most - max(near, before)}
}

// mergeMetadata adds to dst the keys that it lacks, in nested maps too, and returns dst.
// It neither modifies nor retains src and its maps.
func mergeMetadata(dst, src map[string]any) map[string]any {
	if len(src) == 0 {
		return dst
	}
	if dst == nil {
		dst = make(map[string]any, len(src))
	}
	for k, v := range src {
		mine, isMap := v.(map[string]any)
		old, present := dst[k]
		oldMap, oldIsMap := old.(map[string]any)
		switch {
		case !present:
			dst[k] = v
		case isMap && oldIsMap:
			// The old one may belong to a rule: merge into a copy.
			dst[k] = mergeMetadata(maps.Clone(oldMap), mine)
		}
	}
	return dst
}

// Decide counts the hits of r and returns the decision.
//
// The error, if any, is an *Error. An invalid request counts nothing. After a
// StoreFailure some counters may have been added to.
func (e *Engine) Decide(ctx context.Context, r *Request) (*Decision, error) {
	d := new(Decision)
	if err := e.DecideInto(ctx, r, d); err != nil {
		return nil, err
	}
	return d, nil
}

// DecideInto is Decide for callers who keep a Decision per goroutine: d is
// overwritten and its memory reused, so that a decision allocates nothing. After an
// error d holds no decision.
func (e *Engine) DecideInto(ctx context.Context, r *Request, d *Decision) error {
	d.reset(e, len(r.Descriptors))
	u := e.inUse.Load()
	if u != nil && len(r.Descriptors) == 1 && r.Descriptors[0].Limit == nil {
		if dom := u.rules.domain(r.Domain); dom != nil {
			desc := &r.Descriptors[0]
			d.work.first = dom.first
			return e.decideBy(ctx, u, r, d, dom.match(desc.Entries, &d.work.text), hitsOf(r, desc))
		}
	}
	return d.failed(e.decideMatched(ctx, r, d, nil))
}

// decideMatched finds the limits of a request, counts and decides. accept, if not nil, may refuse the limits before.
func (e *Engine) decideMatched(ctx context.Context, r *Request, d *Decision, accept func() error) error {
	if err := validate(r); err != nil {
		return err
	}
	u := e.inUse.Load()
	if u == nil {
		return sentinelError(NotReady, ErrNoRules)
	}
	if !e.match(u, r, d) {
		e.warnUnknown(r.Domain)
	}
	if accept != nil {
		if err := accept(); err != nil {
			return err
		}
	}
	return e.countAndEvaluate(ctx, u, r, d)
}

// failed empties the decision if there is an error, which it returns.
func (d *Decision) failed(err error) error {
	if err != nil {
		clear(d.Statuses)
	}
	return err
}

// decideBy decides a request with one descriptor by its rule, which is nil if there is none.
func (e *Engine) decideBy(ctx context.Context, u *inUse, r *Request, d *Decision, n *node, hits uint64) error {
	if n != nil && n.plain && e.plain && !r.Descriptors[0].Refund && !r.Descriptors[0].Claim && (!n.charging || e.charges != nil) {
		return e.decidePlain(ctx, u, r, d, n, hits)
	}
	d.work.checks[0] = check{hits: hits, refund: r.Descriptors[0].Refund, claim: r.Descriptors[0].Claim, rule: n}
	return d.failed(e.countAndEvaluate(ctx, u, r, d))
}

// countAndEvaluate counts the hits of matched descriptors and decides.
func (e *Engine) countAndEvaluate(ctx context.Context, u *inUse, r *Request, d *Decision) error {
	t := e.clock.read()
	e.prepare(u, r, d, t)
	if d.work.recheck {
		e.recheck(ctx, &d.work)
	}
	return e.finish(ctx, u, r, d, t, e.count(ctx, &d.work))
}

// finish decides after hits were counted, or could not be.
func (e *Engine) finish(ctx context.Context, u *inUse, r *Request, d *Decision, t *clockSecond, err error) error {
	if err != nil {
		if err = e.fallBack(ctx, d, err); err != nil {
			// Release what the main store charged if another one failed.
			d.work.permits = len(d.work.charges) > 0 && !d.work.failed[charging]
			_ = d.Release(ctx)
			return storeError(err)
		}
	}
	e.evaluate(u, r, d, t)
	e.conclude(d)
	e.refine(d, t)
	if d.Code == OverLimit && d.work.permits {
		_ = d.Release(ctx) // a refused request holds no permit
	}
	return nil
}
