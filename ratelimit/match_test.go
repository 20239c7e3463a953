package ratelimit_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// matches checks which rule applies to a descriptor, by the number of its limit: 0 for
// none.
func matches(t *testing.T, b *bench, d ratelimit.Descriptor, want uint32) {
	t.Helper()
	s := b.decide(d).Statuses[0]
	if s.RequestsPerUnit != want || s.Limited != (want != 0) {
		t.Errorf("%v: held to limit %d (limited %v), want %d", d.Entries, s.RequestsPerUnit, s.Limited, want)
	}
}

type matchTest struct {
	descriptor ratelimit.Descriptor
	want       uint32
}

func runMatches(t *testing.T, rules []ratelimit.Rule, tests []matchTest) {
	t.Helper()
	b := newBench(t, nil, rules...)
	for _, tt := range tests {
		matches(t, b, tt.descriptor, tt.want)
	}
}

func TestMatchCaseSensitive(t *testing.T) {
	runMatches(t, []ratelimit.Rule{rule("Key", "Value", 1), rule("alone", "", 2), rule("wild", "W*", 3)}, []matchTest{
		{desc("Key", "Value"), 1},
		{desc("key", "Value"), 0},
		{desc("Key", "value"), 0},
		{desc("Alone", "x"), 0},
		{desc("alone", "x"), 2},
		{desc("wild", "Wx"), 3},
		{desc("wild", "wx"), 0},
	})
}

func TestMatchDepth(t *testing.T) {
	one := rule("a", "", 1)
	one.Rules = []ratelimit.Rule{rule("b", "", 2), {Key: "c", Rules: []ratelimit.Rule{rule("d", "", 4)}}}
	runMatches(t, []ratelimit.Rule{one, {Key: "deep", Rules: []ratelimit.Rule{rule("x", "", 5)}}}, []matchTest{
		{desc("a", "1"), 1},
		{desc("a", "1", "b", "1"), 2},
		{desc("a", "1", "b", "1", "b", "1"), 0}, // longer than any rule
		{desc("a", "1", "x", "1"), 0},           // the limit above does not apply
		{desc("a", "1", "c", "1"), 0},           // shorter than the rule
		{desc("a", "1", "c", "1", "d", "1"), 4},
		{desc("b", "1"), 0}, // levels are not skipped
		{desc("b", "1", "a", "1"), 0},
		{desc("deep", "1"), 0},
		{desc("deep", "1", "x", "1"), 5},
		{desc(), 0},
	})
}

func TestMatchPrecedence(t *testing.T) {
	rules := []ratelimit.Rule{
		rule("k", "", 1), // stands first, is tried last
		rule("k", "ab*", 2),
		rule("k", "a*", 3),
		rule("k", "*c", 4),
		rule("k", "abc", 5),
		rule("k", "*", 6),
		rule("other", "x", 7),
	}
	runMatches(t, rules, []matchTest{
		{desc("k", "abc"), 5}, // exact before wildcards, wherever it stands
		{desc("k", "abd"), 2}, // wildcards in order
		{desc("k", "ac"), 3},  // the first that matches
		{desc("k", "xc"), 4},  // a suffix
		{desc("k", "x"), 6},   // the star alone
		{desc("k", ""), 6},    // which matches the empty value too
		{desc("other", "y"), 0},
	})
	runMatches(t, rules[:5], []matchTest{
		{desc("k", "x"), 1}, // the key alone
		{desc("k", ""), 1},
	})
}

// The order of rules decides between wildcards, not how specific they are.
func TestMatchWildcardOrder(t *testing.T) {
	runMatches(t, []ratelimit.Rule{rule("k", "*", 1), rule("k", "abc*", 2)}, []matchTest{{desc("k", "abcd"), 1}})
	runMatches(t, []ratelimit.Rule{rule("k", "abc*", 2), rule("k", "*", 1)}, []matchTest{{desc("k", "abcd"), 2}})
}

func TestMatchWildcard(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{pattern: "bar*b", yes: []string{"barb", "bar b", "barxbb", "barbb"}, no: []string{"bara", "xbarb", "bar", "ba", ""}},
		{pattern: "*", yes: []string{"", "x", "*", "\x00\xff"}},
		{pattern: "**", yes: []string{"", "x"}},
		{pattern: "*ab*ab*", yes: []string{"abab", "xabyabz", "ababab"}, no: []string{"ab", "aba", "abba"}},
		{pattern: "a*a", yes: []string{"aa", "aba", "aaa"}, no: []string{"a", "", "ab"}},
		{pattern: "aba*aba", yes: []string{"abaaba", "abaxaba"}, no: []string{"ababa", "aba"}},
		{pattern: "*x*y", yes: []string{"xy", "xyy", "xxy"}, no: []string{"yx", "y", "x"}},
		{pattern: "a**b", yes: []string{"ab", "axb"}, no: []string{"a", "b"}},
		{pattern: "é*", yes: []string{"é", "éa"}, no: []string{"e", "\xc3"}},
		{pattern: ".*", yes: []string{".", ".a"}, no: []string{"a", ""}},
		{pattern: "?*", yes: []string{"?", "?x"}, no: []string{"a"}},
	}
	for _, tt := range tests {
		b := newBench(t, nil, rule("k", tt.pattern, 1))
		for _, v := range tt.yes {
			matches(t, b, desc("k", v), 1)
		}
		for _, v := range tt.no {
			matches(t, b, desc("k", v), 0)
		}
	}
}

