package ratelimit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// A descriptor alone, whose decision takes a shorter path, is decided and counted as beside
// another one that has no limit.
func TestAloneAsWithOthers(t *testing.T) {
	few := func(key string, change func(*ratelimit.Rule)) ratelimit.Rule {
		r := rule(key, "", 5)
		r.Limit.Name, r.Metadata = "name of "+key, map[string]any{key: true}
		change(&r)
		return r
	}
	rules := []ratelimit.Rule{
		rule("k", "", 5),
		{Key: "none"},
		few("named", func(*ratelimit.Rule) {}),
		few("shadow", func(r *ratelimit.Rule) { r.ShadowMode = true }),
		few("quota", func(r *ratelimit.Rule) { r.QuotaMode = true }),
		few("second", func(r *ratelimit.Rule) { r.Limit.Unit = ratelimit.Second }),
		few("allow", func(r *ratelimit.Rule) { r.OnStoreFailure = ratelimit.FailAllow }),
		few("deny", func(r *ratelimit.Rule) { r.OnStoreFailure = ratelimit.FailDeny }),
		few("free", func(r *ratelimit.Rule) { r.Limit = &ratelimit.Limit{Unlimited: true} }),
		few("detailed", func(r *ratelimit.Rule) { r.DetailedMetric = true }),
		few("trial", func(r *ratelimit.Rule) { r.Limit.Candidate = &ratelimit.Candidate{RequestsPerUnit: 3} }),
	}
	for a := ratelimit.SlidingWindow; a <= ratelimit.Concurrency; a++ {
		for i, change := range []func(*ratelimit.Rule){
			func(*ratelimit.Rule) {},
			func(r *ratelimit.Rule) { r.Value, r.Limit.Lease = "v", true },
			func(r *ratelimit.Rule) { r.ShadowMode = true },
			func(r *ratelimit.Rule) { r.QuotaMode, r.Limit.UnitMultiplier = true, 3 },
			func(r *ratelimit.Rule) { r.OnStoreFailure = ratelimit.FailDeny },
			func(r *ratelimit.Rule) { r.Limit.Candidate = &ratelimit.Candidate{RequestsPerUnit: 3} },
		} {
			rules = append(rules, few(fmt.Sprint(a, i), func(r *ratelimit.Rule) {
				r.Limit.Algorithm = a
				change(r)
			}))
		}
	}
	for name, opts := range map[string]ratelimit.Options{
		"default":     {CounterKeyFormat: ratelimit.KeyReference},
		"unambiguous": {CounterKeyFormat: ratelimit.KeyUnambiguous, CounterKeyPrefix: "prefix_", NearLimitRatio: 0.4},
		"shadow":      {ShadowMode: true, Metadata: true, TopKeys: true},
		"failures":    {OnStoreFailure: ratelimit.FailLocal},
	} {
		t.Run(name, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(11, 12))
			alone, beside := newPair(t, opts, rules), newPair(t, opts, rules)
			for range 4000 {
				d := desc(rules[draw.IntN(len(rules))].Key, []string{"v", "other", "a|{~long value", ""}[draw.IntN(4)])
				if draw.IntN(3) == 0 {
					d = hits(uint64(draw.IntN(4)), d)
				}
				if opts.OnStoreFailure != "" && draw.IntN(20) == 0 {
					alone.fail(errDown)
					beside.fail(errDown)
				}
				alone.clock.set(alone.clock.unix + int64(draw.IntN(9)/8))
				beside.clock.set(alone.clock.unix)
				one, two := alone.ask(d), beside.ask(d, desc("none", "x"))
				equal(t, "outcome", one, two)
				alone.fail(nil)
				beside.fail(nil)
				if draw.IntN(2) == 0 {
					alone.release()
					beside.release()
				}
			}
			equal(t, "statistics", alone.stats.counts(), beside.stats.counts())
			equal(t, "counters", alone.store.contents(), beside.store.contents())
			equal(t, "states", alone.states.states, beside.states.states)
			equal(t, "top keys", alone.engine.TopKeys(), beside.engine.TopKeys())
		})
	}
}

// pair is an engine with a fallback and a Decision that is used again and again.
type pair struct {
	*bench
	states   *stateStore
	decision ratelimit.Decision
}

// stateStore is a ChargeStore that fails as its mapStore does.
type stateStore struct {
	*mapStore
	states map[string]ratelimit.State
}

func (s *stateStore) Charge(_ context.Context, charges []ratelimit.Charge) error {
	for i := range charges {
		state := s.states[string(charges[i].Key)]
		if s.err == nil {
			charges[i].Apply(&state)
			s.states[string(charges[i].Key)] = state
		}
	}
	return s.err
}

func newPair(t *testing.T, opts ratelimit.Options, rules []ratelimit.Rule) *pair {
	opts.Fallback = &stateStore{newMapStore(), make(map[string]ratelimit.State)}
	b := newBench(t, &opts)
	states := &stateStore{b.store, make(map[string]ratelimit.State)}
	opts.Now, opts.Stats, opts.Rand = b.clock.Now, b.stats, func(uint32) uint32 { return 0 }
	b.engine = ratelimit.MustNew(states, &opts)
	b.use(rules...)
	return &pair{bench: b, states: states}
}

func (p *pair) release() {
	p.t.Helper()
	if err := p.decision.Release(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) fail(err error) { p.store.err = err }

// outcome describes the first descriptor of a decision.
type outcome struct {
	status   ratelimit.Status
	code     ratelimit.Code
	metadata map[string]any
	limit    int
	hit      ratelimit.Hit
	charge   ratelimit.Charge
	holding  bool
}

func (p *pair) ask(descriptors ...ratelimit.Descriptor) outcome {
	p.t.Helper()
	d := &p.decision
	err := p.engine.DecideInto(p.t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: descriptors}, d)
	if err != nil {
		p.t.Fatal(err)
	}
	o := outcome{status: d.Statuses[0], code: d.Code, metadata: d.Metadata, holding: d.HoldsPermits()}
	limit, hit := d.Applied(0)
	if o.limit = limit; hit != nil {
		o.hit = *hit
	}
	if charge := d.Charge(0); charge != nil {
		o.charge = *charge
	}
	return o
}
