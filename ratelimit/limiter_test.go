package ratelimit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

func newLimiter(t *testing.T, store ratelimit.Store, l ratelimit.Limit, o *ratelimit.Options) *ratelimit.Limiter {
	t.Helper()
	limiter, err := ratelimit.NewLimiter("test", store, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

func charge(t *testing.T, l *ratelimit.Limiter, key string, n uint64) ratelimit.Status {
	t.Helper()
	s, err := l.AllowN(t.Context(), key, n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLimiter(t *testing.T) {
	store, c := newMapStore(), &clock{unix: epoch}
	l := newLimiter(t, store, ratelimit.Per(3, ratelimit.Minute), &ratelimit.Options{Now: c.Now})
	status := func(code ratelimit.Code, remaining uint32) ratelimit.Status {
		return ratelimit.Status{Code: code, Limited: true, RequestsPerUnit: 3, Unit: ratelimit.Minute, Remaining: remaining, ResetSeconds: 26}
	}
	s, err := l.Allow(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "Allow", s, status(ratelimit.OK, 2))
	equal(t, "a peek", charge(t, l, "one", 0), status(ratelimit.OK, 2))
	equal(t, "the rest at once", charge(t, l, "one", 2), status(ratelimit.OK, 0))
	equal(t, "a peek at nothing left", charge(t, l, "one", 0), status(ratelimit.OK, 0))
	equal(t, "one too many", charge(t, l, "one", 1), status(ratelimit.OverLimit, 0))
	equal(t, "a peek over the limit", charge(t, l, "one", 0), status(ratelimit.OverLimit, 0))
	equal(t, "another key", charge(t, l, "two", 1), status(ratelimit.OK, 2))
	equal(t, "the empty key", charge(t, l, "", 1), status(ratelimit.OK, 2))
	equal(t, "more than fits", charge(t, l, "three", 4), status(ratelimit.OverLimit, 0))
	equal(t, "counters", store.contents(), map[string]uint64{
		"test|key|one|1200+60": 4, "test|key|two|1200+60": 1, "test|key||1200+60": 1, "test|key|three|1200+60": 4,
	})
	c.set(1260)
	equal(t, "the next window", charge(t, l, "one", 1).Code, ratelimit.OK)
}

// Limiters on one store count together exactly if they have the same name.
func TestLimiterNames(t *testing.T) {
	store := newMapStore()
	o := &ratelimit.Options{Now: (&clock{unix: epoch}).Now, CounterKeyFormat: ratelimit.KeyReference}
	limiter := func(name string) *ratelimit.Limiter {
		l, err := ratelimit.NewLimiter(name, store, ratelimit.Per(1, ratelimit.Minute), o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	equal(t, "login", charge(t, limiter("login"), "k", 1).Code, ratelimit.OK)
	equal(t, "search", charge(t, limiter("search"), "k", 1).Code, ratelimit.OK)
	equal(t, "login again", charge(t, limiter("login"), "k", 1).Code, ratelimit.OverLimit)
	for name, want := range map[string]string{
		"":        "needs a name",
		"a_key":   `use "a-key"`, // with key "b" it would count where "a" with "key_b" does
		"a_key_b": `use "a-key_b"`,
	} {
		if _, err := ratelimit.NewLimiter(name, store, ratelimit.Per(1, ratelimit.Minute), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("name %q: got %v, want an error with %q", name, err, want)
		}
	}
}

func TestLimiterSetLimit(t *testing.T) {
	stats := newMapStats()
	l := newLimiter(t, newMapStore(), ratelimit.Per(1, ratelimit.Minute), &ratelimit.Options{Now: (&clock{unix: epoch}).Now, Stats: stats})
	charge(t, l, "k", 2)
	equal(t, "old limit", charge(t, l, "k", 0).Code, ratelimit.OverLimit)
	if err := l.SetLimit(ratelimit.Per(3, ratelimit.Minute)); err != nil {
		t.Fatal(err)
	}
	equal(t, "new limit", charge(t, l, "k", 1), ratelimit.Status{
		Code: ratelimit.OK, Limited: true, RequestsPerUnit: 3, Unit: ratelimit.Minute, ResetSeconds: 26,
	})
	if err := l.SetLimit(ratelimit.Limit{RequestsPerUnit: 9}); err == nil {
		t.Error("a limit without a unit was accepted")
	}
	equal(t, "limit after an invalid one", charge(t, l, "k", 0).RequestsPerUnit, 3)
	equal(t, "hits", stats.counts()["test.key"].TotalHits, 3)
}

// subtractStore is a mapStore that is a ratelimit.SubtractStore.
type subtractStore struct{ *mapStore }

func (s subtractStore) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range hits {
		n := s.counts[string(hits[i].Key)]
		hits[i].Count = n - min(n, hits[i].N)
		s.counts[string(hits[i].Key)] = hits[i].Count
	}
	return s.err
}

func TestLimiterRefundAndReset(t *testing.T) {
	main, second, c := subtractStore{newMapStore()}, subtractStore{newMapStore()}, &clock{unix: epoch}
	cache := newMapCache(c.Now)
	o := &ratelimit.Options{Now: c.Now, PerSecond: second, OverLimitCache: cache, CounterKeyPrefix: "p:"}
	for _, tt := range []struct {
		unit  ratelimit.Unit
		store subtractStore
		reset uint32
	}{{ratelimit.Minute, main, 26}, {ratelimit.Second, second, 1}} {
		unit, store := tt.unit, tt.store
		l := newLimiter(t, main, ratelimit.Per(3, unit), o)
		check := func(err error, remaining uint32) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			equal(t, unit.String(), charge(t, l, "k", 0), ratelimit.Status{
				Code: ratelimit.OK, Limited: true, RequestsPerUnit: 3, Unit: unit, Remaining: remaining, ResetSeconds: tt.reset,
			})
		}
		charge(t, l, "k", 4) // over: remembered by the cache
		check(l.Refund(t.Context(), "k", 2), 1)
		check(l.Refund(t.Context(), "k", 0), 1)
		check(l.Refund(t.Context(), "k", 99), 3)
		charge(t, l, "other", 1)
		charge(t, l, "k", 9)
		check(l.Reset(t.Context(), "k"), 3)
		equal(t, "other key", charge(t, l, "other", 0).Remaining, 2)

		store.err = errDown
		err := l.Reset(t.Context(), "k")
		store.err = nil
		if !errors.Is(err, errDown) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
			t.Errorf("got %v, want a store failure", err)
		}
	}
}

func TestLimiterRefundUnsupported(t *testing.T) {
	l := newLimiter(t, newMapStore(), ratelimit.Per(3, ratelimit.Minute), nil)
	err := l.Refund(t.Context(), "k", 1)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "mapStore") {
		t.Errorf("got %v, want an error that names the store", err)
	}
	if err := l.SetLimit(ratelimit.Limit{Unlimited: true}); err != nil {
		t.Fatal(err)
	}
	if err := l.Reset(t.Context(), "k"); err != nil {
		t.Errorf("nothing is counted without a limit, got %v", err)
	}
}

func TestLimiterUnlimited(t *testing.T) {
	store := newMapStore()
	l := newLimiter(t, store, ratelimit.Limit{Unlimited: true}, nil)
	equal(t, "status", charge(t, l, "k", 5), ratelimit.Status{Code: ratelimit.OK, Remaining: ratelimit.UnlimitedRemaining})
	equal(t, "store calls", len(store.calls), 0)
}

// The options of the engine apply to the status.
func TestLimiterShadowMode(t *testing.T) {
	l := newLimiter(t, newMapStore(), ratelimit.Per(0, ratelimit.Minute), &ratelimit.Options{ShadowMode: true})
	s := charge(t, l, "k", 1)
	equal(t, "code", s.Code, ratelimit.OK)
	equal(t, "limited", s.Limited, true)
}

func TestLimiterInvalid(t *testing.T) {
	for want, l := range map[string]ratelimit.Limit{
		"rate_limit.unit: invalid": {RequestsPerUnit: 1},
		"rate_limit.unit: should":  {Unlimited: true, Unit: ratelimit.Minute},
		"rate_limit.replaces[0]":   {Unit: ratelimit.Minute, Name: "a", Replaces: []string{"a"}},
	} {
		limiter, err := ratelimit.NewLimiter("test", newMapStore(), l, nil)
		if err == nil || !strings.Contains(err.Error(), want) || limiter != nil {
			t.Errorf("got %v, %v, want an error with %q", limiter, err, want)
		}
	}
}

func TestLimiterStoreFailure(t *testing.T) {
	store := newMapStore()
	l := newLimiter(t, store, ratelimit.Per(1, ratelimit.Year), nil)
	store.err = errDown
	s, err := l.Allow(t.Context(), "k")
	if !errors.Is(err, errDown) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
		t.Errorf("got %v", err)
	}
	equal(t, "status", s, ratelimit.Status{})
	store.err = nil
	equal(t, "afterwards", charge(t, l, "k", 1).Code, ratelimit.OK)
}

// Concurrent calls never pass more hits than the limit.
func TestLimiterConcurrently(t *testing.T) {
	l := newLimiter(t, newMapStore(), ratelimit.Per(100, ratelimit.Year), &ratelimit.Options{Now: (&clock{unix: epoch}).Now})
	var passed, refused atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 30 {
				s, err := l.Allow(context.Background(), "k")
				switch {
				case err != nil:
					t.Error(err)
				case s.Allowed():
					passed.Add(1)
				default:
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "passed", passed.Load(), 100)
	equal(t, "refused", refused.Load(), 200)
}
