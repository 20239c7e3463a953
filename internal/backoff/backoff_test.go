package backoff_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

func TestLongest(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name    string
		backoff backoff.Backoff
		want    []time.Duration
	}{
		{"doubles by default", backoff.Backoff{Initial: s}, []time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{"stops at the maximum", backoff.Backoff{Initial: s, Max: 3 * s}, []time.Duration{s, 2 * s, 3 * s, 3 * s}},
		{"grows by the factor", backoff.Backoff{Initial: 10 * s, Max: 60 * s, Factor: 1.5}, []time.Duration{10 * s, 15 * s, 22*s + s/2}},
		{"cuts the first wait to the maximum", backoff.Backoff{Initial: 60 * s, Max: s}, []time.Duration{s, s}},
		{"zero value does not wait", backoff.Backoff{}, []time.Duration{0, 0, 0}},
	} {
		var got []time.Duration
		for i := range c.want {
			got = append(got, c.backoff.Wait(i))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWaitStaysWithinBounds(t *testing.T) {
	for _, factor := range []float64{0, 1.01, 2, 11, 1e300} {
		for _, jitter := range []float64{0, 0.5, 1} {
			b := backoff.Backoff{Initial: 10 * time.Second, Max: time.Minute, Factor: factor, Jitter: jitter}
			for _, n := range []int{-1, 0, 1, 2, 5, 100, 1e6, math.MaxInt} {
				whole := b
				whole.Jitter = 0
				longest, wait := whole.Wait(n), b.Wait(n)
				if longest > b.Max || longest < b.Initial {
					t.Errorf("%+v: the longest wait %d is %v", b, n, longest)
				}
				if shortest := time.Duration(float64(longest) * (1 - jitter)); wait > longest || wait < shortest-1 {
					t.Errorf("%+v: wait %d is %v, want %v to %v", b, n, wait, shortest, longest)
				}
			}
		}
	}
	if b := (backoff.Backoff{Initial: time.Hour}); b.Wait(math.MaxInt) <= 0 {
		t.Error("a wait without a maximum overflows")
	}
}

func TestWaitIsRandom(t *testing.T) {
	b := backoff.Backoff{Initial: time.Minute, Jitter: 0.5}
	waits := map[time.Duration]bool{}
	for range 10 {
		waits[b.Wait(0)] = true
	}
	if len(waits) < 2 {
		t.Errorf("ten waits are %v", waits)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := backoff.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("slept %v, error %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := backoff.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 61*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
