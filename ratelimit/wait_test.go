package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// waiting returns a Limiter in memory.
func waiting(t *testing.T, a ratelimit.Algorithm, n, burst uint32, unit ratelimit.Unit) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.NewLimiter("waiting", memstore.MustNew(nil), ratelimit.Limit{Algorithm: a, RequestsPerUnit: n, Burst: burst, Unit: unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Ten workers make 60 calls at 20 a second, in the order in which they come.
func TestWaitPassesAtTheRate(t *testing.T) {
	for a, most := range map[ratelimit.Algorithm]time.Duration{
		ratelimit.TokenBucket: 2960 * time.Millisecond, ratelimit.FixedWindow: 2010 * time.Millisecond, ratelimit.SlidingWindow: 3100 * time.Millisecond,
	} {
		burst := uint32(0)
		if a == ratelimit.TokenBucket {
			burst = 1
		}
		synctest.Test(t, func(t *testing.T) {
			l := waiting(t, a, 20, burst, ratelimit.Second)
			began := time.Now()
			var all sync.WaitGroup
			longest := make([]time.Duration, 10)
			for worker := range longest {
				all.Go(func() {
					for range 6 {
						asked := time.Now()
						if err := l.Wait(t.Context(), "key"); err != nil {
							t.Error(err)
						}
						longest[worker] = max(longest[worker], time.Since(asked))
					}
				})
			}
			all.Wait()
			if took := time.Since(began); took > most || took < most-200*time.Millisecond {
				t.Errorf("%v: 60 calls took %v, want up to %v", a, took, most)
			}
			for _, d := range longest {
				if a == ratelimit.TokenBucket && d > 501*time.Millisecond {
					t.Errorf("a worker waited %v: its turn is after 500 ms", d)
				}
			}
		})
	}
}

// A call that can't pass before its deadline ends at once and takes nothing, and one that gives up gives back.
func TestWaitThatEnds(t *testing.T) {
	for _, a := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindow, ratelimit.TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			l := waiting(t, a, 1, 0, ratelimit.Hour)
			began := time.Now()
			if err := l.Wait(t.Context(), "key"); err != nil || time.Since(began) > 0 {
				t.Fatal(err)
			}
			go func() { _ = l.Wait(t.Context(), "key") }() // its turn lasts until the test ends
			synctest.Wait()
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if err := l.Wait(ctx, "key"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
					t.Errorf("%v: after %v: %v", a, time.Since(began), err)
				}
				cancel()
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if err := l.Wait(ctx, "key"); !errors.Is(err, context.Canceled) {
				t.Errorf("%v: %v", a, err)
			}
			if err := l.WaitN(t.Context(), "key", 2); ratelimit.KindOf(err) != ratelimit.Invalid || time.Since(began) > time.Second {
				t.Errorf("%v: more than ever pass, after %v: %v", a, time.Since(began), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := waiting(t, ratelimit.TokenBucket, 2, 1, ratelimit.Second)
		for range 2 {
			_ = l.Wait(t.Context(), "key")
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if err := l.Wait(ctx, "key"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		asked := time.Now()
		if err := l.Wait(t.Context(), "key"); err != nil || time.Since(asked) > 401*time.Millisecond {
			t.Errorf("after %v: %v: the hit of the one who gave up was not given back", time.Since(asked), err)
		}
	})
}

func TestRetryAfterIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(700 * time.Millisecond)
		l := waiting(t, ratelimit.TokenBucket, 20, 1, ratelimit.Second)
		_, _ = l.Allow(t.Context(), "key")
		s, err := l.Allow(t.Context(), "key")
		if err != nil || s.RetryAfter() != 50*time.Millisecond || s.RetrySeconds != 1 {
			t.Errorf("bucket: %v, %d s, %v", s.RetryAfter(), s.RetrySeconds, err)
		}
		l = waiting(t, ratelimit.FixedWindow, 0, 0, ratelimit.Minute)
		s, err = l.Allow(t.Context(), "key")
		if err != nil || s.RetryAfter() != time.Duration(s.ResetSeconds)*time.Second-700*time.Millisecond {
			t.Errorf("window: %v of %d s, %v", s.RetryAfter(), s.ResetSeconds, err)
		}
	})
}
