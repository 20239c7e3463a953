package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// benchKeys is the number of counters of the spread benchmarks.
	benchKeys = 100_000
	// warmStep is a prime, so that its multiples reach all of them.
	warmStep = 7919
)

// Benchmark measures calls of Add: from one goroutine and from GOMAXPROCS of
// them, on one key and on 100,000 keys of about 40 bytes, with 1, 3 and 10 hits a
// call. One operation is one call.
func Benchmark(b *testing.B, open func(b *testing.B) ratelimit.Store) {
	window := ratelimit.Hour.Window(time.Now().Unix())
	spread := make([][]byte, benchKeys)
	for i := range spread {
		spread[i] = fmt.Appendf(nil, "domain_remote_address_10.0.%06d_%d", i, window)
	}
	for _, keys := range []struct {
		name string
		keys [][]byte
	}{{"hot", spread[:1]}, {"spread", spread}} {
		for _, n := range []int{1, 3, 10} {
			name := fmt.Sprintf("%s/hits=%d/", keys.name, n)
			b.Run(name+"serial", func(b *testing.B) {
				store := warm(b, open(b), keys.keys, n, window)
				add, ctx := caller(store, keys.keys, n, window, 0, 1), b.Context()
				for b.Loop() {
					if err := add(ctx); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"parallel", func(b *testing.B) {
				store := warm(b, open(b), keys.keys, n, window)
				var from atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					add, ctx := caller(store, keys.keys, n, window, int(from.Add(1))*len(keys.keys)/3, 1), b.Context()
					for pb.Next() {
						if err := add(ctx); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// caller returns a function that makes a call of so many hits, with the next keys of the list.
func caller(store ratelimit.Store, keys [][]byte, hits int, window int64, next, step int) func(context.Context) error {
	call := make([]ratelimit.Hit, hits)
	return func(ctx context.Context) error {
		for i := range call {
			next = (next + step) % len(keys)
			call[i] = ratelimit.Hit{Key: keys[next], N: 1, Limit: 100, Unit: ratelimit.Hour, Window: window}
		}
		return store.Add(ctx, call)
	}
}

// warm creates all counters before the measurement, in another order than that of their use, so
// that the measurement does not access the memory of the store sequentially.
func warm(b *testing.B, store ratelimit.Store, keys [][]byte, hits int, window int64) ratelimit.Store {
	b.Helper()
	add := caller(store, keys, hits, window, 0, warmStep)
	for range (len(keys) + hits - 1) / hits {
		if err := add(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	return store
}
