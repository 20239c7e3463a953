package storetest_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func TestReference(t *testing.T) {
	storetest.Run(t, func(*testing.T) ratelimit.Store { return newReference() }, nil)
}

func TestSubtractingReference(t *testing.T) {
	storetest.Run(t, func(*testing.T) ratelimit.Store { return subtracting{newReference()} }, &storetest.Options{Subtracts: true})
}

// subtractWith is a subtracting reference with another Subtract.
type subtractWith struct {
	subtracting
	subtract func(subtracting, []ratelimit.Hit)
}

func (s subtractWith) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	s.subtract(s.subtracting, hits)
	return nil
}

func TestBrokenSubtractionIsNoticed(t *testing.T) {
	for noticed, subtract := range map[string]func(subtracting, []ratelimit.Hit){
		"subtract/hits": func(s subtracting, hits []ratelimit.Hit) {
			_ = s.Subtract(context.Background(), hits[:min(1, len(hits))])
		},
		"subtract/zero": func(s subtracting, hits []ratelimit.Hit) {
			for i := range hits {
				s.counts[string(hits[i].Key)] -= hits[i].N
				hits[i].Count = s.counts[string(hits[i].Key)]
			}
		},
		"subtract/missing": func(s subtracting, hits []ratelimit.Hit) {
			for i := range hits {
				if n := s.counts[string(hits[i].Key)]; n == 0 {
					s.counts[string(hits[i].Key)] = 1
				}
			}
			_ = s.Subtract(context.Background(), hits)
			for i := range hits {
				s.counts[string(hits[i].Key)]++
			}
		},
		"subtract/many": func(s subtracting, hits []ratelimit.Hit) {
			_ = s.Subtract(context.Background(), hits[:min(128, len(hits))])
		},
		"subtract/keys": func(s subtracting, hits []ratelimit.Hit) {
			for i := range hits {
				hits[i].Key = bytes.ToLower(hits[i].Key)
			}
			_ = s.Subtract(context.Background(), hits)
		},
		"subtract/large": func(s subtracting, hits []ratelimit.Hit) {
			for i := range hits {
				n := float64(s.counts[string(hits[i].Key)]) - float64(hits[i].N)
				hits[i].Count = uint64(max(n, 0))
				s.counts[string(hits[i].Key)] = hits[i].Count
			}
		},
		"subtract/race": func(s subtracting, hits []ratelimit.Hit) {
			for i := range hits {
				s.mu.Lock()
				n := s.counts[string(hits[i].Key)]
				s.mu.Unlock()
				runtime.Gosched()
				s.mu.Lock()
				hits[i].Count = n - min(n, hits[i].N)
				s.counts[string(hits[i].Key)] = hits[i].Count
				s.mu.Unlock()
			}
		},
	} {
		t.Run(noticed, func(t *testing.T) {
			mustFail(t, noticed, subtractWith{subtracting{newReference()}, subtract}, &storetest.Options{Subtracts: true})
		})
	}
}

func TestReferenceWithClock(t *testing.T) {
	storetest.Run(t, func(*testing.T) ratelimit.Store { return newReference() },
		&storetest.Options{Clock: storetest.NewClock()})
}

// TestDeclarations shows that a store that falls short passes once it says so.
func TestDeclarations(t *testing.T) {
	open := func(*testing.T) ratelimit.Store { return newLagging() }
	storetest.Run(t, open, &storetest.Options{
		NotConditional: true,
		Flush:          func(s ratelimit.Store) { s.(*lagging).settle() },
	})
}

func TestForgettingTooEarlyIsNoticed(t *testing.T) {
	for noticed, after := range map[string]time.Duration{
		"windows/last second":            -time.Second,
		"windows/last second of lengths": -time.Second,
		"windows/late":                   0,
	} {
		t.Run(noticed, func(t *testing.T) {
			opts := &storetest.Options{Clock: storetest.NewClock()}
			mustFail(t, noticed, &forgetful{newReference(), opts.Clock, after}, opts)
		})
	}
}

func TestFalseDeclarationsAreNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		noticed string
		store   ratelimit.Store
		opts    storetest.Options
	}{
		"is not conditional": {"conditional/declared", newPlain(), storetest.Options{}},
		"is conditional":     {"conditional/declared", newReference(), storetest.Options{NotConditional: true}},
		"does not subtract":  {"subtract/declared", newReference(), storetest.Options{Subtracts: true}},
		"subtracts":          {"subtract/declared", subtracting{newReference()}, storetest.Options{}},
		"lags":               {"basic/rank", newLagging(), storetest.Options{}},
		"stops elsewhere":    {"basic/saturation", newReference(), storetest.Options{MaxCount: 1<<63 - 1}},
		"takes any key":      {"basic/keys", newReference(), storetest.Options{Refuses: func(key []byte) bool { return len(key) > 250 }}},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.noticed, c.store, &c.opts) })
	}
}

// TestSlowMachineIsNoFault has calls take longer than the store keeps counters of windows
// that are over: the suite must not hold that against it. A store that has no such excuse
// fails.
func TestSlowMachineIsNoFault(t *testing.T) {
	for what, c := range map[string]struct {
		slow time.Duration
		good bool
	}{"slow": {time.Second, true}, "quick": {0, false}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &stalling{reference: newReference(), slow: c.slow}
				err := find(t, "windows/past", nil).Check(store, nil)
				if (err == nil) != c.good {
					t.Errorf("the suite says: %v", err)
				}
			})
		})
	}
}

// stalling loses all counters once, in its third call, which takes its time.
type stalling struct {
	*reference
	calls int
	slow  time.Duration
}

func (s *stalling) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if s.calls++; s.calls == 3 {
		time.Sleep(s.slow)
		clear(s.counts)
	}
	return s.reference.Add(ctx, hits)
}

func BenchmarkReference(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) ratelimit.Store { return newReference() })
}
