package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// conditionalStore is a mapStore that is a ratelimit.ConditionalStore.
type conditionalStore struct {
	*mapStore
	conditional int  // calls of AddUnlessOver
	unsupported bool // it can't
}

func (s *conditionalStore) AddUnlessOver(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conditional++
	if s.unsupported {
		return fmt.Errorf("conditionalStore: %w", errors.ErrUnsupported)
	}
	s.record(hits)
	if s.err != nil {
		return s.err
	}
	over, any := make([]bool, len(hits)), false
	for i := range hits {
		n, most := s.counts[string(hits[i].Key)], uint64(hits[i].Limit)
		over[i] = n > most || hits[i].N > most-n
		any = any || over[i]
	}
	for i := range hits {
		if any && !over[i] {
			hits[i].N = 0
		}
		s.add(&hits[i])
	}
	return nil
}

// stopBench returns an engine with StopIncrementWhenOverLimit on a plain or a
// conditional store.
func stopBench(t *testing.T, conditional bool, o ratelimit.Options, rules ...ratelimit.Rule) (*bench, *conditionalStore) {
	t.Helper()
	o.StopIncrementWhenOverLimit = true
	b := newBench(t, &o)
	s := &conditionalStore{mapStore: b.store}
	if conditional {
		o.Now, o.Stats, o.CounterKeyFormat = b.clock.Now, b.stats, ratelimit.KeyReference
		b.engine = ratelimit.MustNew(s, &o)
	}
	b.use(rules...)
	return b, s
}

func onBothStores(t *testing.T, test func(t *testing.T, conditional bool)) {
	t.Run("conditional", func(t *testing.T) { test(t, true) })
	t.Run("fallback", func(t *testing.T) { test(t, false) })
}

// TestStopVector checks the example in REFERENCE.md, 3.6: key4 at 13 of 15 is not incremented
// by two because another key would exceed its limit; 2 remain, near +1, within +2.
func TestStopVector(t *testing.T) {
	onBothStores(t, func(t *testing.T, conditional bool) {
		b, _ := stopBench(t, conditional, ratelimit.Options{}, rule("key4", "", 15), rule("key5", "", 10))
		b.store.put("domain_key4__1200", 13)
		b.store.put("domain_key5__1200", 9)
		d := b.decide(hits(2, desc("key4", "")), hits(2, desc("key5", "")))
		equal(t, "codes", codes(d), "ok over")
		equal(t, "remaining", d.Statuses[0].Remaining, 2)
		equal(t, "counters", b.store.contents(), map[string]uint64{"domain_key4__1200": 13, "domain_key5__1200": 11})
		equal(t, "statistics", b.stats.counts(), map[string]counts{
			"domain.key4": {TotalHits: 2, WithinLimit: 2, NearLimit: 1},
			"domain.key5": {TotalHits: 2, OverLimit: 1, NearLimit: 1},
		})
	})
}

func TestStop(t *testing.T) {
	rules := []ratelimit.Rule{rule("a", "", 5), rule("b", "", 5), rule("z", "", 0)}
	tests := []struct {
		name         string
		a, b         uint64 // before
		ask          []ratelimit.Descriptor
		codes        string
		afterA, next uint64 // a and b after
	}{
		{"none over: all counted", 1, 2, []ratelimit.Descriptor{desc("a", ""), desc("b", "")}, "ok ok", 2, 3},
		{"up to the limit exactly", 4, 4, []ratelimit.Descriptor{desc("a", ""), desc("b", "")}, "ok ok", 5, 5},
		{"one over: only that is counted", 1, 5, []ratelimit.Descriptor{desc("a", ""), desc("b", "")}, "ok over", 1, 6},
		{"both over: both counted", 5, 7, []ratelimit.Descriptor{desc("a", ""), desc("b", "")}, "over over", 6, 8},
		{"by its own hits", 1, 1, []ratelimit.Descriptor{hits(4, desc("a", "")), hits(5, desc("b", ""))}, "ok over", 1, 6},
		{"huge hits", 1, 1, []ratelimit.Descriptor{desc("a", ""), hits(1<<64-1, desc("b", ""))}, "ok over", 1, 1<<64 - 1},
		{"a peek at what is over stops others", 1, 6, []ratelimit.Descriptor{desc("a", ""), hits(0, desc("b", ""))}, "ok over", 1, 6},
		{"a peek at what is exhausted does not", 1, 5, []ratelimit.Descriptor{desc("a", ""), hits(0, desc("b", ""))}, "ok ok", 2, 5},
		{"an override that is over", 1, 1, []ratelimit.Descriptor{desc("a", ""), override(1, ratelimit.Minute, desc("b", ""))}, "ok over", 1, 2},
		{"the same twice: each is compared by itself", 4, 0, []ratelimit.Descriptor{desc("a", ""), desc("a", "")}, "ok over", 6, 0},
		{"one alone", 5, 0, []ratelimit.Descriptor{desc("a", "")}, "over", 6, 0},
	}
	onBothStores(t, func(t *testing.T, conditional bool) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				b, _ := stopBench(t, conditional, ratelimit.Options{}, rules...)
				b.store.put("domain_a__1200", tt.a)
				b.store.put("domain_b__1200", tt.b)
				equal(t, "codes", codes(b.decide(tt.ask...)), tt.codes)
				equal(t, "counters", b.store.contents(), map[string]uint64{"domain_a__1200": tt.afterA, "domain_b__1200": tt.next})
			})
		}
	})
}