// Where a rule matched, its siblings are not tried even if what lies below it
// does not match (REFERENCE.md, 2.1).
func TestMatchDoesNotGoBack(t *testing.T) {
	rules := []ratelimit.Rule{
		{Key: "a", Value: "x", Rules: []ratelimit.Rule{rule("b", "1", 1)}},
		{Key: "a", Value: "x*", Rules: []ratelimit.Rule{rule("b", "2", 2)}},
		{Key: "a", Rules: []ratelimit.Rule{rule("b", "3", 3)}},
	}
	runMatches(t, rules, []matchTest{
		{desc("a", "x", "b", "1"), 1},
		{desc("a", "x", "b", "2"), 0},
		{desc("a", "x", "b", "3"), 0},
		{desc("a", "xx", "b", "2"), 2},
		{desc("a", "xx", "b", "3"), 0},
		{desc("a", "y", "b", "3"), 3},
	})
}

// A whitelisted rule, with neither a limit nor rules below, exempts its value from later rules.
func TestMatchWhitelist(t *testing.T) {
	b := newBench(t, nil, rule("ip", "", 1), ratelimit.Rule{Key: "ip", Value: "10.0.0.1"})
	for range 3 {
		d := b.decide(desc("ip", "10.0.0.1"))
		equal(t, "status", d.Statuses, []ratelimit.Status{{Code: ratelimit.OK}})
		equal(t, "code", d.Code, ratelimit.OK)
	}
	equal(t, "counters", b.store.contents(), map[string]uint64{})
	equal(t, "store calls", len(b.store.calls), 0)
	equal(t, "statistics", b.stats.counts(), map[string]counts{})
	matches(t, b, desc("ip", "10.0.0.2"), 1)
}

// A key with a star is a pattern for key, underscore and value together. Among
// wildcards the order of the rules decides; exact rules are tried before it and rules
// with the key alone after it.
func TestMatchStarInKey(t *testing.T) {
	runMatches(t, []ratelimit.Rule{
		rule("k", "", 1),
		rule("k", "exact", 2),
		rule("k", "a*", 3),
		rule("k*", "", 4),
		rule("k", "b*", 5),
		rule("*x", "y", 6),
		rule("h*o", "w*d", 7),
	}, []matchTest{
		{desc("k", "exact"), 2},
		{desc("k", "a1"), 3},
		{desc("k", "b1"), 4}, // the pattern stands before b*
		{desc("k", "zzz"), 4},
		{desc("kk", "zzz"), 4},
		{desc("k_", ""), 4},
		{desc("x", "y"), 6},
		{desc("qx", "y"), 6},
		{desc("qx", "z"), 0},
		{desc("hello", "world"), 7},
		{desc("hello", "word_"), 0},
		{desc("hello_w", "d"), 7}, // the joined text is all that counts
		{desc("hello", "w_d"), 7},
		{desc("hell", "w_d"), 0},
	})
}

// Keys and values are compared separately: rules that are equal once joined differ.
func TestMatchIsNotOnTheJoinedString(t *testing.T) {
	runMatches(t, []ratelimit.Rule{rule("a_b", "", 1), rule("a", "b_c", 2), rule("x", "y*", 3)}, []matchTest{
		{desc("a", "b"), 0},
		{desc("a_b", "c"), 1},
		{desc("a", "b_c"), 2},
		{desc("x_y", ""), 0},
		{desc("x", "y_"), 3},
	})
}

// Levels with many keys, which are hashed, match like levels with few.
func TestMatchManyKeys(t *testing.T) {
	for n := range uint32(12) {
		var rules []ratelimit.Rule
		for i := range n {
			key := "key" + decimal(uint64(i))
			rules = append(rules, rule(key, "", 100+i), rule(key, "v", 200+i), rule(key, "w*", 300+i))
		}
		b := newBench(t, nil, rules...)
		for i := range n {
			key := "key" + decimal(uint64(i))
			matches(t, b, desc(key, "x"), 100+i)
			matches(t, b, desc(key, "v"), 200+i)
			matches(t, b, desc(key, "ww"), 300+i)
		}
		matches(t, b, desc("key", "v"), 0)
	}
}

// Every matching descriptor is evaluated, and one over limit is enough.
func TestMatchSeveralDescriptors(t *testing.T) {
	b := newBench(t, nil, rule("a", "", 1), rule("b", "", 2))
	all := []ratelimit.Descriptor{desc("a", "1"), desc("none", "1"), desc("b", "1")}
	for i, want := range []struct {
		codes   string
		overall ratelimit.Code
	}{{"ok ok ok", ratelimit.OK}, {"over ok ok", ratelimit.OverLimit}, {"over ok over", ratelimit.OverLimit}} {
		d := b.decide(all...)
		equal(t, "codes of call "+decimal(uint64(i)), codes(d), want.codes)
		equal(t, "overall of call "+decimal(uint64(i)), d.Code, want.overall)
	}
	equal(t, "all counted", b.store.contents(), map[string]uint64{"domain_a_1_1200": 3, "domain_b_1_1200": 3})
}

// An unknown domain is OK, and counted once for each descriptor; a known domain
// where nothing matches has no statistic.
func TestMatchUnknownDomain(t *testing.T) {
	b := newBench(t, nil, rule("a", "", 1))
	d := b.decideRequest(&ratelimit.Request{Domain: "nope", Descriptors: []ratelimit.Descriptor{desc("a", "1"), desc("b", "1")}})
	equal(t, "statuses", d.Statuses, []ratelimit.Status{{Code: ratelimit.OK}, {Code: ratelimit.OK}})
	equal(t, "code", d.Code, ratelimit.OK)
	equal(t, "not found", b.stats.notFound(), map[string]uint64{"nope": 2})
	b.decide(desc("none", ""))
	equal(t, "not found afterwards", b.stats.notFound(), map[string]uint64{"nope": 2})
	equal(t, "store calls", len(b.store.calls), 0)
}
