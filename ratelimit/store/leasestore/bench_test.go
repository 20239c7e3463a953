package leasestore_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// BenchmarkHotKey measures a decision by a lease and, in alternating rounds, one of memstore.
// x-baseline is the ratio.
func BenchmarkHotKey(b *testing.B) {
	hot := bucketOf(1<<32-1, ratelimit.Minute, 0)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l := must(leasestore.New(memstore.MustNew(nil), nil))
			defer func() { _ = l.Close() }()
			compare(b, l.Store(), memstore.MustNew(nil), []ratelimit.Hit{leasedHit("hot", 1, 1<<32-1)}, workers, 100_000)
		})
		b.Run(fmt.Sprintf("bucket/workers=%d", workers), func(b *testing.B) {
			l := must(leasestore.New(memstore.MustNew(nil), nil))
			defer func() { _ = l.Close() }()
			compareWith(b, charges(b, l.Store(), hot, 1, 0), charges(b, memstore.MustNew(nil), hot, 1, 0), 1, workers, 100_000)
		})
	}
}

// takes returns a function that charges token buckets.
func charges(b *testing.B, store ratelimit.Store, limit ratelimit.Limit, keys, first int) func(from, to int) {
	template := slices.Repeat([]ratelimit.Charge{chargeOf(b, limit)}, keys)
	for i := range template {
		template[i].Key = fmt.Appendf(nil, "domain_remote_address_10.0.%06d", i)
	}
	return func(from, to int) {
		charge, start, now := make([]ratelimit.Charge, 1), time.Now(), time.Now().UnixMicro()
		for i := from; i < to; i++ {
			charge[0] = template[(first+i*7919)%len(template)]
			if i%16 == 0 {
				now = start.UnixMicro() + int64(time.Since(start)/time.Microsecond)
			}
			charge[0].Now = now
			if err := store.(ratelimit.ChargeStore).Charge(context.Background(), charge); err != nil {
				b.Error(err)
				return
			}
		}
	}
}

// chargeOf returns the charge of one hit from a limit.
func chargeOf(b *testing.B, limit ratelimit.Limit) (made ratelimit.Charge) {
	e := newCharger(b, chargeFunc(func(t []ratelimit.Charge) error {
		if len(t) > 0 {
			made = t[0]
		}
		return nil
	}), limit, nil)
	_, err := e.decide(b.Context(), 1, false)
	require.NoError(b, err)
	return made
}

type chargeFunc func([]ratelimit.Charge) error

func (chargeFunc) Add(context.Context, []ratelimit.Hit) error { return nil }

func (f chargeFunc) Charge(_ context.Context, charges []ratelimit.Charge) error { return f(charges) }

// BenchmarkSpreadKeys measures what it costs to find out that keys come too seldom for a lease.
func BenchmarkSpreadKeys(b *testing.B) {
	b.Run("windows", func(b *testing.B) {
		l := must(leasestore.New(memstore.MustNew(nil), &leasestore.Options{Ahead: time.Millisecond}))
		defer func() { _ = l.Close() }()
		compare(b, l.Store(), memstore.MustNew(nil), spread(100_000), 1, 100_000)
	})
	b.Run("buckets", func(b *testing.B) {
		limit := bucketOf(1000, ratelimit.Hour, 1<<20) // the states stay in memory
		l := must(leasestore.New(memstore.MustNew(nil), &leasestore.Options{Ahead: time.Millisecond}))
		defer func() { _ = l.Close() }()
		compareWith(b, charges(b, l.Store(), limit, 100_000, 0), charges(b, memstore.MustNew(nil), limit, 100_000, 50_000), 100_000, 1, 100_000)
	})
}

// spread returns hits on different keys.
func spread(keys int) []ratelimit.Hit {
	hits := make([]ratelimit.Hit, keys)
	for i := range hits {
		hits[i] = leasedHit(fmt.Sprintf("domain_remote_address_10.0.%06d", i), 1, 1<<32-1)
	}
	return hits
}

// BenchmarkRedis measures calls with leases and, in alternating rounds, calls of Redis without.
func BenchmarkRedis(b *testing.B) {
	store, err := redisstore.New(redistest.Start(b, nil).Addr, nil)
	require.NoError(b, err)
	defer func() { _ = store.Close() }()
	for _, keys := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			l := must(leasestore.New(store, nil))
			defer func() { _ = l.Close() }()
			compare(b, l.Store(), store, spread(keys), 64, 20_000)
		})
	}
}

// compare measures two stores in alternating rounds.
func compare(b *testing.B, store, baseline ratelimit.Store, hits []ratelimit.Hit, workers, round int) {
	// The baseline starts with other keys, so that ours does not load them into the caches for it.
	call := func(store ratelimit.Store, first int) func(from, to int) {
		return func(from, to int) {
			hit := make([]ratelimit.Hit, 1)
			for i := from; i < to; i++ {
				hit[0] = hits[(first+i*7919)%len(hits)]
				if err := store.Add(context.Background(), hit); err != nil {
					b.Error(err)
					return
				}
			}
		}
	}
	compareWith(b, call(store, 0), call(baseline, len(hits)/2), len(hits), workers, round)
}

// compareWith measures two ways to call in alternating rounds.
func compareWith(b *testing.B, ours, theirs func(from, to int), keys, workers, round int) {
	for _, c := range []func(int, int){ours, theirs} {
		timed(0, max(keys, 1000), workers, c)
	}
	var took, baselineTook time.Duration
	b.ResetTimer()
	b.ReportAllocs()
	for from := 0; from < b.N; from += round {
		to := min(from+round, b.N)
		took += timed(from, to, workers, ours)
		b.StopTimer()
		baselineTook += timed(from, to, workers, theirs)
		b.StartTimer()
	}
	b.ReportMetric(float64(took)/float64(baselineTook), "x-baseline")
	b.ReportMetric(float64(baselineTook.Nanoseconds())/float64(b.N), "baseline-ns/op")
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
