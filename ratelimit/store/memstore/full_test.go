package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

var allWhenFull = []memstore.WhenFull{memstore.EvictFewest, memstore.EvictOldest, memstore.Deny, memstore.Allow}

// flood counts on n new keys.
func flood(store *memstore.Store, n int) {
	c := newCounter()
	for i := range n {
		c.add(store, i, ratelimit.Hour, noon)
	}
}

// TestFlood fills a store with the keys of an attacker. Counters that had some hits before
// must still have them, and a new client must be counted from 1, except where the choice says
// otherwise.
func TestFlood(t *testing.T) {
	scaletest.Unraced(t)
	const limit, keys = 5, 60_000
	for _, tt := range []struct {
		whenFull   memstore.WhenFull
		early, new uint64 // the count of the next hit; 0 for any
		overflow   func(memstore.Stats) uint64
	}{
		{"", limit + 1, 1, func(s memstore.Stats) uint64 { return s.Evicted }},
		{memstore.EvictFewest, limit + 1, 1, func(s memstore.Stats) uint64 { return s.Evicted }},
		{memstore.EvictOldest, 1, 1, func(s memstore.Stats) uint64 { return s.Evicted }},
		{memstore.Deny, limit + 1, 0, func(s memstore.Stats) uint64 { return s.Shared }},
		{memstore.Allow, limit + 1, 1, func(s memstore.Stats) uint64 { return s.Uncounted }},
	} {
		t.Run(string(tt.whenFull), func(t *testing.T) {
			before := heap()
			store := memstore.MustNew(&memstore.Options{MaxBytes: 1 << 20, Shards: 4, WhenFull: tt.whenFull, Now: atNoon})
			for i := range 100 {
				add(store, hit(fmt.Sprint("early", i), limit, ratelimit.Hour, noon))
			}
			if got := store.Stats().Overflow(); got != 0 {
				t.Errorf("overflow %d before the store is full", got)
			}
			flood(store, keys)
			for i := range 100 {
				if got := add(store, hit(fmt.Sprint("early", i), 1, ratelimit.Hour, noon)); got != tt.early {
					t.Fatalf("early key %d was counted as %d, want %d", i, got, tt.early)
				}
			}
			for i := range 100 {
				if got := add(store, hit(fmt.Sprint("new", i), 1, ratelimit.Hour, noon)); tt.new != 0 && got != tt.new {
					t.Fatalf("new key %d was counted as %d, want %d", i, got, tt.new)
				}
			}
			stats := store.Stats()
			t.Logf("%+v", stats)
			if n := tt.overflow(stats); n < keys/2 || n != stats.Overflow() {
				t.Errorf("statistics %+v, want at least %d of one kind", stats, keys/2)
			}
			if stats.Bytes > 1<<20 {
				t.Errorf("the store reports %d bytes, want %d at most", stats.Bytes, 1<<20)
			}
			if used := heap() - before; used > 1<<20+1<<17 {
				t.Errorf("the store takes %d bytes", used)
			}
			runtime.KeepAlive(store)
		})
	}
}

// TestFixedCountersFindRoom creates counters of fixed keys in a full store: they must be exact,
// and stay so while the flood goes on.
func TestFixedCountersFindRoom(t *testing.T) {
	scaletest.Unraced(t)
	const fixed, rounds = 300, 5
	for _, whenFull := range allWhenFull {
		for _, unit := range []ratelimit.Unit{ratelimit.Hour, ratelimit.Day} { // the window of the flood, and another
			t.Run(fmt.Sprint(whenFull, " ", unit), func(t *testing.T) {
				store := memstore.MustNew(&memstore.Options{MaxBytes: 1 << 20, Shards: 4, WhenFull: whenFull, Now: atNoon})
				flood(store, 20_000)
				for round := range uint64(rounds) {
					for i := range fixed {
						h := hit(fmt.Sprintf("domain|route|%d|and a tail that does not fit in a cell with the rest", i), 1, unit, noon)
						h.Fixed = true
						if got := add(store, h); got != round+1 {
							t.Fatalf("hit %d on fixed key %d was counted as %d", round+1, i, got)
						}
					}
					flood(store, 2_000*int(round))
				}
				if got := store.Stats().Bytes; got > 1<<20 {
					t.Errorf("the store reports %d bytes, want %d at most", got, 1<<20)
				}
			})
		}
	}
}

