package ratelimit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// TestOverride checks limits that come with a request (REFERENCE.md, 1.3).
func TestOverride(t *testing.T) {
	strict := rule("k", "v", 1)
	strict.Limit.Name, strict.ShadowMode, strict.QuotaMode = "named", true, true
	b := newBench(t, nil, strict, ratelimit.Rule{Key: "free", Limit: &ratelimit.Limit{Unlimited: true}})
	d := b.decide(
		override(20, ratelimit.Hour, desc("k", "v")),
		override(30, ratelimit.Second, desc("free", "")),
		override(40, ratelimit.Day, desc("no", "rule", "at", "all")),
	)
	equal(t, "statuses", d.Statuses, []ratelimit.Status{
		{Code: ratelimit.OK, Limited: true, RequestsPerUnit: 20, Unit: ratelimit.Hour, Remaining: 19, ResetSeconds: 3600 - epoch},
		{Code: ratelimit.OK, Limited: true, RequestsPerUnit: 30, Unit: ratelimit.Second, Remaining: 29, ResetSeconds: 1},
		{Code: ratelimit.OK, Limited: true, RequestsPerUnit: 40, Unit: ratelimit.Day, Remaining: 39, ResetSeconds: 86400 - epoch},
	})
	equal(t, "counters", b.store.contents(), map[string]uint64{
		"domain_k_v_0": 1, "domain_free__1234": 1, "domain_no_rule_at_all_0": 1,
	})
	within := counts{TotalHits: 1, WithinLimit: 1}
	equal(t, "statistics", b.stats.counts(), map[string]counts{
		"domain.k_v": within, "domain.free": within, "domain.no_rule.at_all": within,
	})
}

// The shadow mode of a rule does not apply to an override.
func TestOverrideIsNotShadowed(t *testing.T) {
	shadow := rule("k", "", 1)
	shadow.ShadowMode = true
	b := newBench(t, nil, shadow)
	equal(t, "code", b.decide(override(0, ratelimit.Minute, desc("k", "v"))).Code, ratelimit.OverLimit)
}

// An override with another number uses the same counter.
func TestOverrideValueChanges(t *testing.T) {
	b := newBench(t, nil)
	for i, n := range []uint32{1, 5, 2, 4} {
		d := b.decide(override(n, ratelimit.Minute, desc("k", "v")))
		want := ratelimit.OK
		if uint32(i)+1 > n {
			want = ratelimit.OverLimit
		}
		equal(t, "code at limit "+decimal(uint64(n)), d.Code, want)
	}
	equal(t, "counters", b.store.contents(), map[string]uint64{"domain_k_v_1200": 4})
}

// An override takes effect only where its domain is configured.
func TestOverrideInUnknownDomain(t *testing.T) {
	b := newBench(t, nil)
	d := b.decideRequest(&ratelimit.Request{Domain: "nope", Descriptors: []ratelimit.Descriptor{override(0, ratelimit.Minute, desc("k", "v"))}})
	equal(t, "statuses", d.Statuses, []ratelimit.Status{{Code: ratelimit.OK}})
	equal(t, "not found", b.stats.notFound(), map[string]uint64{"nope": 1})
	equal(t, "store calls", len(b.store.calls), 0)
}

// An invalid unit is an error and no descriptor is counted. (It ends the reference
// service.)
func TestOverrideInvalid(t *testing.T) {
	for _, unit := range []ratelimit.Unit{0, 8, 255} {
		b := newBench(t, nil, rule("k", "", 5))
		var d ratelimit.Decision
		err := b.engine.DecideInto(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{
			desc("k", "v"), override(1, unit, desc("k", "v")),
		}}, &d)
		if want := "descriptors[1].limit.unit"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unit %d: got error %v, want %q", unit, err, want)
		}
		equal(t, "kind", ratelimit.KindOf(err), ratelimit.Invalid)
		equal(t, "code", d.Code, ratelimit.Unknown)
		equal(t, "store calls", len(b.store.calls), 0)
		equal(t, "statistics", b.stats.counts(), map[string]counts{})
	}
}

