package ratelimit

import (
	"slices"
	"strings"
)

// warnNames warns of names that replace nothing, or that several limits have.
func (d *draft) warnNames(c *compiler) {
	first := make(map[string]*draftRule)
	for _, r := range d.limited {
		name := r.rule.Limit.Name
		if name == "" {
			continue
		}
		if f := first[name]; f != nil {
			c.warn(r.at, "rate_limit.name", "duplicate name '%s': replacing it replaces every limit with that name", name).Other = &f.at.Position
			continue
		}
		first[name] = r
	}
	for _, r := range d.limited {
		for i, name := range r.rule.Limit.Replaces {
			if f := first[name]; f == nil {
				c.warn(r.at, replacesField(i), "unknown limit name in replaces: '%s'", name)
			} else if f.rule.Limit.Unlimited {
				c.warn(r.at, replacesField(i), "replaces names an unlimited limit, which can't be replaced: '%s'", name).Other = &f.at.Position
			}
		}
	}
}

// wildRule is a wildcard together with what it is compared by.
type wildRule struct {
	glob
	*draftRule
	order int
}

// warnWildcards finds the rules of one level that are never reached because an
// earlier wildcard matches everything that they match, and those that share matches with
// an earlier one, so that their order decides.
func warnWildcards(c *compiler, rules []*draftRule) {
	byKey := make(map[string][]wildRule)
	alone := make(map[string]*draftRule)
	var keys []string
	for i, r := range rules {
		key, pattern := r.rule.Key, r.rule.Value
		if isGlob(key) {
			key, pattern = "", joinValue(key, pattern)
		}
		switch {
		case pattern == "":
			alone[key] = r
		case isGlob(pattern):
			if byKey[key] == nil {
				keys = append(keys, key)
			}
			byKey[key] = append(byKey[key], wildRule{parseGlob(pattern), r, i})
		}
	}
	for _, key := range keys {
		warnOverlaps(c, byKey[key])
		all := slices.IndexFunc(byKey[key], func(w wildRule) bool { return strings.Trim(w.pattern, "*") == "" })
		if r := alone[key]; r != nil && all >= 0 {
			w := &byKey[key][all]
			c.warn(r.at, "key", "unreachable: the wildcard '%s' matches every value of key '%s'", w.pattern, r.rule.Key).Other = &w.at.Position
		}
	}
}

// maxComparisons bounds the work on one level. Patterns are compared only where
// one's prefix begins the other's, so it takes thousands that begin alike to get
// there; the rest is then not looked at.
const maxComparisons = 1 << 22

func warnOverlaps(c *compiler, wild []wildRule) {
	sorted := slices.Clone(wild)
	slices.SortStableFunc(sorted, func(a, b wildRule) int { return strings.Compare(a.prefix(), b.prefix()) })
	rival := make(map[*draftRule]*wildRule) // the earliest one to overlap with
	var open []*wildRule                    // those whose prefix begins the current one's
	comparisons := 0
	for i := range sorted {
		w := &sorted[i]
		for len(open) > 0 && !strings.HasPrefix(w.prefix(), open[len(open)-1].prefix()) {
			open = open[:len(open)-1]
		}
		for _, o := range open {
			if comparisons++; comparisons > maxComparisons {
				break
			}
			if w.overlaps(&o.glob) {
				keepRival(rival, w, o)
			}
		}
		open = append(open, w)
	}
	for i := range wild {
		if r := rival[wild[i].draftRule]; r != nil {
			warnOverlap(c, &wild[i], r)
		}
	}
}

// keepRival records, for the later of two overlapping wildcards, the earlier one;
// one that covers it wholly goes before one that does not.
func keepRival(rival map[*draftRule]*wildRule, a, b *wildRule) {
	if a.order > b.order {
		a, b = b, a
	}
	old := rival[b.draftRule]
	if old == nil || a.covers(&b.glob) && (!old.covers(&b.glob) || a.order < old.order) ||
		!old.covers(&b.glob) && a.order < old.order {
		rival[b.draftRule] = a
	}
}

func warnOverlap(c *compiler, w, earlier *wildRule) {
	field := "value"
	if isGlob(w.rule.Key) {
		field = "key"
	}
	if earlier.covers(&w.glob) {
		c.warn(w.at, field, "unreachable: the earlier wildcard '%s' matches everything that '%s' matches",
			earlier.pattern, w.pattern).Other = &earlier.at.Position
		return
	}
	c.warn(w.at, field, "wildcard '%s' overlaps with the earlier '%s', which wins where both match",
		w.pattern, earlier.pattern).Other = &earlier.at.Position
}
