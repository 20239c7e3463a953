package redisstore

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
)

// errUnsent is wrapped by an error of a connection on which nothing of the pipeline
// was sent. What was not sent was not counted, and may be sent again.
var errUnsent = errors.New("nothing was sent")

// traffic counts connections. The names are those of the statistics (reference 1.9).
type traffic struct {
	active atomic.Int64
	total  atomic.Uint64
	closed atomic.Uint64
}

// link is a connection that knows whether a question was sent since the last answer.
type link struct {
	net.Conn
	raw     syscall.RawConn // nil if there is none
	traffic *traffic
	asked   bool // used by the one goroutine that has the connection
	closed  atomic.Bool
}

func newLink(conn, transport net.Conn, t *traffic) *link {
	l := &link{Conn: conn, traffic: t}
	if s, ok := transport.(syscall.Conn); ok {
		l.raw, _ = s.SyscallConn()
	}
	t.active.Add(1)
	t.total.Add(1)
	return l
}

// Write finds out first whether the other side has hung up, when nothing was asked yet
// that an answer could be due to. A server that was restarted is noticed this way
// before a question is lost to it.
func (l *link) Write(p []byte) (int, error) {
	first := !l.asked
	if first && l.gone() {
		return 0, fmt.Errorf("the server has closed the connection, %w", errUnsent)
	}
	n, err := l.Conn.Write(p)
	if err != nil && first && n == 0 {
		return 0, fmt.Errorf("%w, %w", err, errUnsent)
	}
	l.asked = true
	return n, err
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.asked = false
	}
	return n, err
}

// gone reports whether the other side has hung up.
func (l *link) gone() bool { return l.closed.Load() || l.raw != nil && hungUp(l.raw) }

// Close is counted once.
func (l *link) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.traffic.active.Add(-1)
	l.traffic.closed.Add(1)
	return l.Conn.Close()
}
