package ratelimit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Rules are swapped thousands of times while goroutines decide. Both rule sets
// have the same two keys and their own numbers, so a decision that mixed them
// would show; and no hit may be lost from the statistics.
func TestUseUnderLoad(t *testing.T) {
	stats := newMapStats()
	store := storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			hits[i].Count = 1
		}
		return nil
	})
	e := ratelimit.MustNew(store, &ratelimit.Options{Stats: stats})
	sets := []*ratelimit.Ruleset{twoRules(t, 10, ""), twoRules(t, 20, "v")}
	e.Use(sets[0])
	const workers, calls, swaps = 4, 4000, 5000
	var wg sync.WaitGroup
	var seen [2]atomic.Int64
	for range workers {
		wg.Go(func() {
			var d ratelimit.Decision
			r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("a", "v"), desc("b", "v")}}
			for range calls {
				if err := e.DecideInto(context.Background(), &r, &d); err != nil {
					t.Error(err)
					return
				}
				a, b := d.Statuses[0], d.Statuses[1]
				if a.RequestsPerUnit+1 != b.RequestsPerUnit || a.Name+"2" != b.Name || a.Remaining+1 != a.RequestsPerUnit {
					t.Errorf("a decision mixes rule sets: %+v", d.Statuses)
				}
				seen[a.RequestsPerUnit/10-1].Add(1)
			}
		})
	}
	for i := range swaps {
		e.Use(sets[i%2])
	}
	wg.Wait()
	checkSeen(t, stats, seen[0].Load(), seen[1].Load(), workers*calls)
}

// twoRules returns rules that limit a to n and b to n+1.
func twoRules(t *testing.T, n uint32, value string) *ratelimit.Ruleset {
	t.Helper()
	a, b := rule("a", value, n), rule("b", value, n+1)
	a.Limit.Name, b.Limit.Name = "n"+decimal(uint64(n)), "n"+decimal(uint64(n))+"2"
	return compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{a, b}})
}

func checkSeen(t *testing.T, stats *mapStats, first, second, total int64) {
	t.Helper()
	equal(t, "decisions", first+second, total)
	for key, want := range map[string]int64{"domain.a": first, "domain.b": first, "domain.a_v": second, "domain.b_v": second} {
		c := stats.Limit(key).Load()
		equal(t, key, c, counts{TotalHits: uint64(want), WithinLimit: uint64(want)})
	}
}

// Rules are removed and restored while goroutines decide: every call is
// decided or fails with ErrNoRules.
func TestUseNilUnderLoad(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 1<<30))
	rules := b.engine.Rules()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var d ratelimit.Decision
			r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "v")}}
			for range 500 {
				err := b.engine.DecideInto(context.Background(), &r, &d)
				if err == nil && d.Code != ratelimit.OK || err != nil && ratelimit.KindOf(err) != ratelimit.NotReady {
					t.Errorf("got %v, %v", d.Code, err)
				}
			}
		})
	}
	for range 1000 {
		b.engine.Use(nil)
		b.engine.Use(rules)
	}
	wg.Wait()
	equal(t, "rules", b.engine.Rules(), rules)
}

// A call in progress when the rules change finishes with the old ones.
func TestUseDuringDecide(t *testing.T) {
	var e *ratelimit.Engine
	other := twoRules(t, 20, "")
	store := storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
		e.Use(other)
		return nil
	})
	e = ratelimit.MustNew(store, nil)
	e.Use(twoRules(t, 10, ""))
	r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("a", "v")}}
	for _, want := range []uint32{10, 20} {
		var d ratelimit.Decision
		if err := e.DecideInto(t.Context(), &r, &d); err != nil {
			t.Fatal(err)
		}
		equal(t, "limit", d.Statuses[0].RequestsPerUnit, want)
	}
}

// Counters and statistics continue when the rules are reloaded.
func TestUseKeepsCounting(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 2))
	for i, want := range []ratelimit.Code{ratelimit.OK, ratelimit.OK, ratelimit.OverLimit} {
		equal(t, "code "+decimal(uint64(i)), b.decide(desc("k", "")).Code, want)
		b.use(rule("k", "", 2))
	}
	equal(t, "total", b.stats.counts()["domain.k"].TotalHits, 3)
}

// One Ruleset may serve several engines, each with statistics of its own.
func TestRulesetShared(t *testing.T) {
	one, two := newBench(t, nil), newBench(t, nil)
	rules := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("k", "", 2)}})
	one.engine.Use(rules)
	two.engine.Use(rules)
	one.decide(desc("k", ""))
	equal(t, "one", len(one.stats.counts()), 1)
	equal(t, "two", len(two.stats.counts()), 0)
}

// The same Decision may go from one engine to another.
func TestDecisionAcrossEngines(t *testing.T) {
	one, two := newBench(t, nil, rule("k", "", 0)), newBench(t, nil, rule("k", "", 9))
	var d ratelimit.Decision
	r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "")}}
	for i, b := range []*bench{one, two, one} {
		if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil {
			t.Fatal(err)
		}
		equal(t, "over "+decimal(uint64(i)), d.Code == ratelimit.OverLimit, b == one)
	}
}

// Counters add up over all stripes.
func TestLimitStatsConcurrently(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 50))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 10 {
				var d ratelimit.Decision
				r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "")}}
				if err := b.engine.DecideInto(context.Background(), &r, &d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "statistics", b.stats.counts()["domain.k"], counts{TotalHits: 200, WithinLimit: 50, NearLimit: 10, OverLimit: 150})
}

// TestFixedHits checks which counters a store may reserve room for: those that the rules
// determine.
func TestFixedHits(t *testing.T) {
	b := newBench(t, nil,
		rule("k", "v", 9), rule("k", "", 9), rule("k", "w*", 9),
		ratelimit.Rule{Key: "k", Value: "s*", ShareThreshold: true, Limit: per(9, ratelimit.Minute), Rules: []ratelimit.Rule{rule("x", "1", 9), rule("x", "", 9)}},
		ratelimit.Rule{Key: "any", Rules: []ratelimit.Rule{rule("x", "1", 9)}},
		rule("p*", "v", 9),
	)
	for _, tt := range []struct {
		descriptor ratelimit.Descriptor
		want       bool
	}{
		{desc("k", "v"), true},
		{desc("k", "other"), false},
		{desc("k", "ww"), false},
		{desc("k", "ss"), true},
		{desc("k", "ss", "x", "1"), true},
		{desc("k", "ss", "x", "2"), false},
		{desc("any", "a", "x", "1"), false},
		{desc("pp", "v"), false},
		{override(9, ratelimit.Minute, desc("k", "v")), false},
	} {
		b.decide(desc("k", "v"), tt.descriptor) // after a hit whose memory may be reused
		equal(t, "fixed: "+decimal(uint64(len(b.store.recorded()))), b.store.lastCall()[1].Fixed, tt.want)
	}
}
