package storetest_test

import (
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func TestReference(t *testing.T) {
	storetest.Run(t, func(*testing.T) ratelimit.Store { return newReference() }, nil)
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
		Settle:         func(s ratelimit.Store) { s.(*lagging).settle() },
	})
}

func TestForgettingTooEarlyIsNoticed(t *testing.T) {
	for noticed, after := range map[string]time.Duration{
		"windows/last second": -time.Second,
		"windows/late":        0,
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
		"lags behind":        {"basic/rank", newLagging(), storetest.Options{}},
		"stops elsewhere":    {"basic/saturation", newReference(), storetest.Options{MaxCount: 1<<63 - 1}},
		"takes any key":      {"basic/keys", newReference(), storetest.Options{Refuses: func(key []byte) bool { return len(key) > 250 }}},
	} {
		t.Run(name, func(t *testing.T) { mustFail(t, c.noticed, c.store, &c.opts) })
	}
}

func BenchmarkReference(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) ratelimit.Store { return newReference() })
}
