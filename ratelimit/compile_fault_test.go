package ratelimit_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// faults compiles domains and returns the faults as faultTexts does.
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

// reasonWords are the words of a reason that tests compare: names, and what is wrong with them.
var reasonWords = regexp.MustCompile(`'[^']*'|unreachable|overlaps|duplicate|unknown|empty|unlimited`)

// faultTexts returns faults as "source/path field words <> other source/path".
func faultTexts(list []*ratelimit.Fault) []string {
	var texts []string
	for _, f := range list {
		text := decimal(uint64(f.Source)) + pathText(f.Path) + " " + f.Field
		if words := reasonWords.FindAllString(f.Reason, -1); words != nil {
			text += " " + strings.Join(words, " ")
		}
		if f.Other != nil {
			text += " <> " + decimal(uint64(f.Other.Source)) + pathText(f.Other.Path)
		}
		texts = append(texts, text)
	}
	return texts
}

func pathText(path []int) string {
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

var faultTests = []struct {
	name    string
	domains []ratelimit.Domain
	want    string
}{
	{
		"window too long",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Year, UnitMultiplier: 11}))},
		"0/0 rate_limit.unit_multiplier",
	},
	{
		"alignment",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, Align: "lunar"}))},
		"0/0 rate_limit.align 'lunar'",
	},
	{
		"alignment of no limit",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unlimited: true, Align: "lunar"}))},
		"0/0 rate_limit.align 'lunar'",
	},
	{
		"zone without calendar",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, TimeZone: "UTC"}))},
		"0/0 rate_limit.time_zone",
	},
	{
		"unknown zone",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, Align: ratelimit.AlignCalendar, TimeZone: "../etc/passwd"}))},
		"0/0 rate_limit.time_zone unknown '../etc/passwd'",
	},
	{
		"zone of the machine",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Day, Align: ratelimit.AlignCalendar, TimeZone: "Local"}))},
		"0/0 rate_limit.time_zone unknown 'Local'",
	},
	{"empty domain", []ratelimit.Domain{{}}, "0 domain empty"},
	{"duplicate domain", []ratelimit.Domain{{Name: "d"}, {Name: "e"}, {Name: "d"}}, "2 domain duplicate 'd' <> 0"},
	{
		"duplicate domain, the rules of which are no duplicates",
		[]ratelimit.Domain{oneDomain(rule("k", "", 1)), oneDomain(rule("k", "", 1))},
		"1 domain duplicate 'd' <> 0",
	},
	{"empty key", []ratelimit.Domain{oneDomain(rule("", "v", 1))}, "0/0 key empty"},
	{
		"empty key below",
		[]ratelimit.Domain{oneDomain(rule("a", "", 1), ratelimit.Rule{Key: "b", Rules: []ratelimit.Rule{rule("", "", 1)}})},
		"0/1/0 key empty",
	},
	{"duplicate", []ratelimit.Domain{oneDomain(rule("k", "", 1), rule("k", "", 2))}, "0/1 key duplicate 'd.k' <> 0/0"},
	{
		"duplicate below",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "a", Value: "x", Rules: []ratelimit.Rule{rule("b", "c", 1), rule("o", "", 1), rule("b", "c", 1)}})},
		"0/0/2 key duplicate 'd.a_x.b_c' <> 0/0/0",
	},
	{
		"duplicate once joined",
		[]ratelimit.Domain{oneDomain(rule("a", "b_c", 1), rule("a_b", "c", 1))},
		"0/1 key duplicate 'd.a_b_c' <> 0/0",
	},
	{
		"duplicate once joined, key alone",
		[]ratelimit.Domain{oneDomain(rule("a_b", "", 1), rule("a", "b", 1))},
		"0/1 key duplicate 'd.a_b' <> 0/0",
	},
	{"no unit", []ratelimit.Domain{oneDomain(limited(ratelimit.Limit{RequestsPerUnit: 1}))}, "0/0 rate_limit.unit ''"},
	{"bad unit", []ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: 8}))}, "0/0 rate_limit.unit '8'"},
	{
		"unit and unlimited",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unlimited: true, Unit: ratelimit.Minute}))},
		"0/0 rate_limit.unit unlimited",
	},
	{
		"replaces nothing at all",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Minute, Replaces: []string{"x", ""}}))},
		"0/0 rate_limit.replaces[1] empty",
	},
	{
		"replaces itself",
		[]ratelimit.Domain{oneDomain(limited(ratelimit.Limit{Unit: ratelimit.Minute, Name: "me", Replaces: []string{"me"}}))},
		"0/0 rate_limit.replaces[0] 'me'",
	},
	{
		"shared without a value",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k", ShareThreshold: true})},
		"0/0 share_threshold '*' 'k'",
	},
	{
		"shared with an exact value",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k", Value: "v", ShareThreshold: true})},
		"0/0 share_threshold '*' 'k_v'",
	},
	{
		"shared with a star elsewhere",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k", Value: "a*b", ShareThreshold: true})},
		"0/0 share_threshold '*' 'k_a*b' 'a*b' '*'",
	},
	{
		"shared with a star in the key only",
		[]ratelimit.Domain{oneDomain(ratelimit.Rule{Key: "k*", ShareThreshold: true})},
		"0/0 share_threshold '*' 'k*'",
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
		"0/0 key empty",
		"0/0 share_threshold '*' ''",
		"0/0 rate_limit.unit ''",
		"0/0 rate_limit.replaces[0] empty",
		"0/0 rate_limit.replaces[1] 'x'",
		"0/0/0 key empty",
		"0/0/1 rate_limit.unit '9'",
		"0/2 key duplicate 'd.k' <> 0/1",
		"1 domain empty",
		"1/0 key empty",
		"2 domain duplicate 'd' <> 0",
		"2/1 key empty",
		"2/2 key duplicate 'd.z' <> 2/0",
		"3 domain empty",
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
	want := []string{
		`domain "mongo": descriptors[1].descriptors[0].rate_limit.unit: `,
		`domain "mongo": domain: duplicate domain 'mongo' `,
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d is %q", i, line)
		}
	}
	if !strings.HasSuffix(err.Error(), "domains[0])") {
		t.Errorf("no position of the other domain: %v", err)
	}
	f, ok := errors.AsType[*ratelimit.Fault](err)
	if !ok {
		t.Fatal("no *Fault in the error")
	}
	equal(t, "first", f.Error(), strings.Split(err.Error(), "\n")[0])
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
	equal(t, "faults", faults(t, merge, one, two, again), []string{"2/1 key duplicate 'd.n' <> 0/1"})
	equal(t, "empty domains", faults(t, merge, ratelimit.Domain{}, ratelimit.Domain{}), []string{
		"0 domain empty", "1 domain empty",
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
		want := "0" + strings.Repeat("/0", ratelimit.MaxDepth) + " descriptors"
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
