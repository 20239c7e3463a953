package ratelimit_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var errDown = errors.New("connection refused")

// A store failure fails the call, with the cause for the log. The
// hits are counted all the same (REFERENCE.md, 4.1), and nothing else.
func TestStoreFailure(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 5))
	b.store.err = errDown
	var d ratelimit.Decision
	r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{hits(3, desc("k", "v")), override(1, ratelimit.Second, desc("o", ""))}}
	err := b.engine.DecideInto(t.Context(), &r, &d)
	if !errors.Is(err, errDown) {
		t.Errorf("the cause is lost: %v", err)
	}
	equal(t, "kind", ratelimit.KindOf(err), ratelimit.StoreFailure)
	e, ok := errors.AsType[*ratelimit.Error](err)
	if !ok || strings.Contains(e.Message, errDown.Error()) || err.Error() != e.Message+": "+errDown.Error() {
		t.Errorf("message is %+v", e)
	}
	equal(t, "statistics", b.stats.counts(), map[string]counts{"domain.k": {TotalHits: 3}, "domain.o": {TotalHits: 1}})
	equal(t, "kind of another error", ratelimit.KindOf(errDown), 0)
	equal(t, "kind of none", ratelimit.KindOf(nil), 0)
}

// The caller's context reaches the store.
func TestStoreContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := ratelimit.MustNew(storeFunc(func(ctx context.Context, _ []ratelimit.Hit) error { return ctx.Err() }), nil)
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("k", "", 1)}}))
	_, err := e.Decide(ctx, &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "")}})
	if !errors.Is(err, context.Canceled) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
		t.Errorf("got %v", err)
	}
}

type storeFunc func(ctx context.Context, hits []ratelimit.Hit) error

func (f storeFunc) Add(ctx context.Context, hits []ratelimit.Hit) error { return f(ctx, hits) }

// The hits of a rule with a lease say so, and those of other rules and of requests do not.
func TestStoreLease(t *testing.T) {
	var got []bool
	e := ratelimit.MustNew(storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
		for _, h := range hits {
			got = append(got, h.Lease)
		}
		return nil
	}), nil)
	leased := rule("leased", "", 5)
	leased.Limit.Lease = true
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{leased, rule("k", "", 5)}}))
	var d ratelimit.Decision
	for _, r := range [][]ratelimit.Descriptor{
		{desc("leased", "v"), desc("k", "v"), override(1, ratelimit.Second, desc("leased", "v"))},
		{desc("k", "v"), override(1, ratelimit.Second, desc("leased", "v")), desc("leased", "v")}, // in the same memory
	} {
		if err := e.DecideInto(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: r}, &d); err != nil {
			t.Fatal(err)
		}
	}
	if want := []bool{true, false, false, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("leases of the hits: %v, want %v", got, want)
	}
}

// The engine uses the counts of the store. A store that counts late lets more pass.
func TestStoreThatCountsLate(t *testing.T) {
	late := newMapStore()
	lagging := storeFunc(func(ctx context.Context, hits []ratelimit.Hit) error {
		seen := late.contents()
		if err := late.Add(ctx, hits); err != nil {
			return err
		}
		for i := range hits {
			hits[i].Count = seen[string(hits[i].Key)]/2 + hits[i].N
		}
		return nil
	})
	e := ratelimit.MustNew(lagging, &ratelimit.Options{Now: (&clock{unix: epoch}).Now})
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("k", "", 3)}}))
	passed := 0
	for range 20 {
		var d ratelimit.Decision
		if err := e.DecideInto(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "")}}, &d); err != nil {
			t.Fatal(err)
		}
		if d.Code == ratelimit.OK {
			passed++
		}
	}
	equal(t, "passed", passed, 6)
}

// perSecondBench has one rule per second and one per minute, on two stores.
func perSecondBench(t *testing.T, opts ratelimit.Options) (b *bench, second *mapStore) {
	t.Helper()
	second = newMapStore()
	opts.PerSecond = second
	b = newBench(t, &opts, ratelimit.Rule{Key: "s", Limit: per(2, ratelimit.Second)}, rule("m", "", 2))
	return b, second
}

