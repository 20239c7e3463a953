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

// openProxied returns a store that is connected to its node through a proxy.
func openProxied(t *testing.T, opts *memcachestore.Options) (*memcachetest.Server, *proxy, *memcachestore.Store) {
	t.Helper()
	server := memcachetest.Start(t, nil)
	p := newProxy(t, server.Addr)
	return server, p, open(t, opts, p.Addr)
}

// canceled returns a context that is done.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestBurst delays increments, of a counter that exists and of one that does not: calls must
// count hits on their way, once.
func TestBurst(t *testing.T) {
	for _, exists := range []bool{false, true} {
		server, p, store := openProxied(t, nil)
		before := uint64(0)
		if exists {
			server.Set("burst", "100")
			before = 100
		}
		p.hold("incr")
		for round := range uint64(20) {
			before := before + 3*round
			require.Equal(t, []uint64{before + 1, before + 1, before + 3}, add(t, store, hit("burst", 1), hit("burst", 0), hit("burst", 2)))
		}
		require.Equal(t, 1, store.Stats().Pending, "hits on one counter wait together")
		require.ErrorIs(t, store.Flush(canceled()), context.Canceled)
		p.release()
		flush(t, store)
		require.Equal(t, []uint64{before + 60}, add(t, store, hit("burst", 0)))
		increments := store.Stats().Increment
		require.LessOrEqual(t, increments.Success+increments.Miss, uint64(3), "60 hits on one counter must take few increments")
	}
}

// TestValueThatMayIncludePendingHits has another client add as much as is on its way here.
// To the store it looks as if its own increment had been executed and the reply had not
// arrived, so it must not add the pending hits to the value.
func TestValueThatMayIncludePendingHits(t *testing.T) {
	server, p, store := openProxied(t, nil)
	server.Set("key", "1")
	p.hold("incr")
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 1)))
	require.Eventually(t, func() bool { return p.held() == 1 }, timeout, time.Millisecond)
	require.Equal(t, "2", server.Do("incr key 1"))
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 0)), "no count may be higher than the known number of hits")
	require.Equal(t, "3", server.Do("incr key 1"))
	require.Equal(t, []uint64{3}, add(t, store, hit("key", 0)))
	p.release()
	flush(t, store)
	require.Equal(t, []uint64{4}, add(t, store, hit("key", 0)))
}

// TestPendingIsBounded fills the queue of increments: a call that finds no room sends its
// increments before it returns, and no hit is lost.
func TestPendingIsBounded(t *testing.T) {
	server, p, store := openProxied(t, &memcachestore.Options{MaxPending: 3, MaxWorkers: 2})
	names := keys(8)
	p.hold("incr")
	for _, key := range names[:2] {
		add(t, store, hit(key, 1)) // under way
	}
	require.Eventually(t, func() bool { return p.held() == 2 }, timeout, time.Millisecond)
	for _, key := range names[2:5] {
		add(t, store, hit(key, 1)) // waiting
	}
	require.Equal(t, 5, store.Stats().Pending)

	done := make(chan error, 1)
	go func() { done <- store.Add(context.Background(), []ratelimit.Hit{hit(names[5], 1), hit(names[6], 1)}) }()
	require.Eventually(t, func() bool { return p.held() == 3 }, timeout, time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("the call returned %v while its increment was delayed", err)
	default:
	}
	require.Equal(t, []uint64{2}, add(t, store, hit(names[5], 1)), "hits on a waiting counter need no room")
	require.Equal(t, 7, store.Stats().Pending)

	p.release()
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

// TestCloseIsBounded closes the store while increments and a call hang.
func TestCloseIsBounded(t *testing.T) {
	_, p, store := openProxied(t, &memcachestore.Options{MaxWorkers: 1, CloseTimeout: time.Millisecond})
	p.hold("incr")
	add(t, store, hit("first", 2), hit("second", 3))
	require.Eventually(t, func() bool { return p.held() == 1 }, timeout, time.Millisecond)
	p.hold("gets")
	call := make(chan error, 1)
	go func() { call <- store.Add(context.Background(), []ratelimit.Hit{hit("first", 1)}) }()
	require.Eventually(t, func() bool { return p.held() == 2 }, timeout, time.Millisecond)

	err := store.Close()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "5 hits")
	require.EqualValues(t, 5, store.Stats().Lost)
	require.Error(t, <-call)
}

// TestAbandonedCallIsNotCounted cancels a call during its read.
func TestAbandonedCallIsNotCounted(t *testing.T) {
	server, p, store := openProxied(t, nil)
	p.hold("gets")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Add(ctx, []ratelimit.Hit{hit("key", 1)}) }()
	require.Eventually(t, func() bool { return p.held() == 1 }, timeout, time.Millisecond)
	cancel(context.DeadlineExceeded)
	require.ErrorIs(t, <-done, context.DeadlineExceeded)
	p.release()
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 2)))
	flush(t, store)
	require.Equal(t, "2", server.Value("key"))
}

func TestWaitingIsBounded(t *testing.T) {
	_, p, store := openProxied(t, &memcachestore.Options{MaxReads: 1, MaxWaiting: 1})
	p.hold("gets")
	done := make(chan error, 3)
	for range 3 { // one is being read, one waits, and one finds no room
		go func() { done <- store.Add(context.Background(), []ratelimit.Hit{hit("key", 1)}) }()
		require.Eventually(t, func() bool { return p.held() == 1 }, timeout, time.Millisecond)
	}
	err := <-done
	require.ErrorIs(t, err, memcachestore.ErrBusy)
	require.ErrorIs(t, err, ratelimit.ErrOverloaded, "a breaker must not count it as a failure of the node")
	p.release()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	flush(t, store)
	require.Equal(t, []uint64{2}, add(t, store, hit("key", 0)), "a call that finds no room is not counted")
}
