package statsd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sort"
	"time"
)

// transport delivers lines.
type transport interface {
	// open prepares for a flush and limits how long it may take. It connects if it has
	// to, unless ctx ends.
	open(ctx context.Context) error
	// send sends lines, whose ends are given, and returns how many of them were
	// accepted, even if others were not. The transport is closed after an error.
	send(lines []byte, ends []int) (int, error)
	// close closes the connection. The transport may be opened again.
	close()
}

// writer delivers lines to an io.Writer.
type writer struct{ w io.Writer }

func (writer) open(context.Context) error { return nil }
func (writer) close()                     {}

func (w writer) send(lines []byte, ends []int) (int, error) {
	n, err := w.w.Write(lines)
	return accepted(ends, n), err
}

// accepted returns how many lines end within the first n bytes.
func accepted(ends []int, n int) int { return sort.SearchInts(ends, n+1) }

// conn delivers lines over TCP or UDP. A goroutine reads from the connection, although
// daemons send nothing, because reads report a closed TCP connection and a refused UDP
// port.
type conn struct {
	network, addr string
	timeout       time.Duration // for writing a flush

	net.Conn
	ended chan struct{} // closed when the peer has ended the connection
}

const (
	// dialTimeout limits each attempt to connect, name resolution included.
	dialTimeout = 2 * time.Second
	// writeTimeout limits how long one flush waits for a daemon that does not read.
	writeTimeout = 5 * time.Second
	// maxPacket is the size of a UDP datagram in bytes, which fits an Ethernet frame. A longer
	// line is sent alone.
	maxPacket = 1432
)

// open connects unless it is connected. A connection that has ended since the last
// flush is replaced before anything is written to it.
func (c *conn) open(ctx context.Context) error {
	if c.Conn != nil && c.hasEnded() {
		c.close()
	}
	if c.Conn == nil {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		connect := c.connect
		if c.network == "udp" {
			connect = c.connectUDP
		}
		if err := connect(ctx, c.addr); err != nil {
			return err
		}
	}
	return c.SetWriteDeadline(time.Now().Add(c.timeout))
}

func (c *conn) connect(ctx context.Context, addr string) error {
	to, err := new(net.Dialer).DialContext(ctx, c.network, addr)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	c.Conn, c.ended = to, ended
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, to) // how it ended does not matter
	}()
	return nil
}

func (c *conn) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

func (c *conn) close() {
	if c.Conn != nil {
		_ = c.Conn.Close()
		<-c.ended
		c.Conn = nil
	}
}

// send writes the lines. Over TCP, a line counts as sent when the kernel has accepted
// all of it.
func (c *conn) send(lines []byte, ends []int) (int, error) {
	if c.network == "udp" {
		return c.sendPackets(lines, ends)
	}
	n, err := c.Write(lines)
	return accepted(ends, n), err
}

const (
	// refusalWait limits the wait for a refusal after each batch of datagrams. It
	// also keeps a large flush from filling the daemon's receive buffer at once.
	refusalWait = time.Millisecond
	// firstRefusalWait limits that wait after the first datagram to a port.
	firstRefusalWait = 20 * time.Millisecond
)

var errRefused = errors.New("connection refused")

// connectUDP resolves the address and connects to the first one whose port does not
// refuse an empty line. IPv4 addresses come first: a daemon on "localhost" usually
// listens there.
func (c *conn) connectUDP(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	for _, ip := range ips {
		addr := net.JoinHostPort(ip.Unmap().String(), port)
		if err = c.connect(ctx, addr); err != nil {
			continue
		}
		if _, err = c.Write([]byte("\n")); err == nil {
			err = c.awaitRefusal(firstRefusalWait)
		}
		if err == nil {
			return nil
		}
		c.close()
		err = fmt.Errorf("%s: %w", addr, err)
	}
	return err
}

// awaitRefusal returns an error if the port is refused within a time.
func (c *conn) awaitRefusal(wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
	}
	if c.hasEnded() { // even if the time has passed as well
		return errRefused
	}
	return nil
}

// sendPackets packs the lines into datagrams. If one is refused, all count as not
// sent: it is not known which of them arrived, but most likely none did.
func (c *conn) sendPackets(lines []byte, ends []int) (int, error) {
	start := 0
	for i, end := range ends {
		if i+1 < len(ends) && ends[i+1]-start <= maxPacket {
			continue
		}
		if _, err := c.Write(lines[start:end]); err != nil {
			return 0, err
		}
		start = end
	}
	if err := c.awaitRefusal(refusalWait); err != nil {
		return 0, err
	}
	return len(ends), nil
}
