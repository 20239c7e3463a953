package ratelimit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CompileOptions configure Compile.
type CompileOptions struct {
	// MergeDomains merges domains of the same name. By default the second is a fault.
	MergeDomains bool
	// CalendarMonths aligns limits per month to the calendar in UTC, those of requests included, unless a rule has
	// an Align of its own. By default months have 30 days.
	CalendarMonths bool
	// Fields describes the rules, for those who show them. Default: Fields().
	Fields []Field
	// Previous is a Ruleset whose domains are taken over as far as their Rules are the same slices, so that only
	// the others are compiled. It has no effect if its CalendarMonths differ. Default: all are compiled.
	Previous *Ruleset
}

// MaxDepth is the largest nesting depth of rules.
const MaxDepth = 100

// MaxFaults bounds the reported faults, and the reported warnings: a few megabytes of
// configuration can have millions.
const MaxFaults = 10_000

// Compile validates domains and indexes them for matching. The error is [Faults], all at
// once, up to MaxFaults. Likely mistakes are in the Ruleset's Warnings.
//
// No domains are a valid, empty Ruleset. The Ruleset refers to the domains (see
// [Ruleset.Source]), which must not be modified afterwards.
func Compile(domains []Domain, opts *CompileOptions) (*Ruleset, error) {
	opts = cmp.Or(opts, &CompileOptions{})
	c := &compiler{rules: &Ruleset{domains: make(map[string]*placed), fields: opts.Fields, source: domains, months: opts.CalendarMonths}}
	if c.rules.fields == nil {
		c.rules.fields = Fields()
	}
	for _, d := range c.drafts(domains, opts.MergeDomains) {
		c.rules.only = &placed{d.domain, len(c.rules.limits)}
		c.rules.domains[d.name] = c.rules.only
		if opts.Previous == nil || !c.reuse(d, opts.Previous) {
			c.compile(d)
		}
		c.rules.limits = append(c.rules.limits, c.rules.only.limits...)
	}
	if len(c.faults) > 0 {
		sortFaults(c.faults)
		return nil, c.faults
	}
	if len(c.rules.domains) > 1 {
		c.rules.only = nil
	}
	sortFaults(c.rules.warnings)
	return c.rules, nil
}

// compile compiles a domain.
func (c *compiler) compile(d *draft) {
	start := len(c.rules.warnings)
	d.plans = make(map[string]*keyPlan)
	d.top = c.level(d, d.inputs, nil, d.name)
	d.warnNames(c)
	d.warnings = slices.Clone(c.rules.warnings[start:])
}

// reuse takes a domain over from a Ruleset, if it was compiled from the same rules.
func (c *compiler) reuse(d *draft, from *Ruleset) bool {
	old := from.domain(d.name)
	if old == nil || from.months != c.rules.months || !slices.EqualFunc(old.inputs, d.inputs, func(a, b input) bool {
		return len(a.rules) == len(b.rules) && (len(a.rules) == 0 || &a.rules[0] == &b.rules[0])
	}) {
		return false
	}
	now := make(map[int]int) // the number of each source
	for i, in := range old.inputs {
		now[in.Source] = d.inputs[i].Source
	}
	for _, w := range old.warnings[:min(len(old.warnings), MaxFaults-len(c.rules.warnings))] {
		moved := *w
		if moved.Source = now[w.Source]; w.Other != nil {
			moved.Other = &Position{Source: now[w.Other.Source], Path: w.Other.Path}
		}
		c.rules.warnings = append(c.rules.warnings, &moved)
	}
	c.rules.only.domain = old.domain
	return true
}

// sortFaults sorts in the order of the input.
func sortFaults(fs []*Fault) {
	slices.SortStableFunc(fs, func(a, b *Fault) int {
		return cmp.Or(a.Source-b.Source, slices.Compare(a.Path, b.Path))
	})
}

// compiler holds the state of one Compile.
type compiler struct {
	rules  *Ruleset
	faults Faults
}

// draft is a domain that is being compiled.
type draft struct {
	*domain
	limited []*draftRule        // those with a limit, in order
	plans   map[string]*keyPlan // by keyPlan.id
}

// input holds rules of a level and the position of the rule or domain that has them.
type input struct {
	rulePosition
	rules []Rule
}

// draftRule is a rule that is being compiled.
type draftRule struct {
	at   rulePosition
	rule *Rule
	node *node
}

