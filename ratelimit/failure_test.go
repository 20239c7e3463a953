package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// policy sets the policy of a rule.
func policy(p ratelimit.FailurePolicy, r ratelimit.Rule) ratelimit.Rule {
	r.OnStoreFailure = p
	return r
}

// fallbackBench is a bench whose store is down, with another one to fall back on.
func fallbackBench(t *testing.T, o ratelimit.Options, rules ...ratelimit.Rule) (*bench, *mapStore) {
	t.Helper()
	local := newMapStore()
	o.Fallback = local
	b := newBench(t, &o, rules...)
	b.store.err = errDown
	return b, local
}

// Each rule has its own policy or that of the engine.
func TestFailurePolicies(t *testing.T) {
	b, local := fallbackBench(
		t, ratelimit.Options{OnStoreFailure: ratelimit.FailLocal},
		policy(ratelimit.FailAllow, rule("allow", "", 0)),
		policy(ratelimit.FailDeny, rule("deny", "", 5)),
		policy(ratelimit.FailLocal, rule("local", "", 2)),
		rule("default", "", 1),
	)
	ask := func() *ratelimit.Decision {
		return b.decide(desc("allow", ""), desc("deny", ""), desc("local", ""), desc("default", ""), desc("none", ""))
	}
	for _, want := range []string{"ok over ok ok ok", "ok over ok over ok", "ok over over over ok"} {
		d := ask()
		equal(t, "codes", codes(d), want)
		equal(t, "overall", d.Code, ratelimit.OverLimit)
	}
	d := ask()
	equal(t, "limit of an allowed one", d.Statuses[0].RequestsPerUnit, 0)
	equal(t, "remaining of a denied one", d.Statuses[1].Remaining, 0)
	equal(t, "local counters", local.contents(), map[string]uint64{"domain_local__1200": 4, "domain_default__1200": 4})
	equal(t, "statistics of the allowed", b.stats.counts()["domain.allow"], counts{TotalHits: 4})
	equal(t, "statistics of the local", b.stats.counts()["domain.local"], counts{TotalHits: 4, WithinLimit: 2, NearLimit: 1, OverLimit: 2})

	// When the store responds again, its counters apply.
	b.store.err = nil
	equal(t, "codes with the store", codes(ask()), "over ok ok ok ok")
}

// Nothing is known of the limit that a policy denies or allows but its algorithm: clients come back in a second
// or two, not at the end of the window.
func TestStatusOfFailurePolicies(t *testing.T) {
	for a := ratelimit.FixedWindow; a.Valid(); a++ {
		retries := map[uint32]bool{}
		for seed := range uint32(2) {
			r := by(a, "k", 100)
			if r.Limit.Unit = ratelimit.Day; a.HasBursts() {
				r.Limit.Burst = 7
			}
			b := chargeBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailDeny, Rand: func(n uint32) uint32 { return seed % n }, Fallback: newChargeStore()}, r,
				policy(ratelimit.FailAllow, ratelimit.Rule{Key: "allow", Limit: r.Limit}), policy(ratelimit.FailLocal, ratelimit.Rule{Key: "local", Limit: r.Limit}))
			b.store.err = errDown
			d := b.decide(desc("k", ""), desc("allow", ""), desc("local", ""), refund(desc("k", "")))
			equal(t, "codes", codes(d), "over ok ok ok")
			s := d.Statuses[0]
			retries[s.RetrySeconds] = true
			equal(t, "reset", s.ResetSeconds, s.RetrySeconds)
			equal(t, "retry after", d.RetryAfter(), time.Duration(s.RetrySeconds)*time.Second)
			for i := range d.Statuses {
				equal(t, "algorithm", d.Statuses[i].Algorithm, a)
			}
			if most := d.Statuses[1].Remaining; a.HasBursts() {
				equal(t, "remaining of an allowed one", most, 7)
			} else {
				equal(t, "remaining of an allowed one", most, 100)
			}
		}
		equal(t, "seconds", retries, map[uint32]bool{1: true, 2: true})
	}
}

// One descriptor with FailError fails the call, and nothing is counted locally.
func TestFailurePolicyError(t *testing.T) {
	b, local := fallbackBench(
		t, ratelimit.Options{OnStoreFailure: ratelimit.FailLocal},
		policy(ratelimit.FailError, rule("error", "", 5)), rule("local", "", 5),
	)
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("local", ""), desc("error", "")}}
	if _, err := b.engine.Decide(t.Context(), request); !errors.Is(err, errDown) {
		t.Errorf("got %v, want the store's error", err)
	}
	equal(t, "local counters", local.contents(), map[string]uint64{})
}

