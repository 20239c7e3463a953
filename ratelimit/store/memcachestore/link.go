package memcachestore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// errUnsent is an error of a connection on which nothing was sent. What was not sent
// was not counted, and may be sent again.
var errUnsent = errors.New("the node has closed the connection")

// dialer opens connections to one node and knows which of them are open.
type dialer struct {
	net     net.Dialer
	tls     *tls.Config // nil without TLS
	timeout time.Duration

	mu     sync.Mutex
	open   map[*link]struct{}
	closed bool
	// stop ends attempts to connect.
	stopped context.Context
	stop    context.CancelFunc
}

func newDialer(addr string, opts *Options) *dialer {
	d := &dialer{
		net: net.Dialer{Resolver: opts.Resolver}, timeout: opts.Timeout,
		open: make(map[*link]struct{}),
	}
	d.stopped, d.stop = context.WithCancel(context.Background())
	if opts.TLS != nil {
		d.tls = opts.TLS.Clone()
		if d.tls.ServerName == "" {
			host, _, _ := net.SplitHostPort(addr)
			d.tls.ServerName = strings.TrimSuffix(host, ".")
		}
	}
	return d
}

// dial is for memcache.Client. ctx ends after the timeout.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.stopped, cancel)()
	conn, err := d.net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn, transport: conn, dialer: d}
	if sys, ok := conn.(syscall.Conn); ok {
		l.raw, _ = sys.SyscallConn()
	}
	if d.tls != nil {
		encrypted := tls.Client(conn, d.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
		l.Conn = encrypted
	}
	return l, d.add(l)
}

func (d *dialer) add(l *link) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = l.Conn.Close()
		return ErrClosed
	}
	d.open[l] = struct{}{}
	return nil
}

func (d *dialer) remove(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, l)
}

// close ends all connections, whatever is under way on them, and all attempts to
// connect.
func (d *dialer) close() {
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for l := range d.open {
		_ = l.transport.Close() // without the farewell of TLS, for which it might have to wait
	}
	clear(d.open)
}

// link is a connection on which one command at a time is written and answered. It
// sets its own deadlines: the client would grant a new timeout for every line.
type link struct {
	net.Conn
	transport net.Conn // what carries it: itself without TLS
	dialer    *dialer
	raw       syscall.RawConn // nil if there is none
	writing   bool            // a command, rather than waiting for one
}

// SetDeadline does nothing.
func (*link) SetDeadline(time.Time) error { return nil }

// Write finds out first whether the other side has hung up, when a command begins. A
// node that was restarted is noticed this way before a hit is lost to it.
func (l *link) Write(p []byte) (int, error) {
	if l.writing {
		return l.Conn.Write(p)
	}
	if l.raw != nil && hungUp(l.raw) {
		return 0, errUnsent
	}
	l.writing = true
	if err := l.Conn.SetDeadline(time.Now().Add(l.dialer.timeout)); err != nil {
		return 0, err
	}
	return l.Conn.Write(p)
}

func (l *link) Read(p []byte) (int, error) {
	l.writing = false
	return l.Conn.Read(p)
}

// Close closes the connection.
func (l *link) Close() error {
	l.dialer.remove(l)
	return l.Conn.Close()
}

// isReset tells that the other side has broken the connection off.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
