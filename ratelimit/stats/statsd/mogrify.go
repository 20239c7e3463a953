package statsd

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Mogrifier maps statistics to metrics with tags. Metric and Tags may have "$1",
// "$2" and so on, which stand for what the groups of Pattern matched, and "$0" for all
// of it; a "$" without digits stands for itself.
type Mogrifier struct {
	// Name is what errors call it by.
	Name string
	// Pattern is held against a statistic's name without its tags. It need not match
	// all of it, but what becomes of the name is Metric alone.
	Pattern *regexp.Regexp
	// Metric is the name of the metric.
	Metric string
	// Tags are of the form "<tag>:<value>".
	Tags []string
}

// mogrifier is a Mogrifier made ready for use.
type mogrifier struct {
	pattern *regexp.Regexp
	metric  template
	tags    []template
}

func (m *Mogrifier) compile() (mogrifier, error) {
	fail := func(what string, err error) (mogrifier, error) {
		return mogrifier{}, fmt.Errorf("mogrifier %q: %s: %w", m.Name, what, err)
	}
	if m.Pattern == nil {
		return fail("Pattern", fmt.Errorf("is missing: use a regular expression such as %q", `^ratelimit\.(.*)$`))
	}
	if m.Metric == "" {
		return fail("Metric", fmt.Errorf("is empty: use the name of a metric, such as %q", "ratelimit.$1"))
	}
	out := mogrifier{pattern: m.Pattern}
	var err error
	if out.metric, err = parseTemplate(m.Metric, m.Pattern.NumSubexp()); err != nil {
		return fail("Metric", err)
	}
	for _, tag := range m.Tags {
		if key, value, _ := strings.Cut(tag, ":"); key == "" || value == "" {
			return fail("Tags", fmt.Errorf("%q: use <tag>:<value>, such as %q", tag, "domain:$1"))
		}
		t, err := parseTemplate(tag, m.Pattern.NumSubexp())
		if err != nil {
			return fail("Tags", err)
		}
		out.tags = append(out.tags, t)
	}
	return out, nil
}

// apply maps a name, or reports that the pattern does not match it.
func (m *mogrifier) apply(name string) (metric string, tags []string, ok bool) {
	match := m.pattern.FindStringSubmatch(name)
	if match == nil {
		return "", nil, false
	}
	for _, t := range m.tags {
		tags = append(tags, t.expand(match))
	}
	return m.metric.expand(match), tags, true
}

// template is text with groups of a pattern in it.
type template []piece

// piece is text and then, unless group is noGroup, what a group matched.
type piece struct {
	text  string
	group int
}

const noGroup = -1

func parseTemplate(s string, groups int) (template, error) {
	var t template
	text := 0 // where the text of the next piece begins
	for i := 0; i < len(s); i++ {
		end := i + 1
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		if s[i] != '$' || end == i+1 {
			continue
		}
		group, err := strconv.Atoi(s[i+1 : end])
		if err != nil || group > groups {
			return nil, fmt.Errorf("%q: %s is more than the pattern has groups: use $0 to $%d", s, s[i:end], groups)
		}
		t = append(t, piece{s[text:i], group})
		text, i = end, end-1
	}
	return append(t, piece{s[text:], noGroup}), nil
}

// expand fills in the groups. It stops when the text is too long to be sent: a "$0"
// many times over could make very much of a name.
func (t template) expand(match []string) string {
	var b strings.Builder
	for _, p := range t {
		if b.Len() > maxLabel {
			break
		}
		b.WriteString(p.text)
		if p.group != noGroup {
			b.WriteString(match[p.group])
		}
	}
	return b.String()
}