// An override has no rule, so the policy of the engine applies.
func TestFailurePolicyOfOverrides(t *testing.T) {
	b, _ := fallbackBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailDeny}, policy(ratelimit.FailAllow, rule("k", "", 5)))
	equal(t, "codes", codes(b.decide(override(5, ratelimit.Minute, desc("k", "")), desc("k", ""))), "over ok")
}

// Shadow mode also applies to descriptors denied by policy.
func TestFailurePolicyInShadow(t *testing.T) {
	shadow := policy(ratelimit.FailDeny, rule("k", "", 5))
	shadow.ShadowMode = true
	b, _ := fallbackBench(t, ratelimit.Options{}, shadow)
	equal(t, "code", b.decide(desc("k", "")).Code, ratelimit.OK)
}

// The call fails if the fallback store fails too, and if the caller has gone.
func TestFailurePolicyThatCannotHold(t *testing.T) {
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "")}}
	fails := func(what string, ctx context.Context, b *bench) {
		t.Helper()
		if _, err := b.engine.Decide(ctx, request); !errors.Is(err, errDown) {
			t.Errorf("%s: got %v, want the store's error", what, err)
		}
	}
	b, local := fallbackBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailLocal}, rule("k", "", 5))
	local.err = errors.New("full")
	fails("the fallback fails", t.Context(), b)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	b, _ = fallbackBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailAllow}, rule("k", "", 5))
	fails("the caller is gone", gone, b)
}

// Policies apply only to the one of two stores that failed.
func TestFailureOfOneStore(t *testing.T) {
	seconds := newMapStore()
	b, local := fallbackBench(
		t, ratelimit.Options{PerSecond: seconds, OnStoreFailure: ratelimit.FailLocal},
		rule("slow", "", 5), ratelimit.Rule{Key: "fast", Limit: per(5, ratelimit.Second)},
	)
	for range 2 {
		b.decide(desc("slow", ""), desc("fast", ""))
	}
	equal(t, "counters per second", seconds.contents(), map[string]uint64{"domain_fast__1234": 2})
	equal(t, "local counters", local.contents(), map[string]uint64{"domain_slow__1200": 2})

	seconds.err, b.store.err = errDown, nil
	b.decide(desc("slow", ""), desc("fast", ""))
	equal(t, "local counters", local.contents(), map[string]uint64{"domain_slow__1200": 2, "domain_fast__1234": 1})
	equal(t, "counters", b.store.contents(), map[string]uint64{"domain_slow__1200": 1})
}

// A counter that is over its limit only in the fallback store is not cached.
func TestFallbackIsNotRemembered(t *testing.T) {
	b, cache := cachedBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailLocal, Fallback: newMapStore()}, rule("k", "", 1))
	b.store.err = errDown
	b.decide(desc("k", ""))
	equal(t, "code", b.decide(desc("k", "")).Code, ratelimit.OverLimit)
	equal(t, "remembered", len(cache.ttl), 0)
	b.store.err = nil
	equal(t, "code with the store", b.decide(desc("k", "")).Code, ratelimit.OK)
}

// With StopIncrementWhenOverLimit the fallback store gets the original hits.
func TestFallbackOfHeldBackHits(t *testing.T) {
	b, local := fallbackBench(
		t, ratelimit.Options{OnStoreFailure: ratelimit.FailLocal, StopIncrementWhenOverLimit: true},
		rule("a", "", 5), rule("b", "", 5),
	)
	b.decide(hits(3, desc("a", "")), desc("b", ""))
	equal(t, "local counters", local.contents(), map[string]uint64{"domain_a__1200": 3, "domain_b__1200": 1})
}

// If one of two stores fails when it is read, the other must still count, or its limits
// would have no effect.
func TestFailureOfOneStoreToBeRead(t *testing.T) {
	seconds := newMapStore()
	b, _ := fallbackBench(
		t, ratelimit.Options{PerSecond: seconds, OnStoreFailure: ratelimit.FailAllow, StopIncrementWhenOverLimit: true},
		rule("slow", "", 2), ratelimit.Rule{Key: "fast", Limit: per(2, ratelimit.Second)},
	)
	ask := func() string { return codes(b.decide(desc("slow", ""), desc("fast", ""), desc("slow", "other"))) }
	b.store.err, seconds.err = nil, errDown
	for _, want := range []string{"ok ok ok", "ok ok ok", "over ok over"} {
		equal(t, "codes without the store per second", ask(), want)
	}
	equal(t, "counters", b.store.contents(), map[string]uint64{"domain_slow__1200": 3, "domain_slow_other_1200": 3})

	b.store.err, seconds.err = errDown, nil
	for _, want := range []string{"ok ok ok", "ok ok ok", "ok over ok"} {
		equal(t, "codes without the main store", ask(), want)
	}
	equal(t, "counters per second", seconds.contents(), map[string]uint64{"domain_fast__1234": 3})

	// A counter over its limit still stops the increments of its own store.
	b.store.err, seconds.err = nil, errDown
	b.decide(desc("slow", ""), desc("fast", ""), desc("slow", "third"))
	equal(t, "only read", b.store.contents()["domain_slow_third_1200"], 0)
}

