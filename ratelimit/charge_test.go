package ratelimit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// chargeStore is a mapStore that is a ratelimit.ChargeStore and a ratelimit.SubtractStore.
type chargeStore struct {
	subtractStore
	states map[string]*ratelimit.State
}

func newChargeStore() *chargeStore {
	return &chargeStore{subtractStore{newMapStore()}, make(map[string]*ratelimit.State)}
}

func (s *chargeStore) Charge(_ context.Context, charges []ratelimit.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && len(charges) > 0 {
		return s.err
	}
	for i := range charges {
		state := s.states[string(charges[i].Key)]
		if state == nil {
			state = new(ratelimit.State)
			s.states[string(charges[i].Key)] = state
		}
		charges[i].Apply(state)
	}
	return nil
}

// chargeBench is a bench whose store holds limits of every algorithm.
func chargeBench(t *testing.T, o ratelimit.Options, rules ...ratelimit.Rule) *bench {
	b := newBench(t, nil)
	o.Now, o.Stats, o.OverrideValues, o.CounterKeyFormat = b.clock.Now, b.stats, true, ratelimit.KeyReference
	b.engine = ratelimit.MustNew(&chargeStore{subtractStore{b.store}, make(map[string]*ratelimit.State)}, &o)
	b.use(rules...)
	return b
}

// by returns a rule with a limit of n per minute and an algorithm.
func by(a ratelimit.Algorithm, key string, n uint32) ratelimit.Rule {
	r := rule(key, "", n)
	r.Limit.Algorithm = a
	return r
}

func refund(d ratelimit.Descriptor) ratelimit.Descriptor {
	d.Refund = true
	return d
}

// What is reported to clients for each algorithm, and what is counted in statistics.
func TestAlgorithms(t *testing.T) {
	bucket := by(ratelimit.TokenBucket, "bucket", 60)
	bucket.Limit.Burst = 10
	b := chargeBench(t, ratelimit.Options{}, bucket, by(ratelimit.SlidingWindow, "sliding", 6), by(ratelimit.Concurrency, "permits", 2))
	type report struct {
		code             ratelimit.Code
		remaining        uint32
		reset, retry     uint32
		after, retryTime time.Duration
	}
	for i, step := range []struct {
		at   int64
		ask  ratelimit.Descriptor
		want report
	}{
		{1200, hits(4, desc("bucket", "")), report{ratelimit.OK, 6, 4, 0, 4 * time.Second, 0}},
		{1201, hits(7, desc("bucket", "")), report{ratelimit.OK, 0, 10, 0, 10 * time.Second, 0}},
		{1201, hits(3, desc("bucket", "")), report{ratelimit.OverLimit, 0, 10, 3, 10 * time.Second, 3 * time.Second}},
		{1201, hits(11, desc("bucket", "")), report{ratelimit.OverLimit, 0, 10, 10, 10 * time.Second, 10 * time.Second}}, // never
		{1203, hits(0, desc("bucket", "")), report{ratelimit.OK, 2, 8, 0, 8 * time.Second, 0}},
		{1203, refund(hits(5, desc("bucket", ""))), report{ratelimit.OK, 7, 3, 0, 3 * time.Second, 0}},
		{1203, refund(hits(9, desc("bucket", ""))), report{ratelimit.OK, 10, 0, 0, 0, 0}},

		{1230, hits(6, desc("sliding", "")), report{ratelimit.OK, 0, 90, 0, 90 * time.Second, 0}},
		{1250, desc("sliding", ""), report{ratelimit.OverLimit, 0, 70, 20, 70 * time.Second, 20 * time.Second}}, // 5 of 6 count at 1270
		{1270, desc("sliding", ""), report{ratelimit.OK, 0, 110, 0, 110 * time.Second, 0}},
		{1290, refund(hits(9, desc("sliding", ""))), report{ratelimit.OK, 6, 0, 0, 0, 0}},

		{1300, hits(2, desc("permits", "")), report{ratelimit.OK, 0, 63, 0, 63 * time.Second, 0}},
		{1301, desc("permits", ""), report{ratelimit.OverLimit, 0, 62, 1, 62 * time.Second, time.Second}},
		{1301, refund(desc("permits", "")), report{ratelimit.OK, 1, 62, 0, 62 * time.Second, 0}},
		{1380, hits(2, desc("permits", "")), report{ratelimit.OK, 0, 69, 0, 69 * time.Second, 0}},
	} {
		b.clock.set(step.at)
		d := b.decide(step.ask)
		s := &d.Statuses[0]
		got := report{s.Code, s.Remaining, s.ResetSeconds, s.RetrySeconds, s.Reset(), d.RetryAfter()}
		if !s.Limited || s.Algorithm == ratelimit.FixedWindow {
			t.Errorf("step %d: the status does not tell the algorithm: %+v", i, s)
		}
		if got != step.want {
			t.Errorf("step %d at %d:\n got %+v\nwant %+v", i, step.at, got, step.want)
		}
	}
	equal(t, "statistics", b.stats.counts(), map[string]counts{
		"domain.bucket":  {TotalHits: 25, WithinLimit: 11, OverLimit: 14, NearLimit: 2, TotalNegativeHits: 14},
		"domain.sliding": {TotalHits: 8, WithinLimit: 7, OverLimit: 1, NearLimit: 3, TotalNegativeHits: 9},
		"domain.permits": {TotalHits: 5, WithinLimit: 4, OverLimit: 1, NearLimit: 2, TotalNegativeHits: 1},
	})
	equal(t, "counters of fixed windows", b.store.contents(), map[string]uint64{})
}

