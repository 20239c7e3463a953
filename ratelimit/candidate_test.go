package ratelimit_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// onTrial returns a rule with a candidate of n.
func onTrial(n uint32, r ratelimit.Rule) ratelimit.Rule {
	r.Limit.Candidate = &ratelimit.Candidate{RequestsPerUnit: n}
	return r
}

// candidateOf returns the candidate's counts of a statistics key.
func (b *bench) candidateOf(key string) counts {
	b.t.Helper()
	c := b.stats.Limit(key).Candidate()
	if c == nil {
		b.t.Fatalf("%s has no candidate", key)
	}
	return c.Load()
}

// A candidate changes nothing but its own statistics, and those are what the statistics of the rule
// would be if it were the limit: for every algorithm, smaller and greater candidates, hits that are
// refunded, and calls that are only read because another descriptor is over.
func TestCandidateCountsWhatALimitWould(t *testing.T) {
	algorithms := []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindow, ratelimit.TokenBucket}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit := ratelimit.Limit{
			Algorithm: algorithms[seed%3], Unit: ratelimit.Minute, RequestsPerUnit: 1 + random.Uint32N(20),
		}
		if limit.Algorithm == ratelimit.TokenBucket && random.IntN(2) == 0 {
			limit.Burst = 1 + random.Uint32N(10)
		}
		candidate := random.Uint32N(30)
		trial, would := limit, limit
		trial.Candidate, would.RequestsPerUnit = &ratelimit.Candidate{RequestsPerUnit: candidate}, candidate
		var benches [3]*bench // the limit, the limit with a candidate, the candidate as the limit
		for i, l := range []*ratelimit.Limit{&limit, &trial, &would} {
			b := newBench(t, nil)
			b.engine = ratelimit.MustNew(newChargeStore(), &ratelimit.Options{Stats: b.stats, Now: b.clock.Now})
			b.use(ratelimit.Rule{Key: "k", Limit: l})
			benches[i] = b
		}
		for range 300 {
			d := desc("k", string(rune('a'+random.IntN(3))))
			d.Refund = random.IntN(8) == 0 && limit.Algorithm != ratelimit.FixedWindow // mapStore can't subtract
			d.HitsAddend = new(random.Uint64N(4))
			step := random.Int64N(20)
			var codes [3]ratelimit.Decision
			for i, b := range benches {
				b.clock.set(b.clock.Now().Unix() + step)
				codes[i] = *b.decide(d)
			}
			equal(t, "the status with a candidate", codes[1].Statuses[0], codes[0].Statuses[0])
		}
		equal(t, "statistics of the limit", benches[1].stats.counts()["domain.k"], benches[0].stats.counts()["domain.k"])
		want := benches[2].stats.counts()["domain.k"]
		want.TotalHits, want.TotalNegativeHits = 0, 0
		equal(t, "statistics of the candidate", benches[1].candidateOf("domain.k"), want)
		if t.Failed() {
			t.Fatalf("seed %d: %+v, candidate %d", seed, limit, candidate)
		}
	}
}

// With a fixed window there is no second hit, whatever the candidate.
func TestCandidateOfAFixedWindowCountsOnce(t *testing.T) {
	b := newBench(t, nil, onTrial(3, rule("k", "", 2)))
	b.decide(desc("k", "v"))
	equal(t, "hits", len(b.store.lastCall()), 1)
	equal(t, "other rules", b.stats.Limit("domain.other").Candidate() == nil, true)
}

// The over-limit cache answers hits that nobody counts: not those of a candidate above the limit.
func TestCandidateAndOverLimitCache(t *testing.T) {
	for candidate, want := range map[uint32]counts{
		1: {WithinLimit: 1, NearLimit: 1, OverLimit: 4},
		4: {WithinLimit: 4, NearLimit: 1, OverLimit: 1},
	} {
		c := &clock{unix: epoch}
		b := newBench(t, &ratelimit.Options{OverLimitCache: newMapCache(c.Now)}, onTrial(candidate, rule("k", "", 2)))
		for range 5 {
			b.decide(desc("k", "v"))
		}
		equal(t, "candidate", b.candidateOf("domain.k"), want)
		equal(t, "over the limit", b.stats.counts()["domain.k"].OverLimit, 3)
	}
}

