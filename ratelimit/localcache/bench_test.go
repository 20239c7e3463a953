package localcache_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/localcache"
)

const benchKey = "api_remote_address_192.0.2.17_path_/v1/orders_1700000000"

func benchCache(b *testing.B) *localcache.Cache {
	b.Helper()
	c, err := localcache.New(16<<20, nil)
	if err != nil {
		b.Fatal(err)
	}
	flood(c, 10_000, len(benchKey))
	c.Add([]byte(benchKey), time.Hour)
	b.ReportAllocs()
	return c
}

func BenchmarkContains(b *testing.B) {
	key, miss := []byte(benchKey), []byte(benchKey+"0")
	b.Run("hit", func(b *testing.B) {
		c := benchCache(b)
		for b.Loop() {
			c.Contains(key)
		}
	})
	b.Run("miss", func(b *testing.B) {
		c := benchCache(b)
		for b.Loop() {
			c.Contains(miss)
		}
	})
	b.Run("hit-parallel", func(b *testing.B) {
		c := benchCache(b)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				c.Contains(key)
			}
		})
	})
}

// The baseline: a map of the same keys, without bounds and expiry.
func BenchmarkMapRead(b *testing.B) {
	m := map[string]time.Time{benchKey: time.Now().Add(time.Hour)}
	for i := range 10_000 {
		m[strconv.Itoa(i)+benchKey] = time.Now()
	}
	key := []byte(benchKey)
	var mu sync.RWMutex
	found := false
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			_, found = m[string(key)]
		}
	})
	b.Run("locked-and-clocked", func(b *testing.B) {
		for b.Loop() {
			mu.RLock()
			until := m[string(key)]
			mu.RUnlock()
			found = time.Now().Before(until)
		}
	})
	if !found {
		b.Fatal("the key is not in the map")
	}
}

func BenchmarkAdd(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		c := benchCache(b)
		key := []byte(benchKey)
		for i := int64(0); b.Loop(); i++ {
			strconv.AppendInt(key[:0], i, 10) // over the front of the key
			c.Add(key, time.Hour)
		}
	})
	b.Run("again", func(b *testing.B) {
		c := benchCache(b)
		key := []byte(benchKey)
		for b.Loop() {
			c.Add(key, time.Hour)
		}
	})
}
