package circuit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// redialAfter is the time after which another connection is tried beside one that is still being opened.
	redialAfter = 100 * time.Millisecond
	// maxRedial limits all but the first, so that there are few at once.
	maxRedial = 300 * time.Millisecond
)

// dialFirst returns the first connection that dial establishes, or its first error. It calls dial
// again every 100 milliseconds, because a packet that was lost is repeated only after a
// second, and sends a new one at once. dial must return soon after its context has ended.
func dialFirst(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result)
	try := func(limited context.Context) {
		conn, err := dial(limited)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			return // others are being opened
		}
		select {
		case results <- result{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}
	again := time.NewTicker(redialAfter)
	defer again.Stop()
	go try(ctx)
	for {
		select {
		case r := <-results:
			return r.conn, r.err
		case <-again.C:
			go func() {
				limited, cancel := context.WithTimeout(ctx, maxRedial)
				defer cancel()
				try(limited)
			}()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// DialTLS returns the first connection that dial establishes, see [dialFirst]. It begins TLS unless config is nil. A config without ServerName stands for
// the host of addr.
func DialTLS(ctx context.Context, config *tls.Config, addr string, dial func(context.Context) (net.Conn, error)) (*Conn, error) {
	transport, err := dialFirst(ctx, dial)
	if err != nil || config == nil {
		return &Conn{Conn: transport, Transport: transport}, err
	}
	if host, _, err := net.SplitHostPort(addr); err == nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName = strings.TrimSuffix(host, ".")
	}
	encrypted := tls.Client(transport, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = transport.Close() // closing TLS might have to wait for the peer
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &Conn{Conn: encrypted, Transport: transport}, nil
}

// Conn is a connection that carries one command at a time. When a command begins, it checks
// whether the peer has closed the connection, so that no command is lost on the connections to a server
// that was restarted. Set its fields before it is used.
type Conn struct {
	net.Conn           // encrypted or not
	Transport net.Conn // carries Conn
	// Timeout, if not 0, limits each command, in place of deadlines that are set from outside.
	Timeout time.Duration
	// Begin, if not nil, is called when a command begins. used means that a reply was read before. If it
	// fails, nothing is sent.
	Begin func(used bool) error
	// Closed, if not nil, is called once, when Conn is closed.
	Closed func()

	closed  sync.Once
	used    bool
	writing bool // a command has begun
	wrote   bool // something of it
}

// ErrStale is returned for a command on a connection that was closed before it began.
var ErrStale = errors.New("the connection was closed")

// Write implements net.Conn. Its errors are Unsent if nothing of the command was sent.
func (c *Conn) Write(p []byte) (int, error) {
	if !c.writing {
		if err := c.begin(); err != nil {
			return 0, &Unsent{err}
		}
		c.writing, c.wrote = true, false
	}
	n, err := c.Conn.Write(p)
	if c.wrote = c.wrote || n > 0; err != nil && !c.wrote {
		err = &Unsent{err}
	}
	return n, err
}

func (c *Conn) begin() error {
	if c.used && isStale(c.Transport) {
		return ErrStale
	}
	if c.Begin != nil {
		return c.Begin(c.used)
	}
	if c.Timeout > 0 {
		return c.Conn.SetDeadline(time.Now().Add(c.Timeout))
	}
	return nil
}

// SetDeadline implements net.Conn. It does nothing if Conn has a timeout of its own.
func (c *Conn) SetDeadline(t time.Time) error {
	if c.Timeout > 0 {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if c.Closed != nil {
		c.closed.Do(c.Closed)
	}
	return c.Conn.Close()
}

// Read implements net.Conn. It ends the writing of a command.
func (c *Conn) Read(p []byte) (int, error) {
	c.writing, c.used = false, true
	return c.Conn.Read(p)
}

// Unsent marks errors of commands that were certainly not sent: they may be sent again.
type Unsent struct{ Err error }

// Error implements error.
func (e *Unsent) Error() string { return e.Err.Error() }

// Unwrap returns a list because go-redis unwraps errors of new connections once, with
// errors.Unwrap, which ignores lists.
func (e *Unsent) Unwrap() []error { return []error{e.Err} }

// IsUnsent reports whether an error is Unsent or wraps it.
func IsUnsent(err error) bool {
	_, ok := errors.AsType[*Unsent](err)
	return ok
}