// TestOnlyFixedCounters has more fixed keys than memory: they fill it, and nothing fails.
func TestOnlyFixedCounters(t *testing.T) {
	scaletest.Unraced(t)
	for _, whenFull := range allWhenFull {
		store := memstore.MustNew(&memstore.Options{MaxBytes: 64 << 10, WhenFull: whenFull, Now: atNoon})
		for i := range 5000 {
			h := hit(fmt.Sprint("fixed", i), 1, ratelimit.Hour, noon)
			h.Fixed = true
			if got := add(store, h); got == 0 {
				t.Fatalf("%s: hit %d was counted as 0", whenFull, i)
			}
		}
		if got := store.Stats(); got.Bytes > 64<<10 || got.Evicted != 0 {
			t.Errorf("%s: %+v", whenFull, got)
		}
	}
}

// TestEvictionWhileCounting counts on a few busy keys while others evict again and again: no
// hit on a busy key may be lost or count twice.
func TestEvictionWhileCounting(t *testing.T) {
	const busy, hits, counters = 8, 5_000, 2
	store := memstore.MustNew(&memstore.Options{MaxBytes: 256 << 10, Shards: 1, Now: atNoon})
	var seen [busy]ranks
	for i := range seen {
		seen[i] = make(ranks, counters*hits+1000)
		seen[i].take(t, 1000) // a head start, so that they are not those with the fewest hits
		add(store, hit(fmt.Sprint("busy", i), 1000, ratelimit.Hour, noon))
	}
	var all sync.WaitGroup
	for range counters {
		all.Go(func() {
			for n := range hits * busy {
				i := n % busy
				seen[i].take(t, add(store, hit(fmt.Sprint("busy", i), 1, ratelimit.Hour, noon)))
			}
		})
	}
	all.Go(func() { flood(store, 60_000) })
	all.Wait()
	for i := range busy {
		if got := add(store, hit(fmt.Sprint("busy", i), 0, ratelimit.Hour, noon)); got != counters*hits+1000 {
			t.Errorf("key %d was counted to %d, want %d", i, got, counters*hits+1000)
		}
	}
	if store.Stats().Evicted == 0 {
		t.Error("nothing was evicted")
	}
}

// TestConditionalWithoutRoom adds hits that can't be counted: different keys of a call must not
// be added together, and a denied call must count only what is over.
func TestConditionalWithoutRoom(t *testing.T) {
	store := memstore.MustNew(&memstore.Options{MaxBytes: 64 << 10, Shards: 1, WhenFull: memstore.Allow, Now: atNoon})
	flood(store, 5000)
	for _, n := range []int{3, 12} {
		var hits []ratelimit.Hit
		for i := range n {
			h := hit(fmt.Sprint("key", i), 2, ratelimit.Hour, noon)
			h.Limit = 3
			hits = append(hits, h)
		}
		if err := store.AddUnlessOver(context.Background(), hits); err != nil {
			t.Fatal(err)
		}
		for i := range hits {
			if hits[i].Count != 2 {
				t.Errorf("hit %d of %d was counted as %d, want 2", i, n, hits[i].Count)
			}
		}
	}
}

func BenchmarkFlood(b *testing.B) {
	for _, whenFull := range allWhenFull {
		b.Run(string(whenFull), func(b *testing.B) {
			store := memstore.MustNew(&memstore.Options{MaxBytes: 64 << 20, WhenFull: whenFull, Now: atNoon})
			c := newCounter()
			flood(store, 1_000_000)
			b.ReportAllocs()
			for i := 1_000_000; b.Loop(); i++ {
				c.add(store, i, ratelimit.Hour, noon)
			}
		})
	}
}