// Statistics keys that depend on the request have candidates too.
func TestCandidateOfADetailedMetric(t *testing.T) {
	r := onTrial(1, rule("k", "", 2))
	r.DetailedMetric = true
	b := newBench(t, nil, r)
	b.decide(desc("k", "a"))
	b.decide(hits(2, desc("k", "b")))
	equal(t, "a", b.candidateOf("domain.k_a"), counts{WithinLimit: 1, NearLimit: 1})
	equal(t, "b", b.candidateOf("domain.k_b"), counts{OverLimit: 1, NearLimit: 1})
}

// A permit of the candidate is released with that of the limit, and at once if the limit refuses.
func TestCandidateOfConcurrency(t *testing.T) {
	b, store := newChargingBench(t, &ratelimit.Options{}, onTrial(1, atOnce("a", 2)), onTrial(3, atOnce("b", 1)))
	var held []*ratelimit.Decision
	for range 3 {
		held = append(held, b.decide(desc("a", "")), b.decide(desc("b", "")))
	}
	equal(t, "candidate below", b.candidateOf("domain.a"), counts{WithinLimit: 1, NearLimit: 1, OverLimit: 2})
	equal(t, "candidate above", b.candidateOf("domain.b"), counts{WithinLimit: 3})
	for _, d := range held {
		if err := d.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for key, s := range store.states {
		used := int64(0)
		for _, n := range s[1:] {
			used += n
		}
		equal(t, "permits in use of "+key, used, 0)
	}
	equal(t, "states", len(store.states), 4)
}

// Where a store failed, the candidate counts in the fallback store as well.
func TestCandidateInTheFallbackStore(t *testing.T) {
	local := newChargeStore()
	bucket := ratelimit.Rule{Key: "t", Limit: &ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 3, Unit: ratelimit.Hour}}
	b := chargeBench(t, ratelimit.Options{OnStoreFailure: ratelimit.FailLocal, Fallback: local},
		onTrial(1, bucket), onTrial(1, rule("f", "", 3)))
	b.store.err = errDown
	for range 3 {
		d := b.decide(desc("t", ""), desc("f", ""))
		equal(t, "codes", codes(d), "ok ok")
	}
	for _, key := range []string{"domain.t", "domain.f"} {
		equal(t, key, b.candidateOf(key), counts{WithinLimit: 1, NearLimit: 1, OverLimit: 2})
	}
}

func TestCandidateAllocatesNothing(t *testing.T) {
	charging := ratelimit.Limit{Algorithm: ratelimit.SlidingWindow, RequestsPerUnit: 1 << 30, Unit: ratelimit.Hour}
	e := ratelimit.MustNew(newChargeStore(), &ratelimit.Options{Stats: newMapStats(), Now: func() time.Time { return time.Unix(epoch, 0) }})
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{
		onTrial(5, ratelimit.Rule{Key: "t", Limit: &charging}),
	}}))
	r := ratelimit.Request{Domain: "domain", Descriptors: repeat(3, desc("t", "v"))}
	var d ratelimit.Decision
	if n := testing.AllocsPerRun(100, func() { _ = e.DecideInto(t.Context(), &r, &d) }); n != 0 && !scaletest.Race() {
		t.Errorf("%v allocations", n)
	}
}

func TestCandidateFaults(t *testing.T) {
	limited := func(l ratelimit.Limit, n uint32) []ratelimit.Domain {
		l.Candidate = &ratelimit.Candidate{RequestsPerUnit: n}
		return []ratelimit.Domain{{Name: "domain", Rules: []ratelimit.Rule{{Key: "k", Limit: &l}}}}
	}
	for want, domains := range map[string][]ratelimit.Domain{
		"unlimited": limited(ratelimit.Limit{Unlimited: true}, 5),
		"same":      limited(ratelimit.Per(5, ratelimit.Day), 5),
	} {
		rules := compile(t, domains...)
		equal(t, "warnings", len(rules.Warnings()), 1)
		equal(t, "warning of "+want, strings.Contains(rules.Warnings()[0].Reason, want), true)
		equal(t, "field", rules.Warnings()[0].Field, "rate_limit.candidate")
	}
	bucket := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 1000, Burst: 1000, Unit: ratelimit.Year}
	_, err := ratelimit.Compile(limited(bucket, 1), nil)
	if err == nil {
		t.Error("a candidate that needs a thousand years to fill is accepted")
	}
}
