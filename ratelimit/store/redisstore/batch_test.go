package redisstore_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// oneConnection returns options with which calls have to wait for each other.
func oneConnection() *redisstore.Options {
	return &redisstore.Options{PoolSize: 1, OnEmpty: redisstore.Wait, Timeout: 30 * time.Second}
}

// waitIdle opens a connection and returns when the store has nothing to do.
func waitIdle(t *testing.T, store *redisstore.Store) {
	t.Helper()
	require.NoError(t, store.Ping(t.Context()))
	require.Eventually(t, store.Idle, testTimeout, time.Millisecond)
}

// frozenServerStore returns a store with a running call to a server that is frozen.
func frozenServerStore(t *testing.T, server *redistest.Server, opts *redisstore.Options) (store *redisstore.Store, first chan error) {
	t.Helper()
	store = open(t, server.Addr, opts)
	waitIdle(t, store)
	server.Freeze()
	t.Cleanup(server.Thaw)
	first = make(chan error, 1)
	go func() { first <- store.Add(context.Background(), []ratelimit.Hit{hit("first", 1)}) }()
	require.Eventually(t, store.OneRunning, testTimeout, time.Millisecond)
	return store, first
}

func TestHitsAreMerged(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := frozenServerStore(t, server, oneConnection())
	const callers = 50
	counts := make([]uint64, callers)
	key := uniqueName()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			hits := []ratelimit.Hit{hit(key, 2), hit("each"+key, 1), hit(key, 0)}
			if err := store.Add(t.Context(), hits); err != nil {
				t.Error(err)
			}
			if hits[0].Count != hits[2].Count {
				t.Errorf("a call added to get %d, and read %d", hits[0].Count, hits[2].Count)
			}
			counts[i] = hits[0].Count
		})
	}
	require.Eventually(t, func() bool { return store.Waiting() == callers }, testTimeout, time.Millisecond)
	server.Thaw()
	all.Wait()
	require.NoError(t, <-first)

	slices.Sort(counts)
	for i, count := range counts {
		require.EqualValues(t, 2*(i+1), count, "each caller gets the count that it would have got alone")
	}
	client := server.Client()
	require.Equal(t, 3, commandCalls(t, client, "incrby"), "one for the first call, and one for each of the two counters")
	require.Equal(t, "100", client.Get(t.Context(), string(hit(key, 0).Key)).Val())
}

func TestAbandonedWaitingCallIsNotCounted(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := frozenServerStore(t, server, oneConnection())
	ctx, cancel := context.WithCancel(t.Context())
	cause := make(chan error, 1)
	go func() { cause <- store.Add(ctx, []ratelimit.Hit{hit("given up", 1)}) }()
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, testTimeout, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-cause, context.Canceled)

	other := make(chan error, 1)
	go func() { other <- store.Add(context.Background(), []ratelimit.Hit{hit("other", 1)}) }()
	server.Thaw()
	require.NoError(t, <-first)
	require.NoError(t, <-other, "the other calls of the batch are not delayed")
	require.Zero(t, add(t, store, hit("given up", 0)))
}

func TestAbandonedRunningCallIsCountedOnce(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, oneConnection())
	waitIdle(t, store)
	server.Freeze()
	defer server.Thaw()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- store.Add(ctx, []ratelimit.Hit{hit("once", 1)}) }()
	require.Eventually(t, store.OneRunning, testTimeout, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-given, context.Canceled, "a caller that gives up returns at once")
	server.Thaw()
	require.EqualValues(t, 2, add(t, store, hit("once", 1)))
}

func TestMaxWaiting(t *testing.T) {
	server := redistest.Start(t, nil)
	opts := oneConnection()
	opts.MaxWaiting = 3
	store, _ := frozenServerStore(t, server, opts)
	var all sync.WaitGroup
	defer all.Wait()
	for store.Waiting() < 3 {
		before := store.Waiting()
		all.Go(func() { _ = store.Ping(context.Background()) })
		require.Eventually(t, func() bool { return store.Waiting() > before }, testTimeout, time.Millisecond)
	}
	require.ErrorIs(t, store.Ping(t.Context()), redisstore.ErrBusy)
	server.Thaw()
}

func TestKeyThatIsNotACounter(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	bad := hit("list", 1)
	require.NoError(t, server.Client().LPush(t.Context(), string(bad.Key), "x").Err())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := store.Add(t.Context(), []ratelimit.Hit{bad}); err == nil {
				t.Error("a list was counted on")
			}
		})
		all.Go(func() {
			if err := store.Add(t.Context(), []ratelimit.Hit{hit("good", 1)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 20, add(t, store, hit("good", 0)))
	err := store.Add(t.Context(), []ratelimit.Hit{bad})
	require.ErrorContains(t, err, server.Addr)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorContains(t, store.AddUnlessOver(t.Context(), []ratelimit.Hit{bad}), "WRONGTYPE")
	require.NoError(t, server.Client().Set(t.Context(), "text", "x", 0).Err())
	for _, n := range []uint64{0, 1} {
		text := ratelimit.Hit{Key: []byte("text"), N: n, Unit: ratelimit.Hour}
		require.ErrorContains(t, store.Add(t.Context(), []ratelimit.Hit{text}), server.Addr)
	}
}

// TestManyInstances counts more than the limit of one counter from fifty instances.
func TestManyInstances(t *testing.T) {
	server := redistest.Start(t, nil)
	const instances, callers, each, limit = 50, 4, 10, 777
	key := uniqueName()
	var admitted, all atomic.Int64
	var group sync.WaitGroup
	for range instances {
		store := open(t, server.Addr, &redisstore.Options{PoolSize: 2})
		for range callers {
			group.Go(func() {
				for range each {
					hits := []ratelimit.Hit{hit(key, 1)}
					if err := store.Add(t.Context(), hits); err != nil {
						t.Error(err)
						return
					}
					all.Add(1)
					if hits[0].Count <= limit {
						admitted.Add(1)
					}
				}
			})
		}
	}
	group.Wait()
	require.EqualValues(t, instances*callers*each, all.Load())
	require.EqualValues(t, limit, admitted.Load())
}
