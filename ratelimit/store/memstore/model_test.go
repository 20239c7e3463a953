package memstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// world is a store, a map as its model, and a clock.
type world struct {
	*rand.Rand
	store *memstore.Store
	model map[string]uint64
	now   int64
}

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), model: make(map[string]uint64), now: noon}
	w.store = memstore.MustNew(&memstore.Options{
		Shards: 1 << w.IntN(4), Now: func() time.Time { return time.Unix(w.now, 0) },
	})
	return w
}

// TestModel compares random calls, in the windows of an advancing clock, with a map that never
// drops a counter.
func TestModel(t *testing.T) {
	scaletest.Unraced(t)
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWorld(seed)
			for step := range 2500 {
				if err := w.step(); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
			}
		})
	}
}

func (w *world) step() error {
	switch w.IntN(40) {
	case 0:
		w.now += w.Int64N(1 << w.IntN(13)) // seconds to hours
	case 1:
		w.store.Trim(time.Unix(w.now, 0))
	}
	hits := make([]ratelimit.Hit, w.IntN(12))
	for i := range hits {
		hits[i] = w.hit()
	}
	want, call := w.adds(hits), w.store.Add
	if w.IntN(3) == 0 {
		want, call = w.asks(hits), w.store.AddUnlessOver
	}
	for i, n := range want {
		w.model[string(hits[i].Key)] = plus(w.model[string(hits[i].Key)], n)
		want[i] = w.model[string(hits[i].Key)]
	}
	if err := call(context.Background(), hits); err != nil {
		return err
	}
	for i, n := range want {
		if hits[i].Count != n {
			return fmt.Errorf("hit %d of %d, %d on %.99q, was counted as %d, want %d",
				i, len(hits), hits[i].N, hits[i].Key, hits[i].Count, n)
		}
	}
	return nil
}

// hit returns a hit on one of about a hundred counters, in a window that is current or ended
// less than two seconds ago.
func (w *world) hit() ratelimit.Hit {
	unit := ratelimit.Unit(1 + w.IntN(7))
	window := unit.Window(w.now - w.Int64N(2))
	name := strings.Repeat("n", 1<<w.IntN(11)) + fmt.Sprint(w.IntN(30))
	n := w.Uint64N(5)
	if w.IntN(100) == 0 {
		n = w.Uint64()
	}
	return ratelimit.Hit{
		Key: fmt.Appendf(nil, "%s_%v_%d", name, unit, window),
		N:   n, Limit: w.Uint32N(20), Unit: unit, Window: window,
	}
}

// adds and asks return the hits of each counter for Add and for AddUnlessOver.
func (w *world) adds(hits []ratelimit.Hit) []uint64 {
	ns := make([]uint64, len(hits))
	for i, h := range hits {
		ns[i] = h.N
	}
	return ns
}

func (w *world) asks(hits []ratelimit.Hit) []uint64 {
	ns := w.adds(hits)
	over := make([]bool, len(hits))
	anyOver := false
	for i, h := range hits {
		over[i] = plus(w.model[string(h.Key)], h.N) > uint64(h.Limit)
		anyOver = anyOver || over[i]
	}
	for i := range ns {
		if anyOver && !over[i] {
			ns[i] = 0
		}
	}
	return ns
}

func plus(a, b uint64) uint64 {
	const most = 1 << 62
	if a > most || b > most-a {
		return most
	}
	return a + b
}

// FuzzKeys counts on two keys alternately: equal keys share a counter, others do not.
func FuzzKeys(f *testing.F) {
	f.Add("", " ", 1)
	f.Add("a", "a\x00", 100)
	f.Add(strings.Repeat("k", 512), strings.Repeat("k", 513), 3)
	f.Add(strings.Repeat("k", 70_000), strings.Repeat("k", 70_001), 2)
	f.Fuzz(func(t *testing.T, a, b string, filling int) {
		store := memstore.MustNew(&memstore.Options{Shards: 1, Now: atNoon})
		for i := range min(max(filling, 0), 300) {
			add(store, hit(fmt.Sprintf("%s%d%s", a, i, "filling"), 3, ratelimit.Year, noon))
		}
		model := make(map[string]uint64)
		for i := range uint64(4) {
			for _, key := range []string{a, b} {
				model[key] += i
				if got := add(store, hit(key, i, ratelimit.Year, noon)); got != model[key] {
					t.Errorf("key %q was counted as %d, want %d", key, got, model[key])
				}
			}
		}
	})
}
