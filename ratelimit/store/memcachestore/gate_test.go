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

// gate is a proxy before a node that can hold commands back, by what they begin with.
type gate struct {
	Addr string

	listener net.Listener
	node     string
	mu       sync.Mutex
	holding  string        // a command, with a blank
	opened   chan struct{} // closed when holding ends
	waiting  int           // commands that are held back
	lonely   bool          // break off all other connections when one reads
	conns    []net.Conn
	running  sync.WaitGroup
}

func newGate(t testing.TB, node string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{Addr: l.Addr().String(), listener: l, node: node, opened: make(chan struct{})}
	g.running.Go(g.accept)
	t.Cleanup(func() {
		_ = l.Close()
		g.open()
		g.cut()
		g.running.Wait()
	})
	return g
}

// hold keeps back commands of a name from now on, until open, and those of other names
// no more that are not held back already.
func (g *gate) hold(command string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holding == "" {
		g.opened = make(chan struct{})
	}
	g.holding = command + " "
}

// await returns when a line may pass.
func (g *gate) await(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holding == "" || !strings.HasPrefix(line, g.holding) {
		return
	}
	g.waiting++
	opened := g.opened
	g.mu.Unlock()
	<-opened
	g.mu.Lock()
	g.waiting--
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holding != "" {
		g.holding = ""
		close(g.opened)
	}
}

// held is how many commands are held back.
func (g *gate) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// cut breaks all connections off.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	g.conns = nil
}

// cutOthers has the next read end all connections but its own.
func (g *gate) cutOthers() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lonely = true
}

func (g *gate) seen(line string, from net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.lonely || !strings.HasPrefix(line, "gets ") {
		return
	}
	g.lonely = false
	for i := 0; i < len(g.conns); i += 2 {
		if g.conns[i] != from {
			_ = g.conns[i].Close()
		}
	}
}

func (g *gate) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return
		}
		node, err := net.Dial("tcp", g.node)
		if err != nil {
			_ = conn.Close()
			continue
		}
		g.mu.Lock()
		g.conns = append(g.conns, conn, node)
		g.mu.Unlock()
		g.running.Go(func() {
			_, _ = io.Copy(conn, node)
			_ = conn.Close()
		})
		g.running.Go(func() { g.pass(conn, node) })
	}
}

// pass hands on a client's commands, line by line.
func (g *gate) pass(from, to net.Conn) {
	defer func() { _ = to.Close() }()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		g.seen(line, from)
		g.await(line)
		if _, err := io.WriteString(to, line); err != nil {
			return
		}
	}
}
