package memcachestore_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

// keyOn returns a key that the store keeps on the node.
func keyOn(t *testing.T, store *memcachestore.Store, server *memcachetest.Server) string {
	t.Helper()
	for _, key := range keys(100) {
		add(t, store, hit(key, 1))
		flush(t, store)
		if server.Value(key) != "" {
			return key
		}
	}
	t.Fatal("the node has no key")
	return ""
}

func TestKilledNode(t *testing.T) {
	servers, nodes := start(t, 2, nil)
	var log logtest.Log
	store := open(t, &memcachestore.Options{Log: log.Logger()}, nodes...)
	here, there := keyOn(t, store, servers[0]), keyOn(t, store, servers[1])
	require.NoError(t, store.Ping(t.Context()))
	servers[0].Kill()

	for range 3 {
		before := servers[1].Value(there)
		err := store.Add(t.Context(), []ratelimit.Hit{hit(there, 1), hit(here, 1)})
		require.ErrorContains(t, err, servers[0].Addr)
		flush(t, store)
		require.Equal(t, before, servers[1].Value(there), "no hit of a call that fails may be counted")
	}
	add(t, store, hit(there, 1))
	err := store.Ping(t.Context())
	require.ErrorContains(t, err, servers[0].Addr)
	require.NotContains(t, err.Error(), servers[1].Addr)
	require.GreaterOrEqual(t, store.Stats().MultiGet.Error, uint64(1))
	require.Equal(t, 1, log.Count("failing"), "a failure is logged once")

	servers[0].Restart()
	require.NoError(t, store.Ping(t.Context()))
	require.Equal(t, []uint64{5}, add(t, store, hit(here, 5)), "a restarted node is used at once, and counts from zero")
	flush(t, store)
	require.Equal(t, "5", servers[0].Value(here))
	require.Equal(t, 1, log.Count("responds again"))
	require.Zero(t, store.Stats().Lost)
}

