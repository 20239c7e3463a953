package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

func wild(values ...string) []ratelimit.Rule {
	var rules []ratelimit.Rule
	for _, v := range values {
		rules = append(rules, rule("k", v, 1))
	}
	return rules
}

var warningTests = []struct {
	name  string
	rules []ratelimit.Rule
	want  []string
}{
	{"nothing", []ratelimit.Rule{named("a", "A"), named("b", "B", "A"), rule("k", "x*", 1), rule("k", "y*", 1), rule("k", "", 1)}, nil},
	{
		"a name twice",
		[]ratelimit.Rule{named("a", "N"), named("b", "M"), {Key: "c", Rules: []ratelimit.Rule{named("d", "N")}}, named("e", "N")},
		[]string{
			"0/2/0 rate_limit.name duplicate 'N' <> 0/0",
			"0/3 rate_limit.name duplicate 'N' <> 0/0",
		},
	},
	{
		"replaces an unknown name",
		[]ratelimit.Rule{named("a", "A"), named("b", "B", "A", "C")},
		[]string{"0/1 rate_limit.replaces[1] unknown 'C'"},
	},
	{
		"replaces an unlimited rule",
		[]ratelimit.Rule{{Key: "u", Limit: &ratelimit.Limit{Unlimited: true, Name: "U"}}, named("b", "B", "U")},
		[]string{"0/1 rate_limit.replaces[0] unlimited 't be replaced: ' <> 0/0"},
	},
	{
		"a number when unlimited",
		[]ratelimit.Rule{{Key: "u", Limit: &ratelimit.Limit{Unlimited: true, RequestsPerUnit: 5}}},
		[]string{"0/0 rate_limit.requests_per_unit unlimited"},
	},
	{
		"a lease when unlimited",
		[]ratelimit.Rule{{Key: "u", Limit: &ratelimit.Limit{Unlimited: true, Lease: true}}},
		[]string{"0/0 rate_limit.lease unlimited"},
	},
	{
		"a lease where nothing is claimed ahead",
		[]ratelimit.Rule{
			{Key: "s", Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Hour, Lease: true, Algorithm: ratelimit.SlidingWindow}},
			{Key: "t", Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Hour, Lease: true, Algorithm: ratelimit.TokenBucket}},
			{Key: "c", Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Hour, Lease: true, Algorithm: ratelimit.Concurrency}},
		},
		[]string{
			"0/0 rate_limit.lease",
			"0/2 rate_limit.lease",
		},
	},
	{
		"unreachable wildcard", wild("a*", "ab*"),
		[]string{"0/1 value unreachable 'a*' 'ab*' <> 0/0"},
	},
	{
		"the other way round", wild("ab*", "a*"),
		[]string{"0/1 value 'a*' overlaps 'ab*' <> 0/0"},
	},
	{
		"overlap at both ends", wild("a*", "*b"),
		[]string{"0/1 value '*b' overlaps 'a*' <> 0/0"},
	},
	{
		"the earliest of several", wild("a*", "*b", "a*b", "ax*"),
		[]string{
			"0/1 value '*b' overlaps 'a*' <> 0/0",
			"0/2 value unreachable 'a*' 'a*b' <> 0/0",
			"0/3 value unreachable 'a*' 'ax*' <> 0/0",
		},
	},
	{
		"one that covers goes before one that overlaps", wild("*b", "a*", "ax*"),
		[]string{
			"0/1 value 'a*' overlaps '*b' <> 0/0",
			"0/2 value unreachable 'a*' 'ax*' <> 0/1",
		},
	},
	{
		"the key alone is never reached",
		[]ratelimit.Rule{rule("k", "", 1), rule("k", "x*", 1), rule("k", "**", 1)},
		[]string{
			"0/0 key unreachable '**' 'k' <> 0/2",
			"0/2 value '**' overlaps 'x*' <> 0/1",
		},
	},
	{
		"patterns in the key",
		[]ratelimit.Rule{rule("a*", "", 1), rule("ab*", "x", 1), rule("k", "ab*", 1)},
		[]string{"0/1 key unreachable 'a*' 'ab*_x' <> 0/0"},
	},
	{
		"different keys or levels do not meet",
		[]ratelimit.Rule{rule("k", "a*", 1), rule("l", "a*", 1), {Key: "m", Rules: wild("a*")}},
		nil,
	},
}

// TestCompileWarning checks each warning alone: message and positions.
func TestCompileWarning(t *testing.T) {
	for _, tt := range warningTests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "warnings", faultTexts(compile(t, oneDomain(tt.rules...)).Warnings()), tt.want)
		})
	}
}