// Negative hits on a fixed window.
func TestBack(t *testing.T) {
	cache := newMapCache(func() time.Time { return time.Unix(epoch, 0) })
	b := chargeBench(t, ratelimit.Options{OverLimitCache: cache}, rule("fixed", "", 3))
	b.decide(hits(5, desc("fixed", "")))
	d := b.decide(refund(hits(3, desc("fixed", ""))))
	equal(t, "code", codes(d), "ok")
	equal(t, "remaining", d.Statuses[0].Remaining, 1)
	equal(t, "counters", b.store.contents(), map[string]uint64{"domain_fixed__1200": 2})
	b.decide(refund(hits(3, desc("fixed", ""))))
	equal(t, "counters, not below zero", b.store.contents(), map[string]uint64{"domain_fixed__1200": 0})
	equal(t, "statistics", b.stats.counts()["domain.fixed"].TotalHits, 5)

	plain := newBench(t, nil, rule("fixed", "", 3))
	err := plain.engine.DecideInto(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{refund(desc("fixed", ""))}}, new(ratelimit.Decision))
	if !errors.Is(err, errors.ErrUnsupported) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
		t.Errorf("a store that can't subtract: %v", err)
	}
}

// A request that is refused holds no permit, and Release releases a permit once.
func TestRelease(t *testing.T) {
	b := chargeBench(t, ratelimit.Options{}, by(ratelimit.Concurrency, "permits", 2), rule("fixed", "", 1))
	left := func() uint32 { return b.decide(hits(0, desc("permits", ""))).Statuses[0].Remaining }
	first := b.decide(desc("permits", ""), desc("fixed", ""))
	equal(t, "first", codes(first), "ok ok")
	second := b.decide(desc("permits", ""), desc("fixed", ""))
	equal(t, "second", codes(second), "ok over")
	equal(t, "left after a refusal", left(), 1)
	for _, d := range []*ratelimit.Decision{second, first, first} {
		if err := d.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "left at the end", left(), 2)

	// One whose time is over does not release the permit of another.
	late := b.decide(desc("permits", ""))
	b.clock.set(epoch + 100)
	b.decide(desc("permits", ""))
	if err := late.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "left after a late release", left(), 1)
}

// With StopIncrementWhenOverLimit nothing is charged if a descriptor is over its limit.
func TestStopWithCharges(t *testing.T) {
	b := chargeBench(t, ratelimit.Options{StopIncrementWhenOverLimit: true}, by(ratelimit.TokenBucket, "bucket", 5), rule("fixed", "", 2))
	for _, want := range []string{"ok ok", "ok ok", "ok over", "ok over"} {
		equal(t, "codes", codes(b.decide(desc("bucket", ""), desc("fixed", ""))), want)
	}
	equal(t, "tokens", b.decide(hits(0, desc("bucket", ""))).Statuses[0].Remaining, 3)
	equal(t, "over the bucket's limit", codes(b.decide(hits(4, desc("bucket", "")), desc("fixed", "x"))), "over ok")
	equal(t, "the other counter", b.store.contents()["domain_fixed_x_1200"], 0)
}

