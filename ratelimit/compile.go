package ratelimit

import (
	"cmp"
	"fmt"
	"slices"
)

// CompileOptions configure Compile.
type CompileOptions struct {
	// MergeDomains merges domains of the same name. By default the second is a fault.
	MergeDomains bool
	// Fields describes the rules, for those who show them. Default: Fields().
	Fields []Field
}

// MaxDepth is the largest nesting depth of rules.
const MaxDepth = 100

// MaxFaults bounds the reported faults, and the reported warnings: a few megabytes of
// configuration can have millions.
const MaxFaults = 10_000

// Compile validates domains and indexes them for matching. The error is [Faults], all at
// once, up to MaxFaults. Likely mistakes are in the Ruleset's Warnings.
//
// No domains are a valid, empty Ruleset. The domains are not retained, except for the
// Metadata of their rules, which must not be modified afterwards.
func Compile(domains []Domain, opts *CompileOptions) (*Ruleset, error) {
	c := &compiler{
		rules: &Ruleset{domains: make(map[string]*domain), plans: make(map[string]*keyPlan)},
		parts: make(map[string]*draft),
	}
	if opts != nil {
		c.merge, c.rules.fields = opts.MergeDomains, opts.Fields
	}
	if c.rules.fields == nil {
		c.rules.fields = Fields()
	}
	for i := range domains {
		c.domain(i, &domains[i])
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	for _, d := range c.order {
		d.finish()
		d.warn(c)
	}
	if len(c.order) == 1 {
		c.rules.only = c.order[0].domain
	}
	slices.SortStableFunc(c.rules.warnings, func(a, b *Fault) int {
		return cmp.Or(a.Source-b.Source, slices.Compare(a.Path, b.Path))
	})
	return c.rules, nil
}

// compiler holds the state of one Compile.
type compiler struct {
	merge  bool
	rules  *Ruleset
	parts  map[string]*draft // by domain name
	order  []*draft          // in the order of the input
	faults Faults
}

func (c *compiler) domain(source int, in *Domain) {
	p := rulePosition{Position{Source: source}, in.Name}
	if in.Name == "" {
		c.fault(p, "domain", "config file cannot have empty domain")
	}
	d, seen := c.parts[in.Name]
	if seen && !c.merge && in.Name != "" {
		c.fault(p, "domain", "duplicate domain '%s' in config file", in.Name).Other = &d.first.Position
	}
	if !seen {
		d = newDraft(in.Name)
		d.first = p
		c.parts[in.Name] = d
		c.order = append(c.order, d)
		c.rules.domains[in.Name] = d.domain
	}
	if seen && !c.merge {
		d = newDraft(in.Name) // report the faults inside too
	}
	c.level(d, d.top, in.Rules, p, nil, in.Name)
}

// rulePosition is the position of a rule or of a domain in the input.
type rulePosition struct {
	Position
	domain string
}

// fault reports a fault, and returns it so that the caller can set Other.
func (c *compiler) fault(p rulePosition, field, format string, args ...any) *Fault {
	return p.report((*[]*Fault)(&c.faults), field, format, args...)
}

// warn reports a warning, and returns it so that the caller can set Other.
func (c *compiler) warn(p rulePosition, field, format string, args ...any) *Fault {
	return p.report(&c.rules.warnings, field, format, args...)
}

// report appends a fault to a list that is not full.
func (p rulePosition) report(to *[]*Fault, field, format string, args ...any) *Fault {
	f := &Fault{Domain: p.domain, Source: p.Source, Path: p.Path, Field: field}
	if len(*to) < MaxFaults {
		f.Reason = fmt.Sprintf(format, args...)
		*to = append(*to, f)
	}
	return f
}

// level adds rules to a level; parent is the composite key of the rule above.
func (c *compiler) level(d *draft, l *draftLevel, rules []Rule, p rulePosition, above []pathRule, parent string) {
	if len(p.Path) >= MaxDepth && len(rules) > 0 {
		c.fault(p, "descriptors", "nested more than %d levels deep", MaxDepth)
		return
	}
	for i := range rules {
		at := p
		at.Path = append(slices.Clone(p.Path), i)
		c.rule(d, l, &rules[i], at, above, parent)
	}
}

func (c *compiler) rule(d *draft, l *draftLevel, r *Rule, p rulePosition, above []pathRule, parent string) {
	key := joinValue(r.Key, r.Value)
	composite := parent + "." + key
	dr := &draftRule{at: p, rule: r, node: &node{value: r.Value, limit: &limit{rule: r.alone()}}}
	if r.Key == "" {
		c.fault(p, "key", "descriptor has empty key")
	} else if first := l.composite[key]; first == nil {
		l.composite[key] = dr
		l.rules = append(l.rules, dr)
	} else { // counters and statistics would have the same names
		c.fault(p, "key", "duplicate descriptor composite key '%s'", composite).Other = &first.at.Position
	}
	c.checkFields(p, r)
	path := append(slices.Clone(above), newPathRule(r))
	if r.Limit != nil {
		d.addLimit(c.rules, dr, path)
	}
	if len(r.Rules) > 0 {
		dr.next = newDraftLevel()
		d.levels = append(d.levels, dr.next)
		c.level(d, dr.next, r.Rules, p, path, composite)
	}
}

func newPathRule(r *Rule) pathRule {
	p := pathRule{key: r.Key, value: r.Value, shared: r.ShareThreshold}
	p.metric, p.fromValue = metricPart(r)
	if p.shared {
		p.sharedMetric = joinValue(r.Key, sharedPrefix(r.Value))
	}
	return p
}

// dependsOnRequest reports whether the counter keys below the rule contain text of the request
// that the rule does not determine.
func (p pathRule) dependsOnRequest() bool {
	return isGlob(p.key) || p.value == "" || isGlob(p.value) && !p.shared
}

// draft is a domain that is being compiled. It becomes the indexed form at the end,
// because merging may extend a level until the last domain has been read.
type draft struct {
	*domain
	first  rulePosition // where the domain first occurs
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
	at   rulePosition
	rule *Rule
	node *node
	next *draftLevel
}

func newDraft(name string) *draft {
	top := newDraftLevel()
	return &draft{domain: &domain{name: name}, top: top, levels: []*draftLevel{top}, names: make(map[string]int32)}
}

func newDraftLevel() *draftLevel { return &draftLevel{composite: make(map[string]*draftRule)} }

func (d *draft) addLimit(rs *Ruleset, dr *draftRule, path []pathRule) {
	r, in, n, l := dr.rule, dr.rule.Limit, dr.node, dr.node.limit
	l.domain, l.nameID, l.path = d.name, d.nameID(in.Name), path
	for _, name := range in.Replaces {
		l.replaces = append(l.replaces, d.nameID(name))
		d.domain.replaces = true
	}
	n.limited, n.id, n.named = true, int32(len(rs.limits)), in.Name != ""
	n.requests, n.unit, n.unlimited, n.lease = in.RequestsPerUnit, in.Unit, in.Unlimited, in.Lease
	if !in.Unlimited {
		l.period, _ = newPeriod(in) // checkLimit reports the error
		n.periodic = l.period != nil
		l.charge = newChargeLimit(in, l.period)
		n.charging = l.charge != nil
		n.candidate = in.Candidate != nil
		l.setCandidate(in)
	}
	n.shadow, n.quota, n.failure = r.ShadowMode, r.QuotaMode, r.OnStoreFailure.number()
	n.perRequest = r.DetailedMetric || slices.ContainsFunc(path, func(p pathRule) bool { return p.fromValue })
	if !n.perRequest && !n.unlimited {
		l.metric = string(l.appendMetric(nil, make([]Entry, len(path)), false))
	}
	n.plan = rs.plan(newKeyPlan(d.name, path))
	n.plain = n.plan != nil && !n.unlimited && (n.charging || !n.periodic) && !n.candidate && !n.perRequest
	n.fixed = !slices.ContainsFunc(path, pathRule.dependsOnRequest)
	rs.limits = append(rs.limits, l)
	d.limits = append(d.limits, dr)
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

// finish builds the index of every level, the deepest first, so that nested levels are
// ready.
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
			patterns = append(patterns, globRule{glob: parseGlob(joinValue(key, value)), order: int32(i), node: *r.node})
			continue
		}
		k := out.keyRules(key)
		switch {
		case value == "":
			k.any = r.node
		case isGlob(value):
			wild[k] = append(wild[k], globRule{glob: parseGlob(value), order: int32(i), node: *r.node})
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
	for _, k := range out.few {
		k.values = len(k.exact.nodes) > 0
		k.patterns = k.wild != nil || out.patterns != nil
	}
	// Drop the form that find does not use.
	if len(out.many) <= fewKeys {
		out.many = nil
	} else {
		out.few = nil
	}
	return out
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

// setCandidate compiles the candidate of a limit.
func (l *limit) setCandidate(in *Limit) {
	if in.Candidate == nil {
		return
	}
	candidate := *in
	candidate.RequestsPerUnit = in.Candidate.RequestsPerUnit
	if l.candidate = newChargeLimit(&candidate, l.period); l.candidate == nil {
		return
	}
	for f, name := range l.candidate.name {
		l.candidate.name[f] = name[:1] + "candidate_" + name[1:]
	}
}