// Warnings are in the order of the input, across sources, and deterministic.
func TestCompileWarningOrder(t *testing.T) {
	domains := []ratelimit.Domain{
		oneDomain(rule("k", "a*", 1), ratelimit.Rule{Key: "x", Rules: wild("a*", "b*", "ab*")}, rule("k", "aa*", 1)),
		{Name: "e", Rules: []ratelimit.Rule{named("a", "A", "absent"), rule("k", "a*", 1), rule("k", "ab*", 1)}},
		oneDomain(rule("k", "ab*", 1), named("n", "N", "absent")),
	}
	want := []string{
		"0/1/2 value unreachable 'a*' 'ab*' <> 0/1/0",
		"0/2 value unreachable 'a*' 'aa*' <> 0/0",
		"1/0 rate_limit.replaces[0] unknown 'absent'",
		"1/2 value unreachable 'a*' 'ab*' <> 1/1",
		"2/0 value unreachable 'a*' 'ab*' <> 0/0",
		"2/1 rate_limit.replaces[0] unknown 'absent'",
	}
	for range 20 {
		rules, err := ratelimit.Compile(domains, &ratelimit.CompileOptions{MergeDomains: true})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "warnings", faultTexts(rules.Warnings()), want)
	}
}

// A warning between two sources names the other one's position.
func TestWarningText(t *testing.T) {
	rules := compile(t, oneDomain(wild("a*", "ab*")...))
	equal(t, "text", rules.Warnings()[0].Error(),
		`domain "d": descriptors[1].value: unreachable: the earlier wildcard 'a*' matches everything that 'ab*' matches (the other is at domains[0].descriptors[0])`)
}

// A rule has the warning "unreachable" exactly if it matches first for no short value.
func TestUnreachableIsUnreachable(t *testing.T) {
	values := allTexts("abz", 5)
	for _, patterns := range [][]string{
		{"a*", "ab*", "*b", "*", "b*"},
		{"*a*", "a*a", "*aa", "a*b*", "b*"},
		{"a*b", "*ab", "ab*b", "abb*", "*b*"},
	} {
		rules := wild(patterns...)
		for i := range rules {
			rules[i].Limit.RequestsPerUnit = uint32(i + 1)
		}
		b := newBench(t, nil, rules...)
		wins := make(map[uint32]bool)
		for _, v := range values {
			wins[b.decide(desc("k", v)).Statuses[0].RequestsPerUnit] = true
		}
		unreachable := make(map[int]bool)
		for _, w := range compile(t, oneDomain(rules...)).Warnings() {
			if w.Field == "value" && w.Reason[:11] == "unreachable" {
				unreachable[w.Path[0]] = true
			}
		}
		for i := range rules {
			if unreachable[i] && wins[uint32(i+1)] {
				t.Errorf("%q: %q is reported as unreachable but matches", patterns, patterns[i])
			}
		}
	}
}

// compileTime returns how long compiling one level with n rules takes.
func compileTime(t *testing.T, n int, value func(i int) string) time.Duration {
	t.Helper()
	var rules []ratelimit.Rule
	for i := range n {
		rules = append(rules, rule("k", value(i), 1))
	}
	start := time.Now()
	compile(t, oneDomain(rules...))
	return time.Since(start)
}

// Twenty times the rules must not take four hundred times as long. The bound
// leaves room for noise; where every pattern overlaps with every other, the work
// is bounded by a number of comparisons instead.
func TestCompileManyWildcards(t *testing.T) {
	scaletest.Unraced(t)
	shapes := map[string]func(i int) string{
		"exact":   func(i int) string { return fmt.Sprintf("value%d", i) },
		"prefix":  func(i int) string { return fmt.Sprintf("p%06d*", i) },
		"suffix":  func(i int) string { return fmt.Sprintf("*%06ds", i) },
		"infix":   func(i int) string { return fmt.Sprintf("*i%06di*", i) },
		"alike":   func(i int) string { return fmt.Sprintf("same*%06d*same", i) },
		"nesting": func(i int) string { return fmt.Sprintf("%0*d*", 1+i%500, i) },
	}
	for name, value := range shapes {
		t.Run(name, func(t *testing.T) {
			for attempt := 1; ; attempt++ {
				small, large := compileTime(t, 1000, value), compileTime(t, 20_000, value)
				t.Logf("1,000 rules: %v; 20,000 rules: %v", small, large)
				if large <= 100*small+time.Second {
					return
				}
				if attempt == 5 { // the machine may be busy with something else, but not each time
					t.Fatalf("1,000 rules took %v, 20,000 took %v", small, large)
				}
			}
		})
	}
}
