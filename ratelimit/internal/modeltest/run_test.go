package modeltest

import (
	"context"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// plainStore is a Store of a map, and no more.
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

// conditionalStore is one that can decide for all hits at once.
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

// The per-second store runs in a goroutine of its own: each has its own map.
func TestEngineOnPlainStore(t *testing.T)       { Run(t, newPlain) }
func TestEngineOnConditionalStore(t *testing.T) { Run(t, newConditional) }

// The same scripts every time, beside those that are drawn anew for each run.
func TestEngineSeeded(t *testing.T) {
	tally := make(map[string]int)
	for seed := range 1500 {
		s := scripts.Example(seed)
		// Here two units may share a key, and then share a counter.
		for _, newStore := range []func() ratelimit.Store{newPlain, newConditional} {
			if err := play(s, &stage{newStore: newStore, tally: tally}); err != nil {
				t.Fatalf("seed %d: %v\nin the script\n%v", seed, err, s)
			}
		}
	}
	t.Log(tally)
	// Scripts that meet nothing prove nothing.
	for _, kind := range []string{"no limit", "unlimited", "cached", "over", "shadowed", "within", "override", "quota", "metadata"} {
		if tally[kind] < 500 {
			t.Errorf("the scripts met %q only %d times", kind, tally[kind])
		}
	}
}
