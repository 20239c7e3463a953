package breaker_test

import (
	"context"
	"errors"
	"fmt"
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
		return breaker.New(&takingStore{Store: memstore.New(&memstore.Options{Now: clock.Now})}, nil).Store()
	}, &storetest.Options{Clock: clock, MaxCount: 1 << 62, Subtracts: true, Takes: true})
}

// takingStore holds limits of every algorithm, and fails with err.
type takingStore struct {
	*memstore.Store
	err    error
	mu     sync.Mutex
	states map[string]ratelimit.State
}

func (s *takingStore) Take(_ context.Context, takes []ratelimit.Take) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range takes {
		state := s.states[string(takes[i].Key)]
		takes[i].Apply(&state)
		if s.states == nil {
			s.states = make(map[string]ratelimit.State)
		}
		s.states[string(takes[i].Key)] = state
	}
	if len(takes) == 0 {
		return nil
	}
	return s.err
}

// What an engine can hold must not depend on whether the store responds just now.
func TestTakes(t *testing.T) {
	now := time.Unix(1000, 0)
	inner := &takingStore{err: errDown}
	b := breaker.New(inner, &breaker.Options{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	store := b.Store().(ratelimit.TakeStore)
	one := []ratelimit.Take{{Key: []byte("a"), Algorithm: ratelimit.TokenBucket, N: 1}}
	for range 3 {
		now = now.Add(breaker.Evidence)
		require.ErrorIs(t, store.Take(t.Context(), one), errDown)
	}
	require.ErrorIs(t, store.Take(t.Context(), one), breaker.ErrOpen)
	require.NoError(t, store.Take(t.Context(), nil))

	none, ok := breaker.New(&fakeStore{}, nil).Store().(ratelimit.TakeStore)
	require.True(t, ok)
	require.ErrorIs(t, none.Take(t.Context(), one), errors.ErrUnsupported)
	require.ErrorIs(t, none.Take(t.Context(), nil), errors.ErrUnsupported)
}

// fakeStore returns err and counts its calls.
type fakeStore struct {
	err   error
	calls atomic.Int32
}

func (f *fakeStore) Add(context.Context, []ratelimit.Hit) error {
	f.calls.Add(1)
	return f.err
}

// fixture has a breaker that opens after three failures, for one second, then two, then
// three, of which up to a quarter is random.
type fixture struct {
	t     *testing.T
	inner *fakeStore
	b     *breaker.Breaker
	now   time.Time
}

var errDown = errors.New("connection refused")

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, inner: &fakeStore{}, now: time.Unix(1000, 0)}
	f.b = breaker.New(f.inner, &breaker.Options{
		Wait: time.Second, MaxWait: 3 * time.Second, Now: func() time.Time { return f.now }, Log: slog.New(slog.DiscardHandler),
	})
	return f
}

// call makes a call and requires its error, the state after it, and whether it reached
// the store.
func (f *fixture) call(want error, state breaker.State, reached bool) {
	f.t.Helper()
	before := f.inner.calls.Load()
	require.ErrorIs(f.t, f.b.Store().Add(f.t.Context(), nil), want)
	require.Equal(f.t, state, f.b.State(), "state")
	require.Equal(f.t, reached, f.inner.calls.Load() > before, "the store was called")
}

// open makes calls fail until the breaker opens.
func (f *fixture) open() {
	f.t.Helper()
	f.inner.err = errDown
	f.call(errDown, breaker.Closed, true)
	f.call(errDown, breaker.Closed, true)
	f.now = f.now.Add(breaker.Evidence)
	f.call(errDown, breaker.Open, true)
}

func TestStates(t *testing.T) {
	f := newFixture(t)
	f.call(nil, breaker.Closed, true)
	f.open()
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		f.now = f.now.Add(wait*3/4 - 1)
		f.call(breaker.ErrOpen, breaker.Open, false)
		f.now = f.now.Add(wait/4 + 1)
		f.call(errDown, breaker.Open, true) // a probe
		f.call(breaker.ErrOpen, breaker.Open, false)
	}
	f.inner.err = nil
	f.now = f.now.Add(3 * time.Second)
	f.call(nil, breaker.Closed, true)
	f.call(nil, breaker.Closed, true)
	require.EqualValues(t, 1, f.b.Opened())
	require.EqualValues(t, 8, f.b.Refused())

	// The next outage starts with the first wait again.
	f.open()
	require.EqualValues(t, 2, f.b.Opened())
	f.now = f.now.Add(time.Second)
	f.inner.err = nil
	f.call(nil, breaker.Closed, true)
}

// Many calls that fail at the same time are no evidence, and neither are failures beside more
// calls that succeed.
func TestEvidence(t *testing.T) {
	f := newFixture(t)
	for range 10 {
		f.inner.err = errDown
		for range 64 {
			f.call(errDown, breaker.Closed, true)
		}
		f.inner.err = nil
		for range 65 {
			f.call(nil, breaker.Closed, true)
		}
		f.now = f.now.Add(breaker.Evidence)
		f.call(nil, breaker.Closed, true)
	}
	f.inner.err = errDown
	for range 50 {
		f.now = f.now.Add(breaker.Evidence / 50)
		f.call(errDown, breaker.Closed, true)
	}
	f.now = f.now.Add(breaker.Evidence)
	f.call(errDown, breaker.Open, true)
}

