package redisstore_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/circuit"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// pause makes the server delay "all" commands, or those that "write".
func pause(t *testing.T, server *redistest.Server, d time.Duration, which string) {
	t.Helper()
	require.NoError(t, server.Client().Do(t.Context(), "client", "pause", d.Milliseconds(), which).Err())
}

func unpause(t *testing.T, server *redistest.Server) {
	t.Helper()
	require.NoError(t, server.Client().Do(t.Context(), "client", "unpause").Err())
}

func TestShortPause(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, &redisstore.Options{Timeout: longTimeout})
	h := hit(uniqueName(), 1)
	require.EqualValues(t, 1, add(t, store, h))

	const while = 200 * time.Millisecond
	begin := time.Now()
	pause(t, server, while, "all")
	require.EqualValues(t, 2, add(t, store, h))
	require.GreaterOrEqual(t, time.Since(begin), while/2, "the server was paused") // its clock has milliseconds, and may be adjusted

	pause(t, server, longTimeout, "write")
	written := make(chan error, 1)
	go func() { written <- store.Add(context.Background(), []ratelimit.Hit{h}) }()
	require.Eventually(t, store.OneRunning, testTimeout, time.Millisecond)
	read := h
	read.N = 0
	require.EqualValues(t, 2, add(t, store, read), "reads are not delayed")
	unpause(t, server)
	require.NoError(t, <-written)
	require.EqualValues(t, 3, counterValue(t, server, h))
}

func TestPauseLongerThanTimeout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	const timeout = 150 * time.Millisecond
	store := open(t, server.Addr, &redisstore.Options{Timeout: timeout})
	h := hit(uniqueName(), 1)
	l := startLoad(t, store, h)
	l.progress()
	pause(t, server, longTimeout, "write")
	l.failures()
	unpause(t, server)
	l.progress()
	l.end()
	require.GreaterOrEqual(t, time.Duration(l.slowest.Load()), timeout/2)
	l.within(testTimeout)
	l.exact(counterValue(t, server, h))
	requireExpiries(t, server.Client())
}

// TestServerKilledUnderLoad restarts the server with its data, which it writes before it
// replies, and without.
func TestServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	for what, keeps := range map[string]bool{"keeps its data": true, "loses its data": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			opts := &redistest.Options{}
			if keeps {
				opts.Args = []string{"--appendonly", "yes", "--appendfsync", "no"} // or the write may be delayed
			}
			server := redistest.Start(t, opts)
			store := open(t, server.Addr, &redisstore.Options{Timeout: longTimeout})
			h := hit(uniqueName(), 1)
			l := startLoad(t, store, h)
			l.progress()
			server.Kill()
			l.failures()
			server.Restart()
			l.progress()
			l.end()
			l.within(testTimeout)
			if keeps {
				l.exact(counterValue(t, server, h))
			} else {
				l.atMost(counterValue(t, server, h), "calls succeed again")
			}
			requireExpiries(t, server.Client())
		})
	}
}

// resetPoint is the point at which a proxy resets a connection.
type resetPoint int32

const (
	never         resetPoint = iota
	beforeRequest            // the server gets nothing
	withinRequest            // half of it is passed on
	beforeReply              // the server has replied, and nothing is passed on
	withinReply              // half of it is passed on
	afterReply               // all of it is passed on
)

func (m resetPoint) String() string {
	return [...]string{"never", "before the request", "within the request", "before the reply", "within the reply", "after the reply"}[m]
}

// errReset ends a connection of a proxy.
var errReset = errors.New("reset")

// proxy forwards between a store and a server. It can reset a connection on both sides.
type proxy struct {
	addr   string
	server string
	next   atomic.Int32 // a resetPoint for the next request
	resets atomic.Int32 // how many resets there were

	listener net.Listener
	all      sync.WaitGroup
	mu       sync.Mutex
	conns    map[*proxyConn]bool
	closed   bool
}

// proxyConn is one connection of a store, and one to the server.
type proxyConn struct {
	proxy         *proxy
	store, server *net.TCPConn
	due           atomic.Int32 // a resetPoint of the reply
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{addr: l.Addr().String(), server: server, listener: l, conns: make(map[*proxyConn]bool)}
	p.all.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// reset resets the connection of the next request.
func (p *proxy) reset(at resetPoint) { p.next.Store(int32(at)) }

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.server)
		if err != nil {
			_ = conn.Close()
			continue
		}
		c := &proxyConn{proxy: p, store: conn.(*net.TCPConn), server: server.(*net.TCPConn)}
		if !p.add(c) {
			c.end(nil)
			return
		}
		p.all.Go(func() { c.end(forward(c.store, c.forwardRequest)) })
		p.all.Go(func() { c.end(forward(c.server, c.forwardReply)) })
	}
}

