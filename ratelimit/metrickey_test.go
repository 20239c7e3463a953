package ratelimit_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// metricOf returns the statistics key that one decision counts in.
func metricOf(t *testing.T, d ratelimit.Descriptor, rules ...ratelimit.Rule) string {
	t.Helper()
	b := newBench(t, nil, rules...)
	b.decide(d)
	all := b.stats.counts()
	if len(all) != 1 {
		t.Fatalf("%d statistics keys, want 1: %v", len(all), all)
	}
	for key := range all {
		return key
	}
	return ""
}

// flags are detailed_metric (d), value_to_metric (v) and share_threshold (s).
func flagged(flags, key, value string, below ...ratelimit.Rule) ratelimit.Rule {
	r := rule(key, value, 5)
	r.DetailedMetric = strings.Contains(flags, "d")
	r.ValueToMetric = strings.Contains(flags, "v")
	r.ShareThreshold = strings.Contains(flags, "s")
	r.Rules = below
	return r
}

// One level: every combination of flags, on every kind of value (REFERENCE.md, 5.2).
func TestMetricKey(t *testing.T) {
	tests := []struct {
		value, flags string
		full, empty  string // with the runtime values "foobar" and ""; "-" where it can't match
	}{
		{"", "", "domain.k", "domain.k"},
		{"", "v", "domain.k_foobar", "domain.k"},
		{"", "d", "domain.k_foobar", "domain.k_"},
		{"", "dv", "domain.k_foobar", "domain.k_"},
		{"foobar", "", "domain.k_foobar", "-"},
		{"foobar", "v", "domain.k_foobar", "-"},
		{"foobar", "d", "domain.k_foobar", "-"},
		{"foobar", "dv", "domain.k_foobar", "-"},
		{"foo*", "", "domain.k_foo*", "-"},
		{"foo*", "v", "domain.k_foobar", "-"},
		{"foo*", "d", "domain.k_foobar", "-"},
		{"foo*", "dv", "domain.k_foobar", "-"},
		{"foo*", "s", "domain.k_foo*", "-"},
		{"foo*", "sv", "domain.k_foo", "-"},
		{"foo*", "sd", "domain.k_foo", "-"},
		{"foo*", "sdv", "domain.k_foo", "-"},
		{"f*b*", "sv", "domain.k_f", "-"},
		{"*", "", "domain.k_*", "domain.k_*"},
		{"*", "v", "domain.k_foobar", "domain.k"},
		{"*", "d", "domain.k_foobar", "domain.k_"},
		{"*", "s", "domain.k_*", "domain.k_*"},
		{"*", "sv", "domain.k", "domain.k"},
		{"*", "sd", "domain.k", "domain.k"},
	}
	for _, tt := range tests {
		t.Run("value="+tt.value+" flags="+tt.flags, func(t *testing.T) {
			r := flagged(tt.flags, "k", tt.value)
			equal(t, "with a value", metricOf(t, desc("k", "foobar"), r), tt.full)
			if tt.empty != "-" {
				equal(t, "with an empty value", metricOf(t, desc("k", ""), r), tt.empty)
			}
		})
	}
}

// Levels: detailed_metric works from the leaf, on all levels; value_to_metric on
// its own level only.
func TestMetricKeyNested(t *testing.T) {
	tests := []struct {
		name string
		top  ratelimit.Rule
		want string // for a=1, b=2, c=3
	}{
		{"plain", flagged("", "a", "", flagged("", "b", "2", flagged("", "c", ""))), "domain.a.b_2.c"},
		{"value on top", flagged("v", "a", "", flagged("", "b", "", flagged("", "c", ""))), "domain.a_1.b.c"},
		{"value in the middle", flagged("", "a", "", flagged("v", "b", "", flagged("", "c", ""))), "domain.a.b_2.c"},
		{"value at the leaf", flagged("", "a", "", flagged("", "b", "", flagged("v", "c", ""))), "domain.a.b.c_3"},
		{"value everywhere", flagged("v", "a", "", flagged("v", "b", "2", flagged("v", "c", "*"))), "domain.a_1.b_2.c_3"},
		{"detailed leaf", flagged("", "a", "", flagged("", "b", "*", flagged("d", "c", ""))), "domain.a_1.b_2.c_3"},
		{"detailed above the leaf does nothing", flagged("d", "a", "", flagged("d", "b", "*", flagged("", "c", ""))), "domain.a.b_*.c"},
		{"detailed beats value", flagged("v", "a", "", flagged("", "b", "", flagged("dv", "c", ""))), "domain.a_1.b_2.c_3"},
		{"shared above a detailed leaf", flagged("s", "a", "*", flagged("", "b", "", flagged("d", "c", ""))), "domain.a.b_2.c_3"},
		{"shared with value above a leaf", flagged("", "a", "", flagged("sv", "b", "2*", flagged("", "c", ""))), "domain.a.b_2.c"},
		{"shared above a leaf with value", flagged("s", "a", "1*", flagged("", "b", "", flagged("v", "c", ""))), "domain.a_1*.b.c_3"},
		{"shared in the middle of values", flagged("v", "a", "", flagged("s", "b", "*", flagged("v", "c", ""))), "domain.a_1.b_*.c_3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "key", metricOf(t, desc("a", "1", "b", "2", "c", "3"), tt.top), tt.want)
		})
	}
}

// Shorter descriptors are counted under shorter keys.
func TestMetricKeyOfEveryLevel(t *testing.T) {
	top := flagged("v", "a", "", flagged("", "b", "2", flagged("d", "c", "")))
	equal(t, "one", metricOf(t, desc("a", "1"), top), "domain.a_1")
	equal(t, "two", metricOf(t, desc("a", "1", "b", "2"), top), "domain.a_1.b_2")
	equal(t, "three", metricOf(t, desc("a", "1", "b", "2", "c", "3"), top), "domain.a_1.b_2.c_3")
	equal(t, "three, empty", metricOf(t, desc("a", "", "b", "2", "c", ""), top), "domain.a_.b_2.c_")
}

