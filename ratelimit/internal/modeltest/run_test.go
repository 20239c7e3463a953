package modeltest

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// plainStore is a minimal Store with all methods but AddUnlessOver.
type plainStore struct {
	mu     *sync.Mutex // the engine adds and subtracts at the same time
	counts map[string]uint64
	states map[string]ratelimit.State
}

func (s plainStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range hits {
		h := &hits[i]
		s.counts[string(h.Key)] += h.N
		h.Count = s.counts[string(h.Key)]
	}
	return nil
}

func (s plainStore) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range hits {
		h := &hits[i]
		h.Count = s.counts[string(h.Key)]
		h.Count -= min(h.Count, h.N)
		s.counts[string(h.Key)] = h.Count
	}
	return nil
}

func (s plainStore) Charge(_ context.Context, charges []ratelimit.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range charges {
		state := s.states[string(charges[i].Key)]
		charges[i].Apply(&state)
		s.states[string(charges[i].Key)] = state
	}
	return nil
}

func (s plainStore) Counters() map[string]uint64 { return s.counts }

func newPlainStore() plainStore {
	return plainStore{new(sync.Mutex), make(map[string]uint64), make(map[string]ratelimit.State)}
}

// conditionalStore is a plainStore that is a ratelimit.ConditionalStore.
type conditionalStore struct{ plainStore }

func (s conditionalStore) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	over, any := make([]bool, len(hits)), false
	for i, h := range hits {
		over[i] = s.counts[string(h.Key)]+h.N > uint64(h.Limit)
		any = any || over[i]
	}
	for i := range hits {
		if any && !over[i] {
			hits[i].N = 0
		}
	}
	return s.Add(ctx, hits)
}

// fixedStore has only counters.
type fixedStore struct{ ratelimit.Store }

func newPlain() ratelimit.Store       { return newPlainStore() }
func newConditional() ratelimit.Store { return conditionalStore{newPlainStore()} }
func newFixed() ratelimit.Store       { return fixedStore{newPlainStore()} }

// run plays random scripts on an engine with stores of newStore and on the model, and fails t at the
// first difference, with the shortest script that shows it. Each script is played on new stores.
//
// A store may have a method Counters() map[string]uint64 that returns all its
// counters; then these must equal those of the model.
//
// Counter keys do not name the unit, so windows of two units that begin in the
// same second may share a key. Whether they then share a counter is up to the
// store: requests that depend on it are skipped.
func run(t *testing.T, newStore func() ratelimit.Store) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		s := scripts.Draw(rt, "script")
		if err := play(s, &stage{newStore: newStore, oneUnitPerKey: true}); err != nil {
			rt.Fatalf("%v\nin the script\n%v", err, s)
		}
	})
}

// Each store has its own map, because the per-second store is called in a goroutine.
func TestEngineOnPlainStore(t *testing.T)       { run(t, newPlain) }
func TestEngineOnFixedStore(t *testing.T)       { run(t, newFixed) }
func TestEngineOnConditionalStore(t *testing.T) { run(t, newConditional) }

// TestEngineSeeded plays the same scripts in every run, in addition to random ones.
func TestEngineSeeded(t *testing.T) {
	covered := make(map[string]int)
	for seed := range 2000 {
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
	for _, kind := range []string{
		"no limit", "unlimited", "cached", "over", "shadowed", "within", "override", "quota", "metadata", "back", "calendar",
		"sliding_window OK", "sliding_window OVER_LIMIT", "token_bucket OK", "token_bucket OVER_LIMIT", "concurrency OK", "concurrency OVER_LIMIT",
	} {
		if covered[kind] < 400 {
			t.Errorf("the scripts covered %q only %d times", kind, covered[kind])
		}
	}
}
