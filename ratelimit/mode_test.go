package ratelimit_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Unlimited rules pass without a store call or statistics, with the largest number
// remaining.
func TestUnlimited(t *testing.T) {
	for _, quota := range []bool{false, true} {
		r := ratelimit.Rule{Key: "u", QuotaMode: true, ShadowMode: true, Limit: &ratelimit.Limit{Unlimited: true, Name: "U"}}
		b := newBench(t, &ratelimit.Options{QuotaMode: quota}, r)
		d := b.decide(desc("u", "v"))
		equal(t, "statuses", d.Statuses, []ratelimit.Status{{Code: ratelimit.OK, Remaining: 4294967295}})
		equal(t, "code", d.Code, ratelimit.OK)
		equal(t, "store calls", len(b.store.calls), 0)
		equal(t, "statistics", b.stats.counts(), map[string]counts{})
		equal(t, "statistics requested", len(b.stats.limits), 0)
	}
}

// A shadow rule counts only the hits above the limit in shadow_mode.
func TestShadowRule(t *testing.T) {
	r := rule("k", "", 3)
	r.ShadowMode = true
	b := newBench(t, nil, r)
	b.decide(desc("k", "v"))
	d := b.decide(hits(4, desc("k", "v")))
	equal(t, "codes", codes(d), "ok")
	equal(t, "remaining", d.Statuses[0].Remaining, 0)
	equal(t, "statistics", b.stats.counts(), map[string]counts{
		"domain.k": {TotalHits: 5, WithinLimit: 1, NearLimit: 1, OverLimit: 2, ShadowMode: 2},
	})
	equal(t, "counted all the same", b.store.contents(), map[string]uint64{"domain_k_v_1200": 5})
}

// A shadow rule does not affect other rules.
func TestShadowRuleBesideOthers(t *testing.T) {
	shadow := rule("s", "", 0)
	shadow.ShadowMode = true
	b := newBench(t, nil, shadow, rule("k", "", 0))
	d := b.decide(desc("s", ""), desc("k", ""))
	equal(t, "codes", codes(d), "ok over")
	equal(t, "overall", d.Code, ratelimit.OverLimit)
}

// Global shadow mode changes the overall code but not the statuses, and counts each
// request once.
func TestGlobalShadowMode(t *testing.T) {
	b := newBench(t, &ratelimit.Options{ShadowMode: true}, rule("a", "", 0), rule("b", "", 0), rule("c", "", 9))
	d := b.decide(desc("a", ""), desc("b", ""), desc("c", ""))
	equal(t, "codes", codes(d), "over over ok")
	equal(t, "overall", d.Code, ratelimit.OK)
	equal(t, "turned", b.stats.shadow.Load(), 1)
	b.decide(desc("c", ""))
	equal(t, "turned, after one that was OK", b.stats.shadow.Load(), 1)
	b.decide(desc("a", ""))
	equal(t, "turned, after one more", b.stats.shadow.Load(), 2)
	equal(t, "rule statistics", b.stats.counts()["domain.a"], counts{TotalHits: 2, OverLimit: 2})
}

// Without statistics the modes work as well.
func TestModesWithoutStats(t *testing.T) {
	e := ratelimit.MustNew(newMapStore(), &ratelimit.Options{ShadowMode: true})
	r := rule("k", "", 0)
	r.DetailedMetric = true
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{r}}))
	for _, domain := range []string{"domain", "nope"} {
		var d ratelimit.Decision
		request := ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{desc("k", "v"), override(0, ratelimit.Second, desc("k", "v"))}}
		if err := e.DecideInto(t.Context(), &request, &d); err != nil || d.Code != ratelimit.OK {
			t.Errorf("domain %s: got %v, %v", domain, d.Code, err)
		}
	}
}

// Quota rules count together: the request is over when all of them are
// (REFERENCE.md, 4.4). q is a quota rule that is over, p one that passes; x is an
// ordinary rule that is over, o one that passes; - is a descriptor without rule;
// u is unlimited; s is a quota rule in shadow mode that is over.
func TestQuotaMode(t *testing.T) {
	tests := []struct {
		ask          string
		rules, whole ratelimit.Code // overall, by rules alone and with global QuotaMode
	}{
		{"o", ratelimit.OK, ratelimit.OK},
		{"x", ratelimit.OverLimit, ratelimit.OverLimit},
		{"q", ratelimit.OverLimit, ratelimit.OverLimit},
		{"p", ratelimit.OK, ratelimit.OK},
		{"qp", ratelimit.OK, ratelimit.OK},
		{"pq", ratelimit.OK, ratelimit.OK},
		{"qq", ratelimit.OverLimit, ratelimit.OverLimit},
		{"qo", ratelimit.OverLimit, ratelimit.OK},
		{"px", ratelimit.OverLimit, ratelimit.OK},
		{"qx", ratelimit.OverLimit, ratelimit.OverLimit},
		{"q-", ratelimit.OverLimit, ratelimit.OK},
		{"x-", ratelimit.OverLimit, ratelimit.OK},
		{"-", ratelimit.OK, ratelimit.OK},
		{"qu", ratelimit.OverLimit, ratelimit.OverLimit},
		{"xu", ratelimit.OverLimit, ratelimit.OverLimit},
		{"u", ratelimit.OK, ratelimit.OK},
		{"qs", ratelimit.OK, ratelimit.OK},
		{"xo", ratelimit.OverLimit, ratelimit.OK},
	}
	quota := func(key string, n uint32) ratelimit.Rule {
		r := rule(key, "", n)
		r.QuotaMode = true
		return r
	}
	shadow := quota("s", 0)
	shadow.ShadowMode = true
	rules := []ratelimit.Rule{
		quota("q", 0), quota("p", 1000), rule("x", "", 0), rule("o", "", 1000), shadow,
		{Key: "u", QuotaMode: true, Limit: &ratelimit.Limit{Unlimited: true}},
	}
	for _, tt := range tests {
		var descriptors []ratelimit.Descriptor
		for _, key := range tt.ask {
			descriptors = append(descriptors, desc(string(key), ""))
		}
		b := newBench(t, nil, rules...)
		d := b.decide(descriptors...)
		equal(t, tt.ask+" by rules", d.Code, tt.rules)
		for i, s := range d.Statuses {
			equal(t, tt.ask+" quota", s.Quota, tt.ask[i] == 'q' || tt.ask[i] == 'p' || tt.ask[i] == 's')
			equal(t, tt.ask+" own code", s.Code == ratelimit.OverLimit, tt.ask[i] == 'q' || tt.ask[i] == 'x')
		}
		b = newBench(t, &ratelimit.Options{QuotaMode: true}, rules...)
		d = b.decide(descriptors...)
		equal(t, tt.ask+" with global quota mode", d.Code, tt.whole)
		for i, s := range d.Statuses {
			equal(t, tt.ask+" quota in global mode", s.Quota, tt.ask[i] != 'u')
		}
	}
}

