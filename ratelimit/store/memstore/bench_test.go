package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) ratelimit.Store { return memstore.MustNew(nil) })
}

// BenchmarkBaseline measures Add and, in alternating rounds, the load of the same key from a
// sync.Map, a baseline below the cost of any counting. x-baseline is the ratio.
func BenchmarkBaseline(b *testing.B) {
	for _, keys := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("keys=%d/serial", keys), func(b *testing.B) { measureBaseline(b, keys, 1) })
		b.Run(fmt.Sprintf("keys=%d/parallel", keys), func(b *testing.B) {
			measureBaseline(b, keys, runtime.GOMAXPROCS(0))
		})
	}
}

func measureBaseline(b *testing.B, keys, workers int) {
	store, loads := memstore.MustNew(nil), new(sync.Map)
	hits, texts := make([]ratelimit.Hit, keys), make([]any, keys)
	ctx, window := context.Background(), ratelimit.Hour.Window(time.Now().Unix())
	for i := range hits {
		text := fmt.Sprintf("domain_remote_address_10.0.%06d_%d", i, window)
		hits[i] = ratelimit.Hit{Key: []byte(text), N: 1, Unit: ratelimit.Hour, Window: window}
		texts[i] = text
	}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			hit := [1]ratelimit.Hit{hits[i%keys]}
			_ = store.Add(ctx, hit[:])
		}
	}
	load := func(from, to int) {
		for i := from; i < to; i++ {
			loads.Load(texts[i%keys])
		}
	}
	for i := range keys {
		// A prime step creates them in another order than that of their use.
		at := i * 7919 % keys
		add(at, at+1)
		loads.Store(texts[at], new(uint64))
	}
	const round = 100_000
	var adds, baselines time.Duration
	b.ResetTimer()
	for from := 0; from < b.N; from += round {
		to := min(from+round, b.N)
		adds += timed(from, to, workers, add)
		b.StopTimer()
		baselines += timed(from, to, workers, load)
		b.StartTimer()
	}
	b.ReportMetric(float64(adds)/float64(baselines), "x-baseline")
	b.ReportMetric(float64(baselines.Nanoseconds())/float64(b.N), "baseline-ns/op")
}

// timed distributes the work over the workers and returns the elapsed time.
func timed(from, to, workers int, work func(from, to int)) time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() { work(from+(to-from)*w/workers, from+(to-from)*(w+1)/workers) })
	}
	all.Wait()
	return time.Since(start)
}
