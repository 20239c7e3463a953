package explain

import (
	"cmp"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxSteps bounds the search for the order of entries.
const maxSteps = 1000

// Arrange returns entries without an order, such as those of a BucketId of Envoy's quotas, in an order in which they lead to a
// rule with a limit or an unlimited one, the path of this rule, and the rule. Entries are tried in the order of
// their keys, at each level of rules, in 1,000 steps at most. All are nil if no order leads to one.
func Arrange(rules *ratelimit.Ruleset, domain string, entries []ratelimit.Entry) (order, path []ratelimit.Entry, rule *ratelimit.RuleView) {
	steps := 0
	var search func(level ratelimit.LevelView, rest []ratelimit.Entry) bool
	search = func(level ratelimit.LevelView, rest []ratelimit.Entry) bool {
		depth := len(order)
		for i, e := range rest {
			if steps++; level.Empty() || steps > maxSteps {
				return false
			}
			if rule = level.Match(e); rule == nil {
				continue
			}
			order, path = append(order[:depth], e), append(path[:depth], ratelimit.Entry{Key: rule.Key, Value: rule.Value})
			if len(rest) == 1 && rule.Limit != nil || len(rest) > 1 && search(rule.Next, slices.Delete(slices.Clone(rest), i, i+1)) {
				return true
			}
		}
		return false
	}
	sorted := slices.SortedStableFunc(slices.Values(entries), func(a, b ratelimit.Entry) int { return cmp.Compare(a.Key, b.Key) })
	if !search(rules.Level(domain), sorted) {
		return nil, nil, nil
	}
	return order, path, rule
}

// Assignable reports whether quotas can be assigned of a limit: of others clients refuse everything.
func Assignable(l *ratelimit.Limit) bool {
	return l.Algorithm != ratelimit.Concurrency && !l.Reservations
}

// bucketOf returns the BucketId that leads to the rule that the entries lead to, nil if none does.
func bucketOf(rules *ratelimit.Ruleset, domain string, entries []ratelimit.Entry) map[string]string {
	id := make(map[string]string, len(entries))
	for _, e := range entries {
		id[e.Key] = e.Value
	}
	if order, _, rule := Arrange(rules, domain, entries); len(id) < len(entries) || !slices.Equal(order, entries) || rule == nil || !Assignable(rule.Limit) {
		return nil
	}
	return id
}
