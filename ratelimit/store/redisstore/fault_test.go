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

// forever is a test's idea of a call that hangs.
const forever = time.Minute

// bounded makes a call without a deadline and fails if it hangs.
func bounded(t *testing.T, call func(ctx context.Context) error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call(context.Background()) }()
	select {
	case err := <-done:
		return err
	case <-time.After(forever):
		t.Fatal("the call hangs")
		return nil
	}
}

func TestServerThatStopsFailsCallsInTime(t *testing.T) {
	server := redistest.Start(t, nil)
	const timeout = 300 * time.Millisecond
	store := open(t, server.Addr, &redisstore.Options{Timeout: timeout, PoolSize: 2, OnEmpty: redisstore.Wait})
	h := hit(name(), 1)
	_, before := addInTheEnd(t, store, h)
	server.Freeze()
	defer server.Thaw()
	var all sync.WaitGroup
	begin := time.Now()
	for range 20 {
		all.Go(func() {
			err := bounded(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{h}) })
			if err == nil {
				t.Error("a server that has stopped has answered")
			}
		})
	}
	all.Wait()
	require.GreaterOrEqual(t, time.Since(begin), timeout/2, "the server is given its time")
	server.Thaw()
	got, after := addInTheEnd(t, store, h)
	require.LessOrEqual(t, got, before+20+after, "no hit is counted twice")
	require.Greater(t, got, uint64(1))
}

// addInTheEnd counts a hit of a store with a short timeout, which a busy machine may
// exceed: it returns the count of the first call that gets through, and how many were made.
func addInTheEnd(t *testing.T, store *redisstore.Store, h ratelimit.Hit) (count, calls uint64) {
	t.Helper()
	for end := time.Now().Add(forever); ; {
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

func TestServerThatNeverAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	store := open(t, l.Addr().String(), &redisstore.Options{Timeout: 200 * time.Millisecond})
	err = bounded(t, store.Ping)
	require.ErrorContains(t, err, l.Addr().String())
	require.ErrorContains(t, err, "timeout")
}

func TestServerThatIsNotThere(t *testing.T) {
	const addr = "127.0.0.1:1" // a port that is given to nobody who asks for any
	store := open(t, addr, nil)
	require.ErrorContains(t, bounded(t, store.Ping), "connecting to "+addr)
	require.Zero(t, store.Stats())
}

func TestServerThatTalksNonsense(t *testing.T) {
	for _, nonsense := range []string{
		"HTTP/1.1 400 Bad Request\r\n\r\n", "$-5\r\n", "*99999999999\r\n", ":1\r\n", "+OK\r\n+PONG\r\n", "\r\n", "\x00\xff", "-ERR no\r\n",
	} {
		store := open(t, "nonsense:1", &redisstore.Options{Timeout: 200 * time.Millisecond, Dial: babble(nonsense)})
		err := bounded(t, func(ctx context.Context) error { return store.Add(ctx, []ratelimit.Hit{hit("x", 1)}) })
		require.Error(t, err, "the server says %q to everything", nonsense)
	}
}

// babble connects to a server that says one thing, whatever it is asked.
func babble(thing string) func(context.Context, string, string) (net.Conn, error) {
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

func FuzzAnswers(f *testing.F) {
	f.Add(":1\r\n", uint8(1))
	f.Add("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n", uint8(1))
	f.Add("*2\r\n$1\r\n1\r\n$1\r\n2\r\n", uint8(2))
	f.Add("-MOVED 5 127.0.0.1:1\r\n", uint8(3))
	f.Add("-NOSCRIPT\r\n", uint8(2))
	f.Add("+OK\r\n-READONLY x\r\n+QUEUED\r\n-EXECABORT x\r\n", uint8(1))
	f.Fuzz(func(t *testing.T, answer string, n uint8) {
		store, err := redisstore.New("fuzz:1", &redisstore.Options{Timeout: 50 * time.Millisecond, Dial: babble("+PONG\r\n" + answer)})
		require.NoError(t, err)
		hits := []ratelimit.Hit{hit("a", uint64(n)), hit("b", 1)}
		_ = bounded(t, func(ctx context.Context) error { return store.Add(ctx, hits) })
		_ = bounded(t, func(ctx context.Context) error { return store.AddUnlessOver(ctx, hits) })
		require.NoError(t, store.Close())
	})
}

func TestReplicaIsLeftAtOnce(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	h := hit(name(), 1)
	require.EqualValues(t, 1, add(t, store, h))
	require.NoError(t, client.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err())
	for range 3 {
		err := store.Add(t.Context(), []ratelimit.Hit{h})
		require.ErrorContains(t, err, "read-only replica")
		require.ErrorContains(t, store.AddUnlessOver(t.Context(), []ratelimit.Hit{h}), "read-only replica")
	}
	require.Zero(t, store.Stats().Active, "no connection to it is kept")
	require.NoError(t, client.Do(t.Context(), "replicaof", "no", "one").Err())
	require.EqualValues(t, 2, add(t, store, h))
}

func TestServerThatIsFull(t *testing.T) {
	server := redistest.Start(t, &redistest.Options{Args: []string{"--maxmemory", "1", "--maxmemory-policy", "noeviction"}})
	store := open(t, server.Addr, nil)
	h := hit(name(), 1)
	require.ErrorContains(t, store.Add(t.Context(), []ratelimit.Hit{h}), "OOM")
	require.ErrorContains(t, store.AddUnlessOver(t.Context(), []ratelimit.Hit{h}), "OOM")
	require.Zero(t, add(t, store, hit("other", 0)), "reading needs no memory")
	require.NoError(t, server.Client().ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.EqualValues(t, 1, add(t, store, h))
	mortal(t, server.Client())
}

func TestScriptThatTheServerHasForgotten(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	for want := range uint64(3) {
		hits := []ratelimit.Hit{hit("script", 1)}
		require.NoError(t, store.AddUnlessOver(t.Context(), hits))
		require.Equal(t, want+1, hits[0].Count)
		require.NoError(t, server.Client().ScriptFlush(t.Context()).Err())
	}
	mortal(t, server.Client())
}

func TestConnectionThatIsClosedInBetweenCostsNoCall(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	h := hit(name(), 1)
	for want := range uint64(20) {
		require.Equal(t, want+1, add(t, store, h))
		require.NoError(t, server.Client().ClientKillByFilter(t.Context(), "skipme", "yes").Err())
	}
	stats := store.Stats()
	require.EqualValues(t, 20, stats.Total)
	require.LessOrEqual(t, stats.Active, int64(1), "the last one was not needed any more")
	server.Kill()
	require.Error(t, store.Ping(t.Context()))
	require.Equal(t, redisstore.Stats{Total: 20, Closed: 20}, store.Stats())
}

func TestClose(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := stalled(t, server, alone())
	waiting := make(chan error, 1)
	go func() { waiting <- store.Ping(context.Background()) }()
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, forever, time.Millisecond)
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	require.ErrorIs(t, <-waiting, redisstore.ErrClosed)
	require.ErrorIs(t, store.Ping(t.Context()), redisstore.ErrClosed)
	server.Thaw()
	require.NoError(t, <-first, "what is under way is finished")
	require.NoError(t, <-closed)
	require.NoError(t, store.Close())
	require.Zero(t, store.Stats().Active)
	require.ErrorIs(t, store.WaitReady(t.Context(), nil), redisstore.ErrClosed)
}
