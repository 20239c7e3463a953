package statsd

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mogrifier maps statistics to metrics with tags. In Metric and Tags, "$1", "$2" and so
// on stand for the groups of Pattern, and "$0" for the whole match; a "$" without
// digits is literal.
type Mogrifier struct {
	// Name identifies the mogrifier in errors.
	Name string
	// Pattern is matched against the name of a statistic without its tags. It need not
	// match the whole name, but Metric replaces all of it.
	Pattern *regexp.Regexp
	// Metric is the name of the metric.
	Metric string
	// Tags have the form "<tag>:<value>".
	Tags []string
}

// mogrifier is a Mogrifier whose templates are in the form of regexp.Expand.
type mogrifier struct {
	pattern *regexp.Regexp
	metric  string
	tags    []string
}

func (m *Mogrifier) compile() (mogrifier, error) {
	fail := func(field string, err error) (mogrifier, error) {
		return mogrifier{}, fmt.Errorf("mogrifier %q: %s: %w", m.Name, field, err)
	}
	if m.Pattern == nil {
		return fail("Pattern", fmt.Errorf("is missing: use a regular expression such as %q", `^ratelimit\.(.*)$`))
	}
	if m.Metric == "" {
		return fail("Metric", errors.New(`is empty: use the name of a metric, such as "ratelimit.$1"`))
	}
	metric, err := template(m.Metric, m.Pattern)
	if err != nil {
		return fail("Metric", err)
	}
	out := mogrifier{pattern: m.Pattern, metric: metric}
	for _, tag := range m.Tags {
		if key, value, _ := strings.Cut(tag, ":"); key == "" || value == "" {
			return fail("Tags", fmt.Errorf("%q: use <tag>:<value>, such as %q", tag, "domain:$1"))
		}
		t, err := template(tag, m.Pattern)
		if err != nil {
			return fail("Tags", err)
		}
		out.tags = append(out.tags, t)
	}
	return out, nil
}

var group = regexp.MustCompile(`\$\$0*([0-9]+)`)

// template rewrites "$1" to "${1}" and any other "$" to "$$", as regexp.Expand expects.
func template(s string, pattern *regexp.Regexp) (string, error) {
	if len(s) > maxLabel {
		return "", fmt.Errorf("%d bytes: use at most %d", len(s), maxLabel)
	}
	s = strings.ReplaceAll(s, "$", "$$")
	for _, match := range group.FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(match[1]); err != nil || n > pattern.NumSubexp() {
			return "", fmt.Errorf("%q: the pattern has no group $%s: use $0 to $%d", strings.ReplaceAll(s, "$$", "$"), match[1], pattern.NumSubexp())
		}
	}
	return group.ReplaceAllString(s, "$${$1}"), nil
}

// apply maps a name, or reports that the pattern does not match it.
func (m *mogrifier) apply(name string) (metric string, tags []string, ok bool) {
	match := m.pattern.FindStringSubmatchIndex(name)
	if match == nil {
		return "", nil, false
	}
	for _, t := range m.tags {
		tags = append(tags, string(m.pattern.ExpandString(nil, t, name, match)))
	}
	return string(m.pattern.ExpandString(nil, m.metric, name, match)), tags, true
}
