// Package explain reports which rules a request matches, and why, without counting:
//
//	x, err := explain.Decision(engine.Rules(), &request, nil)
//	fmt.Print(x)
//
// Command ratelimit-check prints it for a configuration in files.
//
// # Design notes
//
// The engine itself matches and names the counters ([ratelimit.LevelView],
// [ratelimit.Ruleset.Plan]), so an explanation can't disagree with a decision; a test
// compares the two on random rules. Only the reasons are worked out here.
package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options configure an explanation. The zero value, like nil, is ready for use.
type Options struct {
	// Now is the time whose windows the counter keys are for. Default: the present.
	Now time.Time
	// CounterKeyPrefix and CounterKeyFormat are those of the engine's Options.
	CounterKeyPrefix string
	CounterKeyFormat ratelimit.KeyFormat
}

// Explanation reports what rules do with a request. It is plain data, to be read as JSON
// or by [Explanation.String]. Descriptors and levels are numbered from 0, as in the
// slices; in texts, levels count from 1.
type Explanation struct {
	Domain string `json:"domain"`
	// Configured reports whether the domain exists. If not, Domains lists up to ten
	// others, the most similar first, and DomainsLeftOut counts the rest.
	Configured     bool     `json:"configured"`
	Domains        []string `json:"domains,omitempty"`
	DomainsLeftOut int      `json:"domains_left_out,omitempty"`
	// Descriptors are those of the request, in its order.
	Descriptors []Descriptor `json:"descriptors"`
}

// Outcome names the decision about a descriptor.
type Outcome string

// The outcomes. All but OutcomeLimit let the descriptor pass without counting it.
const (
	OutcomeLimit       Outcome = "limit"       // a limit, of a rule or of the request itself
	OutcomeUnlimited   Outcome = "unlimited"   // a rule without a limit, explicitly
	OutcomeWhitelisted Outcome = "whitelisted" // a rule with neither a limit nor nested rules
	OutcomeReplaced    Outcome = "replaced"    // another rule of the same request replaces the limit
	OutcomeNone        Outcome = "no limit"    // no rule applies
)

// Descriptor explains one descriptor.
type Descriptor struct {
	// Levels has one element per entry, in the order of the entries.
	Levels  []Level `json:"levels"`
	Outcome Outcome `json:"outcome"`
	// Reason gives the reason for the outcome in a sentence.
	Reason string `json:"reason"`
	// Limit is set if Outcome is limit, unlimited or replaced.
	Limit *Limit `json:"limit,omitempty"`
	// BucketID is what the bucket_id_builder of Envoy's filter rate_limit_quota must give for a request to meet the
	// rule. It is nil if no rule with a limit or an unlimited one is met, if keys are repeated, and for limits of which no
	// quotas can be assigned.
	BucketID map[string]string `json:"bucket_id,omitempty"`
}

// Limit is a limit and the names under which it counts. In JSON the Fields are members of it, by name.
type Limit struct {
	// Rule has a Limit. Of one that came with the descriptor, everything else is empty.
	ratelimit.Rule `json:"-"`
	// Fields are those of the Rule whose values are not the default, in the order of [ratelimit.Fields].
	Fields []ratelimit.Field `json:"-"`
	// FromRequest reports that the limit came with the descriptor.
	FromRequest bool `json:"from_request,omitempty"`
	// Replaces are the names that this limit replaces.
	Replaces []Replacement `json:"replaces,omitempty"`
	// ReplacedBy are the indices of the descriptors whose limits replace this one.
	ReplacedBy []int `json:"replaced_by,omitempty"`

	// CounterKey is the name of the counter in the window from WindowStart, inclusive,
	// to WindowEnd, exclusive, in Unix seconds. All are zero where nothing is counted. A
	// token_bucket and concurrency have no window, and a sliding_window has one key for all.
	CounterKey  string `json:"counter_key,omitempty"`
	WindowStart int64  `json:"window_start,omitempty"`
	WindowEnd   int64  `json:"window_end,omitempty"`
	// StatisticsKey is the key that the engine requests from its Stats, before names
	// that come with requests are folded together.
	StatisticsKey string `json:"statistics_key,omitempty"`
}

// MarshalJSON joins the fields of the rule with the others.
func (l *Limit) MarshalJSON() ([]byte, error) {
	type others Limit
	rest, err := json.Marshal((*others)(l))
	if err != nil {
		return nil, err
	}
	members := map[string]any{"requests_per_unit": 0}
	for _, f := range l.Fields {
		members[f.Name] = f.Of(&l.Rule)
	}
	delete(members, "replaces")
	out, err := json.Marshal(members)
	if err != nil || string(rest) == "{}" {
		return out, err
	}
	return append(append(out[:len(out)-1], ','), rest[1:]...), nil
}

// Replacement is a name that a limit replaces, with the indices of the descriptors in
// the same request whose limits have it.
type Replacement struct {
	Name        string `json:"name"`
	Descriptors []int  `json:"descriptors,omitempty"`
}

