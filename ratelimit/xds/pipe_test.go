package xds_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// text formats durations.
func text(ds []time.Duration) string { return fmt.Sprint(ds) }

// pipeListener is an in-memory listener whose connections can be frozen: then they drop
// what the client sends.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	frozen atomic.Bool
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return &frozenConn{Conn: client, l: l}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// frozenConn drops writes while its listener is frozen.
type frozenConn struct {
	net.Conn
	l *pipeListener
}

func (c *frozenConn) Write(p []byte) (int, error) {
	if c.l.frozen.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
