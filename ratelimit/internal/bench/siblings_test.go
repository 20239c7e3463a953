package bench

import (
	"fmt"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const siblings = 10_000

// BenchmarkSiblings compares a decision among 10,000 sibling rules with one by a single
// rule, over the same live keys. The target is 1.3, and 1.5 with wildcards.
func BenchmarkSiblings(b *testing.B) {
	limit := ratelimit.Per(plenty, ratelimit.Hour)
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
			b.Run(k.name+"/"+l.name, func(b *testing.B) { compare(b, l, decideBy(b, rules, nil), decide(b, nil)) })
		}
	}
}
