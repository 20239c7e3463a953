package ratelimit_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// counterRules has a rule for each algorithm, of 5 hits a minute, and more.
func counterRules(t *testing.T) *ratelimit.Ruleset {
	algorithm := func(key string, a ratelimit.Algorithm) ratelimit.Rule {
		r := rule(key, "", 5)
		r.Limit.Algorithm = a
		return r
	}
	return compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{
		rule("fixed", "", 5),
		{Key: "second", Limit: per(5, ratelimit.Second)},
		algorithm("sliding", ratelimit.SlidingWindow),
		algorithm("bucket", ratelimit.TokenBucket),
		algorithm("permits", ratelimit.Concurrency),
		{Key: "free", Limit: &ratelimit.Limit{Unlimited: true}},
	}})
}

var countedKeys = []string{"fixed", "second", "sliding", "bucket", "permits"}

// TestCounters reads, refunds and resets counters of each algorithm.
func TestCounters(t *testing.T) {
	c, stats := &clock{unix: epoch}, newMapStats()
	main, second := newChargeStore(), newChargeStore()
	e := ratelimit.MustNew(main, &ratelimit.Options{Now: c.Now, Stats: stats, PerSecond: second, CounterKeyPrefix: "p:"})
	e.Use(counterRules(t))
	r := &ratelimit.Request{Domain: "domain", HitsAddend: 4}
	for _, key := range countedKeys {
		r.Descriptors = append(r.Descriptors, desc(key, "x"))
	}
	r.Descriptors = append(r.Descriptors, desc("free", "x"), desc("nope", "x"))
	if _, err := e.Decide(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	names := len(stats.limits)

	check := func(what string, got []ratelimit.CounterState, err error, used uint64) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		equal(t, what+": states", len(got), len(r.Descriptors))
		for i, key := range countedKeys {
			equal(t, what+": used of "+key, got[i].Used, used)
			equal(t, what+": remaining of "+key, uint64(got[i].Remaining), 5-used)
			equal(t, what+": limit of "+key, got[i].RequestsPerUnit, 5)
			equal(t, what+": code of "+key, got[i].Code, ratelimit.OK)
		}
		equal(t, what+": unlimited", got[5], ratelimit.CounterState{Status: ratelimit.Status{Code: ratelimit.OK, Remaining: ratelimit.UnlimitedRemaining}})
		equal(t, what+": no rule", got[6], ratelimit.CounterState{Status: ratelimit.Status{Code: ratelimit.OK}})
	}
	got, err := e.Counters(t.Context(), r)
	check("read", got, err, 4)
	got, err = e.Counters(t.Context(), r)
	check("read again", got, err, 4)
	equal(t, "time until the window ends", got[0].ResetSeconds, 26)
	equal(t, "algorithm", got[3].Algorithm, ratelimit.TokenBucket)

	r.HitsAddend = 3
	got, err = e.Refund(t.Context(), r)
	check("3 of 4 refunded", got, err, 1)
	got, err = e.Refund(t.Context(), r)
	check("never below zero", got, err, 0)

	r.HitsAddend = 5
	if _, err := e.Decide(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	counted := stats.counts()
	got, err = e.ResetCounters(t.Context(), r)
	check("reset", got, err, 0)
	got, err = e.Counters(t.Context(), r)
	check("read after it", got, err, 0)
	equal(t, "statistics", stats.counts(), counted)
	equal(t, "names of statistics", len(stats.limits), names)
}

// Counters reads numbers of more hits than the limit, and creates no counters.
func TestCountersOverTheLimit(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 2))
	b.decide(hits(7, desc("k", "x")))
	got, err := b.engine.Counters(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{
		hits(math.MaxUint64, desc("k", "x")), desc("k", "y"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "used", got[0].Used, 7)
	equal(t, "code", got[0].Code, ratelimit.OverLimit)
	equal(t, "used of another", got[1].Used, 0)
	equal(t, "counters", b.store.contents(), map[string]uint64{"domain_k_x_1200": 7})
}

// Hits of the window before are subtracted as well.
func TestResetCountersOfSlidingWindow(t *testing.T) {
	c := &clock{unix: 1200}
	e := ratelimit.MustNew(newChargeStore(), &ratelimit.Options{Now: c.Now})
	e.Use(counterRules(t))
	r := &ratelimit.Request{Domain: "domain", HitsAddend: 4, Descriptors: []ratelimit.Descriptor{desc("sliding", "x")}}
	if _, err := e.Decide(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c.set(1260) // all four still count
	r.HitsAddend = 1
	if _, err := e.Decide(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.HitsAddend = 2
	got, err := e.Refund(t.Context(), r)
	if err != nil || got[0].Used != 3 {
		t.Errorf("2 of 5 hits refunded: got %+v, %v, want 3 used", got, err)
	}
	got, err = e.ResetCounters(t.Context(), r)
	if err != nil || got[0].Used != 0 || got[0].Remaining != 5 || got[0].ResetSeconds != 0 {
		t.Errorf("reset: got %+v, %v, want none used", got, err)
	}
}

// The store is asked although the over-limit cache knows the counter, which it forgets only when
// hits are subtracted.
func TestCountersOverLimitCache(t *testing.T) {
	c, store := &clock{unix: epoch}, newChargeStore()
	cache := newMapCache(c.Now)
	e := ratelimit.MustNew(store, &ratelimit.Options{Now: c.Now, OverLimitCache: cache})
	e.Use(counterRules(t))
	r := &ratelimit.Request{Domain: "domain", HitsAddend: 6, Descriptors: []ratelimit.Descriptor{desc("fixed", "x")}}
	code := func() ratelimit.Code {
		d, err := e.Decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return d.Code
	}
	equal(t, "over the limit", code(), ratelimit.OverLimit)
	got, err := e.Counters(t.Context(), r)
	if err != nil || got[0].Used != 6 {
		t.Errorf("got %+v, %v, want 6 used", got, err)
	}
	equal(t, "remembered", len(cache.until), 1)
	if _, err := e.ResetCounters(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	equal(t, "remembered after the reset", len(cache.until), 0)
	r.HitsAddend = 5
	equal(t, "after the reset", code(), ratelimit.OK)
}

// Errors name what the store can't do, and are those of Decide otherwise.
func TestCountersErrors(t *testing.T) {
	fixed := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("fixed", "x")}}
	store := newMapStore()
	e := ratelimit.MustNew(store, nil)
	if _, err := e.Counters(t.Context(), fixed); !errors.Is(err, ratelimit.ErrNoRules) {
		t.Errorf("without rules: %v", err)
	}
	if err := e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("fixed", "", 5)}})); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Counters(t.Context(), &ratelimit.Request{Domain: "domain"}); !errors.Is(err, ratelimit.ErrNoDescriptors) {
		t.Errorf("without descriptors: %v", err)
	}
	if _, err := e.Counters(t.Context(), fixed); err != nil {
		t.Errorf("any store can be read: %v", err)
	}
	for what, call := range map[string]func() ([]ratelimit.CounterState, error){
		"reset":  func() ([]ratelimit.CounterState, error) { return e.ResetCounters(t.Context(), fixed) },
		"refund": func() ([]ratelimit.CounterState, error) { return e.Refund(t.Context(), fixed) },
	} {
		if _, err := call(); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "mapStore") {
			t.Errorf("%s: got %v, want an error that names the store", what, err)
		}
	}
	store.err = errDown
	_, err := e.Counters(t.Context(), fixed)
	if ratelimit.KindOf(err) != ratelimit.StoreFailure || !errors.Is(err, errDown) {
		t.Errorf("the store failed: %v", err)
	}
}
