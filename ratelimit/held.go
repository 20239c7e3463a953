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
// one that [Decision.Held] returns.
func (r *Ruleset) Limits() []LimitView {
	all := make([]LimitView, len(r.limits))
	for _, d := range r.domains {
		d.top.eachNode(func(n *node) {
			if n.limit == nil {
				return
			}
			v := LevelView{domain: d}.rule("", n)
			view := LimitView{Domain: d.name, Limit: *v.Limit, ShadowMode: v.ShadowMode, QuotaMode: v.QuotaMode}
			for i := range n.limit.path {
				view.Path = append(view.Path, Entry{Key: n.limit.path[i].key, Value: n.limit.path[i].value})
			}
			all[n.id] = view
		})
	}
	return all
}

// eachNode calls f with the rules of a level and of those below it.
func (l *level) eachNode(f func(*node)) {
	if l == nil {
		return
	}
	visit := func(n *node) {
		if n != nil {
			f(n)
			n.next.eachNode(f)
		}
	}
	globs := func(x *globIndex) {
		for i := 0; x != nil && i < len(x.globs); i++ {
			visit(&x.globs[i].node)
		}
	}
	keys := func(k *keyRules) {
		for i := range k.exact.nodes {
			visit(&k.exact.nodes[i])
		}
		globs(k.wild)
		visit(k.any)
	}
	for _, k := range l.few {
		keys(k)
	}
	for _, k := range l.many {
		keys(k)
	}
	globs(l.patterns)
}

// Took returns the take of descriptor i of the last request as the store decided it, nil if the
// limit is a FixedWindow or nothing was taken. It is valid until the next call of DecideInto.
func (d *Decision) Took(i int) *Take {
	c := &d.work.checks[i]
	if !c.live || c.take == nil {
		return nil
	}
	return &d.work.takes[c.hit]
}

// Held returns what descriptor i of the last request was held to: the index of the rule's limit
// in [Ruleset.Limits], and the hit as the store counted it. The index is -1 if no rule applied or
// the limit came with the request; the hit is nil if nothing was counted, and for another Algorithm
// than FixedWindow: see [Decision.Took]. Both are valid until the
// next call of DecideInto.
func (d *Decision) Held(i int) (limit int, hit *Hit) {
	c := &d.work.checks[i]
	limit = -1
	if c.rule != nil {
		limit = int(c.rule.id)
	}
	if c.live && !c.cached && c.take == nil {
		hit = &d.work.hits[c.store][c.hit]
	}
	return limit, hit
}