// A replaced quota rule no longer counts as a quota.
func TestQuotaReplaced(t *testing.T) {
	saver := named("p", "P")
	saver.QuotaMode, saver.Limit.RequestsPerUnit = true, 1000
	over := named("q", "Q", "P")
	over.QuotaMode, over.Limit.RequestsPerUnit = true, 0
	b := newBench(t, nil, saver, over)
	d := b.decide(desc("p", ""), desc("q", ""))
	equal(t, "overall", d.Code, ratelimit.OverLimit)
	equal(t, "quota", d.Statuses[0].Quota, false)
}

// Overrides are quotas only in global quota mode.
func TestQuotaOverride(t *testing.T) {
	for _, global := range []bool{false, true} {
		r := rule("k", "", 0)
		r.QuotaMode = true
		b := newBench(t, &ratelimit.Options{QuotaMode: global}, r)
		d := b.decide(override(0, ratelimit.Minute, desc("k", "")), override(5, ratelimit.Minute, desc("l", "")))
		equal(t, "quota", d.Statuses[0].Quota, global)
		equal(t, "over", d.Code == ratelimit.OverLimit, !global)
	}
}

// TestTightest checks which status is reported (REFERENCE.md, 4.5).
func TestTightest(t *testing.T) {
	limited := func(code ratelimit.Code, remaining uint32, quota bool) ratelimit.Status {
		return ratelimit.Status{Code: code, Limited: true, Remaining: remaining, Quota: quota, RequestsPerUnit: 1}
	}
	ok, over := ratelimit.OK, ratelimit.OverLimit
	free := ratelimit.Status{Code: ok, Remaining: ratelimit.UnlimitedRemaining}
	none := ratelimit.Status{Code: ok}
	tests := []struct {
		name     string
		statuses []ratelimit.Status
		want     int // -1: nil
	}{
		{"no status", nil, -1},
		{"no limit", []ratelimit.Status{none, free}, -1},
		{"the only one", []ratelimit.Status{none, limited(ok, 5, false), free}, 1},
		{"the least left", []ratelimit.Status{limited(ok, 5, false), limited(ok, 3, false), limited(ok, 4, false)}, 1},
		{"the first of equals", []ratelimit.Status{limited(ok, 5, false), limited(ok, 3, false), limited(ok, 3, false)}, 1},
		{"the one over", []ratelimit.Status{limited(ok, 0, false), limited(over, 0, false)}, 1},
		{"the last one over", []ratelimit.Status{limited(over, 0, false), limited(over, 0, false), limited(ok, 0, false)}, 1},
		{"a shadowed one has nothing left", []ratelimit.Status{limited(ok, 1, false), limited(ok, 0, false)}, 1},
		{"a quota over is like any other without rest", []ratelimit.Status{limited(ok, 0, false), limited(over, 0, true)}, 0},
		{"a quota over before", []ratelimit.Status{limited(over, 0, true), limited(ok, 0, false)}, 0},
		{"a quota over, and one over", []ratelimit.Status{limited(over, 0, false), limited(over, 0, true)}, 0},
		{"the largest rest", []ratelimit.Status{none, limited(ok, 4294967295, false)}, 1},
		{"the first of the largest", []ratelimit.Status{limited(ok, 4294967295, false), limited(ok, 4294967295, false)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := ratelimit.Decision{Statuses: tt.statuses}
			got := -1
			for i := range d.Statuses {
				if d.Tightest() == &d.Statuses[i] {
					got = i
				}
			}
			equal(t, "index", got, tt.want)
			equal(t, "nil", d.Tightest() == nil, tt.want < 0)
		})
	}
}

func TestStatusAllowed(t *testing.T) {
	for code, want := range map[ratelimit.Code]string{ratelimit.Unknown: "UNKNOWN", ratelimit.OK: "OK", ratelimit.OverLimit: "OVER_LIMIT", 9: "UNKNOWN"} {
		s := ratelimit.Status{Code: code}
		equal(t, "text", code.String(), want)
		equal(t, want+" allowed", s.Allowed(), code == ratelimit.OK)
	}
}
