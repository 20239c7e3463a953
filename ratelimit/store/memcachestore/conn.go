package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/ashlar-go/ashlar/internal/circuit"
)

// errUnsent is returned for a command of which nothing was sent. It was not counted, and
// may be sent again.
var errUnsent = errors.New("the node has closed the connection")

// errConnect marks errors of connections that could not be opened. Nothing was sent.
var errConnect = errors.New("cannot connect")

// conn is a connection that carries one command at a time. It sets its own deadline for
// each command: the client library would grant a new timeout for every line of a reply.
type conn struct {
	net.Conn
	transport net.Conn // carries Conn
	timeout   time.Duration
	used      bool        // a reply was read
	writing   bool        // a command has begun
	stopAbort func() bool // unregisters the connection from node.abort
}

// dial opens a connection for memcache.Client, which limits ctx by the timeout.
func (n *node) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.aborted, cancel)()
	c := &conn{timeout: n.opts.Timeout}
	var err error
	c.Conn, c.transport, err = circuit.DialTLS(ctx, n.opts.TLS, addr, func(ctx context.Context) (net.Conn, error) { return n.opts.dial(ctx, network, addr) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConnect, err)
	}
	c.stopAbort = context.AfterFunc(n.aborted, func() { _ = c.transport.Close() })
	return c, nil
}

// SetDeadline does nothing: Write sets the deadline of a command.
func (*conn) SetDeadline(time.Time) error { return nil }

// Write checks, when a command begins, whether the node has closed the connection, so that
// no increment is lost on the connections of a node that was restarted.
func (c *conn) Write(p []byte) (int, error) {
	if !c.writing {
		if c.used && circuit.Stale(c.transport) {
			return 0, errUnsent
		}
		if err := c.Conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
			return 0, err
		}
		c.writing = true
	}
	return c.Conn.Write(p)
}

// Read ends the writing of a command.
func (c *conn) Read(p []byte) (int, error) {
	c.writing, c.used = false, true
	return c.Conn.Read(p)
}

// Close closes the connection.
func (c *conn) Close() error {
	c.stopAbort()
	return c.Conn.Close()
}
