package memstore_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// The full run is: go test -run Footprint -v -churn 20000000
var churn = flag.Int("churn", 500_000, "number of keys of TestFootprintIsFlat")

// heap returns the heap in use after a garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one only moved out of pools
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// counter creates keys of 40 bytes without allocating.
type counter struct{ hits [1]ratelimit.Hit }

func newCounter() *counter {
	c := new(counter)
	c.hits[0].Key = []byte("domain_remote_address_0123456789abcdef__")
	return c
}

func (c *counter) add(store *memstore.Store, i int, unit ratelimit.Unit, now int64) uint64 {
	h := &c.hits[0]
	binary.BigEndian.PutUint64(h.Key[len(h.Key)-8:], uint64(i))
	h.N, h.Unit, h.Window = 1, unit, unit.Window(now)
	_ = store.Add(context.Background(), c.hits[:])
	return h.Count
}

// TestBytesPerKey measures what a million counters take.
func TestBytesPerKey(t *testing.T) {
	scaletest.Unraced(t)
	const keys = 1_000_000
	before := heap()
	store := memstore.MustNew(&memstore.Options{Now: atNoon})
	c := newCounter()
	for i := range keys {
		c.add(store, i, ratelimit.Year, noon)
	}
	measured := heap() - before
	stats := store.Stats()
	each := float64(measured) / keys
	t.Logf("%d keys of %d bytes take %.1f bytes each; the store's account is %.1f", keys, len(c.hits[0].Key), each, float64(stats.Bytes)/keys)
	if each > 40 {
		t.Errorf("a key takes %.1f bytes, want 40 at most", each)
	}
	if stats.Keys != keys || stats.Shared != 0 {
		t.Errorf("after %d different keys the statistics are %+v", keys, stats)
	}
	if off := float64(stats.Bytes) / float64(measured); off < 0.9 || off > 1.1 {
		t.Errorf("the store reports %d bytes, but %d were measured: want a difference of at most a tenth", stats.Bytes, measured)
	}
}

