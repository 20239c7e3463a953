package bench

import (
	"fmt"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// slowBucket does not fill between two decisions.
var slowBucket = ratelimit.Limit{RequestsPerUnit: 1 << 20, Unit: ratelimit.Month, Algorithm: ratelimit.TokenBucket, Burst: 1 << 26}

// BenchmarkTokenBucket compares a decision by a token bucket with one by a fixed window: on one key, on
// 10,000 and on 100,000. The target is 1.3.
func BenchmarkTokenBucket(b *testing.B) {
	window := ratelimit.Per(plenty, ratelimit.Hour)
	for _, keys := range []int{1, 10_000, liveKeys} {
		l := loads()[0]
		l.keys = l.keys[:keys]
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			compare(b, l, decideBy(b, []ratelimit.Rule{{Key: "client", Limit: &slowBucket}}, nil), decideBy(b, []ratelimit.Rule{{Key: "client", Limit: &window}}, nil))
		})
	}
}