// A caller that gives up is no evidence of a failing store; a deadline that is exceeded is.
func TestWhatCounts(t *testing.T) {
	f := newFixture(t)
	f.inner.err = context.Canceled
	for range 10 {
		f.call(context.Canceled, breaker.Closed, true)
	}
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	f.inner.err = gone // the cause, which a store may return
	for range 10 {
		require.ErrorIs(t, f.b.Store().Add(ctx, nil), gone)
	}
	f.inner.err = context.DeadlineExceeded
	f.call(context.DeadlineExceeded, breaker.Closed, true)
	f.call(context.DeadlineExceeded, breaker.Closed, true)
	f.now = f.now.Add(breaker.Evidence)
	f.call(context.DeadlineExceeded, breaker.Open, true)

	// Neither does an invalid request.
	f = newFixture(t)
	f.inner.err = &ratelimit.Error{Kind: ratelimit.Invalid, Message: "the key is too long"}
	for range 10 {
		f.now = f.now.Add(breaker.Evidence)
		f.call(f.inner.err, breaker.Closed, true)
	}

	// Neither does local overload, wrapped as a store would do it.
	f = newFixture(t)
	f.inner.err = fmt.Errorf("store: too many calls are waiting: %w", ratelimit.ErrOverloaded)
	for range 10 {
		f.now = f.now.Add(breaker.Evidence)
		f.call(f.inner.err, breaker.Closed, true)
	}

	f = newFixture(t)
	f.open()
	// A probe that is given up leaves the next call to be one.
	f.now = f.now.Add(time.Second)
	f.inner.err = context.Canceled
	f.call(context.Canceled, breaker.Open, true)
	f.inner.err = nil
	f.call(nil, breaker.Closed, true)
}

// blockingStore has calls that last until they are given a result.
type blockingStore struct {
	called chan struct{}
	result chan error
}

func (g *blockingStore) Add(context.Context, []ratelimit.Hit) error {
	g.called <- struct{}{}
	return <-g.result
}

// While a probe is running all other calls fail at once.
func TestOneProbe(t *testing.T) {
	g := &blockingStore{make(chan struct{}), make(chan error)}
	var now atomic.Int64
	b := breaker.New(g, &breaker.Options{
		Failures: 1, Now: func() time.Time { return time.Unix(now.Load(), 0) }, Log: slog.New(slog.DiscardHandler),
	})
	call := func() chan error {
		done := make(chan error, 1)
		go func() { done <- b.Store().Add(context.Background(), nil) }()
		return done
	}
	for range 2 {
		failing := call()
		<-g.called
		g.result <- errDown
		require.ErrorIs(t, <-failing, errDown)
		now.Add(1)
	}
	probe := call()
	<-g.called
	require.Equal(t, breaker.HalfOpen, b.State())
	var others sync.WaitGroup
	for range 20 {
		others.Go(func() {
			if err := b.Store().Add(context.Background(), nil); !errors.Is(err, breaker.ErrOpen) {
				t.Errorf("got %v beside a probe", err)
			}
		})
	}
	others.Wait()
	g.result <- nil
	require.NoError(t, <-probe)
	require.Equal(t, breaker.Closed, b.State())
}

// A panic of the store counts as a failure, of a probe too.
func TestPanic(t *testing.T) {
	var now time.Time
	b := breaker.New(panicking{}, &breaker.Options{Failures: 1, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	require.Panics(t, func() { b.Store().Add(t.Context(), nil) })
	now = now.Add(time.Second)
	require.Panics(t, func() { b.Store().Add(t.Context(), nil) })
	require.Equal(t, breaker.Open, b.State())
	now = now.Add(time.Second)
	require.Panics(t, func() { b.Store().Add(t.Context(), nil) })
	require.Equal(t, breaker.Open, b.State())
}

type panicking struct{}

func (panicking) Add(context.Context, []ratelimit.Hit) error { panic("boom") }

// The store is conditional if the one behind the breaker is.
func TestConditional(t *testing.T) {
	require.Implements(t, (*ratelimit.ConditionalStore)(nil), breaker.New(memstore.New(nil), nil).Store())
	_, ok := breaker.New(&fakeStore{}, nil).Store().(ratelimit.ConditionalStore)
	require.False(t, ok)
}

func TestStateNames(t *testing.T) {
	require.Equal(t, "closed open half-open", breaker.Closed.String()+" "+breaker.Open.String()+" "+breaker.HalfOpen.String())
}

// BenchmarkAdd measures the cost of a closed breaker and of a refused call.
func BenchmarkAdd(b *testing.B) {
	b.Run("bare", func(b *testing.B) { benchmark(b, &idle{}) })
	b.Run("closed", func(b *testing.B) {
		benchmark(b, breaker.New(&idle{}, nil).Store())
	})
	b.Run("open", func(b *testing.B) {
		benchmark(b, breaker.New(&idle{errDown}, &breaker.Options{Failures: 1, Wait: time.Hour, Log: slog.New(slog.DiscardHandler)}).Store())
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

// Subtract works as far as the inner store can, and is no evidence of a failure if it
// can't.
func TestSubtract(t *testing.T) {
	store := breaker.New(memstore.New(nil), nil).Store()
	hits := []ratelimit.Hit{{Key: []byte("k"), N: 3, Unit: ratelimit.Year}}
	require.NoError(t, store.Add(t.Context(), hits))
	hits[0].N = 1
	require.NoError(t, store.(ratelimit.SubtractStore).Subtract(t.Context(), hits))
	require.EqualValues(t, 2, hits[0].Count)

	b := breaker.New(&fakeStore{}, &breaker.Options{Failures: 1})
	require.ErrorIs(t, b.Store().(ratelimit.SubtractStore).Subtract(t.Context(), hits), errors.ErrUnsupported)
	require.Equal(t, breaker.Closed, b.State())
}