// forward passes on what it reads until something fails.
func forward(from net.Conn, to func(text []byte) error) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return err
		}
		if err := to(buf[:n]); err != nil {
			return err
		}
	}
}

func (c *proxyConn) forwardRequest(text []byte) error {
	switch at := resetPoint(c.proxy.next.Swap(int32(never))); at {
	case beforeRequest:
		return errReset
	case withinRequest:
		return c.halve(c.server, text)
	case beforeReply, withinReply, afterReply:
		c.due.Store(int32(at))
	case never:
	}
	_, err := c.server.Write(text)
	return err
}

func (c *proxyConn) forwardReply(text []byte) error {
	switch resetPoint(c.due.Load()) {
	case beforeReply:
		return errReset
	case withinReply:
		return c.halve(c.store, text)
	case afterReply:
		_, _ = c.store.Write(text)
		return errReset
	}
	_, err := c.store.Write(text)
	return err
}

func (*proxyConn) halve(to net.Conn, text []byte) error {
	_, _ = to.Write(text[:len(text)/2])
	return errReset
}

// end closes both sides, with a reset if that is the reason.
func (c *proxyConn) end(why error) {
	if errors.Is(why, errReset) {
		defer c.proxy.resets.Add(1)
		_ = c.store.SetLinger(0)
		_ = c.server.SetLinger(0)
	}
	c.proxy.remove(c)
	_ = c.store.Close()
	_ = c.server.Close()
}

func (p *proxy) add(c *proxyConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return !p.closed
}

func (p *proxy) remove(c *proxyConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.store.Close()
		_ = c.server.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

// TestConnectionReset resets the connection at each point of a call that creates a counter,
// of one on an existing counter, and of scripts. A call without a reply fails at once, and
// every hit is counted once or not at all.
func TestConnectionReset(t *testing.T) {
	server := redistest.Start(t, nil)
	add := (*redisstore.Store).Add
	for how, c := range map[string]struct {
		call  func(*redisstore.Store, context.Context, []ratelimit.Hit) error
		first bool
	}{
		"new counter":   {add, true},
		"known counter": {add, false},
		"script":        {(*redisstore.Store).AddUnlessOver, false},
		"charge": {func(s *redisstore.Store, ctx context.Context, hits []ratelimit.Hit) error {
			return charger{s}.Add(ctx, hits)
		}, false},
	} {
		for at, counted := range map[resetPoint]uint64{
			beforeRequest: 0, withinRequest: 0, beforeReply: 1, withinReply: 1, afterReply: 1,
		} {
			t.Run(how+", "+at.String(), func(t *testing.T) {
				p := newProxy(t, server.Addr)
				store, h := open(t, p.addr, &redisstore.Options{Timeout: longTimeout}), hit(uniqueName(), 1)
				call := func() (count uint64, err error) {
					hits := []ratelimit.Hit{h}
					err = withinTestTimeout(t, func(ctx context.Context) error { return c.call(store, ctx, hits) })
					return hits[0].Count, err
				}
				waitIdle(t, store)
				want := uint64(0)
				if !c.first {
					_, err := call()
					require.NoError(t, err)
					want++
				}
				p.reset(at)
				count, err := call()
				want += counted
				if at == afterReply {
					require.NoError(t, err)
					require.Equal(t, want, count)
				} else {
					require.ErrorContains(t, err, p.addr)
				}
				require.Eventually(t, func() bool { return p.resets.Load() == 1 }, testTimeout, time.Millisecond)
				count, err = call()
				require.NoError(t, err, "the next call uses a new connection")
				require.Equal(t, want+1, count)
				requireExpiries(t, server.Client())
			})
		}
	}
}

func TestConnectionResetsUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	p := newProxy(t, server.Addr)
	store := open(t, p.addr, &redisstore.Options{Timeout: longTimeout})
	h := hit(uniqueName(), 1)
	h.Limit = 300
	l := startLoad(t, store, h)
	rounds := int32(100)
	if testing.Short() {
		rounds = 20
	}
	for i := range rounds {
		l.progress() // otherwise only handshakes would be reset
		p.reset(resetPoint(1 + i%int32(afterReply)))
		require.Eventually(t, func() bool { return p.resets.Load() > i }, testTimeout, time.Millisecond)
	}
	l.progress()
	l.end()
	l.within(testTimeout)
	l.exact(counterValue(t, server, h))
	require.Positive(t, l.failed.Load())
	require.Greater(t, l.succeeded.Load(), int64(h.Limit), "the limit was reached")
	requireExpiries(t, server.Client())
}

// deafConn fails a write without having sent anything, once fail is set.
type deafConn struct {
	net.Conn
	fail *atomic.Bool
}

