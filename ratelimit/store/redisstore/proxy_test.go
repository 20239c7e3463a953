package redisstore_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// moment is when a proxy resets a connection.
type moment int32

const (
	never          moment = iota
	beforeQuestion        // nothing of it gets to the server
	withinQuestion        // half of it does
	beforeAnswer          // the server has answered, and nothing of that gets back
	withinAnswer          // half of it does
	afterAnswer           // all of it does
)

func (m moment) String() string {
	return [...]string{"never", "before the question", "within the question", "before the answer", "within the answer", "after the answer"}[m]
}

// errReset ends a connection of a proxy.
var errReset = errors.New("reset")

// proxy stands between a store and a server. It can reset a connection, which both
// sides then learn at once.
type proxy struct {
	addr   string
	server string
	next   atomic.Int32 // a moment: when to reset the connection of the next question
	resets atomic.Int32 // how many there have been

	listener net.Listener
	all      sync.WaitGroup
	mu       sync.Mutex
	conns    map[*proxied]bool
	closed   bool
}

// proxied is one connection of a store, and one to the server.
type proxied struct {
	proxy         *proxy
	store, server *net.TCPConn
	due           atomic.Int32 // a moment of the answer
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{addr: l.Addr().String(), server: server, listener: l, conns: make(map[*proxied]bool)}
	p.all.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// reset has the connection of the next question be reset.
func (p *proxy) reset(at moment) { p.next.Store(int32(at)) }

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
		c := &proxied{proxy: p, store: conn.(*net.TCPConn), server: server.(*net.TCPConn)}
		if !p.add(c) {
			c.end(nil)
			return
		}
		p.all.Go(func() { c.end(pump(c.store, c.question)) })
		p.all.Go(func() { c.end(pump(c.server, c.answer)) })
	}
}

// pump hands on what it reads until something fails.
func pump(from net.Conn, to func(text []byte) error) error {
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

func (c *proxied) question(text []byte) error {
	switch at := moment(c.proxy.next.Swap(int32(never))); at {
	case beforeQuestion:
		return errReset
	case withinQuestion:
		return c.halve(c.server, text)
	case beforeAnswer, withinAnswer, afterAnswer:
		c.due.Store(int32(at))
	case never:
	}
	_, err := c.server.Write(text)
	return err
}

func (c *proxied) answer(text []byte) error {
	switch moment(c.due.Load()) {
	case beforeAnswer:
		return errReset
	case withinAnswer:
		return c.halve(c.store, text)
	case afterAnswer:
		_, _ = c.store.Write(text)
		return errReset
	}
	_, err := c.store.Write(text)
	return err
}

func (*proxied) halve(to net.Conn, text []byte) error {
	_, _ = to.Write(text[:len(text)/2])
	return errReset
}

// end closes both sides, without a goodbye if that was the order.
func (c *proxied) end(why error) {
	if errors.Is(why, errReset) {
		defer c.proxy.resets.Add(1)
		_ = c.store.SetLinger(0)
		_ = c.server.SetLinger(0)
	}
	c.proxy.remove(c)
	_ = c.store.Close()
	_ = c.server.Close()
}

func (p *proxy) add(c *proxied) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	return !p.closed
}

func (p *proxy) remove(c *proxied) {
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
