package ratelimit_test

import (
	"math"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// TestHitsAddend checks the number of hits of a descriptor (REFERENCE.md, 1.2).
func TestHitsAddend(t *testing.T) {
	none := desc("k", "v")
	tests := []struct {
		name       string
		request    uint32
		descriptor ratelimit.Descriptor
		want       uint64
	}{
		{"neither", 0, none, 1},
		{"the request's", 7, none, 7},
		{"the request's largest", math.MaxUint32, none, math.MaxUint32},
		{"the descriptor's", 0, hits(3, none), 3},
		{"the descriptor's wins", 7, hits(3, none), 3},
		{"the descriptor's wins with zero", 7, hits(0, none), 0},
		{"a peek", 0, hits(0, none), 0},
		{"huge", 0, hits(math.MaxUint64, none), math.MaxUint64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, rule("k", "", 10))
			b.decideRequest(&ratelimit.Request{Domain: "domain", HitsAddend: tt.request, Descriptors: []ratelimit.Descriptor{tt.descriptor}})
			equal(t, "N", b.store.lastCall()[0].N, tt.want)
			equal(t, "total_hits", b.stats.Limit("domain.k").Load().TotalHits, tt.want)
		})
	}
}

// Hits are refunded, and counted apart from others. The statuses are OK, whatever happens.
func TestNegativeHits(t *testing.T) {
	b := newBench(t, &ratelimit.Options{OnStoreFailure: ratelimit.FailDeny}, rule("k", "", 10))
	store := subtractStore{b.store}
	b.engine = ratelimit.MustNew(store, &ratelimit.Options{Now: b.clock.Now, Stats: b.stats, OverrideValues: true, OnStoreFailure: ratelimit.FailDeny})
	b.use(rule("k", "", 10))
	refund := func(n uint64, d ratelimit.Descriptor) ratelimit.Descriptor {
		d = hits(n, d)
		d.Refund = true
		return d
	}
	b.decide(hits(12, desc("k", "v")))
	d := b.decide(refund(5, desc("k", "v")), refund(3, override(10, ratelimit.Minute, desc("o", "v"))), refund(1, desc("none", "")))
	equal(t, "codes", codes(d), "ok ok ok")
	equal(t, "remaining", d.Statuses[0].Remaining, 3)
	equal(t, "remaining of a new counter", d.Statuses[1].Remaining, 10)
	equal(t, "remaining of an empty counter", b.decide(refund(math.MaxUint64, desc("k", "v"))).Statuses[0].Remaining, 10)
	store.err = errDown
	equal(t, "code without the store", codes(b.decide(refund(1, desc("k", "v")))), "ok")
	equal(t, "statistics", b.stats.counts()["domain.k"], counts{TotalHits: 12, OverLimit: 2, NearLimit: 2, TotalNegativeHits: 6})
	equal(t, "statistics of the override", b.stats.counts()["domain.o_v"], counts{TotalNegativeHits: 3})
}

// An override counts for as many hits as any other descriptor.
func TestHitsAddendOfOverride(t *testing.T) {
	b := newBench(t, nil)
	d := b.decide(hits(4, override(10, ratelimit.Minute, desc("k", "v"))))
	equal(t, "remaining", d.Statuses[0].Remaining, 6)
}

// A peek reads without counting. An exactly exhausted limit is still OK with 0
// remaining: token quotas rely on it (REFERENCE.md, 1.2).
func TestPeek(t *testing.T) {
	tests := []struct {
		name      string
		limit     uint32
		count     uint64
		code      ratelimit.Code
		remaining uint32
	}{
		{"unused", 10, 0, ratelimit.OK, 10},
		{"half", 10, 5, ratelimit.OK, 5},
		{"exhausted", 10, 10, ratelimit.OK, 0},
		{"over", 10, 11, ratelimit.OverLimit, 0},
		{"limit of zero", 0, 0, ratelimit.OK, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, rule("k", "", tt.limit))
			b.store.put("domain_k_v_1200", tt.count)
			d := b.decide(hits(0, desc("k", "v")))
			equal(t, "code", d.Code, tt.code)
			equal(t, "remaining", d.Statuses[0].Remaining, tt.remaining)
			equal(t, "counter", b.store.contents()["domain_k_v_1200"], tt.count)
			equal(t, "store calls", b.store.recorded(), [][]string{{"domain_k_v_1200+0"}})
			equal(t, "statistics", b.stats.counts(), map[string]ratelimit.LimitCounts{})
		})
	}
}

// Huge addends do not wrap the counter around.
func TestHugeHits(t *testing.T) {
	b := newBench(t, nil, rule("k", "", math.MaxUint32))
	for range 3 {
		d := b.decide(hits(math.MaxUint64, desc("k", "v")))
		equal(t, "code", d.Code, ratelimit.OverLimit)
		equal(t, "remaining", d.Statuses[0].Remaining, 0)
	}
	equal(t, "counter", b.store.contents()["domain_k_v_1200"], uint64(math.MaxUint64))
	equal(t, "a single hit later", b.decide(desc("k", "v")).Code, ratelimit.OverLimit)
}
