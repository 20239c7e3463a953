package server

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/internal/clientkey"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// What an unfinished call counts for, in bytes: roughly what the process holds for it.
const (
	streamBytes     = 8 << 10  // a goroutine with its stack, and the stream
	headerFactor    = 128      // a byte of a compressed header may refer to a whole field
	maxHeaderCharge = 64 << 10 // the fields of a header of 16 KiB, the default limit
	streamWindow    = 64 << 10 // what gRPC buffers of a stream
	dataFrameBytes  = 128      // of each DATA frame, in addition to its buffer
)

// dataCharge returns the memory of a DATA frame: small ones have buffers of their size,
// others have pooled ones.
func dataCharge(length int64) int64 {
	switch {
	case length <= 1<<10:
		return dataFrameBytes + length
	case length <= 4<<10:
		return dataFrameBytes + 4<<10
	}
	return dataFrameBytes + 16<<10
}

// connectionLimits bound what the clients of the gRPC listener make the process hold.
type connectionLimits struct {
	connections    int           // open at the same time
	perAddress     int           // of these from one IPv4 address or IPv6 /64 network
	bytes          int64         // of all unfinished calls together
	messageTimeout time.Duration // from the header of a call to the end of its message
}

// connections is the listener of the gRPC server and what is known of its connections. It
// follows the HTTP/2 frames in both directions and counts what the process holds for
// unfinished calls, whatever the gRPC library does with it:
//
//   - A connection above a limit on connections is closed at once, unless one that is idle
//     or waits for its client can be closed for it.
//   - When unfinished calls hold too many bytes, the connection that holds the most of
//     them in calls that are incomplete or old is closed.
//   - A message that does not arrive in time is ended: the gRPC server reads the end of the
//     stream, and responds with an error.
type connections struct {
	net.Listener
	limits connectionLimits
	stats  *stats.Registry
	log    *slog.Logger
	logged throttle

	interval time.Duration // between two checks of the messages
	now      atomic.Uint32 // the number of intervals since the start
	bytes    atomic.Int64  // held for unfinished calls

	mu        sync.Mutex // before that of a connection
	open      map[*connection]struct{}
	byAddress map[string]int
	aborted   bool
}

func newConnections(l net.Listener, limits connectionLimits, registry *stats.Registry, log *slog.Logger) *connections {
	return &connections{
		Listener: l, limits: limits, stats: registry, log: log,
		interval: min(max(limits.messageTimeout/8, time.Millisecond), time.Second),
		open:     map[*connection]struct{}{}, byAddress: map[string]int{},
	}
}

// oldAfter is the age of a complete call, in message timeouts, from which on it counts like
// an incomplete one: the counter store has had its time, so the client does not read.
const oldAfter = 3

func (l *connections) timeoutIntervals() uint32 {
	return uint32(min((l.limits.messageTimeout+l.interval-1)/l.interval, math.MaxUint32/oldAfter))
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
		_ = conn.Close()
		l.event("refused_connections", "a gRPC connection was refused: there are too many",
			"connections", l.limits.connections, "per_address", l.limits.perAddress)
	}
}

// admit returns nil if there are too many connections.
func (l *connections) admit(raw net.Conn) *connection {
	c := &connection{Conn: raw, all: l, calls: map[uint32]call{}}
	c.in.skip = clientPrefaceSize
	c.used.Store(l.now.Load())
	if key, ok := clientkey.Network(raw.RemoteAddr().String()); ok {
		c.address = key // a unix socket has none
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aborted {
		_ = raw.Close()
		return c
	}
	if c.address != "" && l.byAddress[c.address] >= l.limits.perAddress {
		return nil
	}
	if len(l.open) >= l.limits.connections {
		other := l.dispensable(c.address)
		if other == nil {
			return nil
		}
		l.closeLocked(other)
		l.event("closed_connections", "a gRPC connection was closed to make room", "connections", l.limits.connections, "client", other.address)
	}
	l.open[c] = struct{}{}
	l.byAddress[c.address]++
	return c
}

// dispensable returns the connection to close for a new one of an address, or nil. It is one
// without unfinished calls, or one all of whose calls wait for the client, of an address with
// more connections; or one without unfinished calls of the same address. Of several it is one
// of the address with the most, then one without unfinished calls, unused for longest. So a
// client that opens many connections displaces none that has few.
func (l *connections) dispensable(address string) (found *connection) {
	var best [3]int64 // the connections of its address, 1 if it is idle, and the time without use
	n, now := l.byAddress[address], l.now.Load()
	for c := range l.open {
		waiting, all := c.holds()
		own, idle := l.byAddress[c.address], all == 0
		switch {
		case waiting < all: // has a call that is being decided
			continue
		case idle && own <= n && c.address != address, !idle && own <= n+1:
			continue
		}
		rank := [...]int64{int64(own), 0, int64(now - c.used.Load())}
		if idle {
			rank[1] = 1
		}
		if found == nil || slices.Compare(rank[:], best[:]) > 0 {
			found, best = c, rank
		}
	}
	return found
}

// watch ends messages that do not arrive in time, until ctx ends.
func (l *connections) watch(ctx context.Context) {
	every(l.interval, func(context.Context) {
		l.now.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		for c := range l.open {
			if c.expire() {
				l.closeLocked(c)
			}
		}
	})(ctx)
}

// relieve closes connections until unfinished calls hold less than the limit.
func (l *connections) relieve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes.Load() > l.limits.bytes {
		// What a client holds by its own doing counts, unless that is little.
		var worst, largest *connection
		worstBytes, largestBytes := l.limits.bytes/64, int64(-1)
		for c := range l.open {
			idle, all := c.holds()
			if idle > worstBytes {
				worst, worstBytes = c, idle
			}
			if all > largestBytes {
				largest, largestBytes = c, all
			}
		}
		if worst == nil {
			worst = largest
		}
		if worst == nil {
			return
		}
		l.closeLocked(worst)
		l.event("closed_connections", "unfinished gRPC calls hold too much memory: the connection that holds the most was closed",
			"bytes", l.limits.bytes, "client", worst.address)
	}
}

