package ratelimit

// A draft is a domain while it is being compiled: complete enough to find
// duplicates and to judge the whole, and turned into the fast form at the end,
// because with merging a level may grow until the last source is read.
type draft struct {
	*domain
	first  spot // where the domain first occurs
	top    *draftLevel
	levels []*draftLevel // all of them, top first
	names  map[string]int32
	limits []*draftRule // those with a limit, in order
}

type draftLevel struct {
	rules     []*draftRule
	composite map[string]*draftRule
}

type draftRule struct {
	spot
	rule *Rule
	node *node
	next *draftLevel
}

func newDraft(name string) *draft {
	top := newDraftLevel()
	return &draft{domain: &domain{name: name}, top: top, levels: []*draftLevel{top}, names: make(map[string]int32)}
}

func newDraftLevel() *draftLevel { return &draftLevel{composite: make(map[string]*draftRule)} }

// add adds a rule, or returns the one that is there already with the same key and
// value, or with others whose counters and statistics would have the same names.
func (l *draftLevel) add(r *draftRule) *draftRule {
	key := joinValue(r.rule.Key, r.rule.Value)
	if first := l.composite[key]; first != nil {
		return first
	}
	l.composite[key] = r
	l.rules = append(l.rules, r)
	return nil
}

func (d *draft) addLimit(rs *Ruleset, dr *draftRule, path []pathRule) {
	r, in, n := dr.rule, dr.rule.Limit, dr.node
	l := &limit{
		domain:   d.name,
		name:     in.Name,
		nameID:   d.nameID(in.Name),
		detailed: r.DetailedMetric,
		metadata: r.Metadata,
		path:     path,
	}
	for _, name := range in.Replaces {
		l.replaces = append(l.replaces, d.nameID(name))
		d.domain.replaces = true
	}
	n.limit, n.id, n.named = l, int32(len(rs.limits)), in.Name != ""
	n.requests, n.unit, n.unlimited = in.RequestsPerUnit, in.Unit, in.Unlimited
	n.shadow, n.quota, n.failure = r.ShadowMode, r.QuotaMode, r.OnStoreFailure.number()
	if l.metric, n.perRequest = l.nameMetric(); n.perRequest || n.unlimited {
		l.metric = ""
	}
	n.plan = rs.plan(newKeyPlan(d.name, path))
	rs.limits = append(rs.limits, l)
	d.limits = append(d.limits, dr)
}

// nameMetric returns the statistics key, and whether the one to use depends on the
// request.
func (l *limit) nameMetric() (metric string, perRequest bool) {
	key := []byte(l.domain)
	perRequest = l.detailed
	for i := range l.path {
		perRequest = perRequest || l.path[i].fromValue
		key = append(key, '.')
		key = append(key, l.path[i].metric...)
	}
	sanitiseMetric(key)
	return string(key), perRequest
}

// nameID numbers the names of a domain, -1 for no name.
func (d *draft) nameID(name string) int32 {
	if name == "" {
		return -1
	}
	id, seen := d.names[name]
	if !seen {
		id = int32(len(d.domain.names))
		d.names[name] = id
		d.domain.names = append(d.domain.names, name)
	}
	return id
}

// finish builds the fast form of every level, the deepest first so that each
// finds its nested ones ready.
func (d *draft) finish() {
	done := make(map[*draftLevel]*level, len(d.levels))
	for i := len(d.levels) - 1; i >= 0; i-- {
		dl := d.levels[i]
		for _, r := range dl.rules {
			r.node.next = done[r.next]
		}
		done[dl] = dl.finish()
	}
	d.domain.top = done[d.top]
}

func (l *draftLevel) finish() *level {
	out := &level{many: make(map[string]*keyRules)}
	var patterns []globRule
	wild := make(map[*keyRules][]globRule)
	exact := make(map[*keyRules][]node)
	for i, r := range l.rules {
		key, value := r.rule.Key, r.rule.Value
		if isGlob(key) {
			patterns = append(patterns, newGlobRule(joinValue(key, value), i, r.node))
			continue
		}
		k := out.keyRules(key)
		switch {
		case value == "":
			k.any = r.node
		case isGlob(value):
			wild[k] = append(wild[k], newGlobRule(value, i, r.node))
		default:
			exact[k] = append(exact[k], *r.node)
		}
	}
	for k, globs := range wild {
		k.wild = newGlobIndex(globs)
	}
	for k, nodes := range exact {
		k.exact = newValueIndex(nodes)
	}
	if patterns != nil {
		out.patterns = newGlobIndex(patterns)
	}
	out.keepFewOrMany()
	return out
}

func newGlobRule(pattern string, order int, n *node) globRule {
	return globRule{glob: parseGlob(pattern), order: order, node: n}
}

// keepFewOrMany drops the form that find won't use.
func (l *level) keepFewOrMany() {
	if len(l.many) <= fewKeys {
		l.many = nil
	} else {
		l.few = nil
	}
}

func (l *level) keyRules(key string) *keyRules {
	k := l.many[key]
	if k == nil {
		k = &keyRules{key: key}
		l.many[key] = k
		l.few = append(l.few, k)
	}
	return k
}
