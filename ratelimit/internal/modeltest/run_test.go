package modeltest

import (
	"context"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// plainStore is a minimal Store.
type plainStore map[string]uint64

func (s plainStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		s[string(h.Key)] += h.N
		h.Count = s[string(h.Key)]
	}
	return nil
}

func (s plainStore) Counters() map[string]uint64 { return s }

// conditionalStore is a plainStore that is a ratelimit.ConditionalStore.
type conditionalStore struct{ plainStore }

func (s conditionalStore) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	over, any := make([]bool, len(hits)), false
	for i, h := range hits {
		over[i] = s.plainStore[string(h.Key)]+h.N > uint64(h.Limit)
		any = any || over[i]
	}
	for i := range hits {
		if any && !over[i] {
			hits[i].N = 0
		}
	}
	return s.Add(ctx, hits)
}

func newPlain() ratelimit.Store       { return plainStore{} }
func newConditional() ratelimit.Store { return conditionalStore{plainStore{}} }

// Each store has its own map, because the per-second store is called in a goroutine.
func TestEngineOnPlainStore(t *testing.T)       { Run(t, newPlain) }
func TestEngineOnConditionalStore(t *testing.T) { Run(t, newConditional) }

// TestEngineSeeded plays the same scripts in every run, in addition to random ones.
func TestEngineSeeded(t *testing.T) {
	covered := make(map[string]int)
	for seed := range 1500 {
		s := scripts.Example(seed)
		// These stores share a counter between two units with one key.
		for _, newStore := range []func() ratelimit.Store{newPlain, newConditional} {
			if err := play(s, &stage{newStore: newStore, covered: covered}); err != nil {
				t.Fatalf("seed %d: %v\nin the script\n%v", seed, err, s)
			}
		}
	}
	t.Log(covered)
	// The scripts must cover every kind of outcome.
	for _, kind := range []string{"no limit", "unlimited", "cached", "over", "shadowed", "within", "override", "quota", "metadata"} {
		if covered[kind] < 500 {
			t.Errorf("the scripts covered %q only %d times", kind, covered[kind])
		}
	}
}