// closeLocked requires the lock.
func (l *connections) closeLocked(c *connection) {
	l.forgetLocked(c)
	c.release()
	_ = c.Conn.Close()
}

func (l *connections) forgetLocked(c *connection) {
	if _, ok := l.open[c]; !ok {
		return
	}
	delete(l.open, c)
	if l.byAddress[c.address]--; l.byAddress[c.address] == 0 {
		delete(l.byAddress, c.address)
	}
}

// event counts what was done to a connection, and logs it at most once a second.
func (l *connections) event(name, message string, args ...any) {
	l.stats.Counter("ratelimit.grpc." + name).Add(1)
	if suppressed, ok := l.logged.allow(1); ok {
		l.log.Warn(message, append(args, "others_since_last", suppressed)...)
	}
}

// abort closes all connections whose handshake has not ended, and new ones. A gRPC server
// waits for them when it stops, even if it does not stop gracefully.
func (l *connections) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = true
	for c := range l.open {
		if !c.greeted.Load() {
			_ = c.Conn.Close()
		}
	}
}

// countingCredentials are the credentials of the gRPC server, with connections that count.
type countingCredentials struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (c countingCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if counted, ok := raw.(*connection); ok && err == nil {
		conn = &framedConn{Conn: conn, c: counted}
	}
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (c countingCredentials) Clone() credentials.TransportCredentials {
	return countingCredentials{c.TransportCredentials.Clone()}
}

// connection is an accepted connection, before TLS.
type connection struct {
	net.Conn
	all     *connections
	address string        // see clientkey.Network; empty for unix sockets
	greeted atomic.Bool   // the client has sent a frame
	used    atomic.Uint32 // the interval of the last read

	mu       sync.Mutex
	in       frames // from the client
	calls    map[uint32]call
	bytes    int64    // of calls
	expired  []uint32 // calls that are to be ended
	woken    bool     // the reader was woken to end them
	released bool
}

// call is an unfinished call.
type call struct {
	bytes    int64
	begun    uint32 // interval
	complete bool   // its message has arrived
	streams  bool   // the server responds, and the client sends more
	expired  bool
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.all.forgetLocked(c)
	c.all.mu.Unlock()
	c.release()
	return c.Conn.Close()
}

// release gives back what the connection holds.
func (c *connection) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	clear(c.calls)
	c.all.bytes.Add(-c.bytes)
	c.bytes = 0
}

// holds returns the bytes of calls that are incomplete or old, and those of all.
func (c *connection) holds() (idle, all int64) {
	old := oldAfter * c.all.timeoutIntervals()
	now := c.all.now.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.calls {
		if !s.complete || now-s.begun > old {
			idle += s.bytes
		}
	}
	return idle, c.bytes
}

// received counts the frames in what the client has sent.
func (c *connection) received(b []byte) {
	now := c.all.now.Load()
	c.used.Store(now)
	c.mu.Lock()
	before := c.bytes
	for f, rest, ok := c.in.next(b); ok; f, rest, ok = c.in.next(rest) {
		c.greeted.Store(true)
		c.count(f, now)
	}
	grown := c.bytes - before
	c.mu.Unlock()
	if held := c.all.bytes.Add(grown); grown > 0 && held > c.all.limits.bytes {
		c.all.relieve()
	}
}