// Each store gets its own hits only; without hits it is not called.
func TestPerSecondSplit(t *testing.T) {
	b, second := perSecondBench(t, ratelimit.Options{})
	d := b.decide(desc("m", "1"), desc("s", "1"), hits(2, desc("m", "2")), hits(3, desc("s", "2")),
		override(5, ratelimit.Second, desc("m", "3")), override(5, ratelimit.Hour, desc("s", "3")))
	equal(t, "main", b.store.recorded(), [][]string{{"domain_m_1_1200+1", "domain_m_2_1200+2", "domain_s_3_0+1"}})
	equal(t, "per second", second.recorded(), [][]string{{"domain_s_1_1234+1", "domain_s_2_1234+3", "domain_m_3_1234+1"}})
	equal(t, "codes", codes(d), "ok ok ok over ok ok")
	for i, want := range []uint32{1, 1, 0, 0, 4, 4} {
		equal(t, "remaining "+decimal(uint64(i)), d.Statuses[i].Remaining, want)
	}
	b.decide(desc("s", "1"))
	equal(t, "main after seconds only", len(b.store.calls), 1)
	b.decide(desc("m", "1"))
	equal(t, "per second after minutes only", len(second.calls), 2)
}

// Without a per-second store the main store has all counters.
func TestNoPerSecondStore(t *testing.T) {
	b := newBench(t, nil, ratelimit.Rule{Key: "s", Limit: per(2, ratelimit.Second)}, rule("m", "", 2))
	b.decide(desc("m", ""), desc("s", ""))
	equal(t, "store calls", b.store.recorded(), [][]string{{"domain_m__1200+1", "domain_s__1234+1"}})
}

// Both stores are called at the same time: two calls of a second each take one second
// together.
func TestPerSecondAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(s *mapStore) storeFunc {
			return func(ctx context.Context, hits []ratelimit.Hit) error {
				time.Sleep(time.Second)
				return s.Add(ctx, hits)
			}
		}
		main, second := newMapStore(), newMapStore()
		e := ratelimit.MustNew(slow(main), &ratelimit.Options{PerSecond: slow(second)})
		e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{{Key: "s", Limit: per(2, ratelimit.Second)}, rule("m", "", 2)}}))
		start := time.Now()
		var d ratelimit.Decision
		err := e.DecideInto(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("m", ""), desc("s", "")}}, &d)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "took", time.Since(start), time.Second)
		equal(t, "calls", len(main.calls)+len(second.calls), 2)
	})
}

// Either store's failure fails the call; both are waited for, since the hits are
// memory of the caller.
func TestPerSecondFailure(t *testing.T) {
	errOther := errors.New("other")
	for _, tt := range []struct {
		name         string
		main, second error
		want         error
	}{
		{"main", errDown, nil, errDown},
		{"per second", nil, errDown, errDown},
		{"both", errDown, errOther, errDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, second := perSecondBench(t, ratelimit.Options{})
			b.store.err, second.err = tt.main, tt.second
			var d ratelimit.Decision
			r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("m", ""), desc("s", "")}}
			err := b.engine.DecideInto(t.Context(), &r, &d)
			if !errors.Is(err, tt.want) || ratelimit.KindOf(err) != ratelimit.StoreFailure {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			equal(t, "calls", len(b.store.calls)+len(second.calls), 2)
			equal(t, "statistics", b.stats.counts(), map[string]counts{"domain.m": {TotalHits: 1}, "domain.s": {TotalHits: 1}})
		})
	}
}

// The engine waits for a slow store even if the other has failed already.
func TestPerSecondFailureWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		slow := storeFunc(func(context.Context, []ratelimit.Hit) error {
			time.Sleep(time.Minute)
			finished = true
			return nil
		})
		down := storeFunc(func(context.Context, []ratelimit.Hit) error { return errDown })
		e := ratelimit.MustNew(down, &ratelimit.Options{PerSecond: slow})
		e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{{Key: "s", Limit: per(2, ratelimit.Second)}, rule("m", "", 2)}}))
		_, err := e.Decide(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("m", ""), desc("s", "")}})
		if !errors.Is(err, errDown) || !finished {
			t.Errorf("got %v, finished %v", err, finished)
		}
	})
}