// A store that is down, and one that has only counters.
func TestChargesWithoutStore(t *testing.T) {
	local := newChargeStore()
	b := chargeBench(t, ratelimit.Options{Fallback: local}, policy(ratelimit.FailLocal, by(ratelimit.Concurrency, "local", 1)),
		policy(ratelimit.FailDeny, by(ratelimit.TokenBucket, "deny", 5)), policy(ratelimit.FailAllow, by(ratelimit.TokenBucket, "allow", 0)))
	b.store.err = errDown
	d := b.decide(desc("local", ""))
	equal(t, "codes", codes(d)+" "+codes(b.decide(desc("local", ""), desc("deny", ""), desc("allow", ""))), "ok over over ok")
	if err := d.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "after a release", codes(b.decide(desc("local", ""))), "ok")

	plain := newBench(t, nil)
	rules := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("fixed", "", 1), {Key: "a", Value: "b", Rules: []ratelimit.Rule{by(ratelimit.TokenBucket, "c", 5)}}}})
	err := plain.engine.Use(rules)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "domain 'domain', rule a_b.c") {
		t.Errorf("Use: %v", err)
	}
	if err := b.engine.Use(rules); err != nil {
		t.Errorf("Use with a ChargeStore: %v", err)
	}
}

// limitedStore holds all algorithms but one.
type limitedStore struct {
	ratelimit.ChargeStore
	lacks ratelimit.Algorithm
}

func (s limitedStore) Supports(a ratelimit.Algorithm) error {
	if a == s.lacks {
		return errors.ErrUnsupported
	}
	return nil
}

// Use asks a store for each algorithm, not only whether it is a ChargeStore.
func TestUseAsksForTheAlgorithm(t *testing.T) {
	var rules []ratelimit.Rule
	for a := ratelimit.FixedWindow; a.Valid(); a++ {
		rules = append(rules, by(a, a.String(), 5))
	}
	all := compile(t, ratelimit.Domain{Name: "domain", Rules: rules})
	for a := ratelimit.FixedWindow; a.Valid(); a++ {
		err := ratelimit.MustNew(limitedStore{newChargeStore(), a}, nil).Use(all)
		if !a.NeedsChargeStore() {
			equal(t, "error", err, nil)
		} else if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "rule "+a.String()) {
			t.Errorf("a store without %s: Use returned %v", a, err)
		}
	}
}

// A store may charge other hits than the engine asks for, to the same limit. Charges of a rule with a
// lease say so.
func TestChargeOfOtherHits(t *testing.T) {
	want := map[bool]ratelimit.Charge{}
	for _, other := range []bool{false, true} {
		b := chargeBench(t, ratelimit.Options{})
		b.engine = ratelimit.MustNew(chargeFunc(func(charges []ratelimit.Charge) {
			charge := charges[0]
			if other {
				charge.SetHits(7)
			}
			charge.Key = nil
			want[other] = charge
		}), &ratelimit.Options{Now: b.clock.Now})
		leased := by(ratelimit.TokenBucket, "k", 13)
		leased.Limit.Lease = true
		b.use(leased)
		d := desc("k", "v")
		n := uint64(7)
		if other {
			n = 1
		}
		d.HitsAddend = &n
		b.decide(d)
	}
	equal(t, "charge", want[true], want[false])
	equal(t, "lease", want[true].Lease, true)
}

// chargeFunc is a ChargeStore that is called for charges only.
type chargeFunc func(charges []ratelimit.Charge)

func (chargeFunc) Add(context.Context, []ratelimit.Hit) error { return nil }

func (f chargeFunc) Charge(_ context.Context, charges []ratelimit.Charge) error {
	if len(charges) > 0 {
		f(charges)
	}
	return nil
}

// Decisions of every algorithm allocate nothing.
func TestChargesAllocateNothing(t *testing.T) {
	b := chargeBench(t, ratelimit.Options{}, by(ratelimit.TokenBucket, "bucket", 5), by(ratelimit.SlidingWindow, "sliding", 6), by(ratelimit.Concurrency, "permits", 2))
	for _, key := range []string{"bucket", "sliding", "permits"} {
		r, d := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc(key, "")}}, new(ratelimit.Decision)
		n := testing.AllocsPerRun(100, func() {
			if err := b.engine.DecideInto(t.Context(), &r, d); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 && !scaletest.Race() {
			t.Errorf("%s: %v allocations", key, n)
		}
	}
}