// Level explains what one level of rules does with one entry.
type Level struct {
	// Key and Value are those of the entry.
	Key   string `json:"key"`
	Value string `json:"value"`
	// Reached reports whether there were rules at this level to compare the entry with.
	Reached bool `json:"reached"`
	// Tried lists what the entry was compared with, in that order. A rule that matched
	// is the last one.
	Tried []Attempt `json:"tried,omitempty"`
	// TriedLeftOut is the number of wildcards without a match that Tried leaves out.
	TriedLeftOut int `json:"tried_left_out,omitempty"`
	// NearMisses are rules of the level that may have been meant.
	NearMisses []NearMiss `json:"near_misses,omitempty"`
}

// Match returns the rule that matched, a pointer into Tried, nil if none did.
func (l *Level) Match() *Attempt {
	if n := len(l.Tried); n > 0 && l.Tried[n-1].Matched {
		return &l.Tried[n-1]
	}
	return nil
}

// Way names a way of looking up a rule.
type Way string

// The ways, in the order in which they are tried.
const (
	ByExactValue Way = "exact value"
	ByWildcard   Way = "wildcard" // all of them, in the order of the configuration
	ByKeyAlone   Way = "key alone"
)

// Attempt is one comparison of an entry with a rule.
type Attempt struct {
	Way Way `json:"way"`
	// Key and Value are those of the rule that was looked up.
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	// Configured reports whether the rule exists.
	Configured bool `json:"configured"`
	Matched    bool `json:"matched"`
	// Position is that of the rule in its source. Decision leaves it empty; callers who know the
	// source of the rules may set it.
	Position string `json:"place,omitempty"`
}

// maxShown bounds the rules, values or domains of one kind that are listed.
const maxShown = 10

