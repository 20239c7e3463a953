package memcachestore_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

// BenchmarkStore measures calls on one node, without the increments that follow: see
// BenchmarkFlushed.
func BenchmarkStore(b *testing.B) {
	node := memcachetest.Start(b, &memcachetest.Options{Args: []string{"-m", "256"}}).Addr
	storetest.Benchmark(b, func(b *testing.B) ratelimit.Store { return open(b, nil, node) })
}

// BenchmarkFlushed measures 64 concurrent calls with one hit each, until all hits are on the
// node, and for comparison the bare client, which for each call reads, increments, and
// creates the counter if it does not exist.
func BenchmarkFlushed(b *testing.B) {
	node := memcachetest.Start(b, &memcachetest.Options{Args: []string{"-m", "256"}}).Addr
	for _, counters := range []int{1, 10_000} {
		for _, idle := range []int{2, 64} {
			name := fmt.Sprintf("counters=%d/idle=%d/", counters, idle)
			b.Run(name+"store", func(b *testing.B) { benchStore(b, node, counters, idle) })
			b.Run(name+"bare", func(b *testing.B) { benchBare(b, node, counters, idle) })
		}
	}
}

// callers is the number of concurrent calls per processor.
const callers = 32

func benchStore(b *testing.B, node string, counters, idle int) {
	store := open(b, &memcachestore.Options{MaxIdleConns: idle}, node)
	var next atomic.Int64
	names := keys(counters)
	b.SetParallelism(callers)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		hits := make([]ratelimit.Hit, 1)
		for pb.Next() {
			hits[0] = hit(names[next.Add(1)%int64(counters)], 1)
			if err := store.Add(b.Context(), hits); err != nil {
				b.Error(err)
				return
			}
		}
	})
	flush(b, store)
	require.Zero(b, store.Stats().Lost)
}

func benchBare(b *testing.B, node string, counters, idle int) {
	client := memcache.New(node)
	client.MaxIdleConns, client.Timeout = idle, timeout
	defer func() { _ = client.Close() }()
	var next atomic.Int64
	names := keys(counters)
	b.SetParallelism(callers)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			key := names[next.Add(1)%int64(counters)]
			_, err := client.GetMulti([]string{key})
			if err == nil {
				_, err = client.Increment(key, 1)
			}
			if errors.Is(err, memcache.ErrCacheMiss) {
				err = client.Add(&memcache.Item{Key: key, Value: []byte("1"), Expiration: 3600})
			}
			if err != nil && !errors.Is(err, memcache.ErrNotStored) {
				b.Error(err)
				return
			}
		}
	})
}
