package httpx

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Unlimited is the value of a limit in [ServeOptions], [ConnectionLimits] and [BudgetOptions]
// that allows any number.
const Unlimited = math.MaxInt

// ConnectionLimits configures [LimitListener]. Nil and zero fields mean the defaults.
type ConnectionLimits struct {
	// Total is the maximum number of open connections. Default: 1024.
	Total int
	// PerAddress is the maximum number of open connections of one client address. An IPv6
	// address counts as its /64 network. Default: 128.
	PerAddress int
	// Exempt are networks to which PerAddress does not apply, such as those of trusted proxies,
	// because they connect for many clients. Unix sockets are always exempt.
	Exempt []netip.Prefix
	// WriteStall is the time in which a client must accept 64 KiB of a response, or its rest.
	// Default: 10 s.
	WriteStall time.Duration
	// Log receives at most one record a minute about connections that were closed because of
	// these limits. Default: slog.Default().
	Log *slog.Logger
}

// LimitListener returns a listener with at most Total connections, and at most PerAddress for
// each client address. [Serve] uses it by itself; it is exported for servers of other protocols.
//
// A client with few connections is accepted even if others hold all of them: one connection is
// closed in favour of the new one. It is a connection of the address that has the most, first an
// idle one, then one that waits for its client, then the oldest. An address that has PerAddress
// connections loses the oldest one that is idle or waits for its client; if all are busy, the
// new one is closed. Busy connections of exempt networks are never closed.
//
// A connection that is refused, or closed while it waits for its client, is kept open for 1 s
// without being read, so that its client does not open the next one at once. At most twice Total are.
//
// Connections of other servers than [Serve] count as busy after their first byte.
func LimitListener(l net.Listener, opts *ConnectionLimits) net.Listener {
	return newConnections(l, opts)
}

func newConnections(l net.Listener, opts *ConnectionLimits) *connections {
	o := *cmp.Or(opts, &ConnectionLimits{})
	o.Total = cmp.Or(o.Total, 1024)
	o.PerAddress = cmp.Or(o.PerAddress, 128)
	o.WriteStall = cmp.Or(o.WriteStall, 10*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	return &connections{Listener: l, opts: o, peers: map[peerKey]*peer{}}
}

// connections is a listener that bounds its open connections.
type connections struct {
	net.Listener
	opts     ConnectionLimits
	reported bool // ConnState reports the states of connections

	mu     sync.Mutex
	open   int
	parked int // closed for their servers, but not for their clients
	peers  map[peerKey]*peer
	closed int       // because of the limits, since the last record
	logged time.Time // the last record
}

// peerKey identifies those whose connections count together: an address that is exempt, or the
// network of others, which does not contain the exempt addresses in it.
type peerKey struct {
	addr   netip.Addr
	exempt bool
}

// peer is a client with its open connections, the oldest first.
type peer struct {
	peerKey
	conns []*conn
}

// activity orders connections: lower ones are closed first.
type activity int32

const (
	idle      activity = iota // between two requests
	receiving                 // waits for a request or its body
	sending                   // waits for the client to accept a response
	busy                      // executes a request
)

// conn is an open connection.
type conn struct {
	net.Conn
	owner    *connections
	peer     *peer
	activity atomic.Int32
	writing  atomic.Bool
	ended    atomic.Bool // displaced while it waited for its client

	mu       sync.Mutex
	deadline time.Time // for writing, as set by the server
}

// Accept returns the next connection that the limits allow.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if kept := l.admit(c); kept != nil {
			return kept, nil
		}
		l.park(c)
	}
}

// parkTime is the time for which a connection that was refused is kept open.
const parkTime = time.Second

// park closes a connection after parkTime, or now if too many wait for that.
func (l *connections) park(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parked/2 >= l.opts.Total {
		_ = c.Close()
		return
	}
	l.parked++
	time.AfterFunc(parkTime, func() {
		_ = c.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.parked--
	})
}

// admit registers a connection, or returns nil.
func (l *connections) admit(c net.Conn) *conn {
	addr := parseAddr(c.RemoteAddr().String())
	key := peerKey{addr, !addr.IsValid() || inNetworks(l.opts.Exempt, addr)}
	if !key.exempt {
		key.addr = networkOf(addr)
	}
	l.mu.Lock()
	p := l.peers[key]
	if p == nil {
		p = &peer{peerKey: key}
	}
	victim, refused := l.choose(p)
	if victim != nil {
		l.forget(victim)
	}
	own := &conn{Conn: c, owner: l, peer: p}
	own.activity.Store(int32(receiving))
	if !refused {
		l.open++
		p.conns = append(p.conns, own)
		l.peers[key] = p
	}
	count := l.report(victim != nil || refused)
	l.mu.Unlock()

	if victim != nil {
		victim.end()
	}
	if count > 0 {
		l.opts.Log.Warn("connections were closed because a limit is reached", "closed", count,
			"limit", l.opts.Total, "limit_per_address", l.opts.PerAddress, "last_client", key.addr.String())
	}
	if refused {
		return nil
	}
	return own
}

// choose returns the connection to close in favour of a new one, if one is necessary, and whether
// the new one is refused instead.
func (l *connections) choose(p *peer) (victim *conn, refused bool) {
	switch {
	case !p.exempt && len(p.conns) >= l.opts.PerAddress:
		victim = p.first(sending)
	case l.open < l.opts.Total:
		return nil, false
	default:
		victim = l.displaced(p)
	}
	return victim, victim == nil
}

