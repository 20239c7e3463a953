package redisstore_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// blockedConn reads nothing while it is blocked.
type blockedConn struct {
	net.Conn
	stuck *atomic.Pointer[chan struct{}]
}

func (c blockedConn) Read(p []byte) (int, error) {
	if gate := c.stuck.Load(); gate != nil {
		<-*gate
	}
	return c.Conn.Read(p)
}

// poolInUse returns a store whose first connection, the only one unless PoolSize is set,
// is used by a call until release is called. Further connections work.
func poolInUse(t *testing.T, opts redisstore.Options) (store *redisstore.Store, release func()) {
	t.Helper()
	var stuck atomic.Pointer[chan struct{}]
	var dialled atomic.Int32
	opts.PoolSize = max(opts.PoolSize, 1)
	opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dialled.Add(1) > 1 {
			return conn, err
		}
		return blockedConn{conn, &stuck}, err
	}
	store = open(t, redistest.Start(t, nil).Addr, &opts)
	waitIdle(t, store)
	gate := make(chan struct{})
	stuck.Store(&gate)
	first := make(chan error, 1)
	go func() { first <- store.Add(context.Background(), []ratelimit.Hit{hit("first", 1)}) }()
	release = sync.OnceFunc(func() {
		stuck.Store(nil)
		close(gate)
		require.NoError(t, <-first)
	})
	t.Cleanup(release)
	require.Eventually(t, store.OneRunning, testTimeout, time.Millisecond)
	return store, release
}

const longTimeout = 5 * time.Minute // longer than testTimeout

func TestPoolOnEmptyFail(t *testing.T) {
	const wait = 50 * time.Millisecond
	store, release := poolInUse(t, redisstore.Options{OnEmpty: redisstore.Fail, OnEmptyWait: wait, Timeout: longTimeout})
	begin := time.Now()
	err := withinTestTimeout(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{hit("second", 1)}) })
	require.ErrorIs(t, err, redisstore.ErrPoolEmpty)
	require.GreaterOrEqual(t, time.Since(begin), wait)
	require.EqualValues(t, 1, store.Stats().Total, "no connection is opened")
	release()
	require.EqualValues(t, 1, add(t, store, hit("second", 1)), "the failed call was not counted")
}

// TestOverloadSuspendsNothing makes more calls than a healthy server's connections and
// queue can take.
func TestOverloadSuspendsNothing(t *testing.T) {
	for what, c := range map[string]struct {
		opts redisstore.Options
		want error
	}{
		"pool empty": {redisstore.Options{OnEmpty: redisstore.Fail, OnEmptyWait: redisstore.NoWait, Timeout: longTimeout, BreakerFailures: 1}, redisstore.ErrPoolEmpty},
		"queue full": {redisstore.Options{OnEmpty: redisstore.Wait, MaxWaiting: 1, Timeout: longTimeout, BreakerFailures: 1}, redisstore.ErrBusy},
	} {
		t.Run(what, func(t *testing.T) {
			store, release := poolInUse(t, c.opts)
			waiting := make(chan error, 1)
			if c.want == redisstore.ErrBusy {
				go func() { waiting <- store.Ping(context.Background()) }()
				require.Eventually(t, func() bool { return store.Waiting() == 1 }, testTimeout, time.Millisecond)
			}
			for range 3 {
				err := withinTestTimeout(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{hit("x", 1)}) })
				require.ErrorIs(t, err, c.want)
				require.ErrorIs(t, err, ratelimit.ErrOverloaded)
			}
			require.Zero(t, store.Stats().Suspensions)
			release()
		})
	}
}

func TestPoolOnEmptyFailNoWait(t *testing.T) {
	store, _ := poolInUse(t, redisstore.Options{OnEmpty: redisstore.Fail, OnEmptyWait: redisstore.NoWait, Timeout: longTimeout})
	require.ErrorIs(t, withinTestTimeout(t, store.Ping), redisstore.ErrPoolEmpty)
}

func TestPoolOnEmptyCreate(t *testing.T) {
	const wait = 50 * time.Millisecond
	store, release := poolInUse(t, redisstore.Options{OnEmpty: redisstore.Create, OnEmptyWait: wait, Timeout: longTimeout})
	for want := range uint64(3) {
		begin := time.Now()
		require.Equal(t, want+1, add(t, store, hit("second", 1)))
		require.GreaterOrEqual(t, time.Since(begin), wait)
		require.Equal(t, redisstore.Stats{Active: 2, Total: 2}, store.Stats(), "one connection beyond the pool is opened")
	}
	release()
	require.EqualValues(t, 4, add(t, store, hit("second", 1)))
	require.Eventually(t, store.Idle, testTimeout, time.Millisecond)
	require.Equal(t, redisstore.Stats{Active: 1, Total: 2, Closed: 1}, store.Stats(), "no more connections than PoolSize are kept")
}

func TestPoolOnEmptyWait(t *testing.T) {
	store, release := poolInUse(t, redisstore.Options{OnEmpty: redisstore.Wait, OnEmptyWait: time.Nanosecond, Timeout: longTimeout})
	second := make(chan error, 1)
	go func() { second <- store.Add(context.Background(), []ratelimit.Hit{hit("second", 1)}) }()
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, testTimeout, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, store.Ping(ctx), context.DeadlineExceeded, "as long as the call may last")
	release()
	require.NoError(t, <-second)
	require.EqualValues(t, 1, store.Stats().Total)
}

func TestPoolTimeout(t *testing.T) {
	for _, onEmpty := range []redisstore.OnEmpty{redisstore.Create, redisstore.Fail, redisstore.Wait} {
		server := redistest.Start(t, nil)
		store := open(t, server.Addr, &redisstore.Options{
			PoolSize: 1, OnEmpty: onEmpty, OnEmptyWait: longTimeout, Timeout: 200 * time.Millisecond,
		})
		// Retried, because connecting may take longer than the timeout.
		require.NoError(t, store.WaitReady(t.Context(), &redisstore.Backoff{Initial: time.Millisecond}))
		server.Freeze()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := withinTestTimeout(t, store.Ping); err == nil {
					t.Error("a frozen server has replied")
				}
			})
		}
		all.Wait()
		server.Thaw()
	}
}

func TestBlockedConnectionDelaysOnlyItsCalls(t *testing.T) {
	// With a pool of two the next connection is not an extra one.
	store, _ := poolInUse(t, redisstore.Options{PoolSize: 2, OnEmpty: redisstore.Fail, OnEmptyWait: longTimeout, Timeout: longTimeout})
	require.NoError(t, withinTestTimeout(t, store.Ping))
	require.EqualValues(t, 2, store.Stats().Active)
}
