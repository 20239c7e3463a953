package bench

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// BenchmarkTopKeys compares a decision with top keys with one without, both with statistics. The target is 1.05.
func BenchmarkTopKeys(b *testing.B) {
	limit := ratelimit.Per(plenty, ratelimit.Hour)
	for _, l := range loads() {
		b.Run(l.name, func(b *testing.B) {
			rules := []ratelimit.Rule{{Key: "client", Limit: &limit}}
			compare(b, l, decideWith(b, rules, &ratelimit.Options{Stats: newStats(), TopKeys: true}), decide(b, newStats()))
		})
	}
	spread := loads()[0]
	var many []ratelimit.Rule
	spread.keys = spread.keys[:siblings]
	for i := range spread.keys {
		many = append(many, ratelimit.Rule{Key: "client", Value: spread.keys[i], Limit: &limit})
	}
	b.Run("rules", func(b *testing.B) {
		compare(b, spread, decideWith(b, many, &ratelimit.Options{Stats: newStats(), TopKeys: true}), decideBy(b, many, newStats()))
	})
}
