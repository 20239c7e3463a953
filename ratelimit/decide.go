package ratelimit

import "time"

// match finds for every descriptor the limit to hold it to.
func (e *Engine) match(u *inUse, r *Request, d *Decision) {
	dom := u.rules.domains[r.Domain]
	w := &d.work
	for i := range r.Descriptors {
		desc, c := &r.Descriptors[i], &w.checks[i]
		c.hits = hitsOf(r, desc)
		switch {
		case dom == nil:
			e.domainNotFound(r.Domain)
		case desc.Limit != nil:
			e.override(r.Domain, desc, c, w)
		default:
			c.limit = dom.match(desc.Entries, &w.text)
		}
	}
	if dom == nil {
		return
	}
	if dom.replaces {
		replace(dom, w)
	}
	for i := range w.checks {
		if c := &w.checks[i]; c.limit != nil && !c.limit.unlimited {
			e.hold(u, r, i, c, w)
		}
	}
}

// hitsOf is how many hits a descriptor counts for (reference 1.3).
func hitsOf(r *Request, d *Descriptor) uint64 {
	if d.HitsAddend != nil {
		return *d.HitsAddend
	}
	return uint64(max(1, r.HitsAddend))
}

func (e *Engine) domainNotFound(name string) {
	if e.limits != nil {
		e.limits.domainNotFound(name).Add(1)
	}
}

// override holds a descriptor to the limit that came with it; rules are not
// consulted (reference 1.6).
func (e *Engine) override(domain string, desc *Descriptor, c *check, w *workspace) {
	c.live, c.requests, c.unit = true, desc.Limit.RequestsPerUnit, desc.Limit.Unit
	if e.limits != nil {
		w.text = appendOverrideMetric(w.text[:0], domain, desc.Entries)
		c.stats = e.limits.limit(domain, w.text)
	}
}

// hold holds descriptor i to its rule's limit.
func (e *Engine) hold(u *inUse, r *Request, i int, c *check, w *workspace) {
	l := c.limit
	c.live, c.requests, c.unit = true, l.requests, l.unit
	switch {
	case e.limits == nil:
	case l.perRequest:
		w.text = l.appendMetric(w.text[:0], r.Domain, r.Descriptors[i].Entries)
		c.stats = e.limits.limit(r.Domain, w.text)
	default:
		c.stats = u.limits[l.id].stats
	}
}

// replace drops the limits that another limit of the same request replaces. A
// dropped one still replaces others, so two that replace each other both go; an
// unlimited one replaces and is never replaced (reference 1.7).
func replace(dom *domain, w *workspace) {
	w.names = resize(w.names, (len(dom.names)+63)/64)
	for i := range w.checks {
		if l := w.checks[i].limit; l != nil {
			for _, id := range l.replaces {
				w.names[id/64] |= 1 << (id % 64)
			}
		}
	}
	for i := range w.checks {
		l := w.checks[i].limit
		if l != nil && !l.unlimited && l.nameID >= 0 && w.names[l.nameID/64]&(1<<(l.nameID%64)) != 0 {
			w.checks[i].limit = nil
		}
	}
}

// prepare names the counters and lists the hits for the stores.
func (e *Engine) prepare(u *inUse, r *Request, d *Decision, t *tick) {
	w := &d.work
	for i := range w.checks {
		c := &w.checks[i]
		if !c.live {
			continue
		}
		if c.stats != nil {
			c.stats.lane(w.lane).total.Add(c.hits)
		}
		c.key[0] = len(w.keys)
		w.keys = e.appendKey(w.keys, u, r.Domain, r.Descriptors[i].Entries, c, t.units[c.unit].text)
		c.key[1] = len(w.keys)
	}
	// Only now do the keys lie still.
	for i := range w.checks {
		if c := &w.checks[i]; c.live {
			e.addHit(c, w, t)
		}
	}
}

func (e *Engine) appendKey(b []byte, u *inUse, domain string, entries []Entry, c *check, window string) []byte {
	if c.limit != nil {
		if l := &u.limits[c.limit.id]; l.planned {
			return l.key.append(b, entries, window)
		}
	}
	return appendCounterKey(b, e.opts.CounterKeyPrefix, domain, entries, c.limit, window)
}

func (e *Engine) addHit(c *check, w *workspace, t *tick) {
	key := w.keys[c.key[0]:c.key[1]:c.key[1]]
	if e.opts.OverLimitCache != nil && e.opts.OverLimitCache.Contains(key) {
		c.cached, w.anyCached = true, true
		return
	}
	if c.unit == Second && e.opts.PerSecond != nil {
		c.store = perSecond
	}
	c.hit = len(w.hits[c.store])
	h := Hit{Key: key, N: c.hits, Limit: c.requests, Unit: c.unit, Window: t.units[c.unit].window}
	if e.jitter > 0 {
		h.Jitter = e.opts.Rand(e.jitter)
	}
	w.hits[c.store] = append(w.hits[c.store], h)
}

// judge turns counts into statuses and statistics.
func (e *Engine) judge(d *Decision, t *tick) {
	w := &d.work
	for i := range w.checks {
		c, s := &w.checks[i], &d.Statuses[i]
		s.Code = OK
		s.Quota = e.opts.QuotaMode || c.limit != nil && c.limit.quota
		if c.limit != nil && c.limit.unlimited {
			s.Remaining, s.Quota = UnlimitedRemaining, false
		}
		if !c.live {
			continue
		}
		v := e.weigh(c, w)
		s.Code, s.Remaining = v.code, v.remaining
		s.Limited, s.RequestsPerUnit, s.Unit = true, c.requests, c.unit
		if c.limit != nil {
			s.Name = c.limit.name
		}
		s.ResetSeconds = t.units[c.unit].reset
		if c.stats != nil {
			c.stats.lane(w.lane).add(&v.counts)
		}
	}
}

func (e *Engine) weigh(c *check, w *workspace) verdict {
	shadow := c.limit != nil && c.limit.shadow
	if c.cached {
		return judgeCached(c.hits, shadow)
	}
	h := &w.hits[c.store][c.hit]
	if cache := e.opts.OverLimitCache; cache != nil && h.Count > uint64(c.requests) {
		cache.Add(h.Key, time.Duration(c.unit.Seconds())*time.Second)
	}
	return judge(c.requests, e.ratio, c.hits, h.Count, shadow)
}

// conclude draws the decision from the statuses: over limit if any descriptor
// is, where those in quota mode count as one that is over when all of them are
// (matching rules 5 and 9; reference 1.7).
func (e *Engine) conclude(d *Decision) {
	quotas, quotasOver := 0, 0
	d.Code = OK
	for i := range d.Statuses {
		s, l := &d.Statuses[i], d.work.checks[i].limit
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
		if e.opts.Metadata && !over && l != nil {
			d.Metadata = mergeMetadata(d.Metadata, l.metadata)
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