// displaced returns the connection that a new one of p displaces when all are in use, or nil.
func (l *connections) displaced(p *peer) *conn {
	count := 0 // of the new one's address
	if !p.exempt {
		count = len(p.conns)
	}
	var found *conn
	most := 0
	for _, other := range l.peers {
		n := len(other.conns)
		if other.exempt || n <= count || n < most {
			continue
		}
		limit := sending
		if n > count+1 {
			limit = busy
		}
		if c := other.first(limit); c != nil && (n > most || c.state() < found.state()) {
			found, most = c, n
		}
	}
	if found != nil {
		return found
	}
	if c := p.first(sending); c != nil {
		return c
	}
	for _, other := range l.peers {
		if c := other.first(idle); c != nil && other.exempt {
			return c
		}
	}
	return nil
}

// first returns the connection with the lowest activity up to a limit, of equal ones the oldest.
func (p *peer) first(limit activity) *conn {
	var found *conn
	lowest := limit + 1
	for _, c := range p.conns {
		if a := c.state(); a < lowest {
			found, lowest = c, a
		}
	}
	return found
}

// report counts a closed connection. It returns the number for a log record that is due, or 0.
func (l *connections) report(closed bool) int {
	if !closed {
		return 0
	}
	l.closed++
	if time.Since(l.logged) < time.Minute {
		return 0
	}
	count := l.closed
	l.closed, l.logged = 0, time.Now()
	return count
}

// forget removes a connection. The caller holds the lock.
func (l *connections) forget(c *conn) {
	if i := slices.Index(c.peer.conns, c); i >= 0 {
		c.peer.conns = slices.Delete(c.peer.conns, i, i+1)
		l.open--
	}
	if len(c.peer.conns) == 0 && l.peers[c.peer.peerKey] == c.peer {
		delete(l.peers, c.peer.peerKey)
	}
}

// connState follows the states of an HTTP server's connections.
func (l *connections) connState(nc net.Conn, state http.ConnState) {
	c := ownConn(nc)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.activity.Store(int32(busy))
	case http.StateIdle:
		c.activity.Store(int32(idle))
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(c.peer.conns, c); i >= 0 { // the longest idle one is closed first
			c.peer.conns = append(slices.Delete(c.peer.conns, i, i+1), c)
		}
	}
}

// ownConn returns the conn below a connection of an HTTP server, or nil.
func ownConn(nc net.Conn) *conn {
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok { // TLS
		nc = over.NetConn()
	}
	c, _ := nc.(*conn)
	return c
}

type connKey struct{}

// connContext stores the connection, for followBodies.
func (l *connections) connContext(ctx context.Context, nc net.Conn) context.Context {
	if c := ownConn(nc); c != nil {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// followBodies records which HTTP/1 connections wait for the body of a request.
func followBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if ok && r.ProtoMajor == 1 && r.ContentLength != 0 && r.Body != nil {
			c.activity.Store(int32(receiving))
			r = withBody(r, &followedBody{r.Body, c})
		}
		next.ServeHTTP(w, r)
	})
}

// followedBody is a body whose connection is busy when it is complete.
type followedBody struct {
	io.ReadCloser
	conn *conn
}

func (b *followedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.conn.activity.CompareAndSwap(int32(receiving), int32(busy))
	}
	return n, err
}

func (c *conn) state() activity {
	if a := activity(c.activity.Load()); a != busy || !c.writing.Load() {
		return a
	}
	return sending
}

// end closes a connection that was displaced.
func (c *conn) end() {
	if c.state() != receiving {
		_ = c.Conn.Close()
		return
	}
	c.ended.Store(true)
	_ = c.SetReadDeadline(time.Unix(1, 0)) // the server closes it when Read fails
}

// Read reads from the client.
func (c *conn) Read(p []byte) (int, error) {
	if c.ended.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.Conn.Read(p)
	if n > 0 && !c.owner.reported {
		c.activity.Store(int32(busy))
	}
	return n, err
}

// writeChunk is the number of bytes that a client must accept within ConnectionLimits.WriteStall.
const writeChunk = 64 << 10

// Write writes in chunks, each with its own deadline.
func (c *conn) Write(p []byte) (n int, err error) {
	c.writing.Store(true)
	defer c.writing.Store(false)
	for {
		if err := c.expectProgress(); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:min(len(p), n+writeChunk)])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// expectProgress sets the deadline for the next chunk, within that of the server.
func (c *conn) expectProgress() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	deadline := time.Now().Add(c.owner.opts.WriteStall)
	if !c.deadline.IsZero() && c.deadline.Before(deadline) {
		deadline = c.deadline
	}
	return c.Conn.SetWriteDeadline(deadline)
}

// SetWriteDeadline sets the deadline for all writes.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline sets the deadlines for reads and writes.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.Conn.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// CloseWrite tells the client that nothing follows, where the connection can.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	c.owner.forget(c)
	c.owner.mu.Unlock()
	if c.ended.CompareAndSwap(true, false) {
		c.owner.park(c.Conn)
		return nil
	}
	return c.Conn.Close()
}

// networkOf returns the address that a client is counted by: an IPv6 address is that of its /64
// network, the smallest that a subscriber is given.
func networkOf(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	network, _ := addr.Prefix(64) // the number of bits is valid
	return network.Addr()
}

func inNetworks(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(addr) })
}
