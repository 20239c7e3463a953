package deploytest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// named contains the names in a Prometheus expression.
type named struct {
	metrics  []string // names, sorted
	patterns []string // of __name__=~
	labels   []string // sorted
	values   map[string][]string
}

// scan extracts the names from an expression. Names in braces and after by, on and similar keywords are
// labels; names before a parenthesis are functions.
func scan(expr string) named {
	n := named{values: map[string][]string{}}
	expr = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(expr, "") // ranges
	matcher := regexp.MustCompile(`([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"`)
	expr = regexp.MustCompile(`\{(?:"(?:[^"\\]|\\.)*"|[^{}"])*\}`).ReplaceAllStringFunc(expr, func(braces string) string {
		for _, m := range matcher.FindAllStringSubmatch(braces, -1) {
			n.label(m[1], m[2], m[3])
		}
		return " "
	})
	grouping := regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	expr = grouping.ReplaceAllStringFunc(expr, func(group string) string {
		for label := range strings.SplitSeq(grouping.FindStringSubmatch(group)[2], ",") {
			n.label(strings.TrimSpace(label), "", "")
		}
		return " "
	})
	for _, found := range regexp.MustCompile(`\b([A-Za-z_][\w:]*)(\s*\()?`).FindAllStringSubmatch(expr, -1) {
		if found[2] == "" && !slices.Contains([]string{"or", "and", "unless", "by", "bool", "offset"}, found[1]) {
			n.metrics = append(n.metrics, found[1])
		}
	}
	slices.Sort(n.metrics)
	n.metrics = slices.Compact(n.metrics)
	slices.Sort(n.labels)
	n.labels = slices.Compact(n.labels)
	return n
}

func (n *named) label(name, operator, value string) {
	switch {
	case name == "__name__" && operator == "=~":
		n.patterns = append(n.patterns, strings.ReplaceAll(value, `\\`, `\`))
	case name != "" && name != "__name__":
		n.labels = append(n.labels, name)
		if operator == "=" {
			n.values[name] = append(n.values[name], value)
		}
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr             string
		metrics, labels  []string
		patterns, values []string // values of err_type
	}{
		{expr: `up == 0`, metrics: []string{"up"}},
		{expr: `a:b{x="y"}[5m] offset 1h`, metrics: []string{"a:b"}, labels: []string{"x"}},
		{
			expr:    `sum by (job, le) (rate(errors_total{err_type="redis_error",job=~"a|b"}[5m])) / on (job) group_left () calls > 1e3`,
			metrics: []string{"calls", "errors_total"}, labels: []string{"err_type", "job", "le"}, values: []string{"redis_error"},
		},
		{expr: `histogram_quantile(0.99, x_bucket) unless (y or z) and on(a, b) c`, metrics: []string{"c", "x_bucket", "y", "z"}, labels: []string{"a", "b"}},
		{expr: `sum without (key2) ({__name__=~"r_.+_found",domain!="\"}"})`, labels: []string{"domain", "key2"}, patterns: []string{"r_.+_found"}},
	} {
		n := scan(c.expr)
		require.Equal(t, c.metrics, n.metrics, c.expr)
		require.Equal(t, c.labels, n.labels, c.expr)
		require.Equal(t, c.patterns, n.patterns, c.expr)
		require.Equal(t, c.values, n.values["err_type"], c.expr)
	}
}
