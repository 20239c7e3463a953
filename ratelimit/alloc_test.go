package ratelimit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// bareStore counts in a map; it allocates nothing for keys that the map has.
type bareStore map[string]*uint64

func (s bareStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		n := s[string(h.Key)]
		if n == nil {
			n = new(uint64)
			s[string(h.Key)] = n
		}
		*n += h.N
		h.Count = *n
	}
	return nil
}

// allocRules has one rule of each kind.
func allocRules() []ratelimit.Rule {
	rules := []ratelimit.Rule{
		rule("exact", "value", 1<<30),
		flagged("d", "detailed", ""),
		flagged("v", "value", ""),
		flagged("s", "shared", "s*"),
		rule("p*", "", 1<<30),
		{Key: "a", Rules: []ratelimit.Rule{{Key: "b", Value: "b*", Rules: []ratelimit.Rule{rule("c", "", 1<<30)}}}},
		named("one", "A"), named("two", "B", "A"),
		{Key: "free", Limit: &ratelimit.Limit{Unlimited: true}},
		{Key: "white"},
	}
	for _, v := range strings.Fields("a* *b *c* d*d e** f*f*f g*h i* j* k* l* m*") {
		rules = append(rules, rule("wild", v, 1<<30))
	}
	return rules
}

func repeat(n int, d ratelimit.Descriptor) []ratelimit.Descriptor {
	all := make([]ratelimit.Descriptor, n)
	for i := range all {
		all[i] = d
	}
	return all
}

// A reused Decision costs no allocation.
func TestDecideAllocatesNothing(t *testing.T) {
	exact := desc("exact", "value")
	tests := []struct {
		name        string
		domain      string
		descriptors []ratelimit.Descriptor
	}{
		{"1 descriptor", "domain", repeat(1, exact)},
		{"3 descriptors", "domain", repeat(3, exact)},
		{"10 descriptors", "domain", repeat(10, exact)},
		{"wildcards", "domain", []ratelimit.Descriptor{desc("wild", "axx"), desc("wild", "xxb"), desc("wild", "xcx"), desc("wild", "none"), desc("shared", "s1")}},
		{"a pattern for key and value", "domain", repeat(2, desc("pattern", "x"))},
		{"nested", "domain", repeat(3, desc("a", "1", "b", "b2", "c", "3"))},
		{"detailed_metric", "domain", repeat(3, desc("detailed", "10.0.0.1"))},
		{"value_to_metric", "domain", repeat(3, desc("value", "v"))},
		{"override", "domain", repeat(3, override(5, ratelimit.Hour, desc("exact", "value")))},
		{"no match", "domain", []ratelimit.Descriptor{desc("none", "x"), desc("white", ""), desc("free", ""), desc()}},
		{"unknown domain", "nope", repeat(3, exact)},
		{"replaced", "domain", []ratelimit.Descriptor{desc("one", ""), desc("two", "")}},
		{"hits of its own", "domain", repeat(3, hits(2, exact))},
	}
	for _, stop := range []bool{false, true} {
		for _, tt := range tests {
			r := ratelimit.Request{Domain: tt.domain, Descriptors: tt.descriptors}
			checkAllocs(t, tt.name, &ratelimit.Options{StopIncrementWhenOverLimit: stop, ExpiryJitter: time.Minute}, &r)
		}
	}
}

func checkAllocs(t *testing.T, name string, o *ratelimit.Options, r *ratelimit.Request) {
	t.Helper()
	o.Stats = newMapStats()
	e := ratelimit.MustNew(bareStore{}, o)
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: allocRules()}))
	var d ratelimit.Decision
	ctx := context.Background()
	n := testing.AllocsPerRun(100, func() {
		if err := e.DecideInto(ctx, r, &d); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 && !scaletest.Race() {
		t.Errorf("%s (stop increments %v): %v allocations", name, o.StopIncrementWhenOverLimit, n)
	}
}

// Folding names beyond the bound allocates nothing either.
func TestFoldedNamesAllocateNothing(t *testing.T) {
	o := ratelimit.Options{MaxRequestStats: 1}
	checkAllocs(t, "statistics keys", &o, &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{
		desc("detailed", "1"), desc("detailed", "2"), override(5, ratelimit.Hour, desc("x", "y")), desc("detailed", strings.Repeat("long", 1000)),
	}})
	o = ratelimit.Options{MaxRequestStats: ratelimit.NoRequestStats}
	checkAllocs(t, "domains", &o, &ratelimit.Request{Domain: "nope", Descriptors: repeat(2, desc("k", "v"))})
}

// An injected clock costs one allocation a second.
func TestDecideAllocatesNothingWithAClock(t *testing.T) {
	now := time.Unix(epoch, 0)
	checkAllocs(t, "own clock", &ratelimit.Options{Now: func() time.Time { return now }}, &ratelimit.Request{
		Domain: "domain", Descriptors: repeat(3, override(5, ratelimit.Year, desc("exact", "value"))),
	})
}

func TestChargeAllocatesNothing(t *testing.T) {
	l, err := ratelimit.NewLimiter("test", bareStore{}, ratelimit.Per(5, ratelimit.Year), &ratelimit.Options{Stats: newMapStats()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	n := testing.AllocsPerRun(100, func() {
		if _, err := l.Allow(ctx, "key"); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 && !scaletest.Race() {
		t.Errorf("Charge: %v allocations", n)
	}
}

// The decision after a huge request releases its memory.
func TestHugeRequestIsReleased(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 5))
	var d ratelimit.Decision
	big := ratelimit.Request{Domain: "domain", Descriptors: repeat(5000, desc("k", strings.Repeat("v", 100)))}
	small := ratelimit.Request{Domain: "domain", Descriptors: repeat(1, desc("k", "v"))}
	for _, r := range []*ratelimit.Request{&small, &big, &small} {
		if err := b.engine.DecideInto(t.Context(), r, &d); err != nil {
			t.Fatal(err)
		}
		equal(t, "statuses", len(d.Statuses), len(r.Descriptors))
	}
	if c := cap(d.Statuses); c > 100 {
		t.Errorf("capacity for %d statuses is retained, want at most 100", c)
	}
}
