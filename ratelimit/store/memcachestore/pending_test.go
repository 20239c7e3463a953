package memcachestore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

// gated returns a store that speaks to its node through a gate.
func gated(t *testing.T, opts *memcachestore.Options) (*memcachetest.Server, *gate, *memcachestore.Store) {
	t.Helper()
	server := memcachetest.Start(t, nil)
	g := newGate(t, server.Addr)
	return server, g, open(t, opts, g.Addr)
}

// expired is a context that is done.
func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestBurst holds increments back, with the counter there and not there yet: calls must
// see what is on its way, once.
func TestBurst(t *testing.T) {
	for _, there := range []bool{false, true} {
		server, g, store := gated(t, nil)
		before := uint64(0)
		if there {
			server.Set("burst", "100")
			before = 100
		}
		g.hold("incr")
		for round := range uint64(20) {
			before := before + 3*round
			require.Equal(t, []uint64{before + 1, before + 1, before + 3}, add(t, store, hit("burst", 1), hit("burst", 0), hit("burst", 2)))
		}
		require.Equal(t, 1, store.Stats().Pending, "hits on one counter wait together")
		require.ErrorIs(t, store.Flush(expired()), context.Canceled)
		g.open()
		flush(t, store)
		require.Equal(t, []uint64{before + 60}, add(t, store, hit("burst", 0)))
		increments := store.Stats().Increment
		require.LessOrEqual(t, increments.Success+increments.Miss, uint64(3), "60 hits on one counter must take few increments")
	}
}

// TestValueThatMayHoldPendingHits has others count as much as is on its way here. For
// the store that looks as if its own increment had arrived and the answer had not; what
// is on its way must not be added to that.
func TestValueThatMayHoldPendingHits(t *testing.T) {
	server, g, store := gated(t, nil)
	server.Set("key", "1")
	g.hold("incr")
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 1)))
	require.Eventually(t, func() bool { return g.held() == 1 }, timeout, time.Millisecond)
	require.Equal(t, "2", server.Ask("incr key 1"))
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 0)), "no count may be higher than what is known to be counted")
	require.Equal(t, "3", server.Ask("incr key 1"))
	require.Equal(t, []uint64{3}, add(t, store, hit("key", 0)))
	g.open()
	flush(t, store)
	require.Equal(t, []uint64{4}, add(t, store, hit("key", 0)))
}

// TestPendingIsBounded fills the room for increments: the call for which there is none
// makes its own before it returns, and nothing is lost.
func TestPendingIsBounded(t *testing.T) {
	server, g, store := gated(t, &memcachestore.Options{MaxPending: 3, MaxWorkers: 2})
	names := keys(8)
	g.hold("incr")
	for _, key := range names[:2] {
		add(t, store, hit(key, 1)) // under way
	}
	require.Eventually(t, func() bool { return g.held() == 2 }, timeout, time.Millisecond)
	for _, key := range names[2:5] {
		add(t, store, hit(key, 1)) // waiting
	}
	require.Equal(t, 5, store.Stats().Pending)

	done := make(chan error, 1)
	go func() { done <- store.Add(context.Background(), []ratelimit.Hit{hit(names[5], 1), hit(names[6], 1)}) }()
	require.Eventually(t, func() bool { return g.held() == 3 }, timeout, time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("the call returned %v while its increment was held back", err)
	default:
	}
	require.Equal(t, []uint64{2}, add(t, store, hit(names[5], 1)), "hits on a counter that waits already need no room")
	require.Equal(t, 7, store.Stats().Pending)

	g.open()
	require.NoError(t, <-done)
	flush(t, store)
	require.EqualValues(t, 2, store.Stats().Held)
	require.Zero(t, store.Stats().Lost)
	for i, key := range names[:7] {
		want := "1"
		if i == 5 {
			want = "2"
		}
		require.Equal(t, want, server.Value(key), key)
	}
}

func TestCloseFlushes(t *testing.T) {
	servers, nodes := start(t, 3, nil)
	store := open(t, nil, nodes...)
	for range 3 {
		for _, key := range keys(300) {
			require.NoError(t, store.Add(t.Context(), []ratelimit.Hit{hit(key, 1)}))
		}
	}
	require.NoError(t, store.Close())
	require.NoError(t, store.Close(), "a second time")
	require.Zero(t, store.Stats().Lost)
	for _, key := range keys(300) {
		require.Equal(t, "3", servers[0].Value(key)+servers[1].Value(key)+servers[2].Value(key))
	}
	require.ErrorIs(t, store.Add(t.Context(), []ratelimit.Hit{hit("late", 1)}), memcachestore.ErrClosed)
	require.ErrorIs(t, store.Ping(t.Context()), memcachestore.ErrClosed)
	require.NoError(t, store.Flush(t.Context()))
}

// TestCloseIsBounded closes while increments, a call and a ping hang.
func TestCloseIsBounded(t *testing.T) {
	_, g, store := gated(t, &memcachestore.Options{MaxWorkers: 1, CloseTimeout: time.Millisecond})
	g.hold("incr")
	add(t, store, hit("first", 2), hit("second", 3))
	require.Eventually(t, func() bool { return g.held() == 1 }, timeout, time.Millisecond)
	g.hold("gets")
	call := make(chan error, 1)
	go func() { call <- store.Add(context.Background(), []ratelimit.Hit{hit("first", 1)}) }()
	require.Eventually(t, func() bool { return g.held() == 2 }, timeout, time.Millisecond)

	err := store.Close()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "5 hits are lost")
	require.EqualValues(t, 5, store.Stats().Lost)
	require.Error(t, <-call)
}

// TestAbandonedCallIsNotCounted has a caller give up while the node is read.
func TestAbandonedCallIsNotCounted(t *testing.T) {
	server, g, store := gated(t, nil)
	g.hold("gets")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Add(ctx, []ratelimit.Hit{hit("key", 1)}) }()
	require.Eventually(t, func() bool { return g.held() == 1 }, timeout, time.Millisecond)
	cancel(context.DeadlineExceeded)
	require.ErrorIs(t, <-done, context.DeadlineExceeded)
	g.open()
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 2)))
	flush(t, store)
	require.Equal(t, "2", server.Value("key"))
}

func TestWaitingIsBounded(t *testing.T) {
	_, g, store := gated(t, &memcachestore.Options{MaxReads: 1, MaxWaiting: 1})
	g.hold("gets")
	done := make(chan error, 3)
	for range 3 { // one is read, one waits, and for one there is no room
		go func() { done <- store.Add(context.Background(), []ratelimit.Hit{hit("key", 1)}) }()
		require.Eventually(t, func() bool { return g.held() == 1 }, timeout, time.Millisecond)
	}
	require.ErrorIs(t, <-done, memcachestore.ErrBusy)
	g.open()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	flush(t, store)
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 0)), "a call that finds no room is not counted")
}
