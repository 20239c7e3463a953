package ratelimit

import "time"

// match finds for every descriptor the limit to hold it to.
func (e *Engine) match(u *inUse, r *Request, d *Decision) {
	dom, w := u.rules.domain(r.Domain), &d.work
	for i := range r.Descriptors {
		desc, c := &r.Descriptors[i], &w.checks[i]
		*c = check{hits: hitsOf(r, desc)}
		switch {
		case dom == nil:
			e.domainNotFound(r.Domain)
		case desc.Limit != nil:
			c.override = desc.Limit
		default:
			c.rule = dom.match(desc.Entries, &w.text)
		}
	}
	if dom != nil && dom.replaces {
		replace(dom, w)
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

// replace drops the limits that another limit of the same request replaces. A
// dropped one still replaces others, so two that replace each other both go; an
// unlimited one replaces and is never replaced (reference 1.7).
func replace(dom *domain, w *workspace) {
	w.names = sized(w.names, (len(dom.names)+63)/64)
	clear(w.names)
	for i := range w.checks {
		if n := w.checks[i].rule; n != nil {
			for _, id := range n.limit.replaces {
				w.names[id/64] |= 1 << (id % 64)
			}
		}
	}
	for i := range w.checks {
		if n := w.checks[i].rule; n != nil && n.named && !n.unlimited {
			if id := n.limit.nameID; w.names[id/64]&(1<<(id%64)) != 0 {
				w.checks[i].rule = nil
			}
		}
	}
}

// prepare settles what each descriptor is held to, counts it, and lists the hits
// for the stores.
func (e *Engine) prepare(u *inUse, r *Request, d *Decision, t *tick) {
	w := &d.work
	for i := range w.checks {
		c, entries := &w.checks[i], r.Descriptors[i].Entries
		// Keys of earlier descriptors stay good when append moves the buffer: they
		// keep the old memory, and nobody writes to it.
		start := len(w.keys)
		if e.opts.CounterKeyPrefix != "" {
			w.keys = append(w.keys, e.opts.CounterKeyPrefix...)
		}
		switch {
		case c.override != nil:
			e.holdToOverride(r.Domain, entries, c, w)
			w.keys = appendCounterKey(w.keys, r.Domain, entries, nil, t.units[c.unit].text)
		case c.rule != nil && !c.rule.unlimited:
			e.holdToRule(u, r.Domain, entries, c, w, t)
		default:
			continue
		}
		if c.stats != nil {
			c.stats.lane(w.lane).total.Add(c.hits)
		}
		e.addHit(w.keys[start:len(w.keys):len(w.keys)], c, w, t)
	}
}

// holdToOverride holds a descriptor to the limit that came with it; rules are not
// consulted (reference 1.6).
func (e *Engine) holdToOverride(domain string, entries []Entry, c *check, w *workspace) {
	c.live, c.requests, c.unit = true, c.override.RequestsPerUnit, c.override.Unit
	if e.limits != nil {
		w.text = appendOverrideMetric(w.text[:0], domain, entries)
		c.stats = e.limits.limit(domain, w.text)
	}
}

func (e *Engine) holdToRule(u *inUse, domain string, entries []Entry, c *check, w *workspace, t *tick) {
	n := c.rule
	c.live, c.requests, c.unit = true, n.requests, n.unit
	switch {
	case e.limits == nil:
	case n.perRequest:
		w.text = n.limit.appendMetric(w.text[:0], entries)
		c.stats = e.limits.limit(domain, w.text)
	default:
		c.stats = u.stats[n.id]
	}
	window := t.units[n.unit].text
	if n.plan != nil {
		w.keys = n.plan.append(w.keys, entries, window)
	} else {
		w.keys = appendCounterKey(w.keys, domain, entries, n.limit, window)
	}
}

func (e *Engine) addHit(key []byte, c *check, w *workspace, t *tick) {
	if e.opts.OverLimitCache != nil && e.opts.OverLimitCache.Contains(key) {
		c.cached, w.anyCached = true, true
		return
	}
	if c.unit == Second && e.opts.PerSecond != nil {
		c.store = perSecond
	}
	hits := &w.hits[c.store]
	c.hit = len(*hits)
	if c.hit == cap(*hits) {
		*hits = append(*hits, Hit{})
	}
	*hits = (*hits)[:c.hit+1]
	h := &(*hits)[c.hit]
	h.Key, h.N, h.Limit = key, c.hits, c.requests
	h.Unit, h.Window, h.Jitter = c.unit, t.units[c.unit].window, 0
	if e.jitter > 0 {
		h.Jitter = e.opts.Rand(e.jitter)
	}
}

// judge turns counts into statuses and statistics.
func (e *Engine) judge(d *Decision, t *tick) {
	w := &d.work
	for i := range w.checks {
		c, s := &w.checks[i], &d.Statuses[i]
		if !c.live {
			e.pass(c, s)
			continue
		}
		s.Limited, s.RequestsPerUnit, s.Unit = true, c.requests, c.unit
		s.ResetSeconds = t.units[c.unit].reset
		s.Name, s.Quota = "", e.opts.QuotaMode
		shadow := false
		if n := c.rule; n != nil {
			s.Quota, shadow = s.Quota || n.quota, n.shadow
			if n.named {
				s.Name = n.limit.name
			}
		}
		e.weigh(c, s, w)
		if shadow {
			s.Code = OK
		}
	}
}

// pass is the status of a descriptor without a live limit.
func (e *Engine) pass(c *check, s *Status) {
	*s = Status{Code: OK, Quota: e.opts.QuotaMode}
	if c.rule != nil { // an unlimited one
		s.Remaining, s.Quota = UnlimitedRemaining, false
	}
}

// weigh compares the count with the limit, for the caller and for the statistics.
func (e *Engine) weigh(c *check, s *Status, w *workspace) {
	shadow := c.rule != nil && c.rule.shadow
	if c.cached {
		s.Code, s.Remaining = OverLimit, 0
		if c.stats != nil {
			c.stats.lane(w.lane).add(cachedCounts(c.hits), shadow)
		}
		return
	}
	switch c.failure {
	case failAllow:
		s.Code, s.Remaining = OK, c.requests
		return
	case failDeny:
		s.Code, s.Remaining = OverLimit, 0
		return
	}
	h := &w.hits[c.store][c.hit]
	if h.Count <= uint64(c.requests) {
		s.Code, s.Remaining = OK, c.requests-uint32(h.Count)
	} else {
		s.Code, s.Remaining = OverLimit, 0
		// What is over here alone is not to be over when the store is back.
		if cache := e.opts.OverLimitCache; cache != nil && c.failure == failUnset {
			cache.Add(h.Key, time.Duration(c.unit.Seconds())*time.Second)
		}
	}
	if c.stats != nil {
		c.stats.lane(w.lane).add(countsOf(c.requests, e.ratio, c.hits, h.Count), shadow)
	}
}

// conclude draws the decision from the statuses: over limit if any descriptor
// is, where those in quota mode count as one that is over when all of them are
// (matching rules 5 and 9; reference 1.7).
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
			d.Metadata = mergeMetadata(d.Metadata, n.limit.metadata)
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
