package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	server := redistest.Start(b, nil)
	storetest.Benchmark(b, func(b *testing.B) ratelimit.Store { return open(b, server.Addr, nil) })
}

// BenchmarkBaseline compares 64 goroutines that count with as many that each send INCRBY and
// EXPIRE in a pipeline of their own, as the reference service does, in alternating
// rounds. x-baseline is the ratio of the times, and redis-us the processor time of the
// server.
func BenchmarkBaseline(b *testing.B) {
	server := redistest.Start(b, nil)
	for _, keys := range []int{1, 100_000} {
		for _, hits := range []int{1, 3} {
			b.Run(fmt.Sprintf("keys=%d/hits=%d", keys, hits), func(b *testing.B) {
				compareWithBaseline(b, server, keys, hits)
			})
		}
	}
}

const workers = 64

func compareWithBaseline(b *testing.B, server *redistest.Server, keys, hits int) {
	store, bare := open(b, server.Addr, nil), server.Client()
	window := ratelimit.Hour.Window(time.Now().Unix())
	texts := make([]string, keys)
	for i := range texts {
		texts[i] = fmt.Sprintf("domain_remote_address_10.0.%06d_%d", i, window)
	}
	ours := func(ctx context.Context, at int) error {
		call := make([]ratelimit.Hit, hits)
		for i := range call {
			call[i] = ratelimit.Hit{Key: []byte(texts[(at+i)%keys]), N: 1, Limit: 100, Unit: ratelimit.Hour, Window: window}
		}
		return store.Add(ctx, call)
	}
	theirs := func(ctx context.Context, at int) error {
		_, err := bare.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range hits {
				pipe.IncrBy(ctx, texts[(at+i)%keys], 1)
				pipe.Expire(ctx, texts[(at+i)%keys], time.Hour)
			}
			return nil
		})
		return err
	}
	const round = 5000
	runWorkers(b, 0, min(keys, 3*round), ours) // the first use of a counter is not measured
	var mine, baseline time.Duration
	var redisMine, redisBaseline float64
	cpu := func() float64 { return processorTime(b, bare) }
	b.ReportAllocs()
	b.ResetTimer()
	for from := 0; from < b.N; from += round {
		to := min(from+round, b.N)
		b.StopTimer()
		start := cpu()
		b.StartTimer()
		mine += runWorkers(b, from, to, ours)
		b.StopTimer()
		middle := cpu()
		baseline += runWorkers(b, from, to, theirs)
		redisMine, redisBaseline = redisMine+middle-start, redisBaseline+cpu()-middle
		b.StartTimer()
	}
	b.ReportMetric(float64(mine)/float64(baseline), "x-baseline")
	b.ReportMetric(float64(baseline.Nanoseconds())/float64(b.N), "baseline-ns/op")
	b.ReportMetric(1e6*redisMine/float64(b.N), "redis-us/op")
	b.ReportMetric(1e6*redisBaseline/float64(b.N), "baseline-redis-us/op")
}

// BenchmarkAlgorithms compares decisions of 64 goroutines by each algorithm, as an Engine makes
// them, with the least that Redis can do: pipelines of 64 prepared INCRBY, one after the other,
// in alternating rounds. x-baseline is the ratio of the times, and redis-us the processor
// time of the server.
func BenchmarkAlgorithms(b *testing.B) {
	server := redistest.Start(b, nil)
	for _, keys := range []int{1, 100_000} {
		for _, a := range append([]ratelimit.Algorithm{ratelimit.FixedWindow}, chargingAlgorithms...) {
			b.Run(fmt.Sprintf("keys=%d/%v", keys, a), func(b *testing.B) { compareWithFloor(b, server, keys, a) })
		}
	}
}

func compareWithFloor(b *testing.B, server *redistest.Server, keys int, a ratelimit.Algorithm) {
	limiter, err := ratelimit.NewLimiter("bench", open(b, server.Addr, nil),
		ratelimit.Limit{RequestsPerUnit: 1_000_000_000, Unit: ratelimit.Hour, Algorithm: a}, nil)
	if err != nil {
		b.Fatal(err)
	}
	texts := make([]string, keys)
	for i := range texts {
		texts[i] = fmt.Sprintf("remote_address_10.0.%06d", i)
	}
	decide := func(ctx context.Context, at int) error {
		_, err := limiter.AllowN(ctx, texts[at%keys], 1)
		return err
	}
	bare := server.Client()
	floor := func(from, to int) time.Duration {
		start, cmds := time.Now(), make([]redis.Cmder, 0, workers)
		for at := from; at < to; at += workers {
			cmds = cmds[:0]
			for i := at; i < min(at+workers, to); i++ {
				cmds = append(cmds, redis.NewIntCmd(b.Context(), "incrby", texts[i%keys], 1))
			}
			pipe := bare.Pipeline()
			_ = pipe.BatchProcess(b.Context(), cmds...)
			if _, err := pipe.Exec(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	const round = 5000
	runWorkers(b, 0, min(keys, 100_000), decide) // the first use of a key is not measured
	floor(0, min(keys, 100_000))
	var mine, least time.Duration
	var redisMine, redisLeast float64
	b.ReportAllocs()
	b.ResetTimer()
	for from := 0; from < b.N; from += round {
		to := min(from+round, b.N)
		b.StopTimer()
		start := processorTime(b, bare)
		b.StartTimer()
		mine += runWorkers(b, from, to, decide)
		b.StopTimer()
		middle := processorTime(b, bare)
		least += floor(from, to)
		redisMine, redisLeast = redisMine+middle-start, redisLeast+processorTime(b, bare)-middle
		b.StartTimer()
	}
	b.ReportMetric(float64(mine)/float64(least), "x-baseline")
	b.ReportMetric(float64(least.Nanoseconds())/float64(b.N), "baseline-ns/op")
	b.ReportMetric(1e6*redisMine/float64(b.N), "redis-us/op")
	b.ReportMetric(1e6*redisLeast/float64(b.N), "baseline-redis-us/op")
}

// processorTime returns the CPU time of the server in seconds.
func processorTime(b *testing.B, client *redis.Client) float64 {
	b.Helper()
	info := client.InfoMap(b.Context(), "cpu")
	sum := 0.0
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info.Item("CPU", name), 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += seconds
	}
	return sum
}

// runWorkers divides the work among goroutines and returns how long it took.
func runWorkers(b *testing.B, from, to int, work func(context.Context, int) error) time.Duration {
	var next atomic.Int64
	next.Store(int64(from))
	start := time.Now()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for at := int(next.Add(1)); at <= to; at = int(next.Add(1)) {
				if err := work(b.Context(), at); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}