// sent counts the calls that end with the frames that were sent to the client.
func (c *connection) sent(out *frames, b []byte) {
	for f, rest, ok := out.next(b); ok; f, rest, ok = out.next(rest) {
		switch {
		case ends(f):
			c.mu.Lock()
			c.all.bytes.Add(-c.finish(f.StreamID))
			c.mu.Unlock()
		case f.Type == http2.FrameHeaders:
			c.mu.Lock()
			c.all.bytes.Add(c.answered(f.StreamID))
			c.mu.Unlock()
		}
	}
}

// count counts a frame of the client. It requires the lock. Frames of a call that is unknown
// or has ended are dropped by the gRPC server.
func (c *connection) count(f http2.FrameHeader, now uint32) {
	var n int64
	switch f.Type {
	case http2.FrameHeaders, http2.FrameContinuation:
		n = min(headerFactor*int64(f.Length), maxHeaderCharge)
	case http2.FrameData:
		n = dataCharge(int64(f.Length))
	case http2.FrameRSTStream:
		c.finish(f.StreamID)
		return
	default:
		return
	}
	s, known := c.calls[f.StreamID]
	if s.streams {
		return
	}
	if !known {
		if f.Type != http2.FrameHeaders || c.released {
			return
		}
		s.begun = now
		n += streamBytes
	}
	s.bytes += n
	s.complete = s.complete || ends(f)
	c.calls[f.StreamID] = s
	c.bytes += n
}

// answered notes that the server has begun to respond, so that further messages of the client are those of a stream: they
// are no call that waits, and never more than the window of the stream. It requires the lock, and returns by how much
// the bytes of the call have grown.
func (c *connection) answered(stream uint32) (grown int64) {
	s, known := c.calls[stream]
	if !known || s.complete {
		return 0
	}
	grown = streamBytes + streamWindow - s.bytes
	s.bytes, s.complete, s.streams = streamBytes+streamWindow, true, true
	c.calls[stream] = s
	c.bytes += grown
	return grown
}

// finish requires the lock. It returns the bytes that the call held.
func (c *connection) finish(stream uint32) (freed int64) {
	freed = c.calls[stream].bytes
	delete(c.calls, stream)
	c.bytes -= freed
	return freed
}

// expire ends the calls whose message has not arrived in time. It reports true if they have
// not ended long after that.
func (c *connection) expire() (hopeless bool) {
	now, timeout := c.all.now.Load(), c.all.timeoutIntervals()
	c.mu.Lock()
	defer c.mu.Unlock()
	for stream, s := range c.calls {
		age := now - s.begun
		switch {
		case s.complete || age <= timeout:
			continue
		case age > 2*timeout:
			return true
		case !s.expired:
			s.expired = true
			c.calls[stream] = s
			c.expired = append(c.expired, stream)
			c.all.event("expired_messages", "a gRPC message did not arrive in time", "timeout", c.all.limits.messageTimeout, "client", c.address)
		}
	}
	if len(c.expired) > 0 && c.in.between() {
		c.woken = true
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
	return false
}

// framedConn is a connection after TLS. The gRPC server reads it in one goroutine and writes
// it in another.
type framedConn struct {
	net.Conn
	c   *connection
	out frames
}

// Read implements net.Conn.
func (f *framedConn) Read(b []byte) (int, error) {
	for {
		if n := f.c.insertEnd(b); n > 0 {
			f.c.received(b[:n])
			return n, nil
		}
		n, err := f.Conn.Read(b)
		if n > 0 {
			f.c.received(b[:n])
		}
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && f.c.sleep() {
			continue
		}
		return n, err
	}
}

// insertEnd writes the end of a call that has expired to b. The gRPC server responds to it
// with an error, and ignores what the client sends for the call later.
func (c *connection) insertEnd(b []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(b) < frameHeaderSize || !c.in.between() {
		return 0
	}
	for len(c.expired) > 0 {
		stream := c.expired[0]
		c.expired = c.expired[1:]
		if s, ok := c.calls[stream]; ok && !s.complete {
			return copy(b, endOfStream(stream))
		}
	}
	return 0
}

// sleep makes reading wait again, and reports whether it was woken.
func (c *connection) sleep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	woken := c.woken
	if c.woken = false; woken {
		_ = c.Conn.SetReadDeadline(time.Time{})
	}
	return woken
}

// Write implements net.Conn.
func (f *framedConn) Write(b []byte) (int, error) {
	n, err := f.Conn.Write(b)
	f.c.sent(&f.out, b[:n])
	return n, err
}

// Close implements net.Conn.
func (f *framedConn) Close() error {
	err := f.Conn.Close() // of TLS, which closes the connection below
	_ = f.c.Close()
	return err
}
