package ratelimit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// faults compiles domains and returns the faults as "source path field: reason".
func faults(t *testing.T, opts *ratelimit.CompileOptions, domains ...ratelimit.Domain) []string {
	t.Helper()
	rules, err := ratelimit.Compile(domains, opts)
	if err == nil {
		return nil
	}
	if rules != nil {
		t.Error("there are rules beside the faults")
	}
	list, ok := errors.AsType[ratelimit.Faults](err)
	if !ok {
		t.Fatalf("error is a %T, want Faults", err)
	}
	return faultTexts(list)
}

func faultTexts(list []*ratelimit.Fault) []string {
	var texts []string
	for _, f := range list {
		text := decimal(uint64(f.Source)) + placeText(f.Path) + " " + f.Field + ": " + f.Reason
		if f.Other != nil {
			text += " <> " + decimal(uint64(f.Other.Source)) + placeText(f.Other.Path)
		}
		texts = append(texts, text)
	}
	return texts
}

func placeText(path []int) string {
	text := ""
	for _, n := range path {
		text += "/" + decimal(uint64(n))
	}
	return text
}

func oneDomain(rules ...ratelimit.Rule) ratelimit.Domain {
	return ratelimit.Domain{Name: "d", Rules: rules}
}

func limited(l ratelimit.Limit) ratelimit.Rule { return ratelimit.Rule{Key: "k", Limit: &l} }

const useUnits = ": use second, minute, hour, day, week, month or year"

var faultTests = []struct {
	name    string
	domains []ratelimit.Domain
	want    string
}{
	{
		"window too long",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Year, UnitMultiplier: 11}))},
		"0/0 rate_limit.unit_multiplier: unit_multiplier 11 makes windows longer than ten years: use at most 10",
	},
	{
		"alignment",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, Align: "lunar"}))},
		"0/0 rate_limit.align: invalid align 'lunar': use epoch or calendar",
	},
	{
		"alignment of no limit",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unlimited: true, Align: "lunar"}))},
		"0/0 rate_limit.align: invalid align 'lunar': use epoch or calendar",
	},
	{
		"zone without calendar",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, TimeZone: "UTC"}))},
		"0/0 rate_limit.time_zone: time_zone needs align: calendar, because other windows are aligned to UTC",
	},
	{
		"unknown zone",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, Align: ratelimit.AlignCalendar, TimeZone: "../etc/passwd"}))},
		"0/0 rate_limit.time_zone: unknown time zone '../etc/passwd': use a name such as Europe/Vienna",
	},
	{
		"zone of the machine",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, Align: ratelimit.AlignCalendar, TimeZone: "Local"}))},
		"0/0 rate_limit.time_zone: unknown time zone 'Local': use a name such as Europe/Vienna",
	},
	{"empty domain", []ratelimit.Domain{{}}, "0 domain: config file cannot have empty domain"},
	{"duplicate domain", []ratelimit.Domain{{Name: "d"}, {Name: "e"}, {Name: "d"}}, "2 domain: duplicate domain 'd' in config file <> 0"},
	{
		"duplicate domain, the rules of which are no duplicates",
		[]ratelimit.Domain{oneDomain(rule("k", "", 1)), oneDomain(rule("k", "", 1))},
		"1 domain: duplicate domain 'd' in config file <> 0",
	},
	{"empty key", []ratelimit.Domain{oneDomain(rule("", "v", 1))}, "0/0 key: descriptor has empty key"},
	{
		"empty key below",
		[]ratelimit.Domain{oneDomain(rule("a", "", 1), ratelimit.Rule{Key: "b", Rules: []ratelimit.Rule{rule("", "", 1)}})},
		"0/1/0 key: descriptor has empty key",
	},
	{"duplicate", []ratelimit.Domain{oneDomain(rule("k", "", 1), rule("k", "", 2))}, "0/1 key: duplicate descriptor composite key 'd.k' <> 0/0"},
	{
		"duplicate below",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "a", Value: "x", Rules: []ratelimit.Rule{rule("b", "c", 1), rule("o", "", 1), rule("b", "c", 1)}})},
		"0/0/2 key: duplicate descriptor composite key 'd.a_x.b_c' <> 0/0/0",
	},
	{
		"duplicate once joined",
		[]ratelimit.Domain{oneDomain(rule("a", "b_c", 1), rule("a_b", "c", 1))},
		"0/1 key: duplicate descriptor composite key 'd.a_b_c' <> 0/0",
	},
	{
		"duplicate once joined, key alone",
		[]ratelimit.Domain{oneDomain(rule("a_b", "", 1), rule("a", "b", 1))},
		"0/1 key: duplicate descriptor composite key 'd.a_b' <> 0/0",
	},
	{"no unit", []ratelimit.Domain{oneDomain(limited(ratelimit.Limit{RequestsPerUnit: 1}))}, "0/0 rate_limit.unit: invalid rate limit unit ''" + useUnits},
	{"bad unit", []ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: 8}))}, "0/0 rate_limit.unit: invalid rate limit unit '8'" + useUnits},
	{
		"unit and unlimited",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unlimited: true, Unit: ratelimit.Minute}))},
		"0/0 rate_limit.unit: should not specify rate limit unit when unlimited",
	},
	{
		"replaces nothing at all",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Minute, Replaces: []string{"x", ""}}))},
		"0/0 rate_limit.replaces[1]: should not have an empty replaces entry",
	},
	{
		"replaces itself",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Minute, Name: "me", Replaces: []string{"me"}}))},
		"0/0 rate_limit.replaces[0]: replaces should not contain name of same descriptor: 'me'",
	},
	{
		"shared without a value",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k", ShareThreshold: true})},
		"0/0 share_threshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'k'",
	},
	{
		"shared with an exact value",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k", Value: "v", ShareThreshold: true})},
		"0/0 share_threshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'k_v'",
	},
	{
		"shared with a star elsewhere",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k", Value: "a*b", ShareThreshold: true})},
		"0/0 share_threshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'k_a*b': value 'a*b' must end in '*'",
	},
	{
		"shared with a star in the key only",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k*", ShareThreshold: true})},
		"0/0 share_threshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'k*'",
	},
}