// Decision explains what an engine with these rules would do with a request. It counts
// nothing and calls no store. The error is the one that Engine.Decide would return for an
// invalid request. Options of the engine beyond its rules, such as global shadow mode, are
// not considered. opts may be nil.
func Decision(rules *ratelimit.Ruleset, request *ratelimit.Request, opts *Options) (*Explanation, error) {
	opts = cmp.Or(opts, &Options{})
	now := opts.Now
	if now.IsZero() {
		now = time.Now()
	}
	hits, err := rules.Plan(request, now, &ratelimit.Options{CounterKeyPrefix: opts.CounterKeyPrefix, CounterKeyFormat: opts.CounterKeyFormat, OverrideValues: true})
	if err != nil {
		return nil, err
	}
	top := rules.Level(request.Domain)
	out := &Explanation{Domain: request.Domain, Configured: !top.Empty()}
	if !out.Configured {
		out.Domains = rules.Domains()
		rank := func(name string) int { // similar ones first
			if difference(request.Domain, name) != "" {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(out.Domains, func(a, b string) int { return rank(a) - rank(b) })
		shown := min(len(out.Domains), maxShown)
		out.Domains, out.DomainsLeftOut = out.Domains[:shown:shown], len(out.Domains)-shown
	}
	walks := make([]walk, len(request.Descriptors))
	for i := range walks {
		walks[i] = newWalk(top, &request.Descriptors[i])
	}
	for i := range walks {
		d := Descriptor{Levels: walks[i].levels}
		switch {
		case !out.Configured:
			d.Outcome, d.Reason = OutcomeNone, fmt.Sprintf("domain %q is not configured", request.Domain)
		case request.Descriptors[i].Limit != nil:
			d.Outcome, d.Reason = OutcomeLimit, "the request sets its own limit for the descriptor, and rules are not consulted"
			l := request.Descriptors[i].Limit
			d.Limit = newLimit(rules.Fields(), &ratelimit.Rule{Limit: &ratelimit.Limit{
				RequestsPerUnit: l.RequestsPerUnit, Unit: l.Unit, UnitMultiplier: l.UnitMultiplier,
			}})
			d.Limit.FromRequest = true
		default:
			d.Outcome, d.Reason = walks[i].outcome()
			d.Limit = ruleLimit(rules.Fields(), walks, i)
			d.BucketID = bucketOf(rules, request.Domain, request.Descriptors[i].Entries)
		}
		switch {
		case hits[i] != nil:
			d.Limit.CounterKey, d.Limit.StatisticsKey = string(hits[i].Key), hits[i].StatisticsKey
			if hits[i].Algorithm.HasWindows() {
				d.Limit.WindowStart, d.Limit.WindowEnd = hits[i].Window, hits[i].End()
			}
		case d.Outcome == OutcomeLimit:
			d.Outcome, d.Reason = OutcomeReplaced, "a limit of the same request replaces it"
		}
		out.Descriptors = append(out.Descriptors, d)
	}
	return out, nil
}

// walk is the path of one descriptor through the levels.
type walk struct {
	levels []Level
	views  []ratelimit.LevelView // those that were reached
	rules  []*ratelimit.RuleView // those that matched
}

// newWalk descends the levels as the engine does. An unknown domain and a limit that
// comes with the request leave all levels unreached.
func newWalk(level ratelimit.LevelView, d *ratelimit.Descriptor) walk {
	w := walk{levels: make([]Level, len(d.Entries))}
	if d.Limit != nil {
		level = ratelimit.LevelView{}
	}
	for i, e := range d.Entries {
		l := &w.levels[i]
		l.Key, l.Value = e.Key, e.Value
		if level.Empty() {
			continue
		}
		rule := level.Match(e)
		l.Reached = true
		l.try(level, e, rule)
		l.NearMisses = nearMisses(level, d.Entries, e, l.Match())
		w.views = append(w.views, level)
		if level = (ratelimit.LevelView{}); rule != nil {
			w.rules, level = append(w.rules, rule), rule.Next
		}
	}
	if outcome, _ := w.outcome(); outcome == OutcomeNone {
		w.addShadowed(d.Entries)
	}
	return w
}

// try lists what an entry is compared with, up to the rule that matches.
func (l *Level) try(level ratelimit.LevelView, e ratelimit.Entry, match *ratelimit.RuleView) {
	add := func(a Attempt, rule *ratelimit.RuleView) (done bool) {
		a.Configured = rule != nil
		a.Matched = rule != nil && match != nil && rule.Key == match.Key && rule.Value == match.Value
		if a.Way == ByWildcard && !a.Matched && len(l.Tried) > maxShown {
			l.TriedLeftOut++
		} else {
			l.Tried = append(l.Tried, a)
		}
		return a.Matched
	}
	if add(Attempt{Way: ByExactValue, Key: e.Key, Value: e.Value}, level.Exact(e)) {
		return
	}
	for _, w := range level.Wildcards(e) {
		if add(Attempt{Way: ByWildcard, Key: w.Key, Value: w.Value}, w.RuleView) {
			return
		}
	}
	add(Attempt{Way: ByKeyAlone, Key: e.Key}, level.KeyAlone(e.Key))
}

// end returns the rule that the last entry matches, nil if it was not reached.
func (w *walk) end() *ratelimit.RuleView {
	if n := len(w.rules); n > 0 && n == len(w.levels) {
		return w.rules[n-1]
	}
	return nil
}

// outcome considers this descriptor alone.
func (w *walk) outcome() (Outcome, string) {
	pairs, matched := len(w.levels), len(w.rules)
	switch end := w.end(); {
	case pairs == 0:
		return OutcomeNone, "the descriptor has no pairs, and rules begin with one"
	case end == nil && len(w.views) > matched:
		l := &w.levels[matched]
		return OutcomeNone, fmt.Sprintf("no rule at level %d for %s", matched+1, pairText(l.Key, l.Value))
	case end == nil && matched == 0: // not compared with any rule
		return OutcomeNone, ""
	case end == nil && w.rules[matched-1].Limit != nil:
		return OutcomeNone, fmt.Sprintf("the request has %d pairs but the rule that matched has its limit at level %d and no rules below: "+
			"only a limit at the depth of the last pair counts", pairs, matched)
	case end == nil:
		return OutcomeNone, fmt.Sprintf("the request has %d pairs but the rule that matched at level %d has no rules below", pairs, matched)
	case end.Limit == nil && end.Next.Empty():
		return OutcomeWhitelisted, fmt.Sprintf("the rule that matched at level %d has neither a limit nor rules below", pairs)
	case end.Limit == nil:
		return OutcomeNone, fmt.Sprintf("the request ends at level %d but the rule that matched there has no limit of its own, only rules below", pairs)
	case end.Limit.Unlimited:
		return OutcomeUnlimited, fmt.Sprintf("the rule that matched at level %d is unlimited", pairs)
	}
	return OutcomeLimit, fmt.Sprintf("the rule that matched at level %d has a limit", pairs)
}

// ruleLimit returns the limit of the rule that descriptor i matches, nil for none.
func ruleLimit(fields []ratelimit.Field, walks []walk, i int) *Limit {
	rule := walks[i].end()
	if rule == nil || rule.Limit == nil {
		return nil
	}
	out := newLimit(fields, &rule.Rule)
	for _, name := range rule.Limit.Replaces {
		out.Replaces = append(out.Replaces, Replacement{name, descriptorsWith(walks, func(l *ratelimit.Limit) bool {
			return l.Name == name && !l.Unlimited
		})})
	}
	if name := rule.Limit.Name; !rule.Limit.Unlimited && name != "" {
		out.ReplacedBy = descriptorsWith(walks, func(l *ratelimit.Limit) bool { return slices.Contains(l.Replaces, name) })
	}
	return out
}

func newLimit(fields []ratelimit.Field, r *ratelimit.Rule) *Limit {
	return &Limit{Rule: *r, Fields: slices.DeleteFunc(slices.Clone(fields), func(f ratelimit.Field) bool { return f.Of(r) == nil })}
}

// descriptorsWith returns the indices of the descriptors whose limits satisfy a
// condition.
func descriptorsWith(walks []walk, condition func(*ratelimit.Limit) bool) (indices []int) {
	for i := range walks {
		if rule := walks[i].end(); rule != nil && rule.Limit != nil && condition(rule.Limit) {
			indices = append(indices, i)
		}
	}
	return indices
}
