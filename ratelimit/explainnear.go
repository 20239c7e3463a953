package ratelimit

import (
	"maps"
	"slices"
	"strings"
)

// NearMiss is a rule that did not match, and what keeps it from matching.
type NearMiss struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Why   string `json:"why"`
}

// notePassedOver adds to the near misses the rules that match as well and would have
// led to a limit, had not another one come before them: there is no way back.
func (x *explainer) notePassedOver(w *walk, entries []Entry) {
	for i, n := range w.nodes {
		e := &entries[i]
		k := w.at[i].find(e.Key)
		found := func(key string, other *node) {
			w.levels[i].NearMisses = append(w.levels[i].NearMisses, NearMiss{
				Key: key, Value: other.value,
				Why: "would lead to a limit, but the rule that matched is tried before it, and there is no way back",
			})
		}
		for _, c := range wildcards(w.at[i], k) {
			if c.node != n && c.matches(e) && x.leads(c.node, entries[i+1:]) {
				found(c.key(e.Key), c.node)
				break
			}
		}
		if k != nil && k.any != nil && k.any != n && x.leads(k.any, entries[i+1:]) {
			found(k.key, k.any)
		}
	}
}

// leads reports whether the entries lead on from a rule to a limit.
func (x *explainer) leads(n *node, rest []Entry) bool {
	if len(rest) == 0 {
		return n.limit != nil
	}
	return (&domain{top: n.next}).match(rest, &x.scratch) != nil
}

// nearMisses are a few rules of the level that may have been meant, given the one
// that matched, if one did.
func nearMisses(l *level, entries []Entry, i int, matched *Attempt) []NearMiss {
	e := &entries[i]
	k := l.find(e.Key)
	out := similarKeys(l, e.Key)
	if k != nil && (matched == nil || matched.Way != ByExactValue) {
		out = append(out, similarValues(k, e.Value)...)
	}
	if matched == nil && len(out) == 0 {
		if k != nil {
			out = otherValues(k)
		} else {
			out = otherKeys(l, entries)
		}
	}
	return out[:min(len(out), maxShown)]
}

// similarKeys are keys that differ from key only as people mistype them.
func similarKeys(l *level, key string) (out []NearMiss) {
	for _, known := range l.keys() {
		if d := difference(key, known); d != "" {
			out = append(out, NearMiss{Key: known, Why: d + " of the key differs"})
		}
	}
	return out
}

func similarValues(k *keyRules, value string) (out []NearMiss) {
	for i := range k.exact.nodes {
		known := k.exact.nodes[i].value
		if d := difference(value, known); d != "" && len(out) < maxShown {
			out = append(out, NearMiss{Key: k.key, Value: known, Why: d + " of the value differs"})
		}
	}
	return out
}

func otherValues(k *keyRules) (out []NearMiss) {
	for i := range min(len(k.exact.nodes), maxShown) {
		out = append(out, NearMiss{Key: k.key, Value: k.exact.nodes[i].value, Why: "the value differs"})
	}
	return out
}

// otherKeys are the keys of the level, those first that another entry has.
func otherKeys(l *level, entries []Entry) (out []NearMiss) {
	for i := range entries {
		if l.find(entries[i].Key) != nil {
			out = append(out, NearMiss{Key: entries[i].Key, Why: "another pair of the descriptor has this key: is the order of the pairs right?"})
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, key := range l.keys() {
		out = append(out, NearMiss{Key: key, Why: "the key differs"})
	}
	return out
}

// keys are the keys of the level without a star: few in the order of the
// configuration, many sorted.
func (l *level) keys() []string {
	if l.many != nil {
		return slices.Sorted(maps.Keys(l.many))
	}
	keys := make([]string, len(l.few))
	for i, k := range l.few {
		keys[i] = k.key
	}
	return keys
}

// difference names what alone tells two texts apart; empty if it is more than that,
// or nothing.
func difference(a, b string) string {
	switch {
	case a == b:
		return ""
	case strings.EqualFold(a, b):
		return "the letter case"
	case strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)):
		return "the white space"
	}
	return ""
}

// compareSimilar puts what is similar to name first, and all else in order.
func compareSimilar(name, a, b string) int {
	isA, isB := difference(name, a) != "", difference(name, b) != ""
	switch {
	case isA && !isB:
		return -1
	case isB && !isA:
		return 1
	}
	return strings.Compare(a, b)
}
