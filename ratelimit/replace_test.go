package ratelimit_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// named returns a rule for key with a limit of one per minute that has a name and
// replaces others.
func named(key, name string, replaces ...string) ratelimit.Rule {
	r := rule(key, "", 1)
	r.Limit.Name, r.Limit.Replaces = name, replaces
	return r
}

// Replacement within one request (REFERENCE.md, 2.4). Each test
// lists the requested keys and those to which a limit applies.
func TestReplaces(t *testing.T) {
	unlimited := ratelimit.Rule{Key: "u", Limit: &ratelimit.Limit{Unlimited: true, Name: "U", Replaces: []string{"A"}}}
	tests := []struct {
		name  string
		rules []ratelimit.Rule
		ask   string
		live  string
	}{
		{"one replaces the other", []ratelimit.Rule{named("a", "A"), named("b", "B", "A")}, "ab", "b"},
		{"wherever it stands in the request", []ratelimit.Rule{named("a", "A"), named("b", "B", "A")}, "ba", "b"},
		{"only if it matches", []ratelimit.Rule{named("a", "A"), named("b", "B", "A")}, "ac", "a"},
		{"a replacing rule needs no name", []ratelimit.Rule{named("a", "A"), named("b", "", "A")}, "ab", "b"},
		{"two that replace each other both go", []ratelimit.Rule{named("a", "A", "B"), named("b", "B", "A")}, "ab", ""},
		{"a chain: the replaced one still replaces", []ratelimit.Rule{named("a", "A"), named("b", "B", "A"), named("c", "C", "B")}, "abc", "c"},
		{"a ring of three", []ratelimit.Rule{named("a", "A", "B"), named("b", "B", "C"), named("c", "C", "A")}, "abc", ""},
		{"several at once", []ratelimit.Rule{named("a", "A"), named("b", "B"), named("c", "C", "A", "B", "absent")}, "abc", "c"},
		{"all of one name", []ratelimit.Rule{named("a", "A"), named("b", "A"), named("c", "C", "A")}, "abc", "c"},
		{"every descriptor of the replaced rule", []ratelimit.Rule{named("a", "A"), named("b", "B", "A")}, "aba", "b"},
		{"no name is not a name", []ratelimit.Rule{named("a", ""), named("b", "B", "A")}, "ab", "ab"},
		{"an unlimited rule replaces", []ratelimit.Rule{named("a", "A"), unlimited}, "au", ""},
		{"an unlimited rule is not replaced", []ratelimit.Rule{unlimited, named("b", "B", "U")}, "ub", "b"},
		{"two that replace may share a name", []ratelimit.Rule{named("a", "A"), named("b", "B", "A"), named("c", "B", "A")}, "abc", "bc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, tt.rules...)
			var descriptors []ratelimit.Descriptor
			for _, key := range tt.ask {
				descriptors = append(descriptors, desc(string(key), "v"))
			}
			d := b.decide(descriptors...)
			checkLive(t, b, d, tt.ask, tt.live)
		})
	}
}

func checkLive(t *testing.T, b *bench, d *ratelimit.Decision, ask, live string) {
	t.Helper()
	got := ""
	for i, s := range d.Statuses {
		if s.Limited {
			got += ask[i : i+1]
		} else if s.Remaining != ratelimit.UnlimitedRemaining {
			equal(t, "status without a limit", s, ratelimit.Status{Code: ratelimit.OK})
		}
	}
	equal(t, "held to a limit", got, live)
	want, stats := map[string]uint64{}, map[string]counts{}
	for _, key := range live {
		want["domain_"+string(key)+"_v_1200"]++
		c := stats["domain."+string(key)]
		c.TotalHits++
		c.WithinLimit++
		c.NearLimit++
		stats["domain."+string(key)] = c
	}
	equal(t, "counters", b.store.contents(), want)
	equal(t, "statistics", b.stats.counts(), stats)
}

// Overrides neither replace nor are replaced.
func TestReplacesAndOverrides(t *testing.T) {
	b := newBench(t, nil, named("a", "A"), named("b", "B", "A"))
	d := b.decide(override(5, ratelimit.Minute, desc("a", "v")), desc("b", "v"))
	equal(t, "a is an override", d.Statuses[0].RequestsPerUnit, 5)
	d = b.decide(desc("a", "v"), override(5, ratelimit.Minute, desc("b", "v")))
	equal(t, "b is an override", d.Statuses[0].Limited, true)
}

// Replacement does not affect the next request with the same Decision.
func TestReplacesForOneRequestOnly(t *testing.T) {
	b := newBench(t, nil, named("a", "A"), named("b", "B", "A"))
	var d ratelimit.Decision
	for _, keys := range []string{"ab", "a", "ba", "a"} {
		r := ratelimit.Request{Domain: "domain"}
		for _, k := range keys {
			r.Descriptors = append(r.Descriptors, desc(string(k), "v"))
		}
		if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil {
			t.Fatal(err)
		}
		equal(t, keys, d.Statuses[0].Limited, keys != "ab")
	}
}

// A domain may have many names.
func TestReplacesManyNames(t *testing.T) {
	var rules []ratelimit.Rule
	for i := range uint64(200) {
		rules = append(rules, named("k"+decimal(i), "N"+decimal(i)))
	}
	rules = append(rules, named("r", "R", "N0", "N63", "N64", "N127", "N128", "N199"))
	b := newBench(t, nil, rules...)
	replaced := map[uint64]bool{0: true, 63: true, 64: true, 127: true, 128: true, 199: true}
	for i := range uint64(200) {
		d := b.decide(desc("k"+decimal(i), "v"), desc("r", decimal(i)))
		equal(t, "limited "+decimal(i), d.Statuses[0].Limited, !replaced[i])
	}
}

// Names of other domains are not replaced.
func TestReplacesWithinItsDomain(t *testing.T) {
	b := newBench(t, nil)
	b.engine.Use(compile(t,
		ratelimit.Domain{Name: "one", Rules: []ratelimit.Rule{named("a", "A"), named("b", "B")}},
		ratelimit.Domain{Name: "two", Rules: []ratelimit.Rule{named("a", "A"), named("b", "B", "A")}},
	))
	for domain, want := range map[string]string{"one": "ok ok", "two": "ok ok"} {
		d := b.decideRequest(&ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{desc("a", ""), desc("b", "")}})
		equal(t, domain, codes(d), want)
		equal(t, domain+" a is limited", d.Statuses[0].Limited, domain == "one")
	}
}