// Statistics keys of overrides (REFERENCE.md, 1.3 and 5.2).
func TestOverrideMetric(t *testing.T) {
	tests := []struct {
		descriptor ratelimit.Descriptor
		want       string
	}{
		{desc("k", "v"), "domain.k_v"},
		{desc("k", ""), "domain.k"},
		{desc("a", "1", "b", "", "c", "3"), "domain.a_1.b.c_3"},
		{desc("ip", "10.1.2.3", "path", "/a.b:c|d"), "domain.ip_10_1_2_3.path_/a.b_c_d"},
		{desc("", "v"), "domain._v"},
		{desc(), "domain."},
	}
	for _, tt := range tests {
		b := newBench(t, nil)
		b.decide(override(5, ratelimit.Minute, tt.descriptor))
		equal(t, "statistics", b.stats.counts(), map[string]counts{tt.want: {TotalHits: 1, WithinLimit: 1}})
	}
}

func TestInvalidRequests(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 5))
	one := []ratelimit.Descriptor{desc("k", "v")}
	tests := []struct {
		request ratelimit.Request
		want    error
	}{
		{ratelimit.Request{Descriptors: one}, ratelimit.ErrEmptyDomain},
		{ratelimit.Request{Domain: "domain"}, ratelimit.ErrNoDescriptors},
		{ratelimit.Request{}, ratelimit.ErrEmptyDomain},
	}
	for _, tt := range tests {
		var d ratelimit.Decision
		err := b.engine.DecideInto(t.Context(), &tt.request, &d)
		if !errors.Is(err, tt.want) {
			t.Errorf("%+v: got error %v, want %v", tt.request, err, tt.want)
		}
		equal(t, "kind", ratelimit.KindOf(err), ratelimit.Invalid)
		// Modifying the error must not affect other callers.
		if e, ok := errors.AsType[*ratelimit.Error](err); ok {
			e.Message, e.Err = "changed", nil
		}
	}
	equal(t, "statistics", b.stats.counts(), map[string]counts{})
}

func TestNoRules(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 5))
	b.engine.Use(nil)
	equal(t, "rules", b.engine.Rules(), nil)
	var d ratelimit.Decision
	r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "v")}}
	err := b.engine.DecideInto(t.Context(), &r, &d)
	equal(t, "kind", ratelimit.KindOf(err), ratelimit.NotReady)
	equal(t, "text", err.Error(), "no rate limit configuration loaded")
	// Without rules, an invalid request is still reported as invalid.
	equal(t, "kind", ratelimit.KindOf(b.engine.DecideInto(t.Context(), &ratelimit.Request{}, &d)), ratelimit.Invalid)
	b.use(rule("k", "", 5))
	equal(t, "code once there are rules", b.decide(desc("k", "v")).Code, ratelimit.OK)
}

// A reused Decision is empty after an error.
func TestErrorLeavesNoDecision(t *testing.T) {
	b := newBench(t, &ratelimit.Options{Metadata: true}, ratelimit.Rule{Key: "k", Limit: per(0, ratelimit.Minute)})
	var d ratelimit.Decision
	r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "v")}}
	if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil || d.Code != ratelimit.OverLimit {
		t.Fatalf("got %v, %v", d.Code, err)
	}
	b.store.err = errors.New("down")
	if err := b.engine.DecideInto(t.Context(), &r, &d); err == nil {
		t.Fatal("no error")
	}
	equal(t, "code", d.Code, ratelimit.Unknown)
	equal(t, "tightest", d.Tightest(), nil)
	for _, s := range d.Statuses {
		equal(t, "status", s, ratelimit.Status{})
	}
}

