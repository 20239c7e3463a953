package modeltest

import (
	"regexp"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// seconds has the lengths of the windows (REFERENCE.md, 3.2).
var seconds = map[ratelimit.Unit]int64{
	ratelimit.Second: 1,
	ratelimit.Minute: 60,
	ratelimit.Hour:   60 * 60,
	ratelimit.Day:    24 * 60 * 60,
	ratelimit.Week:   7 * 24 * 60 * 60,
	ratelimit.Month:  30 * 24 * 60 * 60,
	ratelimit.Year:   365 * 24 * 60 * 60,
}

// find returns the path of rules that match the entries, nil for none. Matching never goes
// back (REFERENCE.md, 2.1).
func find(rules []ratelimit.Rule, entries []ratelimit.Entry) []ratelimit.Rule {
	if len(entries) == 0 {
		return nil
	}
	r := pick(rules, entries[0])
	if r == nil {
		return nil
	}
	if len(entries) == 1 {
		return []ratelimit.Rule{*r}
	}
	below := find(r.Rules, entries[1:])
	if below == nil {
		return nil
	}
	return append([]ratelimit.Rule{*r}, below...)
}

// pick searches a level three times: for the exact rule, for the first
// wildcard, for the key alone.
func pick(rules []ratelimit.Rule, e ratelimit.Entry) *ratelimit.Rule {
	for i, r := range rules {
		if !starred(r.Key) && !starred(r.Value) && r.Value != "" && r.Key == e.Key && r.Value == e.Value {
			return &rules[i]
		}
	}
	for i, r := range rules {
		byBoth := starred(r.Key) && wild(joined(r.Key, r.Value), e.Key+"_"+e.Value)
		byValue := !starred(r.Key) && r.Key == e.Key && starred(r.Value) && wild(r.Value, e.Value)
		if byBoth || byValue {
			return &rules[i]
		}
	}
	for i, r := range rules {
		if !starred(r.Key) && r.Key == e.Key && r.Value == "" {
			return &rules[i]
		}
	}
	return nil
}

func starred(s string) bool { return strings.ContainsRune(s, '*') }

// wild reports whether a pattern matches: a star matches nothing, or one byte and more.
func wild(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '*' {
		return wild(pattern[1:], s) || s != "" && wild(pattern, s[1:])
	}
	return s != "" && pattern[0] == s[0] && wild(pattern[1:], s[1:])
}

func joined(key, value string) string {
	if value == "" {
		return key
	}
	return key + "_" + value
}

// counterKey returns the name of a counter or state (REFERENCE.md, 3.1). path is empty for an override.
func counterKey(reference bool, domain string, path []ratelimit.Rule, entries []ratelimit.Entry, ending string) string {
	parts := []string{domain}
	escape := strings.NewReplacer("~", "~0", "|", "~1", "{", "~2")
	for i, e := range entries {
		value, prefix := e.Value, ""
		if len(path) > 0 && path[i].ShareThreshold {
			value, prefix = path[i].Value, "~*"
		}
		if reference {
			parts = append(parts, e.Key, value)
		} else {
			parts = append(parts, escape.Replace(e.Key), prefix+escape.Replace(value))
		}
	}
	if reference {
		return strings.Join(append(parts, ending), "_")
	}
	parts[0] = escape.Replace(domain)
	return strings.Join(append(parts, ending), "|")
}

// ruleMetric returns the statistics key of the rule at the path's end (REFERENCE.md, 5.2).
func ruleMetric(domain string, path []ratelimit.Rule, entries []ratelimit.Entry) string {
	detailed := path[len(path)-1].DetailedMetric
	key := domain
	for i, r := range path {
		key += "." + metricPart(r, entries[i], detailed)
	}
	return sanitised(key)
}

func metricPart(r ratelimit.Rule, e ratelimit.Entry, detailed bool) string {
	switch {
	case r.ShareThreshold && (detailed || r.ValueToMetric || r.DetailedMetric):
		return joined(r.Key, r.Value[:strings.Index(r.Value, "*")])
	case detailed:
		return e.Key + "_" + e.Value
	case r.ValueToMetric && (r.Value == "" || starred(r.Key) || starred(r.Value)):
		return joined(e.Key, e.Value)
	}
	return joined(r.Key, r.Value)
}

func overrideMetric(domain string, entries []ratelimit.Entry) string {
	var parts []string
	for _, e := range entries {
		parts = append(parts, joined(e.Key, e.Value))
	}
	return sanitised(domain + "." + strings.Join(parts, "."))
}

var address = regexp.MustCompile(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)

// sanitised replaces what push-style statistics can't have in a name (REFERENCE.md, 5.2).
func sanitised(name string) string {
	name = strings.NewReplacer(":", "_", "|", "_").Replace(name)
	return address.ReplaceAllStringFunc(name, func(s string) string { return strings.ReplaceAll(s, ".", "_") })
}