// A rule with a star in its key has its pattern in the key without flags, and shows the
// request's key with them.
func TestMetricKeyStarInKey(t *testing.T) {
	equal(t, "no flags", metricOf(t, desc("foo", "v"), flagged("", "f*", "")), "domain.f*")
	equal(t, "value", metricOf(t, desc("foo", "v"), flagged("v", "f*", "")), "domain.foo_v")
	equal(t, "value, exact", metricOf(t, desc("foo", "v"), flagged("v", "f*", "v")), "domain.foo_v")
	equal(t, "detailed", metricOf(t, desc("foo", "v"), flagged("d", "f*", "")), "domain.foo_v")
}

// Characters that push-style statistics can't have are replaced in the whole key.
func TestMetricKeySanitised(t *testing.T) {
	equal(t, "rule", metricOf(t, desc("a:b", "c|d"), rule("a:b", "c|d", 5)), "domain.a_b_c_d")
	equal(t, "address in a rule", metricOf(t, desc("ip", "10.0.0.1"), rule("ip", "10.0.0.1", 5)), "domain.ip_10_0_0_1")
	equal(t, "address at run time", metricOf(t, desc("ip", "10.0.0.1"), flagged("d", "ip", "")), "domain.ip_10_0_0_1")
	equal(t, "value at run time", metricOf(t, desc("ip", "10.0.0.1:80"), flagged("v", "ip", "")), "domain.ip_10_0_0_1_80")
	equal(t, "other dots stay", metricOf(t, desc("h", "www.example.org"), flagged("v", "h", "")), "domain.h_www.example.org")
	equal(t, "version", metricOf(t, desc("v", "1.2.3"), flagged("v", "v", "")), "domain.v_1.2.3")
}

// The domain is part of the key, and sanitised with it, in the names of folded
// keys too.
func TestMetricKeyDomainSanitised(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 1})
	b.engine.Use(compile(t, ratelimit.Domain{Name: "a:b|10.0.0.1", Rules: []ratelimit.Rule{rule("k", "", 5), flagged("d", "d", "")}}))
	for _, d := range []ratelimit.Descriptor{desc("k", ""), desc("d", "1"), desc("d", "2")} {
		b.decideRequest(&ratelimit.Request{Domain: "a:b|10.0.0.1", Descriptors: []ratelimit.Descriptor{d}})
	}
	one := counts{TotalHits: 1, WithinLimit: 1}
	equal(t, "statistics", b.stats.counts(), map[string]counts{
		"a_b_10_0_0_1.k": one, "a_b_10_0_0_1.d_1": one, "a_b_10_0_0_1.other": one,
	})
}

var address = regexp.MustCompile(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)

// control matches what is replaced by as many underscores as it has bytes.
var control = regexp.MustCompile(`[:|\x00-\x1f\x7f\x{80}-\x{9f}]`)

// sanitised is the definition, by a regular expression.
func sanitised(s string) string {
	s = control.ReplaceAllStringFunc(s, func(c string) string { return strings.Repeat("_", len(c)) })
	return address.ReplaceAllStringFunc(s, func(a string) string { return strings.ReplaceAll(a, ".", "_") })
}

var keysToSanitise = []string{
	"", "a.b", "1.2.3.4", "1.2.3.4.5", "1.2.3.4.5.6.7.8", "1.2.3.4.5.6.7.8.9", "1234.1.1.1", "1.1.1.1234", "1234.5.6.7890.1.2.3",
	"x1.2.3.4x", "1..2.3.4", "1.2.3.", "1.2.3.4.", ".1.2.3.4", "0001.2.3.4", "1.2.3.444444.5.6.7", "999.999.999.999", "1:2|3.4.5.6",
	"１.2.3.4", "\xff1.2.3.4\xff", "1.2.33333.4.5.6",
	"a\nb", "\x00\x1f\x7f", "\u0080\u009f\u00a0", "\xc2", "\xc2\xc2\x85", "x\u0085y", "\x1b[31m",
}

func TestSanitise(t *testing.T) {
	for _, s := range keysToSanitise {
		equal(t, s, ratelimit.SanitiseMetric(s), sanitised(s))
	}
	equal(t, "address", ratelimit.SanitiseMetric("k_10.0.0.1.x"), "k_10_0_0_1.x")
}

func FuzzSanitise(f *testing.F) {
	for _, s := range keysToSanitise {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		equal(t, s, ratelimit.SanitiseMetric(s), sanitised(s))
	})
}

// With an option, names have one part for each entry, whatever dots keys and values have.
func TestMetricDots(t *testing.T) {
	for dots, want := range map[bool]map[string]uint64{
		false: {"domain.host_a.b.path": 1, "domain.detailed_c.d": 1, "domain.o.p_q.r": 1},
		true:  {"domain.host_a_b.path": 1, "domain.detailed_c_d": 1, "domain.o_p_q_r": 1},
	} {
		host := ratelimit.Rule{Key: "host", Value: "a.b", Rules: []ratelimit.Rule{rule("path", "", 5)}}
		b := newBench(t, &ratelimit.Options{SanitizeMetricDots: dots}, host, flagged("d", "detailed", ""))
		b.decide(
			ratelimit.Descriptor{Entries: []ratelimit.Entry{{Key: "host", Value: "a.b"}, {Key: "path", Value: "/x.y"}}},
			desc("detailed", "c.d"), override(5, ratelimit.Minute, desc("o.p", "q.r")),
		)
		equal(t, "statistics", totals(b), want)
	}
}
