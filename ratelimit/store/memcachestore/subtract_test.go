package memcachestore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

// subtract gives n hits on a key back and returns the count.
func subtract(t testing.TB, store *memcachestore.Store, key string, n uint64) uint64 {
	t.Helper()
	hits := []ratelimit.Hit{hit(key, n)}
	require.NoError(t, store.Subtract(t.Context(), hits))
	return hits[0].Count
}

// TestSubtractInOrder delays commands: hits that were added first must be on the node before
// others are given back, because a counter stops at zero.
func TestSubtractInOrder(t *testing.T) {
	for _, command := range []string{"incr", "decr"} {
		server, p, store := openProxied(t, nil)
		server.Set("key", "1")
		p.hold(command)
		require.Equal(t, []uint64{6}, add(t, store, hit("key", 5)))
		require.EqualValues(t, 4, subtract(t, store, "key", 2))
		require.Equal(t, []uint64{7}, add(t, store, hit("key", 3)))
		require.EqualValues(t, 0, subtract(t, store, "key", 8))
		require.EqualValues(t, 0, subtract(t, store, "key", 8))
		require.Equal(t, []uint64{2, 2}, add(t, store, hit("key", 2), hit("key", 0)))
		require.EqualValues(t, 1, subtract(t, store, "key", 1))
		p.release()
		flush(t, store)
		require.Equal(t, "1", server.Value("key"))
		require.Equal(t, []uint64{1}, add(t, store, hit("key", 0)))
	}
}

// TestValueFromBeforeADecrement delays a read until a decrement that began later has ended: the value is
// too old then.
func TestValueFromBeforeADecrement(t *testing.T) {
	server, p, store := openProxied(t, &memcachestore.Options{MaxReads: 2})
	require.Equal(t, []uint64{7}, add(t, store, hit("key", 7)))
	flush(t, store)
	p.holdReply()
	read := make(chan uint64)
	go func() {
		hits := []ratelimit.Hit{hit("key", 0)}
		_ = store.Add(context.Background(), hits)
		read <- hits[0].Count
	}()
	require.Eventually(t, func() bool { return p.held() == 1 }, timeout, time.Millisecond)
	require.EqualValues(t, 3, subtract(t, store, "key", 4))
	flush(t, store)
	require.Equal(t, "3", server.Value("key"))
	p.release()
	require.EqualValues(t, 3, <-read)
	require.Equal(t, []uint64{3}, add(t, store, hit("key", 0)))
}

// TestSubtractDoesNotCreate gives hits back that nobody counted.
func TestSubtractDoesNotCreate(t *testing.T) {
	server, _, store := openProxied(t, nil)
	require.EqualValues(t, 0, subtract(t, store, "key", 4))
	flush(t, store)
	require.Equal(t, "", server.Value("key"))
	require.Equal(t, memcachestore.Codes{Miss: 1}, store.Stats().Decrement)
}
