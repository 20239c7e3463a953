package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/ashlar-go/ashlar/internal/circuit"
)

// SetLogger has the Redis library, for the whole process, write its lines to log, as warnings. Without it they
// go to the standard error stream in a form of their own.
func SetLogger(log *slog.Logger) { redis.SetLogger(libraryLog{log}) }

type libraryLog struct{ *slog.Logger }

// Printf implements the interface of loggers of the library.
func (l libraryLog) Printf(ctx context.Context, format string, args ...any) {
	l.WarnContext(ctx, fmt.Sprintf("redis library: "+format, args...))
}

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

// client returns a client for one server.
func (d *dialer) client(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Client {
	options := d.clientOptions().Simple()
	options.Dialer = dial
	client := redis.NewClient(options)
	client.AddHook(d.hook())
	return client
}

// single returns a client for one connection, which ends with the context.
func (d *dialer) single(ctx context.Context, addr string) *redis.Client {
	return d.client(func(_ context.Context, network, _ string) (net.Conn, error) {
		conn, err := d.dial(ctx, network, addr)
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		return conn, err
	})
}

// dial returns no error; Write on the returned connection does. After a number of errors from its
// dialer the library would try only once a second, in the background, and repeat the last error
// meanwhile.
func (d *dialer) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	current := d.generation(addr)
	generation := current.Load()
	c, err := d.connect(ctx, addr)
	if err != nil {
		none, _ := net.Pipe()
		return failedConn{none, &circuit.Unsent{Err: err}}, nil
	}
	c.Begin = func(used bool) error {
		if used && generation != current.Load() {
			return circuit.ErrStale
		}
		return nil
	}
	c.Closed = func() { d.closed.Add(1) }
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

func (d *dialer) connect(ctx context.Context, addr string) (*circuit.Conn, error) {
	addr, err := d.locate(ctx, addr)
	if err != nil {
		return nil, err
	}
	network := d.opts.Network
	if isSocket(addr) {
		network = "unix"
	}
	c, err := circuit.DialTLS(ctx, d.opts.TLS, addr, func(ctx context.Context) (net.Conn, error) { return d.opts.Dial(ctx, network, addr) })
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	c.Conn = &boundedConn{Conn: c.Conn}
	return c, nil
}

// logIn authenticates a new connection and selects the database. If the server refuses one
// reading of Auth, the next is tried.
func (d *dialer) logIn(ctx context.Context, c *redis.Conn) error {
	if err := d.authenticate(ctx, c); err != nil || d.database == 0 {
		return err
	}
	if err := c.Do(ctx, "select", d.database).Err(); err != nil {
		return &circuit.Unsent{Err: fmt.Errorf("selecting database %d: %v", d.database, err)}
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
	return &circuit.Unsent{Err: fmt.Errorf("logging in: %v", errs[0])}
}

// failedConn is a connection that could not be opened. The embedded one, of a pipe, has no other end.
type failedConn struct {
	net.Conn
	err error
}

// Read implements net.Conn.
func (c failedConn) Read([]byte) (int, error) { return 0, c.err }

// Write implements net.Conn.
func (c failedConn) Write([]byte) (int, error) { return 0, c.err }

// hook changes what the library does with commands.
type hook struct{ attempts int }

// hook returns a hook for the clients of the dialer. A pool has at most so many stale connections.
func (d *dialer) hook() hook { return hook{attempts: 2*d.opts.PoolSize + 1} }

// noHello is a reply to HELLO, which is not sent: with RESP2 it does nothing, costs a round trip, and
// some proxies close connections on commands that they do not know.
type noHello struct{}

// Error implements redis.Error.
func (noHello) Error() string { return "ERR unknown command 'hello'" }

// RedisError implements redis.Error.
func (noHello) RedisError() {}

// DialHook implements redis.Hook.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook. A command that was not sent, because the connection was stale,
// is sent on another.
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		if cmd.Name() == "hello" {
			return noHello{}
		}
		for range h.attempts {
			if err = next(ctx, cmd); !errors.Is(err, circuit.ErrStale) {
				break
			}
		}
		return err
	}
}

// ProcessPipelineHook is like ProcessHook. The library keeps the first error of a command: that of a
// stale connection would hide that the command was sent on another.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		for range h.attempts {
			for _, cmd := range cmds {
				cmd.SetErr(nil)
			}
			if err = next(ctx, cmds); !errors.Is(err, circuit.ErrStale) {
				break
			}
		}
		return err
	}
}