// TestFootprintIsFlat counts on new keys in window after window.
func TestFootprintIsFlat(t *testing.T) {
	scaletest.Unraced(t)
	const windows = 40
	for _, unit := range []ratelimit.Unit{ratelimit.Second, ratelimit.Minute} {
		t.Run(unit.String(), func(t *testing.T) {
			var now atomic.Int64
			store := memstore.MustNew(&memstore.Options{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
			before, early, most := heap(), int64(0), int64(0)
			c := newCounter()
			for w := range windows {
				now.Store(noon + int64(w)*unit.Seconds())
				for i := range *churn / windows {
					if got := c.add(store, w**churn+i, unit, now.Load()); got != 1 {
						t.Fatalf("a new key was counted as %d", got)
					}
				}
				size := heap() - before
				if w < 8 {
					early = max(early, size)
				}
				most = max(most, size)
			}
			t.Logf("%d keys in %d windows: at most %.1f MB in the first 8 windows and %.1f MB in all",
				*churn, windows, float64(early)/1e6, float64(most)/1e6)
			if most > early+early/10 {
				t.Errorf("the footprint grew from %d to %d bytes", early, most)
			}
			if stats := store.Stats(); stats.Shared != 0 {
				t.Errorf("%d hits had to be counted on shared counters", stats.Shared)
			}
		})
	}
}

// TestFullStore counts on more keys than a small store has room for: there must be no error,
// no more memory, and no counter lower than the number of its hits.
func TestFullStore(t *testing.T) {
	scaletest.Unraced(t)
	for _, maxBytes := range []int64{64 << 10, 1 << 20, 5 << 20} {
		t.Run(fmt.Sprintf("%d KiB", maxBytes>>10), func(t *testing.T) {
			var now atomic.Int64
			now.Store(noon)
			before := heap()
			store := memstore.MustNew(&memstore.Options{
				MaxBytes: maxBytes, WhenFull: memstore.Deny, Now: func() time.Time { return time.Unix(now.Load(), 0) },
			})
			c := newCounter()
			for round := range uint64(3) {
				for i := range int(maxBytes / 20) {
					if got := c.add(store, i, ratelimit.Minute, noon); got < round+1 {
						t.Fatalf("hit %d on key %d was counted as %d", round+1, i, got)
					}
				}
			}
			checkFull(t, store, maxBytes)
			if used := heap() - before; used > maxBytes+maxBytes/20 {
				t.Errorf("a store of %d bytes takes %d", maxBytes, used)
			}
			// Keys that had a counter before the store was full keep it.
			if got := c.add(store, 0, ratelimit.Minute, noon); got != 4 {
				t.Errorf("hit 4 of the first key was counted as %d", got)
			}
			now.Add(62)
			if got := c.add(store, 1<<30, ratelimit.Minute, now.Load()); got != 1 {
				t.Errorf("after the full window had passed a new key was counted as %d", got)
			}
			runtime.KeepAlive(store)
		})
	}
}

func checkFull(t *testing.T, store *memstore.Store, maxBytes int64) {
	t.Helper()
	stats := store.Stats()
	t.Logf("full: %+v, %.0f bytes a key", stats, float64(stats.Bytes)/float64(stats.Keys))
	if stats.Bytes > maxBytes || stats.Bytes < maxBytes/2 {
		t.Errorf("the store reports %d bytes; want at most %d, and at least half of that in use", stats.Bytes, maxBytes)
	}
	if stats.Shared == 0 {
		t.Errorf("no hit was counted on a shared counter: the store was not full")
	}
}

// TestFullInEveryWindow fills the maximum number of windows of a shard.
func TestFullInEveryWindow(t *testing.T) {
	scaletest.Unraced(t)
	for _, whenFull := range []memstore.WhenFull{memstore.EvictFewest, memstore.EvictOldest, memstore.Deny, memstore.Allow} {
		t.Run(string(whenFull), func(t *testing.T) { fullInEveryWindow(t, whenFull) })
	}
}

func fullInEveryWindow(t *testing.T, whenFull memstore.WhenFull) {
	const maxBytes = 256 << 10
	before := heap()
	store := memstore.MustNew(&memstore.Options{MaxBytes: maxBytes, WhenFull: whenFull, Now: atNoon})
	c := newCounter()
	for i := range 2000 {
		for w := range 40 {
			c.add(store, i, ratelimit.Second, int64(noon-20+w))
		}
	}
	if stats := store.Stats(); stats.Bytes > maxBytes {
		t.Errorf("the store reports %d bytes, want %d at most", stats.Bytes, maxBytes)
	}
	if used := heap() - before; used > maxBytes+maxBytes/10 {
		t.Errorf("a store of %d bytes takes %d", maxBytes, used)
	}
	runtime.KeepAlive(store)
}

// TestFullStoreHoldsLimits counts concurrently on limited counters, most of them new, of a
// store that is or becomes full: each counter allows at most its limit, and a denied request
// does not count on the counters that had room.
func TestFullStoreHoldsLimits(t *testing.T) {
	const keys, limit, callers = 3000, 3, 4
	store := memstore.MustNew(&memstore.Options{MaxBytes: 64 << 10, Shards: 1, WhenFull: memstore.Deny, Now: atNoon})
	total := hit("total", 1, ratelimit.Year, noon)
	total.Limit = 1 << 31
	var passed [keys]atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range 2 * keys {
				one := hit(fmt.Sprint("key", i%keys), 1, ratelimit.Year, noon)
				one.Limit = limit
				hits := []ratelimit.Hit{total, one}
				_ = store.AddUnlessOver(context.Background(), hits)
				if hits[1].Count <= limit {
					passed[i%keys].Add(1)
				}
			}
		})
	}
	all.Wait()
	var let int64
	for i := range passed {
		n := passed[i].Load()
		let += n
		if n > limit {
			t.Fatalf("key %d let %d pass, want %d at most", i, n, limit)
		}
	}
	total.N = 0
	if got := add(store, total); got != uint64(let) {
		t.Errorf("%d requests passed, but the counter they share shows %d", let, got)
	}
	if store.Stats().Shared == 0 {
		t.Error("the store was not full")
	}
}
