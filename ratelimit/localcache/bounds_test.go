package localcache_test

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/localcache"
)

// flood adds n different keys of the length, each once.
func flood(c *localcache.Cache, n, length int) {
	key := make([]byte, length)
	for i := range n {
		copy(key, strconv.Itoa(i)+"_")
		c.Add(key, time.Hour)
	}
}

func TestFloodStaysWithinBytes(t *testing.T) {
	const size = 1 << 20
	c, _ := newCache(t, size)
	added := uint64(0)
	for _, length := range []int{8, 50, 1000, 3400, 50} {
		for range 10 {
			flood(c, 2000, length)
			added += 2000
			s := c.Stats()
			if s.Bytes > size {
				t.Fatalf("%d bytes after keys of length %d, want at most %d", s.Bytes, length, size)
			}
			if gone := s.EvacuateCount + s.OverwriteCount; s.EntryCount+gone != added {
				t.Fatalf("%d entries and %d gone, of %d added", s.EntryCount, gone, added)
			}
		}
	}
	if s := c.Stats(); s.EvacuateCount == 0 || s.Bytes < size*9/10 {
		t.Errorf("a flood should fill the cache and evict: %+v", s)
	}
}

// The calculated size must not be below the heap in use. The lengths are the worst cases of
// the allocator, and one of the sizes is the worst case of the hash table.
func TestHeapStaysWithinBytes(t *testing.T) {
	for _, size := range []int{1500 << 10, 1600 << 10, 2 << 20} {
		for _, length := range []int{8, 33, 1025} {
			before := heap()
			c, _ := newCache(t, size)
			flood(c, 2*size/(localcache.Overhead+length), length)
			took := heap() - before
			t.Logf("size %d, keys of %d bytes: %d entries in %d bytes of heap", size, length, c.Stats().EntryCount, took)
			if took > size+size/32 { // what else the test program does is measured too
				t.Errorf("size %d, keys of %d bytes: takes %d bytes of heap", size, length, took)
			}
		}
	}
}

func heap() int {
	runtime.GC()
	runtime.GC() // what the first one only moved out of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestOftenFoundSurvivesFlood(t *testing.T) {
	c, _ := newCache(t, localcache.MinSize)
	worst := []byte("the worst client")
	c.Add(worst, time.Hour)
	for range 50 {
		flood(c, 2000, 40)
		for range 100 {
			if !has(c, worst) {
				t.Fatal("a key that is found often was evicted for keys added once")
			}
		}
	}
}

func TestLongKeys(t *testing.T) {
	for _, tt := range []struct{ size, longest int }{
		{localcache.MinSize, 1678}, // 512 KiB/256 = 2048 = 1678 + 1678/8 + 160, rounded
		{1 << 20, 3498},
		{1 << 30, 64 << 10},
	} {
		c, _ := newCache(t, tt.size)
		key := make([]byte, tt.longest+1)
		c.Add(key, time.Hour)
		c.Add(key[:tt.longest], time.Hour)
		if !has(c, key[:tt.longest]) {
			t.Errorf("size %d: a key of %d bytes is not stored", tt.size, tt.longest)
		}
		if has(c, key) {
			t.Errorf("size %d: a key of %d bytes is stored", tt.size, tt.longest+1)
		}
	}
}

func TestContainsAllocatesNothing(t *testing.T) {
	c, err := localcache.New(1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	flood(c, 1000, 40)
	hit, miss := []byte("hit"), []byte("miss")
	c.Add(hit, time.Hour)
	if n := testing.AllocsPerRun(5000, func() { has(c, hit) }); n != 0 {
		t.Errorf("%v allocations to find a key", n)
	}
	if n := testing.AllocsPerRun(5000, func() { has(c, miss) }); n != 0 {
		t.Errorf("%v allocations to miss a key", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	c, err := localcache.New(localcache.MinSize, nil)
	if err != nil {
		t.Fatal(err)
	}
	const workers, rounds = 8, 3000
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var buf []byte
			for i := range rounds {
				buf = fmt.Appendf(buf[:0], "key%d", (i*(w+1))%4000)
				if !has(c, buf) {
					c.Add(buf, time.Duration(i%3)*time.Millisecond)
				}
				if i%500 == 0 {
					c.Stats()
				}
			}
		})
	}
	wg.Wait()
	s := c.Stats()
	if s.LookupCount != workers*rounds || s.HitCount+s.MissCount != s.LookupCount {
		t.Errorf("%d look-ups counted, %d hits and %d misses, want %d", s.LookupCount, s.HitCount, s.MissCount, workers*rounds)
	}
	if s.Bytes > localcache.MinSize {
		t.Errorf("%d bytes, want at most %d", s.Bytes, localcache.MinSize)
	}
}
