package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// conn is a connection on which the handshake is done. One goroutine at a time uses it.
type conn struct {
	*redis.Conn
	client *redis.Client
	link   *link
	place  place
	epoch  uint32 // of the node when the connection is used
	age    int    // of the node when it was opened
}

func (c *conn) close() {
	_ = c.Conn.Close()
	_ = c.client.Close()
	_ = c.link.Close()
}

// dialer opens connections.
type dialer struct {
	opts    *Options
	auth    *auth
	traffic *traffic
}

// open connects, encrypts and logs in.
func (d *dialer) open(deadline time.Time, at place) (*conn, error) {
	first, l := d.auth.first()
	c, err := d.openAs(deadline, at, l)
	if second, other, ok := d.auth.second(first); ok && refused(err) {
		if c, err2 := d.openAs(deadline, at, other); err2 == nil {
			d.auth.accepted(second)
			return c, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: connecting to %s: %w", at.addr, err)
	}
	return c, nil
}

// refused tells a login that was turned down.
func refused(err error) bool {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	text := reply.Error()
	return strings.HasPrefix(text, "WRONGPASS") || strings.HasPrefix(text, "ERR invalid password") ||
		strings.HasPrefix(text, "NOAUTH")
}

func (d *dialer) openAs(deadline time.Time, at place, l login) (*conn, error) {
	raw, err := d.connect(deadline, at)
	if err != nil {
		return nil, err
	}
	link := newLink(raw.conn, raw.transport, d.traffic)
	client := redis.NewClient(d.clientOptions(at, l, link))
	c := &conn{Conn: client.Conn(), client: client, link: link, place: at}
	if err := c.Ping(until{deadline}).Err(); err != nil && !forbidden(err) {
		c.close()
		return nil, err
	}
	return c, nil
}

// forbidden is the answer to a command that the user may not use.
func forbidden(err error) bool {
	return redis.IsPermissionError(err)
}

// clientOptions make a client of one connection, which does as it is told: it neither
// retries nor redials, and has nothing running of its own.
func (d *dialer) clientOptions(at place, l login, link *link) *redis.Options {
	given := false
	return &redis.Options{
		Network: at.network, Addr: at.addr, Username: l.username, Password: l.password,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if given {
				return nil, net.ErrClosed
			}
			given = true
			return link, nil
		},
		Protocol: 2, PoolSize: 1, PipelinePoolSize: -1, DialerRetries: 1,
		MaxRetries: -1, // an addition that is sent again may count twice
		// The context of each command says how long it may take.
		ContextTimeoutEnabled: true, DialTimeout: d.opts.Timeout, ReadTimeout: d.opts.Timeout, WriteTimeout: d.opts.Timeout,
		ConnMaxIdleTime: -1, ConnMaxLifetime: -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// rawConn is a connection, encrypted or not, and what carries it.
type rawConn struct{ conn, transport net.Conn }

func (d *dialer) connect(deadline time.Time, at place) (rawConn, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	transport, err := d.opts.Dial(ctx, at.network, at.addr)
	if err != nil {
		return rawConn{}, err
	}
	if d.opts.TLS == nil {
		return rawConn{transport, transport}, nil
	}
	encrypted := tls.Client(transport, d.tlsConfig(at))
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = transport.Close()
		return rawConn{}, fmt.Errorf("TLS: %w", err)
	}
	return rawConn{encrypted, transport}, nil
}

func (d *dialer) tlsConfig(at place) *tls.Config {
	if d.opts.TLS.ServerName != "" || at.network != "tcp" {
		return d.opts.TLS
	}
	config := d.opts.TLS.Clone()
	config.ServerName, _, _ = net.SplitHostPort(at.addr)
	return config
}

// until is a context with a deadline that needs no timer, because it only sets the
// deadlines of a connection.
type until struct{ deadline time.Time }

// Deadline implements context.Context.
func (u until) Deadline() (time.Time, bool) { return u.deadline, true }

// Done implements context.Context.
func (until) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (until) Err() error { return nil }

// Value implements context.Context.
func (until) Value(any) any { return nil }
