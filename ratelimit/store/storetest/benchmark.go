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
			bench := bench{keys.keys, n, window}
			b.Run(name+"serial", func(b *testing.B) { bench.serial(b, open(b)) })
			b.Run(name+"parallel", func(b *testing.B) { bench.parallel(b, open(b)) })
		}
	}
}

// bench is a shape of calls.
type bench struct {
	keys   [][]byte
	hits   int // per call
	window int64
}

// caller makes consecutive calls, with the keys of the list in turn.
type caller struct {
	bench
	store      ratelimit.Store
	call       []ratelimit.Hit
	next, step int
}

func (c bench) caller(store ratelimit.Store, from, step int) *caller {
	return &caller{c, store, make([]ratelimit.Hit, c.hits), from, step}
}

func (c *caller) add(ctx context.Context) error {
	for i := range c.call {
		c.next = (c.next + c.step) % len(c.keys)
		c.call[i] = ratelimit.Hit{
			Key: c.keys[c.next], N: 1, Limit: 100, Unit: ratelimit.Hour, Window: c.window,
		}
	}
	return c.store.Add(ctx, c.call)
}

// warm creates all counters before the measurement, in another order than that of their use, so
// that the measurement does not access the memory of the store sequentially.
func (c bench) warm(b *testing.B, store ratelimit.Store) {
	b.Helper()
	all := c.caller(store, 0, warmStep)
	for range (len(c.keys) + c.hits - 1) / c.hits {
		if err := all.add(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
}

func (c bench) serial(b *testing.B, store ratelimit.Store) {
	c.warm(b, store)
	one, ctx := c.caller(store, 0, 1), b.Context()
	for b.Loop() {
		if err := one.add(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func (c bench) parallel(b *testing.B, store ratelimit.Store) {
	c.warm(b, store)
	var from atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		mine, ctx := c.caller(store, int(from.Add(1))*len(c.keys)/3, 1), b.Context()
		for pb.Next() {
			if err := mine.add(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