// TestCompileFault checks each fault alone: message and position (REFERENCE.md, 7.2).
func TestCompileFault(t *testing.T) {
	for _, tt := range faultTests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "faults", faults(t, nil, tt.domains...), []string{tt.want})
		})
	}
}

// TestCompileNoFault checks what the reference service accepts.
func TestCompileNoFault(t *testing.T) {
	domains := []ratelimit.Domain{
		oneDomain(
			limited(ratelimit.Limit{Unit: ratelimit.Year}), // no number of requests: blocks all
			ratelimit.Rule{Key: "invalid unit", Limit: &ratelimit.Limit{Unlimited: true, Unit: 99}},
			ratelimit.Rule{Key: "absent", Limit: &ratelimit.Limit{Unit: ratelimit.Week, Replaces: []string{"absent", "absent"}}},
			ratelimit.Rule{Key: "shared", Value: "a*b*", ShareThreshold: true},
			ratelimit.Rule{Key: "white"},
			rule("a", "b", 1), ratelimit.Rule{Key: "c", Rules: []ratelimit.Rule{rule("a", "b", 1)}},
			rule("A", "b", 1), rule("a", "B", 1), rule("a", "*", 1), rule("a", "**", 1), rule("a", "", 1),
		),
		{Name: "e"},
		{Name: "D", Rules: []ratelimit.Rule{rule("a", "b", 1)}},
	}
	equal(t, "faults", faults(t, nil, domains...), nil)
	equal(t, "no domains", compile(t).Len(), 0)
}

// All faults are reported at once, in the order of the input.
func TestCompileAllFaults(t *testing.T) {
	domains := []ratelimit.Domain{
		oneDomain(
			ratelimit.Rule{ShareThreshold: true, Limit: &ratelimit.Limit{Replaces: []string{"", "x"}, Name: "x"}, Rules: []ratelimit.Rule{
				rule("", "", 1), limited(ratelimit.Limit{Unit: 9}),
			}},
			rule("k", "", 1), rule("k", "", 1),
		),
		{Rules: []ratelimit.Rule{rule("", "", 1)}},
		oneDomain(rule("z", "", 1), rule("", "", 1), rule("z", "", 1)),
		{},
	}
	want := []string{
		"0/0 key: descriptor has empty key",
		"0/0 share_threshold: share_threshold can only be used with wildcard values (containing '*'), but found key ''",
		"0/0 rate_limit.unit: invalid rate limit unit ''" + useUnits,
		"0/0 rate_limit.replaces[0]: should not have an empty replaces entry",
		"0/0 rate_limit.replaces[1]: replaces should not contain name of same descriptor: 'x'",
		"0/0/0 key: descriptor has empty key",
		"0/0/1 rate_limit.unit: invalid rate limit unit '9'" + useUnits,
		"0/2 key: duplicate descriptor composite key 'd.k' <> 0/1",
		"1 domain: config file cannot have empty domain",
		"1/0 key: descriptor has empty key",
		"2 domain: duplicate domain 'd' in config file <> 0",
		"2/1 key: descriptor has empty key",
		"2/2 key: duplicate descriptor composite key 'd.z' <> 2/0",
		"3 domain: config file cannot have empty domain",
	}
	for range 5 {
		equal(t, "faults", faults(t, nil, domains...), want)
	}
}