// A panic of either of two stores, or of the only one, fails the call like an error
// of that store, after both are done with the hits.
func TestStorePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := storeFunc(func(context.Context, []ratelimit.Hit) error { panic("out of order") })
		exits := storeFunc(func(context.Context, []ratelimit.Hit) error { runtime.Goexit(); return nil })
		finished := 0
		slow := storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
			time.Sleep(time.Minute)
			hits[0].Count = 1
			finished++
			return nil
		})
		for _, tt := range []struct {
			name         string
			main, second ratelimit.Store
			want         string
			finished     int
		}{
			{"main of two", panics, slow, "out of order", 1},
			{"per second of two", slow, panics, "out of order", 1},
			{"per second exits", slow, exits, "ended its goroutine", 1},
			{"both", panics, panics, "out of order", 0},
			{"only", panics, nil, "out of order", 0},
		} {
			finished = 0
			e := ratelimit.MustNew(tt.main, &ratelimit.Options{PerSecond: tt.second})
			e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{{Key: "s", Limit: per(2, ratelimit.Second)}, rule("m", "", 2)}}))
			_, err := e.Decide(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("m", ""), desc("s", "")}})
			if ratelimit.KindOf(err) != ratelimit.StoreFailure || !strings.Contains(err.Error(), tt.want) || finished != tt.finished {
				t.Errorf("%s: got %v, %d stores finished, want a store failure with %q and %d", tt.name, err, finished, tt.want, tt.finished)
			}
		}
	})
}

// A FailurePolicy applies to panics, those of the fallback store included.
func TestStorePanicsWithPolicy(t *testing.T) {
	panics := storeFunc(func(context.Context, []ratelimit.Hit) error { panic("out of order") })
	request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("m", "")}}
	for policy, want := range map[ratelimit.FailurePolicy]ratelimit.ErrorKind{
		ratelimit.FailAllow: 0,
		ratelimit.FailLocal: ratelimit.StoreFailure,
	} {
		e := ratelimit.MustNew(panics, &ratelimit.Options{OnStoreFailure: policy, Fallback: panics})
		e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("m", "", 2)}}))
		_, err := e.Decide(t.Context(), request)
		equal(t, string(policy), ratelimit.KindOf(err), want)
	}
}

// TestJitter checks the TTL: 1 second and a jitter of 100 of 3600 make 101 seconds.
func TestJitter(t *testing.T) {
	tests := []struct {
		name   string
		jitter time.Duration
		bound  uint32 // argument of Rand; 0: not called
	}{
		{"an hour", 3600 * time.Second, 3600},
		{"none", 0, 0},
		{"less than a second", 999 * time.Millisecond, 0},
		{"rounded down", 2999 * time.Millisecond, 2},
		{"the longest", 10 * 365 * 24 * time.Hour, 315_360_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var bounds []uint32
			o := ratelimit.Options{ExpiryJitter: tt.jitter, Rand: func(n uint32) uint32 {
				bounds = append(bounds, n)
				return min(100, n-1)
			}}
			b := newBench(t, &o, ratelimit.Rule{Key: "s", Limit: per(2, ratelimit.Second)}, rule("m", "", 2))
			b.decide(desc("s", ""), desc("m", ""), desc("none", ""))
			want, drawn := []uint32(nil), uint32(0)
			if tt.bound > 0 {
				want, drawn = []uint32{tt.bound, tt.bound}, min(100, tt.bound-1)
			}
			equal(t, "bounds", bounds, want)
			call := b.store.lastCall()
			equal(t, "second", call[0].TTL(), time.Duration(1+drawn)*time.Second)
			equal(t, "minute", call[1].TTL(), time.Duration(60+drawn)*time.Second)
		})
	}
}

// The default source stays within its bounds.
func TestJitterByDefault(t *testing.T) {
	b := newBench(t, &ratelimit.Options{ExpiryJitter: 4 * time.Second}, rule("k", "", 2))
	seen := make(map[uint32]bool)
	for range 400 {
		b.decide(desc("k", ""))
		seen[b.store.lastCall()[0].Jitter] = true
	}
	equal(t, "seen", seen, map[uint32]bool{0: true, 1: true, 2: true, 3: true})
}
