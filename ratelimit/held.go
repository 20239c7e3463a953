package ratelimit

// LimitView shows a rule with a limit, to tools that analyze decisions: see package replay.
type LimitView struct {
	Domain string
	// Path holds the keys and values of the rule, the top level first.
	Path []Entry
	// Limit is a copy.
	Limit                 Limit
	ShadowMode, QuotaMode bool
}

// Limits returns the rules with a limit, in the order of the configuration: the index is the
// one that [Decision.Applied] returns.
func (r *Ruleset) Limits() []LimitView {
	all := make([]LimitView, len(r.limits))
	for i, l := range r.limits {
		rule := l.rule.alone()
		all[i] = LimitView{Domain: l.domain, Limit: *rule.Limit, ShadowMode: rule.ShadowMode, QuotaMode: rule.QuotaMode}
		for j := range l.path {
			all[i].Path = append(all[i].Path, Entry{Key: l.path[j].key, Value: l.path[j].value})
		}
	}
	return all
}

// Charge returns the charge of descriptor i of the last request as the store decided it, nil if the
// limit is a FixedWindow or nothing was taken. It is valid until the next call of DecideInto.
func (d *Decision) Charge(i int) *Charge {
	c := &d.work.checks[i]
	if !c.live || c.charge == nil {
		return nil
	}
	return &d.work.charges[c.hit]
}

// Applied returns what descriptor i of the last request was held to: the index of the rule's limit
// in [Ruleset.Limits], and the hit as the store counted it. The index is -1 if no rule applied or
// the limit came with the request; the hit is nil if nothing was counted, and for another Algorithm
// than FixedWindow: see [Decision.Charge]. Both are valid until the
// next call of DecideInto.
func (d *Decision) Applied(i int) (limit int, hit *Hit) {
	c := &d.work.checks[i]
	limit = -1
	if c.rule != nil {
		limit = int(c.rule.id)
	}
	if c.live && !c.cached && c.charge == nil {
		hit = &d.work.hits[c.store][c.hit]
	}
	return limit, hit
}
