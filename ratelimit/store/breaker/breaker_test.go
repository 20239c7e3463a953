package breaker_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/breaker"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

// A closed breaker changes nothing.
func TestConformance(t *testing.T) {
	clock := storetest.NewClock()
	storetest.Run(t, func(*testing.T) ratelimit.Store {
		s, _ := breaker.New(memstore.New(&memstore.Options{Now: clock.Now}), nil)
		return s
	}, &storetest.Options{Clock: clock, MaxCount: 1 << 62})
}

// flaky is a store that fails when told to.
type flaky struct {
	err   error
	calls atomic.Int32
}

func (f *flaky) Add(context.Context, []ratelimit.Hit) error {
	f.calls.Add(1)
	return f.err
}

// rig is a breaker that opens after three failures for a second, then two, then three.
type rig struct {
	t     *testing.T
	inner *flaky
	store ratelimit.Store
	b     *breaker.Breaker
	now   time.Time
}

var errDown = errors.New("connection refused")

func newRig(t *testing.T) *rig {
	r := &rig{t: t, inner: &flaky{}, now: time.Unix(1000, 0)}
	r.store, r.b = breaker.New(r.inner, &breaker.Options{
		Failures: 3, MaxWait: 3 * time.Second, Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler),
	})
	return r
}

// call makes a call and requires its error, the state after it, and whether it reached
// the store.
func (r *rig) call(want error, state breaker.State, reached bool) {
	r.t.Helper()
	before := r.inner.calls.Load()
	require.ErrorIs(r.t, r.store.Add(r.t.Context(), nil), want)
	require.Equal(r.t, state, r.b.State(), "state")
	require.Equal(r.t, reached, r.inner.calls.Load() > before, "the store was called")
}

func TestLife(t *testing.T) {
	r := newRig(t)
	r.call(nil, breaker.Closed, true)
	r.inner.err = errDown
	r.call(errDown, breaker.Closed, true)
	r.call(errDown, breaker.Closed, true)
	r.inner.err = nil
	r.call(nil, breaker.Closed, true) // in a row, or it does not count
	r.inner.err = errDown
	r.call(errDown, breaker.Closed, true)
	r.call(errDown, breaker.Closed, true)
	r.call(errDown, breaker.Open, true)
	r.call(breaker.ErrOpen, breaker.Open, false)

	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		r.now = r.now.Add(wait - 1)
		r.call(breaker.ErrOpen, breaker.Open, false)
		r.now = r.now.Add(1)
		r.call(errDown, breaker.Open, true) // a probe
		r.call(breaker.ErrOpen, breaker.Open, false)
	}
	r.inner.err = nil
	r.now = r.now.Add(3 * time.Second)
	r.call(nil, breaker.Closed, true)
	r.call(nil, breaker.Closed, true)
	require.EqualValues(t, 1, r.b.Opened())
	require.EqualValues(t, 9, r.b.Refused())

	// The next time it begins anew.
	r.inner.err = errDown
	for range 3 {
		r.store.Add(t.Context(), nil)
	}
	require.EqualValues(t, 2, r.b.Opened())
	r.now = r.now.Add(time.Second)
	r.inner.err = nil
	r.call(nil, breaker.Closed, true)
}

// A caller that gives up says nothing about the store; one whose time runs out does.
func TestWhatCounts(t *testing.T) {
	r := newRig(t)
	r.inner.err = context.Canceled
	for range 10 {
		r.call(context.Canceled, breaker.Closed, true)
	}
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	r.inner.err = gone // the cause, which a store may return
	for range 10 {
		require.ErrorIs(t, r.store.Add(ctx, nil), gone)
	}
	r.inner.err = context.DeadlineExceeded
	r.call(context.DeadlineExceeded, breaker.Closed, true)
	r.call(context.DeadlineExceeded, breaker.Closed, true)
	r.call(context.DeadlineExceeded, breaker.Open, true)

	// Nor does a key that the store can't hold: that is the caller's, too.
	r = newRig(t)
	r.inner.err = &ratelimit.Error{Kind: ratelimit.Invalid, Message: "the key is too long"}
	for range 10 {
		r.call(r.inner.err, breaker.Closed, true)
	}

	r = newRig(t)
	r.inner.err = errDown
	for range 3 {
		r.store.Add(t.Context(), nil)
	}
	// A probe that is given up leaves the next call to be one.
	r.now = r.now.Add(time.Second)
	r.inner.err = context.Canceled
	r.call(context.Canceled, breaker.Open, true)
	r.inner.err = nil
	r.call(nil, breaker.Closed, true)
}

