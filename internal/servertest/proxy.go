package servertest

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault selects what a Proxy does to the bytes of its connections.
type Fault int

// The faults that last. Those of connections that end are methods of Proxy.
const (
	None      Fault = iota
	Stall           // bytes are held until the fault ends
	Trickle         // a byte every millisecond
	Blackhole       // bytes are lost, and those that follow on the same connection too
)

// Proxy forwards TCP connections to a server, and makes faults of the network. Its methods are
// safe for concurrent use.
type Proxy struct {
	Addr string // host:port, where it listens

	t      testing.TB
	server string
	all    sync.WaitGroup

	mu       sync.Mutex
	fault    Fault
	changed  chan struct{} // closed when the fault changes
	listener net.Listener  // nil while the link is cut
	links    map[*link]bool
}

// link is a connection of a client, and the one to the server.
type link struct {
	client, server *net.TCPConn
	lost           atomic.Bool // bytes were lost
	ended          chan struct{}
	end            sync.Once
}

// NewProxy starts a proxy for the server at an address, host:port. It ends with the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, server: server, Addr: "127.0.0.1:0", links: make(map[*link]bool), changed: make(chan struct{})}
	p.Restore()
	p.Addr = p.listener.Addr().String()
	t.Cleanup(func() {
		p.Cut()
		p.all.Wait()
	})
	return p
}

// Set makes a fault until it is set to another. Connections that are opened meanwhile are
// affected too.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.fault, p.changed = f, make(chan struct{})
}

// Reset resets all connections, at both ends.
func (p *Proxy) Reset() {
	for _, l := range p.open() {
		l.reset()
	}
}

// HalfClose ends what the server sends on all connections, and leaves the other direction open.
func (p *Proxy) HalfClose() {
	for _, l := range p.open() {
		_ = l.client.CloseWrite()
	}
}

// Cut resets all connections and refuses new ones until Restore.
func (p *Proxy) Cut() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.Reset()
}

// Restore ends Cut. It must not be called after the test.
func (p *Proxy) Restore() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return
	}
	l, err := net.Listen("tcp", p.Addr)
	for range 100 { // the port may still be in use for a moment
		if err == nil {
			break
		}
		time.Sleep(time.Millisecond)
		l, err = net.Listen("tcp", p.Addr)
	}
	if err != nil {
		p.t.Errorf("servertest: %v", err)
		return
	}
	p.listener = l
	p.all.Go(func() { p.accept(l) })
}

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.links))
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.server)
	if err != nil {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn), ended: make(chan struct{})}
	p.mu.Lock()
	cut := p.listener == nil
	p.links[l] = true
	p.mu.Unlock()
	if cut {
		l.reset()
	}
	var both sync.WaitGroup
	both.Go(func() { p.forward(l, l.server, l.client) })
	both.Go(func() { p.forward(l, l.client, l.server) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// forward passes on what it reads until one connection ends. Then it ends the other.
func (p *Proxy) forward(l *link, to, from *net.TCPConn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(l, to, buf[:n]) || err != nil {
			if err != nil && !errors.Is(err, io.EOF) {
				l.reset()
			}
			l.close()
			return
		}
	}
}

// pass writes the text as the fault has it, and returns false if that fails.
func (p *Proxy) pass(l *link, to io.Writer, text []byte) bool {
	for len(text) > 0 {
		p.mu.Lock()
		fault, changed := p.fault, p.changed
		p.mu.Unlock()
		switch {
		case fault == Blackhole || l.lost.Load():
			l.lost.Store(true)
			return true
		case fault == Stall:
			select {
			case <-changed:
			case <-l.ended:
				return false
			}
		case fault == Trickle:
			if _, err := to.Write(text[:1]); err != nil {
				return false
			}
			text = text[1:]
			time.Sleep(time.Millisecond)
		default:
			_, err := to.Write(text)
			return err == nil
		}
	}
	return true
}

func (l *link) reset() {
	_ = l.client.SetLinger(0)
	_ = l.server.SetLinger(0)
	l.close()
}

func (l *link) close() {
	l.end.Do(func() { close(l.ended) })
	_ = l.client.Close()
	_ = l.server.Close()
}
