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
	limiter, err := ratelimit.NewLimiter(store, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

func take(t *testing.T, l *ratelimit.Limiter, key string, n uint64) ratelimit.Status {
	t.Helper()
	s, err := l.TakeN(t.Context(), key, n)
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
	s, err := l.Take(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "Take", s, status(ratelimit.OK, 2))
	equal(t, "a peek", take(t, l, "one", 0), status(ratelimit.OK, 2))
	equal(t, "the rest at once", take(t, l, "one", 2), status(ratelimit.OK, 0))
	equal(t, "a peek at nothing left", take(t, l, "one", 0), status(ratelimit.OK, 0))
	equal(t, "one too many", take(t, l, "one", 1), status(ratelimit.OverLimit, 0))
	equal(t, "a peek over the limit", take(t, l, "one", 0), status(ratelimit.OverLimit, 0))
	equal(t, "another key", take(t, l, "two", 1), status(ratelimit.OK, 2))
	equal(t, "the empty key", take(t, l, "", 1), status(ratelimit.OK, 2))
	equal(t, "more than fits", take(t, l, "three", 4), status(ratelimit.OverLimit, 0))
	equal(t, "counters", store.contents(), map[string]uint64{
		"limiter_key_one_1200": 4, "limiter_key_two_1200": 1, "limiter_key__1200": 1, "limiter_key_three_1200": 4,
	})
	c.set(1260)
	equal(t, "the next window", take(t, l, "one", 1).Code, ratelimit.OK)
}

// Names tell limiters on one store apart; two without one count together.
func TestLimiterNames(t *testing.T) {
	store := newMapStore()
	o := &ratelimit.Options{Now: (&clock{unix: epoch}).Now}
	limit := func(name string) ratelimit.Limit {
		return ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Minute, Name: name}
	}
	a, b := newLimiter(t, store, limit("login"), o), newLimiter(t, store, limit("search"), o)
	equal(t, "login", take(t, a, "k", 1).Code, ratelimit.OK)
	equal(t, "search", take(t, b, "k", 1).Code, ratelimit.OK)
	equal(t, "name", take(t, b, "k", 0).Name, "search")
	c, d := newLimiter(t, store, limit(""), o), newLimiter(t, store, limit(""), o)
	equal(t, "first without a name", take(t, c, "k", 1).Code, ratelimit.OK)
	equal(t, "second without a name", take(t, d, "k", 1).Code, ratelimit.OverLimit)
}

func TestLimiterUnlimited(t *testing.T) {
	store := newMapStore()
	l := newLimiter(t, store, ratelimit.Limit{Unlimited: true}, nil)
	equal(t, "status", take(t, l, "k", 5), ratelimit.Status{Code: ratelimit.OK, Remaining: ratelimit.UnlimitedRemaining})
	equal(t, "store calls", len(store.calls), 0)
}

// The status says what the options make of it.
func TestLimiterShadowMode(t *testing.T) {
	l := newLimiter(t, newMapStore(), ratelimit.Per(0, ratelimit.Minute), &ratelimit.Options{ShadowMode: true})
	s := take(t, l, "k", 1)
	equal(t, "code", s.Code, ratelimit.OK)
	equal(t, "limited", s.Limited, true)
}

func TestLimiterInvalid(t *testing.T) {
	for want, l := range map[string]ratelimit.Limit{
		"invalid rate limit unit ''":               {RequestsPerUnit: 1},
		"should not specify rate limit unit":       {Unlimited: true, Unit: ratelimit.Minute},
		"replaces should not contain name of same": {Unit: ratelimit.Minute, Name: "a", Replaces: []string{"a"}},
	} {
		limiter, err := ratelimit.NewLimiter(newMapStore(), l, nil)
		if err == nil || !strings.Contains(err.Error(), want) || limiter != nil {
			t.Errorf("got %v, %v, want an error that says %q", limiter, err, want)
		}
	}
}

func TestLimiterStoreFailure(t *testing.T) {
	store := newMapStore()
	l := newLimiter(t, store, ratelimit.Per(1, ratelimit.Year), nil)
	store.err = errDown
	s, err := l.Take(t.Context(), "k")
	if !errors.Is(err, errDown) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
		t.Errorf("got %v", err)
	}
	equal(t, "status", s, ratelimit.Status{})
	store.err = nil
	equal(t, "afterwards", take(t, l, "k", 1).Code, ratelimit.OK)
}

// However many goroutines take, no more than the limit get through.
func TestLimiterConcurrently(t *testing.T) {
	l := newLimiter(t, newMapStore(), ratelimit.Per(100, ratelimit.Year), &ratelimit.Options{Now: (&clock{unix: epoch}).Now})
	var passed, refused atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 30 {
				s, err := l.Take(context.Background(), "k")
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
