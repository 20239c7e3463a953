package memstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// ranks checks that a counter returns each count once.
type ranks []atomic.Bool

func (r ranks) take(t *testing.T, count uint64) {
	if count == 0 || count > uint64(len(r)) || r[count-1].Swap(true) {
		t.Errorf("count %d was returned twice, or is not within 1 to %d", count, len(r))
	}
}

// TestCountingWhileTheTableGrows counts on a few keys while others make the only
// table grow again and again: a hit on a cell that is being moved must neither be lost
// nor count twice.
func TestCountingWhileTheTableGrows(t *testing.T) {
	const old, hits, counters, growers, fresh = 8, 20_000, 3, 2, 20_000
	store := memstore.MustNew(&memstore.Options{Shards: 1, Now: atNoon})
	var seen [old]ranks
	for i := range seen {
		seen[i] = make(ranks, counters*hits)
		add(store, hit(fmt.Sprint("old", i), 0, ratelimit.Day, noon))
	}
	var all sync.WaitGroup
	for range counters {
		all.Go(func() {
			for n := range hits * old {
				i := n % old
				seen[i].take(t, add(store, hit(fmt.Sprint("old", i), 1, ratelimit.Day, noon)))
			}
		})
	}
	for g := range growers {
		all.Go(func() {
			for i := range fresh {
				if got := add(store, hit(fmt.Sprint("new", g, "-", i), 1, ratelimit.Day, noon)); got != 1 {
					t.Errorf("a new key was counted as %d", got)
				}
			}
		})
	}
	all.Wait()
	for i := range old {
		if got := add(store, hit(fmt.Sprint("old", i), 0, ratelimit.Day, noon)); got != counters*hits {
			t.Errorf("key %d was counted to %d, want %d", i, got, counters*hits)
		}
	}
}

// TestAddAndAddUnlessOver makes plain and conditional additions to the same counters. No count
// is lost, and nothing is added between the comparison and the addition of AddUnlessOver.
func TestAddAndAddUnlessOver(t *testing.T) {
	const keys, rounds, limit = 4, 20_000, 1 << 30
	store := memstore.MustNew(&memstore.Options{Shards: 2, Now: atNoon})
	seen := make([]ranks, keys)
	for i := range seen {
		seen[i] = make(ranks, 4*rounds)
	}
	var all sync.WaitGroup
	for g := range 2 {
		all.Go(func() {
			for n := range rounds * keys {
				i := (n + g) % keys
				seen[i].take(t, add(store, hit(fmt.Sprint("key", i), 1, ratelimit.Day, noon)))
			}
		})
		all.Go(func() {
			hits := make([]ratelimit.Hit, keys)
			for range rounds {
				for i := range hits {
					hits[i] = hit(fmt.Sprint("key", i), 1, ratelimit.Day, noon)
					hits[i].Limit = limit
				}
				_ = store.AddUnlessOver(context.Background(), hits)
				for i := range hits {
					seen[i].take(t, hits[i].Count)
				}
			}
		})
	}
	all.Wait()
	for i := range keys {
		if got := add(store, hit(fmt.Sprint("key", i), 0, ratelimit.Day, noon)); got != 4*rounds {
			t.Errorf("key %d was counted to %d, want %d", i, got, 4*rounds)
		}
	}
}

// TestAddUnlessOverIsAtomic checks that no conditional addition exceeds the limit while others
// add.
func TestAddUnlessOverIsAtomic(t *testing.T) {
	const limit = 1000
	for range 20 {
		store := memstore.MustNew(&memstore.Options{Now: atNoon})
		var passed, plain atomic.Int64
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for range limit {
					h := hit("key", 1, ratelimit.Day, noon)
					h.Limit = limit
					other := hit("other", 0, ratelimit.Day, noon)
					other.Limit = limit
					hits := []ratelimit.Hit{h, other}
					_ = store.AddUnlessOver(context.Background(), hits)
					if hits[0].Count <= limit {
						passed.Add(1)
					}
				}
			})
			all.Go(func() {
				for range limit / 4 {
					if add(store, hit("key", 1, ratelimit.Day, noon)) <= limit {
						plain.Add(1)
					}
				}
			})
		}
		all.Wait()
		if n := passed.Load() + plain.Load(); n != limit {
			t.Fatalf("%d hits were let pass, want %d", n, limit)
		}
	}
}