// drafts returns a draft for each domain, or for each input of one that must not be merged, so that the faults
// inside are reported too.
func (c *compiler) drafts(domains []Domain, merge bool) (all []*draft) {
	first := make(map[string]*draft)
	for i := range domains {
		name := domains[i].Name
		in := input{rulePosition{Position{Source: i}, name}, domains[i].Rules}
		if name == "" {
			c.fault(in.rulePosition, "domain", "config file cannot have empty domain")
		}
		d := first[name]
		if d != nil && merge {
			d.inputs = append(d.inputs, in)
			continue
		}
		if d != nil && name != "" {
			c.fault(in.rulePosition, "domain", "duplicate domain '%s' in config file", name).Other = &d.inputs[0].Position
		}
		next := &draft{domain: &domain{name: name, inputs: []input{in}}}
		if d == nil {
			first[name] = next
		}
		all = append(all, next)
	}
	return all
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

// level compiles the rules of a level; parent is the composite key of the rule above.
func (c *compiler) level(d *draft, inputs []input, above []pathRule, parent string) *level {
	var rules []*draftRule
	first := make(map[string]*draftRule) // by composite key
	for _, in := range inputs {
		if len(in.Path) >= MaxDepth && len(in.rules) > 0 {
			c.fault(in.rulePosition, "descriptors", "nested more than %d levels deep", MaxDepth)
			continue
		}
		for i := range in.rules {
			r, p := &in.rules[i], in.rulePosition
			p.Path = append(slices.Clone(in.Path), i)
			dr := &draftRule{p, r, &node{value: r.Value, limit: &limit{rule: r}}}
			key := joinValue(r.Key, r.Value)
			if r.Key == "" {
				c.fault(p, "key", "descriptor has empty key")
			} else if same := first[key]; same == nil {
				first[key] = dr
				rules = append(rules, dr)
			} else { // counters and statistics would have the same names
				c.fault(p, "key", "duplicate descriptor composite key '%s'", parent+"."+key).Other = &same.at.Position
			}
			c.rule(d, dr, above, parent+"."+key)
		}
	}
	warnWildcards(c, rules)
	return newLevel(rules)
}

// rule compiles a rule and those below it.
func (c *compiler) rule(d *draft, dr *draftRule, above []pathRule, composite string) {
	c.checkFields(dr.at, dr.rule)
	path := append(slices.Clone(above), newPathRule(dr.rule))
	if dr.rule.Limit != nil {
		d.addLimit(c.rules, dr, path)
	}
	if len(dr.rule.Rules) > 0 {
		dr.node.next = c.level(d, []input{{dr.at, dr.rule.Rules}}, path, composite)
	}
}

func newPathRule(r *Rule) pathRule {
	p := pathRule{key: r.Key, value: r.Value, shared: r.ShareThreshold, metric: joinValue(r.Key, r.Value)}
	if p.shared {
		prefix, _, _ := strings.Cut(r.Value, "*")
		p.sharedMetric = joinValue(r.Key, prefix)
	}
	switch {
	case p.shared && (r.ValueToMetric || r.DetailedMetric):
		p.metric = p.sharedMetric
	case r.ValueToMetric && (r.Value == "" || isGlob(r.Value) || isGlob(r.Key)):
		p.metric, p.fromValue = "", true
	}
	return p
}

func (d *draft) addLimit(rs *Ruleset, dr *draftRule, path []pathRule) {
	r, in, n, l := dr.rule, dr.rule.Limit, dr.node, dr.node.limit
	l.domain, l.path = d.name, path
	d.replaces = d.replaces || len(in.Replaces) > 0
	n.limited, n.id, n.named = true, int32(len(d.limits)), in.Name != ""
	n.requests, n.unit, n.unlimited, n.lease = in.RequestsPerUnit, in.Unit, in.Unlimited, in.Lease
	if !in.Unlimited {
		l.period, _ = newPeriod(in, rs.months) // checkLimit reports the error
		n.periodic = l.period != nil
		l.charge = newChargeLimit(in, l.period)
		n.charging = l.charge != nil
		n.candidate = in.Candidate != nil
		l.setCandidate(in)
	}
	n.shadow, n.quota = r.ShadowMode, r.QuotaMode
	n.perRequest = r.DetailedMetric || slices.ContainsFunc(path, func(p pathRule) bool { return p.fromValue })
	if !n.perRequest && !n.unlimited {
		l.metric = string(l.appendMetric(nil, make([]Entry, len(path)), false))
	}
	n.plan = d.plan(newKeyPlan(d.name, path))
	n.plain = n.plan != nil && !n.unlimited && (n.charging || !n.periodic) && !n.candidate && !n.perRequest && !in.Reservations
	n.fixed = !slices.ContainsFunc(path, func(p pathRule) bool { return isGlob(p.key) || p.value == "" || isGlob(p.value) && !p.shared })
	d.limits = append(d.limits, l)
	d.limited = append(d.limited, dr)
}

// plan returns the same plan for limits whose keys are made in the same way.
func (d *draft) plan(p *keyPlan) *keyPlan {
	if p == nil {
		return nil
	}
	id := p.id()
	if same := d.plans[id]; same != nil {
		return same
	}
	d.plans[id] = p
	return p
}

// newLevel indexes rules.
func newLevel(rules []*draftRule) *level {
	out := &level{many: make(map[string]*keyRules)}
	var patterns []globRule
	for i, r := range rules {
		key, value := r.rule.Key, r.rule.Value
		if isGlob(key) {
			patterns = append(patterns, globRule{glob: parseGlob(joinValue(key, value)), order: int32(i), node: *r.node})
			continue
		}
		k := out.many[key]
		if k == nil {
			k = &keyRules{key: key}
			out.many[key] = k
			out.few = append(out.few, k)
		}
		switch {
		case value == "":
			k.any = r.node
		case isGlob(value):
			if k.wild == nil {
				k.wild = &globIndex{}
			}
			k.wild.globs = append(k.wild.globs, globRule{glob: parseGlob(value), order: int32(i), node: *r.node})
		default:
			k.exact.nodes = append(k.exact.nodes, *r.node)
		}
	}
	if patterns != nil {
		out.patterns = newGlobIndex(patterns)
	}
	for _, k := range out.few {
		k.exact = newValueIndex(k.exact.nodes)
		if k.wild != nil {
			k.wild = newGlobIndex(k.wild.globs)
		}
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
