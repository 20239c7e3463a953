package ratelimit

import "math"

// A draft is a domain while it is being compiled: complete enough to find
// duplicates and to judge the whole, and turned into the fast form at the end,
// because with merging a level may grow until the last source is read.
type draft struct {
	*domain
	top    *draftLevel
	levels []*draftLevel // all of them, top first
	names  map[string]int32
	limits []*draftRule // those with a limit, in order
}

type draftLevel struct {
	rules     []*draftRule
	composite map[string]bool
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

func newDraftLevel() *draftLevel { return &draftLevel{composite: make(map[string]bool)} }

// add reports false if a rule of the same key and value, or one whose counters
// and statistics would be called the same, is there already.
func (l *draftLevel) add(r *draftRule) bool {
	key := joinValue(r.rule.Key, r.rule.Value)
	if l.composite[key] {
		return false
	}
	l.composite[key] = true
	l.rules = append(l.rules, r)
	return true
}

func (d *draft) addLimit(rs *Ruleset, dr *draftRule, path []*node) {
	r, in := dr.rule, dr.rule.Limit
	l := &limit{
		id:        len(rs.limits),
		requests:  in.RequestsPerUnit,
		unit:      in.Unit,
		unlimited: in.Unlimited,
		shadow:    r.ShadowMode,
		quota:     r.QuotaMode,
		detailed:  r.DetailedMetric,
		name:      in.Name,
		nameID:    d.nameID(in.Name),
		metadata:  r.Metadata,
		path:      path,
	}
	for _, name := range in.Replaces {
		l.replaces = append(l.replaces, d.nameID(name))
		d.domain.replaces = true
	}
	l.nameMetric(d.name)
	dr.node.limit = l
	rs.limits = append(rs.limits, l)
	d.limits = append(d.limits, dr)
}

// nameMetric settles what can be settled about the statistics key.
func (l *limit) nameMetric(domain string) {
	key := []byte(domain)
	l.perRequest = l.detailed
	for _, n := range l.path {
		l.perRequest = l.perRequest || n.fromValue
		l.sharing = l.sharing || n.shared
		key = append(key, '.')
		key = append(key, n.metric...)
	}
	sanitiseMetric(key)
	l.metric = string(key)
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

func (dl *draftLevel) finish() *level {
	l := &level{many: make(map[string]*keyRules)}
	var patterns []globRule
	wild := make(map[*keyRules][]globRule)
	for i, r := range dl.rules {
		order := int32(min(i, math.MaxInt32))
		if isGlob(r.rule.Key) {
			patterns = append(patterns, globRule{glob: parseGlob(joinValue(r.rule.Key, r.rule.Value)), order: order, node: r.node})
			continue
		}
		k := l.keyRules(r.rule.Key)
		switch {
		case r.rule.Value == "":
			k.any = r.node
		case isGlob(r.rule.Value):
			wild[k] = append(wild[k], globRule{glob: parseGlob(r.rule.Value), order: order, node: r.node})
		default:
			if k.exact == nil {
				k.exact = make(map[string]*node)
			}
			k.exact[r.rule.Value] = r.node
		}
	}
	for k, globs := range wild {
		k.wild = newGlobIndex(globs)
	}
	if patterns != nil {
		l.patterns = newGlobIndex(patterns)
	}
	if len(l.many) <= fewKeys {
		l.many = nil
	} else {
		l.few = nil
	}
	return l
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
