package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/ashlar-go/ashlar/internal/circuit"
)

// dialer opens the connections of a store, or those to its sentinels, for the library.
type dialer struct {
	opts *Options
	// locate returns the address to connect to, given the one that the library asks for.
	locate   func(ctx context.Context, addr string) (string, error)
	logins   []login
	database int
	// accepted is the index of the login that a server accepted last.
	accepted atomic.Int32

	opened, closed atomic.Uint64
	// generations has an *atomic.Uint64 for each address that the library asks for. It is
	// increased to have the pool discard all connections: each is closed before its next use.
	generations sync.Map
}

// login is one reading of Options.Auth.
type login struct {
	username, password string
}

// parseAuth returns the readings of an Auth option, in the order in which to try them.
// The text before the first colon is a user, or the whole text is a password. A leading
// colon means that there is no user.
func parseAuth(auth string) []login {
	if auth == "" {
		return nil
	}
	logins := []login{{password: auth}}
	if username, password, ok := strings.Cut(auth, ":"); ok {
		logins = append([]login{{username, password}}, logins...)
	}
	return logins
}

// clientOptions returns the library's options for all kinds of clients.
func (d *dialer) clientOptions(addrs ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: addrs, Dialer: d.dial, OnConnect: d.logIn, Protocol: 2,
		// Half of the pool is for OnEmpty Create. The queue decides who may use it.
		PoolSize: 2 * d.opts.PoolSize, MaxIdleConns: d.opts.PoolSize, PipelinePoolSize: -1,
		DialTimeout: d.opts.Timeout, ReadTimeout: d.opts.Timeout, WriteTimeout: d.opts.Timeout, PoolTimeout: d.opts.Timeout,
		ContextTimeoutEnabled: true, ConnMaxIdleTime: -1,
		MaxRetries: -1, DialerRetries: 1, MinRetryBackoff: -1, MaxRedirects: maxRedirects,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// single returns a client for one connection, which ends with the context.
func (d *dialer) single(ctx context.Context, addr string) *redis.Client {
	options := d.clientOptions().Simple()
	options.Dialer = func(_ context.Context, network, _ string) (net.Conn, error) {
		conn, err := d.dial(ctx, network, addr)
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, err
	}
	return redis.NewClient(options)
}

// notSentError marks errors of commands that were certainly not sent.
type notSentError struct{ err error }

// Error implements error.
func (e *notSentError) Error() string { return e.err.Error() }

// Unwrap returns a list because the library unwraps errors of new connections once,
// with errors.Unwrap, which ignores lists.
func (e *notSentError) Unwrap() []error { return []error{e.err} }

func notSent(err error) bool {
	_, ok := errors.AsType[*notSentError](err)
	return ok
}

// dial never fails: the connection that it returns does. After a number of errors from
// its dialer the library would try only once a second, in the background, and repeat the
// last error meanwhile.
func (d *dialer) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	current := d.generation(addr)
	c := &conn{dialer: d, current: current, generation: current.Load()}
	if err := d.connect(ctx, c, addr); err != nil {
		c.failure = &notSentError{err}
		c.Conn, _ = net.Pipe()
		return c, nil
	}
	d.opened.Add(1)
	return c, nil
}

func (d *dialer) generation(addr string) *atomic.Uint64 {
	if g, ok := d.generations.Load(addr); ok {
		return g.(*atomic.Uint64)
	}
	g, _ := d.generations.LoadOrStore(addr, new(atomic.Uint64))
	return g.(*atomic.Uint64)
}

// discard has the connections to an address closed.
func (d *dialer) discard(addr string) { d.generation(addr).Add(1) }

func (d *dialer) connect(ctx context.Context, c *conn, addr string) (err error) {
	if addr, err = d.locate(ctx, addr); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("connecting to %s: %w", addr, err)
		}
	}()
	c.transport, err = circuit.Dial(ctx, func(ctx context.Context) (net.Conn, error) { return d.opts.Dial(ctx, d.opts.network(addr), addr) })
	if err != nil {
		return err
	}
	if c.Conn = c.transport; d.opts.TLS == nil {
		return nil
	}
	config := d.opts.TLS
	if host, _, err := net.SplitHostPort(addr); err == nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName = host
	}
	encrypted := tls.Client(c.transport, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = c.transport.Close()
		return fmt.Errorf("TLS: %w", err)
	}
	c.Conn = encrypted
	return nil
}

// logIn authenticates a new connection and selects the database. If the server refuses one
// reading of Auth, the next is tried.
func (d *dialer) logIn(ctx context.Context, c *redis.Conn) error {
	if err := d.authenticate(ctx, c); err != nil || d.database == 0 {
		return err
	}
	if err := c.Do(ctx, "select", d.database).Err(); err != nil {
		return &notSentError{fmt.Errorf("selecting database %d: %v", d.database, err)}
	}
	return nil
}

func (d *dialer) authenticate(ctx context.Context, c *redis.Conn) error {
	var errs []error
	first := int(d.accepted.Load())
	for i := range d.logins {
		at := (first + i) % len(d.logins)
		args := []any{"auth", d.logins[at].password}
		if username := d.logins[at].username; username != "" {
			args = []any{"auth", username, d.logins[at].password}
		}
		err := c.Do(ctx, args...).Err()
		if err == nil {
			d.accepted.Store(int32(at))
			return nil
		}
		if errs = append(errs, err); !isReply(err) {
			break
		}
	}
	if len(errs) == 0 {
		return nil
	}
	// Not wrapped: the library would take a reply for that of a command.
	return &notSentError{fmt.Errorf("logging in: %v", errs[0])}
}

// conn is a connection as the library sees it.
type conn struct {
	net.Conn            // encrypted or not
	transport  net.Conn // carries Conn
	dialer     *dialer
	current    *atomic.Uint64
	generation uint64
	failure    error // of dialing

	wrote      bool // something of the commands whose replies are read next
	helloSent  bool
	helloReply string
	closed     atomic.Bool
}

// Write discards the first command, which is the library's HELLO, and has Read reply to
// it: with RESP2 it does nothing, costs a round trip, and some proxies close connections
// on commands that they do not know.
func (c *conn) Write(p []byte) (int, error) {
	if c.helloSent {
		n, err := c.Conn.Write(p)
		if c.wrote = c.wrote || n > 0; err != nil && !c.wrote {
			err = &notSentError{err}
		}
		return n, err
	}
	c.helloSent, c.helloReply = true, "-ERR unknown command 'hello'\r\n"
	return len(p), c.failure
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.helloReply == "" {
		c.wrote = false
		return c.Conn.Read(p)
	}
	n := copy(p, c.helloReply)
	c.helloReply = c.helloReply[n:]
	return n, nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.failure == nil && !c.closed.Swap(true) {
		c.dialer.closed.Add(1)
	}
	return c.Conn.Close()
}

var errDiscarded = errors.New("the connection was discarded")

// SyscallConn gives the library's pool the socket to look at before each use, that of
// an encrypted connection too: an idle one has nothing to read, unless the server has
// closed it.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if c.generation != c.current.Load() {
		return nil, errDiscarded
	}
	if socket, ok := c.transport.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return noSocket{}, nil
}

// noSocket is the socket of a connection without one, from Options.Dial. It is always
// found to be healthy.
type noSocket struct{}

// Control implements syscall.RawConn.
func (noSocket) Control(func(uintptr)) error { return nil }

// Read implements syscall.RawConn.
func (noSocket) Read(func(uintptr) bool) error { return nil }

// Write implements syscall.RawConn.
func (noSocket) Write(func(uintptr) bool) error { return nil }
