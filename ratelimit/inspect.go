package ratelimit

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// LevelView shows the rules that an entry is compared with at one depth, to tools that
// explain decisions: see package explain. The zero value has no rules.
type LevelView struct{ level *level }

// RuleView shows one compiled rule.
type RuleView struct {
	// Rule is a copy without the nested Rules.
	Rule
	Next LevelView // the nested rules
}

// Fields returns those of [CompileOptions]. It must not be changed.
func (r *Ruleset) Fields() []Field { return r.fields }

// Source returns the domains that were given to Compile, none for a nil Ruleset. They must not be changed.
func (r *Ruleset) Source() []Domain {
	if r == nil {
		return nil
	}
	return r.source
}

// Domains returns the names of all domains, sorted.
func (r *Ruleset) Domains() []string { return slices.Sorted(maps.Keys(r.domains)) }

// Level returns the top level of a domain, the zero LevelView if it is not configured.
func (r *Ruleset) Level(domain string) LevelView {
	if d := r.domain(domain); d != nil {
		return LevelView{d.top}
	}
	return LevelView{}
}

// Empty reports whether there are no rules.
func (v LevelView) Empty() bool { return v.level == nil }

// at returns the rules, none for the zero value.
func (v LevelView) at() *level {
	if v.level == nil {
		return &level{}
	}
	return v.level
}

// Keys returns the keys without a star, sorted.
func (v LevelView) Keys() []string {
	keys := slices.Collect(maps.Keys(v.at().many))
	for _, k := range v.at().few {
		keys = append(keys, k.key)
	}
	slices.Sort(keys)
	return keys
}

// Values returns the exact values that the rules of a key have, in the order of the
// configuration.
func (v LevelView) Values(key string) []string {
	var values []string
	if k := v.at().find(key); k != nil {
		for i := range k.exact.nodes {
			values = append(values, k.exact.nodes[i].value)
		}
	}
	return values
}

// Match returns the rule that an entry matches, nil if there is none.
func (v LevelView) Match(e Entry) *RuleView { return v.at().match(&e, new([]byte)).view() }

// Exact returns the rule with the key and value of an entry, nil if there is none.
func (v LevelView) Exact(e Entry) *RuleView {
	if k := v.at().find(e.Key); k != nil {
		return k.exact.find(e.Value).view()
	}
	return nil
}

// KeyAlone returns the rule with a key and no value, nil if there is none.
func (v LevelView) KeyAlone(key string) *RuleView {
	if k := v.at().find(key); k != nil {
		return k.any.view()
	}
	return nil
}

// Wildcard is a rule with a star in its key or value, and whether it matches an entry.
type Wildcard struct {
	*RuleView
	Matches bool
	order   int32
}

// Wildcards returns the rules with a star that an entry is compared with, in the order
// of the configuration.
func (v LevelView) Wildcards(e Entry) []Wildcard {
	var all []Wildcard
	add := func(x *globIndex, text string) {
		if x == nil {
			return
		}
		for i := range x.globs {
			g := &x.globs[i]
			all = append(all, Wildcard{g.node.view(), g.match(text), g.order})
		}
	}
	if k := v.at().find(e.Key); k != nil {
		add(k.wild, e.Value)
	}
	add(v.at().patterns, e.Key+"_"+e.Value)
	slices.SortStableFunc(all, func(a, b Wildcard) int { return int(a.order - b.order) })
	return all
}

// view returns nil for no rule.
func (n *node) view() *RuleView {
	if n == nil {
		return nil
	}
	return &RuleView{n.limit.rule.alone(), LevelView{n.next}}
}

// PlannedHit describes the hit that a descriptor would count.
type PlannedHit struct {
	// Hit has no window with a TokenBucket and with Concurrency. The Key of all algorithms but
	// FixedWindow is that of a state, see [Charge].
	Hit
	Algorithm Algorithm
	// StatisticsKey is the key that an engine requests from its Stats, before names
	// that come with requests are folded together.
	StatisticsKey string
}

// Plan returns for each descriptor what an engine with these rules and the CounterKeyPrefix,
// CounterKeyFormat and OverrideValues of opts, which may be nil, would count at a time, nil where it counts
// nothing. Nothing is counted and no store is called. The error is the one that Decide would
// return.
func (r *Ruleset) Plan(request *Request, now time.Time, opts *Options) ([]*PlannedHit, error) {
	if err := validate(request); err != nil {
		return nil, err
	}
	opts = cmp.Or(opts, &Options{})
	e := newEngine(nil, &Options{CounterKeyPrefix: opts.CounterKeyPrefix, CounterKeyFormat: opts.CounterKeyFormat})
	u, d := &inUse{rules: r}, new(Decision)
	d.reset(e, len(request.Descriptors))
	e.match(u, request, d)
	e.clock.now = func() time.Time { return now }
	e.prepare(u, request, d, newClockSecond(now.Unix()))
	hits := make([]*PlannedHit, len(request.Descriptors))
	for i := range hits {
		c, entries := &d.work.checks[i], request.Descriptors[i].Entries
		if !c.live {
			continue
		}
		hits[i] = &PlannedHit{}
		if c.charge != nil {
			t := &d.work.charges[c.hit]
			hits[i].Hit = Hit{Key: t.Key, N: c.hits, Limit: c.requests, Unit: c.unit, Fixed: t.Fixed}
			if hits[i].Algorithm = t.Algorithm; t.Algorithm.HasWindows() {
				hits[i].Window, hits[i].Length = c.window.start, uint32(c.window.seconds())
			}
		} else {
			hits[i].Hit = d.work.hits[c.store][c.hit]
		}
		switch {
		case c.override != nil:
			hits[i].StatisticsKey = string(appendOverrideMetric(nil, request.Domain, entries, opts.OverrideValues, false))
		case c.rule.perRequest:
			hits[i].StatisticsKey = string(c.rule.limit.appendMetric(nil, entries, false))
		default:
			hits[i].StatisticsKey = c.rule.limit.metric
		}
	}
	return hits, nil
}

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
		all[i] = LimitView{l.domain, l.entries(), *rule.Limit, rule.ShadowMode, rule.QuotaMode}
	}
	return all
}
