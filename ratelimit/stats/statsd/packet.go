package statsd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

const (
	// settle is how long to wait for a refusal after each batch of datagrams. It is also
	// what keeps a flush of many statistics from filling the daemon's buffer at once.
	settle = time.Millisecond
	// settleFirst is how long to wait after the first datagram to a port.
	settleFirst = 20 * time.Millisecond
)

var errRefused = errors.New("connection refused")

// packet carries lines over UDP. A host that is up says when nobody listens on the
// port, and that is all there is to learn.
type packet struct {
	addr    string
	dial    time.Duration
	timeout time.Duration
	max     int // bytes in a datagram
	conn    net.Conn
	gone    chan struct{} // closed when the port is refused
}

// open looks the address up, and sends an empty line to find out whether the port is
// refused, unless that has been done.
func (p *packet) open(ctx context.Context) error {
	if p.conn != nil && ended(p.gone) {
		p.close()
	}
	if p.conn == nil {
		if err := p.connect(ctx); err != nil {
			return err
		}
	}
	return p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
}

// connect takes the first of the host's addresses whose port is not refused, those of
// IPv4 first: a daemon on "localhost" listens there more often than not.
func (p *packet) connect(ctx context.Context) error {
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.dial)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	for _, a := range addrs {
		if err = p.try(ctx, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return nil
		}
	}
	return err
}

// try connects to one address and waits whether the port is refused.
func (p *packet) try(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return err
	}
	p.conn, p.gone = conn, make(chan struct{})
	go watchPort(conn, p.gone)
	_, err = conn.Write([]byte("\n"))
	if err == nil {
		err = p.settled(settleFirst)
	}
	if err != nil {
		p.close()
		return fmt.Errorf("%s: %w", addr, err)
	}
	return nil
}

// watchPort reads, because that is how a refusal is learned of. It ends when the
// connection does.
func watchPort(conn net.Conn, gone chan<- struct{}) {
	defer close(gone)
	buf := make([]byte, 512)
	for {
		if _, err := conn.Read(buf); err != nil {
			return
		}
	}
}

// settled waits for so long whether the port is refused.
func (p *packet) settled(wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C:
	}
	if ended(p.gone) { // by now, even if the wait is over too
		return errRefused
	}
	return nil
}

// send packs the lines into datagrams. When one is refused all count as not sent:
// which of them came in time nobody knows, but most likely none.
func (p *packet) send(lines []byte, ends []int) (int, error) {
	start := 0
	for i, end := range ends {
		if i+1 < len(ends) && ends[i+1]-start <= p.max {
			continue
		}
		if _, err := p.conn.Write(lines[start:end]); err != nil {
			return 0, err
		}
		start = end
	}
	if err := p.settled(settle); err != nil {
		return 0, err
	}
	return len(ends), nil
}

func (p *packet) close() {
	if p.conn == nil {
		return
	}
	p.conn.Close() // nothing is left to be told
	<-p.gone
	p.conn = nil
}
