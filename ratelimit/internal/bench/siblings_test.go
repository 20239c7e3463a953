package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

const siblings = 10_000

// among is the engine with the given rules for key "client".
func among(tb testing.TB, rules []ratelimit.Rule) taker {
	compiled, err := ratelimit.Compile([]ratelimit.Domain{{Name: "bench", Rules: rules}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	engine := ratelimit.New(memstore.New(nil), nil)
	engine.Use(compiled)
	return func() func(string) {
		entries := []ratelimit.Entry{{Key: "client"}}
		request := &ratelimit.Request{Domain: "bench", Descriptors: []ratelimit.Descriptor{{Entries: entries}}}
		var decision ratelimit.Decision
		ctx := context.Background()
		return func(key string) {
			entries[0].Value = key
			if err := engine.Decide(ctx, request, &decision); err != nil || !decision.Statuses[0].Limited {
				tb.Error("not limited", err)
			}
		}
	}
}

// BenchmarkSiblings: a decision among 10,000 sibling rules against one by a single
// rule, over the same live keys. The bar is 1.3.
func BenchmarkSiblings(b *testing.B) {
	limit := ratelimit.Per(plenty, ratelimit.Hour)
	one := []ratelimit.Rule{{Key: "client", Limit: &limit}}
	kinds := []struct{ name, pattern string }{
		{"exact", "client-%08d"},
		{"prefix", "client-%08d*"},
		{"suffix", "*-%08d"},
	}
	serial, parallel := loads()[0], loads()[1]
	serial.keys, parallel.keys = nil, nil
	for i := range siblings {
		key := fmt.Sprintf("client-%08d", i*7919%siblings)
		serial.keys, parallel.keys = append(serial.keys, key), append(parallel.keys, key)
	}
	for _, k := range kinds {
		var rules []ratelimit.Rule
		for i := range siblings {
			rules = append(rules, ratelimit.Rule{Key: "client", Value: fmt.Sprintf(k.pattern, i), Limit: &limit})
		}
		for _, l := range []load{serial, parallel} {
			b.Run(k.name+"/"+l.name, func(b *testing.B) { compare(b, l, among(b, rules), among(b, one)) })
		}
	}
}
