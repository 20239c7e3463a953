package ratelimit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ExplainedLevel is what one level of rules made of one entry.
type ExplainedLevel struct {
	// Key and Value are those of the entry.
	Key   string `json:"key"`
	Value string `json:"value"`
	// Reached says whether there were rules at this level to compare the entry with.
	Reached bool `json:"reached"`
	// Tried is what the entry was compared with, in that order. If a rule matched, it
	// is the last one.
	Tried []Attempt `json:"tried,omitempty"`
	// TriedLeftOut is how many wildcards that did not match are not in Tried.
	TriedLeftOut int `json:"tried_left_out,omitempty"`
	// NearMisses are rules of the level that may have been meant.
	NearMisses []NearMiss `json:"near_misses,omitempty"`
}

// Match is the rule that matched, nil if none did. The pointer leads into Tried.
func (l *ExplainedLevel) Match() *Attempt {
	if n := len(l.Tried); n > 0 && l.Tried[n-1].Matched {
		return &l.Tried[n-1]
	}
	return nil
}

// Way is how a rule is looked for.
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
	// Key and Value are those of the rule that was looked for.
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	// Configured says whether there is such a rule.
	Configured bool `json:"configured"`
	Matched    bool `json:"matched"`
	// Place is where the rule stands. Explain leaves it empty, as a Ruleset does not
	// know; who does may fill it in.
	Place string `json:"place,omitempty"`

	node *node
}

// walk is how far the entries of one descriptor led.
type walk struct {
	levels []ExplainedLevel
	at     []*level // those that were reached
	nodes  []*node  // the rules that matched
}

// walk goes down the levels as domain.match does. An unknown domain and a limit that
// came with the request leave all levels out of reach.
func (x *explainer) walk(d *Descriptor) walk {
	w := walk{levels: make([]ExplainedLevel, len(d.Entries))}
	var l *level
	if x.domain != nil && d.Limit == nil {
		l = x.domain.top
	}
	for i := range d.Entries {
		w.levels[i] = ExplainedLevel{Key: d.Entries[i].Key, Value: d.Entries[i].Value}
		if l == nil {
			continue
		}
		w.at = append(w.at, l)
		n := x.level(&w.levels[i], l, d.Entries, i)
		if l = nil; n != nil {
			w.nodes, l = append(w.nodes, n), n.next
		}
	}
	if outcome, _ := w.outcome(); outcome == OutcomeNone {
		x.notePassedOver(&w, d.Entries)
	}
	return w
}

// end is the rule that the last entry led to; nil if it led nowhere.
func (w *walk) end() *node {
	if n := len(w.nodes); n > 0 && n == len(w.levels) {
		return w.nodes[n-1]
	}
	return nil
}

// outcome does not know about other descriptors.
func (w *walk) outcome() (Outcome, string) {
	pairs, matched := len(w.levels), len(w.nodes)
	switch end := w.end(); {
	case pairs == 0:
		return OutcomeNone, "the descriptor has no pairs, and rules begin with one"
	case end == nil && len(w.at) > matched:
		l := &w.levels[matched]
		return OutcomeNone, fmt.Sprintf("no rule at level %d for %s", matched+1, pairText(l.Key, l.Value))
	case end == nil && matched == 0: // not looked at
		return OutcomeNone, ""
	case end == nil && w.nodes[matched-1].limit != nil:
		return OutcomeNone, fmt.Sprintf("the request has %d pairs but the rule that matched has its limit at level %d and no rules below: "+
			"only a limit at the depth of the last pair counts", pairs, matched)
	case end == nil:
		return OutcomeNone, fmt.Sprintf("the request has %d pairs but the rule that matched at level %d has no rules below", pairs, matched)
	case end.limit == nil && end.next == nil:
		return OutcomeWhitelisted, fmt.Sprintf("the rule that matched at level %d has neither a limit nor rules below", pairs)
	case end.limit == nil:
		return OutcomeNone, fmt.Sprintf("the request ends at level %d but the rule that matched there has no limit of its own, only rules below", pairs)
	case end.unlimited:
		return OutcomeUnlimited, fmt.Sprintf("the rule that matched at level %d is unlimited", pairs)
	}
	return OutcomeLimit, fmt.Sprintf("the rule that matched at level %d has a limit", pairs)
}

// level fills out with what rules of l made of entry i, and returns the one that
// matched.
func (x *explainer) level(out *ExplainedLevel, l *level, entries []Entry, i int) *node {
	e := &entries[i]
	n := l.match(e, &x.scratch)
	out.Reached = true
	for _, a := range candidates(l, e) {
		a.Matched = n != nil && a.node == n
		if a.Way == ByWildcard && !a.Matched && len(out.Tried) > maxShown {
			out.TriedLeftOut++
			continue
		}
		out.Tried = append(out.Tried, a)
		if a.Matched {
			break
		}
	}
	out.NearMisses = nearMisses(l, entries, i, out.Match())
	return n
}

// candidates is all that an entry may be compared with, in order.
func candidates(l *level, e *Entry) []Attempt {
	k := l.find(e.Key)
	exact := Attempt{Way: ByExactValue, Key: e.Key, Value: e.Value}
	alone := Attempt{Way: ByKeyAlone, Key: e.Key}
	if k != nil {
		exact.node, alone.node = k.exact.find(e.Value), k.any
	}
	all := []Attempt{exact}
	for _, w := range wildcards(l, k) {
		all = append(all, Attempt{Way: ByWildcard, Key: w.key(e.Key), Value: w.node.value, node: w.node})
	}
	all = append(all, alone)
	for i := range all {
		all[i].Configured = all[i].node != nil
	}
	return all
}

// wildcard is a pattern, and whether it is one for key and value together.
type wildcard struct {
	*globRule
	joined bool
}

// wildcards are the patterns of the level that an entry of the key is compared with,
// in the order of the configuration.
func wildcards(l *level, k *keyRules) []wildcard {
	var all []wildcard
	add := func(x *globIndex, joined bool) {
		if x == nil {
			return
		}
		for i := range x.globs {
			all = append(all, wildcard{&x.globs[i], joined})
		}
	}
	if k != nil {
		add(k.wild, false)
	}
	add(l.patterns, true)
	slices.SortStableFunc(all, func(a, b wildcard) int { return cmp.Compare(a.order, b.order) })
	return all
}

// key is the key of the rule; entryKey is the one it is filed under if it has no
// star of its own.
func (w *wildcard) key(entryKey string) string {
	switch {
	case !w.joined:
		return entryKey
	case w.node.value == "":
		return w.pattern
	}
	return strings.TrimSuffix(w.pattern, "_"+w.node.value)
}

// matches reports whether the pattern would take the entry.
func (w *wildcard) matches(e *Entry) bool {
	if w.joined {
		return w.match(e.Key + "_" + e.Value)
	}
	return w.match(e.Value)
}