// A limit that comes with the request may have another algorithm.
func TestOverrideWithAlgorithm(t *testing.T) {
	b := chargeBench(t, ratelimit.Options{}, rule("k", "", 100))
	with := func(a ratelimit.Algorithm, burst uint32) ratelimit.Descriptor {
		d := desc("k", a.String())
		d.Limit = &ratelimit.Override{RequestsPerUnit: 1, Unit: ratelimit.Hour, Algorithm: a, Burst: burst, UnitMultiplier: 2}
		return d
	}
	for a, burst := range map[ratelimit.Algorithm]uint32{ratelimit.SlidingWindow: 0, ratelimit.TokenBucket: 2, ratelimit.Concurrency: 0} {
		for range max(burst, 1) {
			equal(t, a.String(), codes(b.decide(with(a, burst))), "ok")
		}
		d := b.decide(with(a, burst))
		equal(t, a.String(), codes(d), "over")
		equal(t, a.String(), d.Statuses[0].Algorithm, a)
		equal(t, a.String(), b.stats.counts()["domain.k_"+a.String()].OverLimit, 1)
	}
	r := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{with(ratelimit.Concurrency, 0)}}
	r.Descriptors[0].Entries[0].Value = "released"
	for range 3 {
		var d ratelimit.Decision
		if err := b.engine.DecideInto(t.Context(), r, &d); err != nil || d.Code != ratelimit.OK {
			t.Fatal(d.Code, err)
		}
		if err := d.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []ratelimit.Override{
		{RequestsPerUnit: 1, Unit: ratelimit.Hour, Algorithm: 99},
		{RequestsPerUnit: 1, Unit: ratelimit.Hour, Burst: 5},
		{RequestsPerUnit: 1, Unit: ratelimit.Year, Algorithm: ratelimit.TokenBucket, Burst: 100},
	} {
		r.Descriptors[0].Limit = &o
		if _, err := b.engine.Decide(t.Context(), r); ratelimit.KindOf(err) != ratelimit.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestPer(t *testing.T) {
	for _, tt := range []struct {
		got        ratelimit.Limit
		unit       ratelimit.Unit
		multiplier uint32
	}{
		{ratelimit.Per(5, ratelimit.Week), ratelimit.Week, 0},
		{ratelimit.Per(5, 15*time.Minute), ratelimit.Minute, 15},
		{ratelimit.Per(5, time.Hour), ratelimit.Hour, 0},
		{ratelimit.Per(5, 90*time.Minute), ratelimit.Minute, 90},
		{ratelimit.Per(5, 48*time.Hour), ratelimit.Day, 2},
		{ratelimit.Per(5, 61*time.Second), ratelimit.Second, 61},
		{ratelimit.Per(5, 1500*time.Millisecond), 0, 0},
		{ratelimit.Per(5, -time.Hour), 0, 0},
	} {
		equal(t, "limit", tt.got, ratelimit.Limit{RequestsPerUnit: 5, Unit: tt.unit, UnitMultiplier: tt.multiplier})
		if _, err := ratelimit.NewLimiter("l", newMapStore(), tt.got, nil); (err == nil) != (tt.unit != 0) {
			t.Errorf("%+v: %v", tt.got, err)
		}
	}
}

// Values that may be secrets do not show unless the program asks for it.
func TestSecretsDoNotShow(t *testing.T) {
	const secret = "sk_live_4711"
	stats, store := newMapStats(), newMapStore()
	engine := ratelimit.MustNew(store, &ratelimit.Options{Stats: stats})
	if err := engine.Use(compile(t, ratelimit.Domain{Name: "api"})); err != nil {
		t.Fatal(err)
	}
	d := desc("key", secret)
	d.Limit = &ratelimit.Override{RequestsPerUnit: 1, Unit: ratelimit.Hour}
	if _, err := engine.Decide(t.Context(), &ratelimit.Request{Domain: "api", Descriptors: []ratelimit.Descriptor{d}}); err != nil {
		t.Fatal(err)
	}
	equal(t, "statistics", stats.counts(), map[string]counts{"api.key": {TotalHits: 1, WithinLimit: 1, NearLimit: 1}})

	stats, store = newMapStats(), newMapStore()
	l, err := ratelimit.NewLimiter("api", store, ratelimit.Per(1, ratelimit.Hour), &ratelimit.Options{Stats: stats, TopKeys: true, HashKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []ratelimit.Code{ratelimit.OK, ratelimit.OverLimit} {
		if s, err := l.Allow(t.Context(), secret); err != nil || s.Code != want {
			t.Errorf("%v, %v, want %v", s.Code, err, want)
		}
	}
	all := fmt.Sprintf("%v %v %+v", stats.counts(), store.contents(), l.TopKeys())
	if strings.Contains(all, secret) {
		t.Error(all)
	}
}
