package ratelimit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// liveKeys is the number of counters in all benchmarks, so that the number of
// rules is the only difference between them.
const liveKeys = 10_000

// benchmarkDecide decides requests for the descriptors in turn.
func benchmarkDecide(b *testing.B, rules []ratelimit.Rule, requests []ratelimit.Request) {
	b.Helper()
	now := time.Unix(epoch, 0)
	e := ratelimit.MustNew(bareStore{}, &ratelimit.Options{Now: func() time.Time { return now }, Stats: newMapStats()})
	e.Use(compile(b, ratelimit.Domain{Name: "domain", Rules: rules}))
	var d ratelimit.Decision
	ctx := context.Background()
	decide := func(i int) {
		if err := e.DecideInto(ctx, &requests[i%len(requests)], &d); err != nil {
			b.Fatal(err)
		}
	}
	for i := range requests {
		decide(i)
		if !d.Statuses[0].Limited {
			b.Fatalf("request %d meets no limit", i)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		decide(i)
	}
}

// live returns liveKeys requests.
func live(descriptors func(i int) []ratelimit.Descriptor) []ratelimit.Request {
	all := make([]ratelimit.Request, liveKeys)
	for i := range all {
		// In an order that neither the rules nor the cache lines have.
		j := i * 7919 % liveKeys
		all[i] = ratelimit.Request{Domain: "domain", Descriptors: descriptors(j)}
	}
	return all
}

func oneOf(i int) []ratelimit.Descriptor {
	return []ratelimit.Descriptor{desc("path", fmt.Sprintf("value%05d", i))}
}

func siblings(format string) []ratelimit.Rule {
	var rules []ratelimit.Rule
	for i := range liveKeys {
		rules = append(rules, rule("path", fmt.Sprintf(format, i), 1<<31))
	}
	return rules
}

func BenchmarkDecide(b *testing.B) {
	b.Run("1 rule", func(b *testing.B) {
		benchmarkDecide(b, []ratelimit.Rule{rule("path", "", 1<<31)}, live(oneOf))
	})
	b.Run("10000 exact siblings", func(b *testing.B) {
		benchmarkDecide(b, siblings("value%05d"), live(oneOf))
	})
	b.Run("1 wildcard", func(b *testing.B) {
		benchmarkDecide(b, []ratelimit.Rule{rule("path", "value*", 1<<31)}, live(oneOf))
	})
	b.Run("10000 prefixes", func(b *testing.B) {
		benchmarkDecide(b, siblings("value%05d*"), live(oneOf))
	})
	b.Run("10000 suffixes", func(b *testing.B) {
		benchmarkDecide(b, siblings("*value%05d"), live(oneOf))
	})
	b.Run("10000 infixes", func(b *testing.B) {
		benchmarkDecide(b, siblings("*%05d*"), live(oneOf))
	})
	b.Run("nested 3 levels", func(b *testing.B) {
		rules := []ratelimit.Rule{{Key: "tenant", Rules: []ratelimit.Rule{{Key: "method", Value: "GET", Rules: []ratelimit.Rule{rule("path", "", 1<<31)}}}}}
		benchmarkDecide(b, rules, live(func(i int) []ratelimit.Descriptor {
			return []ratelimit.Descriptor{desc("tenant", "acme", "method", "GET", "path", fmt.Sprintf("value%05d", i))}
		}))
	})
	b.Run("10 descriptors", func(b *testing.B) {
		benchmarkDecide(b, []ratelimit.Rule{rule("path", "", 1<<31)}, live(func(i int) []ratelimit.Descriptor {
			var all []ratelimit.Descriptor
			for j := range 10 {
				all = append(all, oneOf((i+j)%liveKeys)...)
			}
			return all
		}))
	})
	b.Run("detailed_metric", func(b *testing.B) {
		r := rule("path", "", 1<<31)
		r.DetailedMetric = true
		benchmarkDecide(b, []ratelimit.Rule{r}, live(oneOf))
	})
	b.Run("override", func(b *testing.B) {
		benchmarkDecide(b, nil, live(func(i int) []ratelimit.Descriptor {
			return []ratelimit.Descriptor{override(1<<31, ratelimit.Hour, oneOf(i)[0])}
		}))
	})
}

// BenchmarkDecideParallel measures one rule on all cores with one LimitStats and a
// store without locks.
func BenchmarkDecideParallel(b *testing.B) {
	store := storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			hits[i].Count = 1
		}
		return nil
	})
	e := ratelimit.MustNew(store, &ratelimit.Options{Stats: newMapStats()})
	e.Use(compile(b, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("path", "", 1<<31)}}))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var d ratelimit.Decision
		r := ratelimit.Request{Domain: "domain", Descriptors: oneOf(1)}
		for pb.Next() {
			if err := e.DecideInto(context.Background(), &r, &d); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for name, rules := range map[string][]ratelimit.Rule{"exact": siblings("value%05d"), "prefixes": siblings("value%05d*"), "infixes": siblings("*%05d*")} {
		b.Run("10000 "+name, func(b *testing.B) {
			for b.Loop() {
				compile(b, ratelimit.Domain{Name: "domain", Rules: rules})
			}
		})
	}
}

func BenchmarkCharge(b *testing.B) {
	l, err := ratelimit.NewLimiter("test", bareStore{}, ratelimit.Per(1<<31, ratelimit.Year), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(context.Background(), "key"); err != nil {
			b.Fatal(err)
		}
	}
}
