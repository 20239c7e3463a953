package statsd

import (
	"context"
	"io"
	"net"
	"sort"
	"time"
)

// stream carries lines over TCP.
type stream struct {
	addr    string
	dial    time.Duration // most time to connect
	timeout time.Duration // most time to write a flush
	conn    net.Conn
	gone    chan struct{} // closed when the daemon has closed the connection
}

// open connects unless there is a connection. One that the daemon has closed since
// the last flush is noticed here, before anything is written to it.
func (s *stream) open(ctx context.Context) error {
	if s.conn != nil && ended(s.gone) {
		s.close()
	}
	if s.conn == nil {
		d := net.Dialer{Timeout: s.dial}
		conn, err := d.DialContext(ctx, "tcp", s.addr)
		if err != nil {
			return err
		}
		s.conn, s.gone = conn, make(chan struct{})
		go watch(conn, s.gone)
	}
	return s.conn.SetWriteDeadline(time.Now().Add(s.timeout))
}

// watch reads, though a daemon has nothing to say, because that is how the end of a
// connection is learned of. It ends when the connection does.
func watch(conn net.Conn, gone chan<- struct{}) {
	defer close(gone)
	io.Copy(io.Discard, conn) // how it ended does not matter
}

func ended(gone <-chan struct{}) bool {
	select {
	case <-gone:
		return true
	default:
		return false
	}
}

// send writes the lines. Those that the kernel has taken whole count as sent.
func (s *stream) send(lines []byte, ends []int) (int, error) {
	n, err := s.conn.Write(lines)
	return taken(ends, n), err
}

// taken is how many lines end within the first n bytes.
func taken(ends []int, n int) int { return sort.SearchInts(ends, n+1) }

func (s *stream) close() {
	if s.conn == nil {
		return
	}
	s.conn.Close() // nothing is left to be told
	<-s.gone
	s.conn = nil
}
