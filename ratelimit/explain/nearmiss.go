package explain

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// NearMiss is a rule that did not match, and the reason.
type NearMiss struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	Why   string `json:"why"`
}

// addShadowed adds the rules that match as well and would lead to a limit, but are
// tried after the rule that matched: matching never goes back.
func (w *walk) addShadowed(entries []ratelimit.Entry) {
	for i, match := range w.rules {
		shadowed := func(r *ratelimit.RuleView) bool {
			if r == nil || r.Key == match.Key && r.Value == match.Value || !leadsToLimit(r, entries[i+1:]) {
				return false
			}
			w.levels[i].NearMisses = append(w.levels[i].NearMisses, NearMiss{
				Key: r.Key, Value: r.Value,
				Why: "would lead to a limit, but the rule that matched is tried first, and matching does not go back",
			})
			return true
		}
		for _, c := range w.views[i].Wildcards(entries[i]) {
			if c.Matches && shadowed(c.RuleView) {
				break
			}
		}
		shadowed(w.views[i].KeyAlone(entries[i].Key))
	}
}

func leadsToLimit(r *ratelimit.RuleView, rest []ratelimit.Entry) bool {
	for _, e := range rest {
		if r.Next.Empty() {
			return false
		}
		if r = r.Next.Match(e); r == nil {
			return false
		}
	}
	return r.Limit != nil
}

// nearMisses returns a few rules of the level that may have been meant by an entry.
// match is the one that matched, or nil.
func nearMisses(level ratelimit.LevelView, entries []ratelimit.Entry, e ratelimit.Entry, match *Attempt) []NearMiss {
	var out []NearMiss
	keys, values := level.Keys(), level.Values(e.Key)
	for _, key := range keys {
		if d := difference(e.Key, key); d != "" {
			out = append(out, NearMiss{Key: key, Why: d + " of the key differs"})
		}
	}
	if match == nil || match.Way != ByExactValue {
		for _, value := range values {
			if d := difference(e.Value, value); d != "" {
				out = append(out, NearMiss{Key: e.Key, Value: value, Why: d + " of the value differs"})
			}
		}
	}
	switch {
	case match != nil || len(out) > 0:
	case slices.Contains(keys, e.Key):
		for _, value := range values {
			out = append(out, NearMiss{Key: e.Key, Value: value, Why: "the value differs"})
		}
	default:
		out = otherKeys(keys, entries)
	}
	return out[:min(len(out), maxShown)]
}

// otherKeys returns the keys that other entries of the descriptor have, or else all.
func otherKeys(keys []string, entries []ratelimit.Entry) (out []NearMiss) {
	for i := range entries {
		if key := entries[i].Key; slices.Contains(keys, key) {
			out = append(out, NearMiss{Key: key, Why: "another pair of the descriptor has this key: is the order of the pairs right?"})
		}
	}
	if out != nil {
		return out
	}
	for _, key := range keys {
		out = append(out, NearMiss{Key: key, Why: "the key differs"})
	}
	return out
}

// difference names the small difference between two strings. It is empty if they are
// equal or differ more.
func difference(a, b string) string {
	switch {
	case a == b:
		return ""
	case strings.EqualFold(a, b):
		return "the letter case"
	case strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)):
		return "the white space"
	case suggest.Closest(a, []string{b}, len(a)/5) != "": // none in short words: "v1" and "v2" are two values
		return "the spelling"
	}
	return ""
}
