package redisstore_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// testTimeout is the time after which a call counts as hanging.
const testTimeout = time.Minute

// withinTestTimeout makes a call without a deadline and fails the test if it hangs.
func withinTestTimeout(t *testing.T, call func(ctx context.Context) error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call(context.Background()) }()
	select {
	case err := <-done:
		return err
	case <-time.After(testTimeout):
		t.Fatal("the call hangs")
		return nil
	}
}

func TestFrozenServer(t *testing.T) {
	server := redistest.Start(t, nil)
	const timeout = 300 * time.Millisecond
	store := open(t, server.Addr, &redisstore.Options{Timeout: timeout, PoolSize: 2, OnEmpty: redisstore.Wait})
	h := hit(uniqueName(), 1)
	_, before := addUntilSuccess(t, store, h)
	server.Freeze()
	defer server.Thaw()
	var all sync.WaitGroup
	begin := time.Now()
	for range 20 {
		all.Go(func() {
			err := withinTestTimeout(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{h}) })
			if err == nil {
				t.Error("a frozen server has replied")
			}
		})
	}
	all.Wait()
	require.GreaterOrEqual(t, time.Since(begin), timeout/2, "the server gets its time")
	server.Thaw()
	got, after := addUntilSuccess(t, store, h)
	require.LessOrEqual(t, got, before+20+after, "no hit is counted twice")
	require.Greater(t, got, uint64(1))
}

// addUntilSuccess counts a hit in a store with a short timeout, which a busy machine may
// exceed. It returns the count of the first call that succeeds, and how many were made.
func addUntilSuccess(t *testing.T, store *redisstore.Store, h ratelimit.Hit) (count, calls uint64) {
	t.Helper()
	for end := time.Now().Add(testTimeout); ; {
		hits := []ratelimit.Hit{h}
		calls++
		err := store.Add(t.Context(), hits)
		if err == nil {
			return hits[0].Count, calls
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestServerWithoutReplies(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	store := open(t, l.Addr().String(), &redisstore.Options{Timeout: 200 * time.Millisecond})
	err = withinTestTimeout(t, store.Ping)
	require.ErrorContains(t, err, l.Addr().String())
	require.ErrorContains(t, err, "timeout")
}

func TestUnreachableServer(t *testing.T) {
	const addr = "127.0.0.1:1" // never assigned as a free port
	store := open(t, addr, nil)
	require.ErrorContains(t, withinTestTimeout(t, store.Ping), addr)
	require.Zero(t, store.Stats())
}

func TestInvalidReplies(t *testing.T) {
	for _, reply := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n", "$-5\r\n", "*99999999999\r\n", ":1\r\n", "+OK\r\n+PONG\r\n", "\r\n", "\x00\xff", "-ERR no\r\n",
	} {
		store := open(t, "invalid:1", &redisstore.Options{Timeout: 200 * time.Millisecond, Dial: constantReply(reply)})
		err := withinTestTimeout(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{hit("x", 1)}) })
		require.Error(t, err, "the server replies %q to everything", reply)
	}
}