// With both stores read first, a call that fails for one store counts nothing in the
// other.
func TestFailureOfOneStoreFailsBoth(t *testing.T) {
	b := newBench(
		t, &ratelimit.Options{PerSecond: storeFunc(func(context.Context, []ratelimit.Hit) error { return errDown }), StopIncrementWhenOverLimit: true},
		rule("slow", "", 2), ratelimit.Rule{Key: "fast", Limit: per(2, ratelimit.Second)},
	)
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("slow", ""), desc("fast", "")}}
	if _, err := b.engine.Decide(t.Context(), request); !errors.Is(err, errDown) {
		t.Errorf("got %v, want the store's error", err)
	}
	equal(t, "store calls", b.store.recorded(), [][]string{{"domain_slow__1200+0"}})
}

// A store that can be read but not added to has failed too.
func TestFailureOfOneStoreAfterTheOther(t *testing.T) {
	calls := 0
	main := storeFunc(func(context.Context, []ratelimit.Hit) error {
		if calls++; calls == 2 {
			return errDown
		}
		return nil
	})
	down := storeFunc(func(context.Context, []ratelimit.Hit) error { return errDown })
	local := newMapStore()
	e := ratelimit.MustNew(main, &ratelimit.Options{
		PerSecond: down, Fallback: local, OnStoreFailure: ratelimit.FailLocal, StopIncrementWhenOverLimit: true,
		Now: (&clock{unix: epoch}).Now, CounterKeyFormat: ratelimit.KeyReference,
	})
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("m", "", 5), {Key: "s", Limit: per(5, ratelimit.Second)}}}))
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("m", ""), desc("s", "")}}
	if _, err := e.Decide(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	equal(t, "local counters", local.contents(), map[string]uint64{"domain_m__1200": 1, "domain_s__1234": 1})
}

// fallbackStats counts by policy.
type fallbackStats struct {
	*mapStats
	by map[ratelimit.FailurePolicy]*ratelimit.Counter
}

func (s fallbackStats) Fallback(p ratelimit.FailurePolicy) *ratelimit.Counter {
	s.by[p] = new(ratelimit.Counter)
	return s.by[p]
}

func (fallbackStats) Release(string)                  {}
func (fallbackStats) FoldedNames() *ratelimit.Counter { return new(ratelimit.Counter) }

// OnFallback and the statistics report store failures although the calls succeed.
func TestOnFallback(t *testing.T) {
	stats := fallbackStats{newMapStats(), map[ratelimit.FailurePolicy]*ratelimit.Counter{}}
	var causes []error
	down := storeFunc(func(context.Context, []ratelimit.Hit) error { return errDown })
	e := ratelimit.MustNew(down, &ratelimit.Options{
		Stats: stats, OnStoreFailure: ratelimit.FailAllow,
		OnFallback: func(_ context.Context, cause error) { causes = append(causes, cause) },
	})
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("a", "", 1), policy(ratelimit.FailDeny, rule("d", "", 1))}}))
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("a", ""), desc("a", "x"), desc("d", "")}}
	if _, err := e.Decide(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	equal(t, "causes", causes, []error{errDown})
	equal(t, "allowed", stats.by[ratelimit.FailAllow].Load(), 2)
	equal(t, "denied", stats.by[ratelimit.FailDeny].Load(), 1)
	equal(t, "local", stats.by[ratelimit.FailLocal].Load(), 0)
}

// A key that the store can't hold is the request's fault, whatever the policy.
func TestInvalidKey(t *testing.T) {
	b, _ := fallbackBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailAllow}, rule("k", "", 5))
	tooLong := &ratelimit.Error{Kind: ratelimit.Invalid, Message: "the key is too long"}
	for _, b.store.err = range []error{tooLong, fmt.Errorf("node 7: %w", tooLong)} {
		_, err := b.engine.Decide(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "")}})
		equal(t, "error", err, error(tooLong))
	}
}

func TestBadFailurePolicy(t *testing.T) {
	_, err := ratelimit.Compile([]ratelimit.Domain{{Name: "domain", Rules: []ratelimit.Rule{policy("open", rule("k", "", 1))}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "on_store_failure: invalid") {
		t.Errorf("got %v", err)
	}
	rules := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{policy(ratelimit.FailDeny, ratelimit.Rule{Key: "k"})}})
	equal(t, "warnings", len(rules.Warnings()), 1)
}