// Each fault is one line that names its position.
func TestFaultText(t *testing.T) {
	_, err := ratelimit.Compile([]ratelimit.Domain{
		{Name: "mongo", Rules: []ratelimit.Rule{rule("a", "", 1), {Key: "b", Rules: []ratelimit.Rule{limited(ratelimit.Limit{})}}}},
		{Name: "mongo"},
	}, nil)
	want := `domain "mongo": descriptors[1].descriptors[0].rate_limit.unit: invalid rate limit unit ''` + useUnits + "\n" +
		`domain "mongo": domain: duplicate domain 'mongo' in config file (the other is at domains[0])`
	equal(t, "text", err.Error(), want)
	f, ok := errors.AsType[*ratelimit.Fault](err)
	if !ok {
		t.Fatal("no *Fault in the error")
	}
	equal(t, "first", f.Error(), strings.Split(want, "\n")[0])
	equal(t, "domain", f.Domain, "mongo")
}

// Merging joins the rules in the order of the sources; a duplicate is a fault in the
// later source.
func TestCompileMerge(t *testing.T) {
	merge := &ratelimit.CompileOptions{MergeDomains: true}
	one := oneDomain(rule("a", "x*", 1), ratelimit.Rule{Key: "n", Rules: []ratelimit.Rule{rule("p", "", 5)}})
	two := oneDomain(rule("a", "*", 2), rule("b", "", 3))
	for order, domains := range [][]ratelimit.Domain{{one, two}, {two, one}} {
		rules, err := ratelimit.Compile(domains, merge)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "domains", rules.Len(), 1)
		b := newBench(t, nil)
		b.engine.Use(rules)
		for _, tt := range []struct {
			key, value string
			want       uint32
		}{{"a", "xx", []uint32{1, 2}[order]}, {"a", "y", 2}, {"b", "", 3}} {
			d := b.decideRequest(&ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{desc(tt.key, tt.value)}})
			equal(t, tt.key+tt.value, d.Statuses[0].RequestsPerUnit, tt.want)
		}
	}
	again := oneDomain(rule("new", "", 1), ratelimit.Rule{Key: "n", Rules: []ratelimit.Rule{rule("p", "", 5)}})
	equal(t, "faults", faults(t, merge, one, two, again), []string{"2/1 key: duplicate descriptor composite key 'd.n' <> 0/1"})
	equal(t, "empty domains", faults(t, merge, ratelimit.Domain{}, ratelimit.Domain{}), []string{
		"0 domain: config file cannot have empty domain", "1 domain: config file cannot have empty domain",
	})
}

// Replacement reaches across the sources of one domain.
func TestCompileMergeNames(t *testing.T) {
	b := newBench(t, nil)
	rules, err := ratelimit.Compile([]ratelimit.Domain{oneDomain(named("a", "A")), oneDomain(named("b", "B", "A"))}, &ratelimit.CompileOptions{MergeDomains: true})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "warnings", faultTexts(rules.Warnings()), nil)
	b.engine.Use(rules)
	d := b.decideRequest(&ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{desc("a", ""), desc("b", "")}})
	equal(t, "a", d.Statuses[0].Limited, false)
}

// nested returns a chain of depth rules with a limit at the end.
func nested(depth int) ratelimit.Rule {
	r := rule("k", "", 7)
	for range depth - 1 {
		r = ratelimit.Rule{Key: "k", Rules: []ratelimit.Rule{r}}
	}
	return r
}

func TestCompileDepth(t *testing.T) {
	b := newBench(t, nil, nested(ratelimit.MaxDepth))
	var pairs []string
	for range ratelimit.MaxDepth {
		pairs = append(pairs, "k", "v")
	}
	matches(t, b, desc(pairs...), 7)
	matches(t, b, desc(pairs[2:]...), 0)
	for _, depth := range []int{ratelimit.MaxDepth + 1, 20_000} {
		got := faults(t, nil, oneDomain(nested(depth)))
		want := "0" + strings.Repeat("/0", ratelimit.MaxDepth) + " descriptors: nested more than 100 levels deep"
		equal(t, "faults", got, []string{want})
	}
}

func TestRulesetAccessors(t *testing.T) {
	rules := compile(t, ratelimit.Domain{Name: "a"}, ratelimit.Domain{Name: "b", Rules: []ratelimit.Rule{rule("k", "", 1)}})
	equal(t, "len", rules.Len(), 2)
	equal(t, "a", rules.Has("a"), true)
	equal(t, "A", rules.Has("A"), false)
	equal(t, "empty", rules.Has(""), false)
}

// The number of reported faults is bounded.
func TestFaultsAreBounded(t *testing.T) {
	_, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: make([]ratelimit.Rule, 100_000)}}, nil)
	var faults ratelimit.Faults
	if !errors.As(err, &faults) || len(faults) != ratelimit.MaxFaults {
		t.Fatalf("%d faults, want %d", len(faults), ratelimit.MaxFaults)
	}
}