// constantReply connects to a server that has the same reply to everything.
func constantReply(thing string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			buf := make([]byte, 64<<10)
			for {
				if _, err := theirs.Read(buf); err != nil {
					return
				}
				if _, err := io.WriteString(theirs, thing); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(":1\r\n", uint8(1))
	f.Add("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n", uint8(1))
	f.Add("*2\r\n$1\r\n1\r\n$1\r\n2\r\n", uint8(2))
	f.Add("-MOVED 5 127.0.0.1:1\r\n", uint8(3))
	f.Add("-NOSCRIPT\r\n", uint8(2))
	f.Add("+OK\r\n-READONLY x\r\n+QUEUED\r\n-EXECABORT x\r\n", uint8(1))
	f.Fuzz(func(t *testing.T, reply string, n uint8) {
		store, err := redisstore.New("fuzz:1", &redisstore.Options{Timeout: 50 * time.Millisecond, Dial: constantReply("+PONG\r\n" + reply)})
		require.NoError(t, err)
		hits := []ratelimit.Hit{hit("a", uint64(n)), hit("b", 1)}
		_ = withinTestTimeout(t, func(ctx context.Context) error { return store.Add(ctx, hits) })
		_ = withinTestTimeout(t, func(ctx context.Context) error { return store.AddUnlessOver(ctx, hits) })
		_ = withinTestTimeout(t, func(ctx context.Context) error { return store.Subtract(ctx, hits) })
		_ = withinTestTimeout(t, func(ctx context.Context) error { return charger{store}.Add(ctx, hits) })
		require.NoError(t, store.Close())
	})
}

func TestReadOnlyReplica(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	h := hit(uniqueName(), 1)
	require.EqualValues(t, 1, add(t, store, h))
	require.NoError(t, client.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err())
	for range 3 {
		err := store.Add(t.Context(), []ratelimit.Hit{h})
		require.ErrorContains(t, err, "read-only")
		require.ErrorContains(t, store.AddUnlessOver(t.Context(), []ratelimit.Hit{h}), "read-only")
		require.ErrorContains(t, charger{store}.Add(t.Context(), []ratelimit.Hit{h}), "read-only")
		require.ErrorContains(t, store.Subtract(t.Context(), []ratelimit.Hit{h}), "read-only")
	}
	require.Zero(t, store.Stats().Active, "no connection to it remains")
	require.NoError(t, client.Do(t.Context(), "replicaof", "no", "one").Err())
	require.EqualValues(t, 2, add(t, store, h))
}

func TestServerOutOfMemory(t *testing.T) {
	server := redistest.Start(t, &redistest.Options{Args: []string{"--maxmemory", "1", "--maxmemory-policy", "noeviction"}})
	store := open(t, server.Addr, nil)
	h := hit(uniqueName(), 1)
	require.ErrorContains(t, store.Add(t.Context(), []ratelimit.Hit{h}), "OOM")
	require.ErrorContains(t, store.AddUnlessOver(t.Context(), []ratelimit.Hit{h}), "OOM")
	require.ErrorContains(t, charger{store}.Add(t.Context(), []ratelimit.Hit{h}), "OOM")
	require.Zero(t, add(t, store, hit("other", 0)), "reading needs no memory")
	require.NoError(t, server.Client().ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.EqualValues(t, 1, add(t, store, h))
	requireExpiries(t, server.Client())
}

func TestScriptFlush(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	for want := range uint64(3) {
		hits := []ratelimit.Hit{hit("script", 1)}
		require.NoError(t, store.AddUnlessOver(t.Context(), hits))
		require.Equal(t, want+1, hits[0].Count)
		require.NoError(t, server.Client().ScriptFlush(t.Context()).Err())
	}
	requireExpiries(t, server.Client())
}

func TestIdleConnectionClosedByServer(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	h := hit(uniqueName(), 1)
	for want := range uint64(20) {
		require.Equal(t, want+1, add(t, store, h))
		require.NoError(t, server.Client().ClientKillByFilter(t.Context(), "skipme", "yes").Err())
	}
	stats := store.Stats()
	require.EqualValues(t, 20, stats.Total)
	require.LessOrEqual(t, stats.Active, int64(1), "the pool has not noticed the last one yet")
	server.Kill()
	require.Error(t, store.Ping(t.Context()))
	require.Equal(t, redisstore.Stats{Total: 20, Closed: 20}, store.Stats())
}

func TestClose(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := frozenServerStore(t, server, oneConnection())
	waiting := make(chan error, 1)
	go func() { waiting <- store.Ping(context.Background()) }()
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, testTimeout, time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	require.ErrorIs(t, <-waiting, redisstore.ErrClosed)
	require.ErrorIs(t, store.Ping(t.Context()), redisstore.ErrClosed)
	server.Thaw()
	require.NoError(t, <-first, "the running call is finished")
	require.NoError(t, <-closed)
	require.NoError(t, store.Close())
	require.Zero(t, store.Stats().Active)
	require.ErrorIs(t, store.WaitReady(t.Context(), nil), redisstore.ErrClosed)
}
