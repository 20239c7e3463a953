package memcachestore_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy forwards connections to a node and can delay commands with a prefix.
type proxy struct {
	Addr string

	listener net.Listener
	node     string
	mu       sync.Mutex
	holding  string        // the name of a command and a space
	released chan struct{} // closed by release
	waiting  int           // commands that are delayed
	isolate  bool          // close all other connections at the next read
	replies  bool          // delay the reply to the next read
	delayed  net.Conn      // to the node, whose replies are delayed
	conns    []net.Conn
	before   func(line string) // is called before a line is forwarded
	running  sync.WaitGroup
}

func newProxy(t testing.TB, node string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Addr: l.Addr().String(), listener: l, node: node, released: make(chan struct{})}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.release()
		p.cut()
		p.running.Wait()
	})
	return p
}

// hold delays commands with the name from now on, until release. Commands with the name of
// an earlier call pass again, except those that are already delayed.
func (p *proxy) hold(command string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding == "" {
		p.released = make(chan struct{})
	}
	p.holding = command + " "
}

// holdReply delays the reply to the next read until release.
func (p *proxy) holdReply() {
	p.hold("none")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies = true
}

// intercept sets what is called with each line before it is forwarded. nil is nothing.
func (p *proxy) intercept(before func(line string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// note remembers the connection of a read whose reply is to be delayed.
func (p *proxy) note(line string, to net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.before != nil {
		p.before(line)
	}
	if p.replies && strings.HasPrefix(line, "gets ") {
		p.replies, p.delayed = false, to
	}
}

// awaitReply returns when a reply on a connection to the node may be forwarded.
func (p *proxy) awaitReply(node net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.delayed != node {
		return
	}
	p.delayed = nil
	p.waiting++
	released := p.released
	p.mu.Unlock()
	<-released
	p.mu.Lock()
	p.waiting--
}

// reply is a connection to the node as its client sees it.
type reply struct {
	net.Conn
	p *proxy
}

func (r reply) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.p.awaitReply(r.Conn)
	return n, err
}

// await returns when the line may be forwarded.
func (p *proxy) await(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding == "" || !strings.HasPrefix(line, p.holding) {
		return
	}
	p.waiting++
	released := p.released
	p.mu.Unlock()
	<-released
	p.mu.Lock()
	p.waiting--
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holding != "" {
		p.holding = ""
		close(p.released)
	}
}

// held returns the number of delayed commands.
func (p *proxy) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	p.conns = nil
}

// cutOthers closes all other connections when the next read arrives on one.
func (p *proxy) cutOthers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isolate = true
}

func (p *proxy) closeOthers(line string, from net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isolate || !strings.HasPrefix(line, "gets ") {
		return
	}
	p.isolate = false
	for i := 0; i < len(p.conns); i += 2 {
		if p.conns[i] != from {
			_ = p.conns[i].Close()
		}
	}
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		node, err := net.Dial("tcp", p.node)
		if err != nil {
			_ = conn.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, conn, node)
		p.mu.Unlock()
		p.running.Go(func() {
			_, _ = io.Copy(conn, reply{node, p})
			_ = conn.Close()
		})
		p.running.Go(func() { p.forward(conn, node) })
	}
}

// forward copies a client's commands, line by line.
func (p *proxy) forward(from, to net.Conn) {
	defer func() { _ = to.Close() }()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		p.closeOthers(line, from)
		p.await(line)
		p.note(line, to)
		if _, err := io.WriteString(to, line); err != nil {
			return
		}
	}
}