// More failures than can be counted are as many as can.
func TestFailuresWithoutEnd(t *testing.T) {
	for _, bits := range []int{31, 32, 62} {
		failures := int(uint64(1) << bits)
		store, b := breaker.New(&idle{errDown}, &breaker.Options{Failures: failures, Log: slog.New(slog.DiscardHandler)})
		require.ErrorIs(t, store.Add(t.Context(), nil), errDown)
		require.Equal(t, breaker.Closed, b.State(), "after one failure of %d", failures)
	}
}

// gate is a store whose calls last until they are let go.
type gate struct {
	entered chan struct{}
	leave   chan error
}

func (g *gate) Add(context.Context, []ratelimit.Hit) error {
	g.entered <- struct{}{}
	return <-g.leave
}

// While a probe is under way all others fail at once.
func TestOneProbe(t *testing.T) {
	g := &gate{make(chan struct{}), make(chan error)}
	var now atomic.Int64
	store, b := breaker.New(g, &breaker.Options{
		Failures: 1, Now: func() time.Time { return time.Unix(now.Load(), 0) }, Log: slog.New(slog.DiscardHandler),
	})
	call := func() chan error {
		done := make(chan error, 1)
		go func() { done <- store.Add(context.Background(), nil) }()
		return done
	}
	first := call()
	<-g.entered
	g.leave <- errDown
	require.ErrorIs(t, <-first, errDown)
	now.Add(1)
	probe := call()
	<-g.entered
	require.Equal(t, breaker.HalfOpen, b.State())
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if err := store.Add(context.Background(), nil); !errors.Is(err, breaker.ErrOpen) {
				t.Errorf("got %v beside a probe", err)
			}
		})
	}
	others.Wait()
	g.leave <- nil
	require.NoError(t, <-probe)
	require.Equal(t, breaker.Closed, b.State())
}

// A store that panics is one that fails, and a probe that panics ends.
func TestPanic(t *testing.T) {
	var now time.Time
	store, b := breaker.New(panicking{}, &breaker.Options{Failures: 1, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	require.Panics(t, func() { store.Add(t.Context(), nil) })
	require.Equal(t, breaker.Open, b.State())
	now = now.Add(time.Second)
	require.Panics(t, func() { store.Add(t.Context(), nil) })
	require.Equal(t, breaker.Open, b.State())
}

type panicking struct{}

func (panicking) Add(context.Context, []ratelimit.Hit) error { panic("boom") }

// The store is conditional just if the one inside is.
func TestConditional(t *testing.T) {
	store, _ := breaker.New(memstore.New(nil), nil)
	require.Implements(t, (*ratelimit.ConditionalStore)(nil), store)
	store, _ = breaker.New(&flaky{}, nil)
	_, ok := store.(ratelimit.ConditionalStore)
	require.False(t, ok)
}

func TestStateNames(t *testing.T) {
	require.Equal(t, "closed open half-open", breaker.Closed.String()+" "+breaker.Open.String()+" "+breaker.HalfOpen.String())
}

// What a breaker costs while it is closed, and what a refusal costs.
func BenchmarkAdd(b *testing.B) {
	b.Run("bare", func(b *testing.B) { benchmark(b, &idle{}) })
	b.Run("closed", func(b *testing.B) {
		s, _ := breaker.New(&idle{}, nil)
		benchmark(b, s)
	})
	b.Run("open", func(b *testing.B) {
		s, _ := breaker.New(&idle{errDown}, &breaker.Options{Failures: 1, Wait: time.Hour, Log: slog.New(slog.DiscardHandler)})
		benchmark(b, s)
	})
}

type idle struct{ err error }

func (i *idle) Add(context.Context, []ratelimit.Hit) error { return i.err }

func benchmark(b *testing.B, s ratelimit.Store) {
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			_ = s.Add(context.Background(), nil)
		}
	})
}
