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

// stuckConn reads nothing while it is stuck.
type stuckConn struct {
	net.Conn
	stuck *atomic.Pointer[chan struct{}]
}

func (c stuckConn) Read(p []byte) (int, error) {
	if gate := c.stuck.Load(); gate != nil {
		<-*gate
	}
	return c.Conn.Read(p)
}

// exhausted is a store whose first connection, the only one unless PoolSize is set, is in
// use by a call that is under way until release. Others that it may open work.
func exhausted(t *testing.T, opts redisstore.Options) (store *redisstore.Store, release func()) {
	t.Helper()
	var stuck atomic.Pointer[chan struct{}]
	var dialled atomic.Int32
	opts.PoolSize = max(opts.PoolSize, 1)
	opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dialled.Add(1) > 1 {
			return conn, err
		}
		return stuckConn{conn, &stuck}, err
	}
	store = open(t, redistest.Start(t, nil).Addr, &opts)
	rest(t, store)
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
	require.Eventually(t, store.OneRunning, forever, time.Millisecond)
	return store, release
}

const forLong = 5 * time.Minute // longer than forever

func TestPoolThatIsEmptyFails(t *testing.T) {
	const wait = 50 * time.Millisecond
	store, release := exhausted(t, redisstore.Options{OnEmpty: redisstore.Fail, OnEmptyWait: wait, Timeout: forLong})
	begin := time.Now()
	err := bounded(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{hit("second", 1)}) })
	require.ErrorIs(t, err, redisstore.ErrPoolEmpty)
	require.GreaterOrEqual(t, time.Since(begin), wait)
	require.EqualValues(t, 1, store.Stats().Total, "no connection is opened")
	release()
	require.EqualValues(t, 1, add(t, store, hit("second", 1)), "the call that failed was not counted")
}

func TestPoolThatIsEmptyFailsAtOnce(t *testing.T) {
	store, _ := exhausted(t, redisstore.Options{OnEmpty: redisstore.Fail, OnEmptyWait: redisstore.NoWait, Timeout: forLong})
	require.ErrorIs(t, bounded(t, store.Ping), redisstore.ErrPoolEmpty)
}

func TestPoolThatIsEmptyCreates(t *testing.T) {
	const wait = 50 * time.Millisecond
	store, release := exhausted(t, redisstore.Options{OnEmpty: redisstore.Create, OnEmptyWait: wait, Timeout: forLong})
	for want := range uint64(3) {
		begin := time.Now()
		require.Equal(t, want+1, add(t, store, hit("second", 1)))
		require.GreaterOrEqual(t, time.Since(begin), wait)
		require.Equal(t, redisstore.Stats{Active: 2, Total: 2}, store.Stats(), "one connection beyond the pool is opened")
	}
	release()
	require.EqualValues(t, 4, add(t, store, hit("second", 1)))
	require.Eventually(t, store.Idle, forever, time.Millisecond)
	require.Equal(t, redisstore.Stats{Active: 1, Total: 2, Closed: 1}, store.Stats(), "no more connections than PoolSize are kept")
}

func TestPoolThatIsEmptyWaits(t *testing.T) {
	store, release := exhausted(t, redisstore.Options{OnEmpty: redisstore.Wait, OnEmptyWait: time.Nanosecond, Timeout: forLong})
	second := make(chan error, 1)
	go func() { second <- store.Add(context.Background(), []ratelimit.Hit{hit("second", 1)}) }()
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, forever, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, store.Ping(ctx), context.DeadlineExceeded, "as long as the call may last")
	release()
	require.NoError(t, <-second)
	require.EqualValues(t, 1, store.Stats().Total)
}

func TestPoolThatStaysEmptyTimesOut(t *testing.T) {
	for _, onEmpty := range []redisstore.OnEmpty{redisstore.Create, redisstore.Fail, redisstore.Wait} {
		server := redistest.Start(t, nil)
		store := open(t, server.Addr, &redisstore.Options{
			PoolSize: 1, OnEmpty: onEmpty, OnEmptyWait: forLong, Timeout: 200 * time.Millisecond,
		})
		// More than one attempt, where connecting takes longer than the timeout.
		require.NoError(t, store.WaitReady(t.Context(), &redisstore.Backoff{Initial: time.Millisecond}))
		server.Freeze()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := bounded(t, store.Ping); err == nil {
					t.Error("a server that has stopped has answered")
				}
			})
		}
		all.Wait()
		server.Thaw()
	}
}

func TestStuckConnectionHoldsUpItsOwnCallsOnly(t *testing.T) {
	// With a pool of two the next connection is not one beyond it.
	store, _ := exhausted(t, redisstore.Options{PoolSize: 2, OnEmpty: redisstore.Fail, OnEmptyWait: forLong, Timeout: forLong})
	require.NoError(t, bounded(t, store.Ping))
	require.EqualValues(t, 2, store.Stats().Active)
}