// A ConditionalStore is called once; another store is read first, and so is one that finds out that it can't.
func TestStopCalls(t *testing.T) {
	b, s := stopBench(t, true, ratelimit.Options{}, rule("a", "", 5), rule("b", "", 5))
	b.decide(desc("a", ""), desc("b", ""))
	equal(t, "conditional calls", s.conditional, 1)
	equal(t, "calls", s.recorded(), [][]string{{"domain_a__1200+1", "domain_b__1200+1"}})

	for _, unsupported := range []bool{false, true} {
		b, s = stopBench(t, unsupported, ratelimit.Options{}, rule("a", "", 5), rule("b", "", 0))
		s.unsupported = unsupported
		equal(t, "codes", codes(b.decide(desc("a", ""), desc("b", ""))), "ok over")
		equal(t, "calls", b.store.recorded(), [][]string{
			{"domain_a__1200+0", "domain_b__1200+0"}, {"domain_a__1200+0", "domain_b__1200+1"},
		})
	}
}

// If a request has hits on both stores, both are read first.
func TestStopOnTwoStores(t *testing.T) {
	second := &conditionalStore{mapStore: newMapStore()}
	b, s := stopBench(t, true, ratelimit.Options{PerSecond: second}, rule("m", "", 5), ratelimit.Rule{Key: "s", Limit: per(0, ratelimit.Second)})
	d := b.decide(desc("m", ""), desc("s", ""))
	equal(t, "codes", codes(d), "ok over")
	equal(t, "main", s.recorded(), [][]string{{"domain_m__1200+0"}, {"domain_m__1200+0"}})
	equal(t, "per second", second.recorded(), [][]string{{"domain_s__1234+0"}, {"domain_s__1234+1"}})
	b.decide(desc("s", ""))
	equal(t, "per second alone decides", second.conditional, 1)
	b.decide(desc("m", ""))
	equal(t, "main alone decides", s.conditional, 1)
}

// A store that fails, at either step, fails the call.
func TestStopFailure(t *testing.T) {
	onBothStores(t, func(t *testing.T, conditional bool) {
		b, s := stopBench(t, conditional, ratelimit.Options{}, rule("a", "", 5))
		s.err = errDown
		_, err := b.engine.Decide(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("a", "")}})
		if !errors.Is(err, errDown) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
			t.Errorf("got %v", err)
		}
	})
	calls := 0
	second := storeFunc(func(context.Context, []ratelimit.Hit) error {
		if calls++; calls == 2 {
			return errDown
		}
		return nil
	})
	e := ratelimit.MustNew(second, &ratelimit.Options{StopIncrementWhenOverLimit: true})
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("a", "", 5)}}))
	_, err := e.Decide(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("a", "")}})
	if !errors.Is(err, errDown) {
		t.Errorf("second step: got %v", err)
	}
}

// Shadow rules over their limit stop the increments of others too.
func TestStopByShadowRule(t *testing.T) {
	onBothStores(t, func(t *testing.T, conditional bool) {
		shadow := rule("z", "", 0)
		shadow.ShadowMode = true
		b, _ := stopBench(t, conditional, ratelimit.Options{}, rule("a", "", 5), shadow)
		equal(t, "codes", codes(b.decide(desc("a", ""), desc("z", ""))), "ok ok")
		equal(t, "counters", b.store.contents(), map[string]uint64{"domain_z__1200": 1})
	})
}

// givingStore is a mapStore that can subtract hits.
type givingStore struct{ *mapStore }

func (s givingStore) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range hits {
		n := s.counts[string(hits[i].Key)]
		hits[i].Count = n - min(n, hits[i].N)
		s.counts[string(hits[i].Key)] = hits[i].Count
	}
	return nil
}

// TestStopGivesBack has a request with a counter that the cache knows to be over its limit: no hits are added then,
// but refunds are.
func TestStopGivesBack(t *testing.T) {
	o := ratelimit.Options{StopIncrementWhenOverLimit: true, CounterKeyFormat: ratelimit.KeyReference}
	b := newBench(t, nil)
	o.Now, o.OverLimitCache = b.clock.Now, newMapCache(b.clock.Now)
	b.engine = ratelimit.MustNew(givingStore{b.store}, &o)
	b.use(rule("full", "", 1), rule("used", "", 9))
	b.decide(hits(5, desc("used", "")))
	b.decide(hits(2, desc("full", "")))
	refund := hits(3, desc("used", ""))
	refund.Refund = true
	equal(t, "codes", codes(b.decide(desc("full", ""), refund)), "over ok")
	equal(t, "counters", b.store.contents(), map[string]uint64{"domain_used__1200": 2, "domain_full__1200": 2})
}
