package ratelimit_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// The system's clock is read once a second. In a bubble its seconds are exact:
// each decision must fall into the second it is made in.
func TestSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMapStore()
		e := ratelimit.MustNew(store, nil)
		e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{{Key: "s", Limit: per(1, ratelimit.Second)}, rule("m", "", 9)}}))
		time.Sleep(300 * time.Millisecond) // seconds need not begin with the first decision
		for _, wait := range []time.Duration{0, 699 * time.Millisecond, time.Millisecond, 999 * time.Millisecond, time.Second, time.Minute, 40*time.Minute + 1} {
			time.Sleep(wait)
			synctest.Wait()
			var d ratelimit.Decision
			r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("s", ""), desc("m", "")}}
			if err := e.DecideInto(t.Context(), &r, &d); err != nil {
				t.Fatal(err)
			}
			now := time.Now().Unix()
			equal(t, "second", store.lastCall()[0].Window, now)
			equal(t, "minute", store.lastCall()[1].Window, now/60*60)
			equal(t, "reset", d.Statuses[1].ResetSeconds, uint32(60-now%60))
		}
	})
}

// Many goroutines share the clock while seconds pass: no hit falls into a second
// that is over or has not begun.
func TestSystemClockConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMapStore()
		e := ratelimit.MustNew(store, nil)
		e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{{Key: "s", Limit: per(1, ratelimit.Second)}}}))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					var d ratelimit.Decision
					r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("s", "")}}
					if err := e.DecideInto(t.Context(), &r, &d); err != nil {
						t.Error(err)
					}
					time.Sleep(250*time.Millisecond + 1)
				}
			})
		}
		wg.Wait()
		seconds, sum := int64(0), uint64(0)
		for _, n := range store.contents() {
			seconds++
			sum += n
			if n > 40 {
				t.Errorf("%d hits in one second, at most 40 were made", n)
			}
		}
		equal(t, "hits", sum, 400)
		equal(t, "seconds", seconds, 13)
	})
}

// A clock that is set back opens its old windows again.
func TestClockSetBack(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 1))
	for _, step := range []struct {
		now  int64
		want ratelimit.Code
	}{{1200, ratelimit.OK}, {1260, ratelimit.OK}, {1201, ratelimit.OverLimit}, {1140, ratelimit.OK}} {
		b.clock.set(step.now)
		equal(t, decimal(uint64(step.now)), b.decide(desc("k", "v")).Code, step.want)
	}
}