func (c deafConn) Write(p []byte) (int, error) {
	if c.fail.Swap(false) {
		_ = c.Close()
		return 0, syscall.ECONNRESET
	}
	return c.Conn.Write(p)
}

// TestNothingWritten breaks a connection such that the store learns it from the first write of
// a call: the call is made again, and does not fail.
func TestNothingWritten(t *testing.T) {
	server := redistest.Start(t, nil)
	var fail atomic.Bool
	store := open(t, server.Addr, &redisstore.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return deafConn{conn, &fail}, err
	}})
	h := hit(uniqueName(), 1)
	for want := range uint64(5) {
		fail.Store(want > 0)
		require.Equal(t, want+1, add(t, store, h))
		require.False(t, fail.Load())
	}
}

// TestShortCut cuts the link for 100 ms. Calls that begin meanwhile wait for a connection, and
// none of the many that fail with theirs suspends the calls of others.
func TestShortCut(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	p := servertest.NewProxy(t, server.Addr)
	store := open(t, p.Addr, &redisstore.Options{Timeout: longTimeout})
	h := hit(uniqueName(), 1)
	want := add(t, store, h)
	for rounds, tries := 0, 0; rounds < 3; tries++ {
		require.Less(t, tries, 50)
		before, began := store.Stats().Suspensions, time.Now()
		p.Cut()
		restored := make(chan struct{})
		time.AfterFunc(100*time.Millisecond, func() {
			p.Restore()
			close(restored)
		})
		err := store.Add(t.Context(), []ratelimit.Hit{h})
		<-restored
		if time.Since(began) > circuit.Evidence-10*time.Millisecond { // on a busy machine
			require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, testTimeout, time.Millisecond)
		} else {
			require.NoError(t, err)
			require.Equal(t, before, store.Stats().Suspensions)
			rounds++
		}
		if err == nil {
			want++
		}
	}
	require.EqualValues(t, want, counterValue(t, server, h), "a call that fails is not counted")
}

// TestSuspendedFromTheStart has a server that does not reply. After a while conditional calls too fail at
// once, and soon after it replies they succeed.
func TestSuspendedFromTheStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	p := servertest.NewProxy(t, server.Addr)
	p.Set(servertest.Blackhole)
	store := open(t, p.Addr, &redisstore.Options{Timeout: 100 * time.Millisecond})
	hits := []ratelimit.Hit{hit(uniqueName(), 1)}
	require.Eventually(t, func() bool {
		return errors.Is(store.AddUnlessOver(t.Context(), hits), redisstore.ErrSuspended)
	}, testTimeout, time.Millisecond)
	p.Set(servertest.None)
	require.Eventually(t, func() bool { return store.AddUnlessOver(t.Context(), hits) == nil }, testTimeout, time.Millisecond)
	require.EqualValues(t, 1, hits[0].Count)
}

// TestSuspended kills the server. After a while calls fail at once, and soon after it is back they
// succeed.
func TestSuspended(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	h := hit(uniqueName(), 1)
	add(t, store, h)
	server.Kill()
	require.Eventually(t, func() bool {
		return errors.Is(store.Add(t.Context(), []ratelimit.Hit{h}), redisstore.ErrSuspended)
	}, testTimeout, time.Millisecond)
	err := store.Add(t.Context(), []ratelimit.Hit{h})
	require.ErrorContains(t, err, server.Addr)
	require.EqualValues(t, 1, store.Stats().Suspended)
	server.Restart()
	require.Eventually(t, func() bool { return store.Add(t.Context(), []ratelimit.Hit{h}) == nil }, testTimeout, time.Millisecond)
	require.Zero(t, store.Stats().Suspended)
	require.EqualValues(t, 1, store.Stats().Suspensions)
}

// TestPacketsLost loses what is sent on the only connection. It stays in use until the timeout, but
// when a new connection to the server works, calls do not wait for it.
func TestPacketsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	p := servertest.NewProxy(t, server.Addr)
	store := open(t, p.Addr, &redisstore.Options{PoolSize: 1, OnEmptyWait: longTimeout, Timeout: longTimeout})
	h := hit(uniqueName(), 1)
	add(t, store, h)
	waitIdle(t, store)
	p.Set(servertest.Blackhole)
	lost := make(chan error, 1)
	go func() { lost <- store.Add(context.Background(), []ratelimit.Hit{h}) }()
	require.Eventually(t, store.OneRunning, testTimeout, time.Millisecond)
	time.AfterFunc(50*time.Millisecond, func() { p.Set(servertest.None) }) // the command has been lost
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return store.Add(ctx, []ratelimit.Hit{h}) == nil
	}, testTimeout, time.Millisecond)
	p.Reset()
	<-lost
	require.Zero(t, store.Stats().Suspensions)
}