// TestRestartedNode leaves dead connections in the store, which must notice before it sends
// a command.
func TestRestartedNode(t *testing.T) {
	for _, tls := range []bool{false, true} {
		servers, nodes := start(t, 1, &memcachetest.Options{TLS: tls})
		store := open(t, &memcachestore.Options{TLS: servers[0].ClientTLS(), MaxIdleConns: 8}, nodes...)
		for round := range 5 {
			var all sync.WaitGroup
			for _, key := range keys(50) {
				all.Go(func() {
					if err := store.Add(context.Background(), []ratelimit.Hit{hit(fmt.Sprint(key, round), 1)}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			flush(t, store)
			servers[0].Restart()
		}
		require.Zero(t, store.Stats().MultiGet.Error, "TLS: %v", tls)
		require.Zero(t, store.Stats().Lost, "TLS: %v", tls)
	}
}

// TestDeadConnectionIsNoticed sends an increment on a connection that was closed while it was
// idle: the hit must not be lost.
func TestDeadConnectionIsNoticed(t *testing.T) {
	server, p, store := openProxied(t, &memcachestore.Options{MaxIdleConns: 8})
	for round := range 2 {
		// Two increments at once need two connections.
		p.hold("incr")
		add(t, store, hit("a", 1), hit("b", 1))
		require.Eventually(t, func() bool { return p.held() == 2 }, timeout, time.Millisecond, "round %d", round)
		p.cutOthers()
		p.release()
		flush(t, store)
	}
	require.Zero(t, store.Stats().Lost)
	require.Equal(t, "2 2", server.Value("a")+" "+server.Value("b"))
}

// shortTimeout is for tests in which it expires. A healthy node must meet it on a busy
// machine.
const shortTimeout = 4 * time.Second

func TestFrozenNode(t *testing.T) {
	t.Parallel()
	servers, nodes := start(t, 2, nil)
	store := open(t, &memcachestore.Options{Timeout: shortTimeout}, nodes...)
	here, there := keyOn(t, store, servers[0]), keyOn(t, store, servers[1])
	servers[0].Freeze()
	t.Cleanup(servers[0].Thaw)

	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			err := store.Add(context.Background(), []ratelimit.Hit{hit(there, 1), hit(here, 1)})
			if err == nil || !strings.Contains(err.Error(), servers[0].Addr) {
				t.Errorf("a call with a counter on a frozen node returned %v, want an error that names the node", err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, store.Add(ctx, []ratelimit.Hit{hit(here, 1)}), context.DeadlineExceeded, "the deadline of the caller applies")
	require.ErrorIs(t, store.Ping(ctx), context.DeadlineExceeded)
	before := add(t, store, hit(there, 0))
	require.Equal(t, []uint64{before[0] + 1}, add(t, store, hit(there, 1)), "the other node is not delayed")
	all.Wait()
	require.ErrorContains(t, store.Ping(t.Context()), servers[0].Addr)

	counted := add(t, store, hit(there, 0))[0]
	require.Equal(t, before[0]+1, counted, "no hit of a call that fails may be counted")
	servers[0].Thaw()
	require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, timeout, 10*time.Millisecond)
	known := add(t, store, hit(here, 0))[0]
	require.Equal(t, []uint64{known + 1}, add(t, store, hit(here, 1)), "a node that continues still has its counters")
	require.LessOrEqual(t, known, uint64(2), "no hit may be counted twice")
}

// TestFrozenNodeWithFullQueue freezes a node during increments: the queue stays bounded.
func TestFrozenNodeWithFullQueue(t *testing.T) {
	t.Parallel()
	server, p, store := openProxied(t, &memcachestore.Options{MaxPending: 2, MaxWorkers: 2, MaxWaiting: 20, Timeout: shortTimeout})
	p.hold("incr")
	for _, key := range keys(2) {
		add(t, store, hit(key, 1))
	}
	require.Eventually(t, func() bool { return p.held() == 2 }, timeout, time.Millisecond)
	for _, key := range keys(4)[2:] {
		add(t, store, hit(key, 1))
	}
	server.Freeze()
	t.Cleanup(server.Thaw)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if store.Add(context.Background(), []ratelimit.Hit{hit(fmt.Sprint("more", i), 1)}) == nil {
				t.Error("a frozen node was read")
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, store.Stats().Pending, 4)
	flush(t, store) // the timeout ends the increments under way
	server.Thaw()
	p.release()
	require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, timeout, 10*time.Millisecond)
	stats := store.Stats()
	require.Zero(t, stats.Pending)
	require.EqualValues(t, 4, stats.Lost, "hits that did not arrive in time are counted as lost")
}

// TestResetConnections resets connections all the time: the counter may be lower than the
// hits allowed, by at most those reported as lost, and never higher.
func TestResetConnections(t *testing.T) {
	server, p, store := openProxied(t, nil)
	stop := make(chan struct{})
	var breaker sync.WaitGroup
	breaker.Go(func() {
		for ticker := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
				p.cut()
			}
		}
	})
	var all sync.WaitGroup
	var mu sync.Mutex
	in := uint64(0)
	broken := func() uint64 {
		stats := store.Stats()
		return stats.MultiGet.Error + stats.Increment.Error + stats.Add.Error
	}
	end := time.Now().Add(timeout)
	for range 8 {
		all.Go(func() {
			for i := 0; i < 100 || broken() < 5 && time.Now().Before(end); i++ {
				if store.Add(context.Background(), []ratelimit.Hit{hit("key", 1)}) == nil {
					mu.Lock()
					in++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	close(stop)
	breaker.Wait()
	require.GreaterOrEqual(t, broken(), uint64(5), "too few commands failed for a meaningful test")
	flush(t, store)
	var counted uint64
	if value := server.Value("key"); value != "" {
		_, err := fmt.Sscan(value, &counted)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, counted, in, "no hit may be counted twice")
	require.GreaterOrEqual(t, counted+store.Stats().Lost, in, "every lost hit must be reported")
}

// TestEndlessReply has a node reply slowly and without end: the timeout must apply to the
// command, not to each line.
func TestEndlessReply(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	addr := serve(t, func(conn net.Conn) {
		for {
			if _, err := io.WriteString(conn, "VALUE k 0 1\r\n1\r\n"); err != nil {
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { close(stop) })
	store := open(t, &memcachestore.Options{Timeout: 200 * time.Millisecond}, addr)
	require.Error(t, store.Add(t.Context(), []ratelimit.Hit{hit("k", 1)}))
	require.NoError(t, store.Close(), "the command must have ended by itself")
}

// TestNotMemcached connects to a server that is not a memcached.
func TestNotMemcached(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"\n", "\r\n", "x", "CLIENT_ERROR \n", "CLIENT_ERROR\r\n", "VALUE \r\n", "VALUE k 0 -1\r\n", "VALUE k 0 5\r\n1", "NOT_FOUND\n", "END\r\n\n",
		"HTTP/1.1 400 Bad Request\r\n\r\n", strings.Repeat("x", 10_000), "18446744073709551616\r\n", "END\r\nNOT_FOUND\r\n\n\n",
	} {
		t.Run(fmt.Sprintf("%.20q", reply), func(t *testing.T) {
			t.Parallel()
			store := open(t, &memcachestore.Options{Timeout: 200 * time.Millisecond}, replies(t, reply))
			err := store.Add(t.Context(), []ratelimit.Hit{hit("k", 1)})
			flush(t, store)
			if err == nil {
				require.EqualValues(t, 1, store.Stats().Lost, "hits that could not be counted are reported")
			}
			require.Error(t, store.Ping(t.Context()))
		})
	}
}

// replies starts a server that sends the same reply to everything.
func replies(t *testing.T, reply string) (addr string) {
	return serve(t, func(conn net.Conn) {
		for buf := make([]byte, 512); ; {
			if _, err := conn.Read(buf); err != nil {
				return
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	})
}

// serve starts a server that calls do for each connection.
func serve(t *testing.T, do func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(2 * timeout))
				do(conn)
			})
		}
	})
	return l.Addr().String()
}
