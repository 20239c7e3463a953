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

// alone is options for one connection, so that calls have to wait for each other.
func alone() *redisstore.Options {
	return &redisstore.Options{PoolSize: 1, OnEmpty: redisstore.Wait, Timeout: 30 * time.Second}
}

// rest has the store open a connection and returns when it has nothing to do.
func rest(t *testing.T, store *redisstore.Store) {
	t.Helper()
	require.NoError(t, store.Ping(t.Context()))
	require.Eventually(t, store.Idle, forever, time.Millisecond)
}

// stalled is a store with a call under way to a server that has stopped.
func stalled(t *testing.T, server *redistest.Server, opts *redisstore.Options) (store *redisstore.Store, first chan error) {
	t.Helper()
	store = open(t, server.Addr, opts)
	rest(t, store)
	server.Freeze()
	t.Cleanup(server.Thaw)
	first = make(chan error, 1)
	go func() { first <- store.Add(context.Background(), []ratelimit.Hit{hit("first", 1)}) }()
	require.Eventually(t, store.OneRunning, forever, time.Millisecond)
	return store, first
}

func TestHitsInFlightBecomeOneCommand(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := stalled(t, server, alone())
	const callers = 50
	counts := make([]uint64, callers)
	key := name()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			hits := []ratelimit.Hit{hit(key, 2), hit("each"+key, 1), hit(key, 0)}
			if err := store.Add(t.Context(), hits); err != nil {
				t.Error(err)
			}
			if hits[0].Count != hits[2].Count {
				t.Errorf("a call has counted %d and reads %d", hits[0].Count, hits[2].Count)
			}
			counts[i] = hits[0].Count
		})
	}
	require.Eventually(t, func() bool { return store.Waiting() == callers }, forever, time.Millisecond)
	server.Thaw()
	all.Wait()
	require.NoError(t, <-first)

	slices.Sort(counts)
	for i, count := range counts {
		require.EqualValues(t, 2*(i+1), count, "each caller has the count that it would have had alone")
	}
	client := server.Client()
	require.Equal(t, 3, calls(t, client, "incrby"), "one for the first call, and one for each of the two counters")
	require.Equal(t, "100", client.Get(t.Context(), string(hit(key, 0).Key)).Val())
}

func TestCallThatIsGivenUpWhileItWaitsIsNotMade(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := stalled(t, server, alone())
	ctx, cancel := context.WithCancel(t.Context())
	cause := make(chan error, 1)
	go func() { cause <- store.Add(ctx, []ratelimit.Hit{hit("given up", 1)}) }()
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, forever, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-cause, context.Canceled)

	patient := make(chan error, 1)
	go func() { patient <- store.Add(context.Background(), []ratelimit.Hit{hit("patient", 1)}) }()
	server.Thaw()
	require.NoError(t, <-first)
	require.NoError(t, <-patient, "the others of the batch are not held up")
	require.Zero(t, add(t, store, hit("given up", 0)))
}

func TestCallThatIsGivenUpOneRunningIsCountedOnce(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, alone())
	rest(t, store)
	server.Freeze()
	defer server.Thaw()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- store.Add(ctx, []ratelimit.Hit{hit("once", 1)}) }()
	require.Eventually(t, store.OneRunning, forever, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-given, context.Canceled, "a caller that gives up has its goroutine back at once")
	server.Thaw()
	require.EqualValues(t, 2, add(t, store, hit("once", 1)))
}

func TestCallsThatWaitAreBounded(t *testing.T) {
	server := redistest.Start(t, nil)
	opts := alone()
	opts.MaxWaiting = 3
	store, _ := stalled(t, server, opts)
	var all sync.WaitGroup
	defer all.Wait()
	for store.Waiting() < 3 {
		before := store.Waiting()
		all.Go(func() { _ = store.Ping(context.Background()) })
		require.Eventually(t, func() bool { return store.Waiting() > before }, forever, time.Millisecond)
	}
	require.ErrorIs(t, store.Ping(t.Context()), redisstore.ErrBusy)
	server.Thaw()
}

func TestOneCounterThatIsNoneDoesNotHurtTheOthers(t *testing.T) {
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

// TestManyInstances has fifty of them ask for more than the limit of one counter.
func TestManyInstances(t *testing.T) {
	server := redistest.Start(t, nil)
	const instances, callers, each, limit = 50, 4, 10, 777
	key := name()
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
