package memcachestore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxConns guards against a typing error that would use up a node's connections.
const maxConns = 10_000

// Never as Options.BreakerFailures has calls reach a node whatever happens.
const Never = math.MaxInt

// Options are the optional settings of a Store. nil and the zero value mean the defaults.
type Options struct {
	// Timeout limits each exchange with a node: connecting, TLS handshake included, or
	// writing a command and reading its reply. It also limits how long a call waits for
	// its counters. Default, when 0: one second.
	Timeout time.Duration
	// CloseTimeout limits how long Close waits for calls and increments. Default, when 0:
	// five seconds.
	CloseTimeout time.Duration
	// MaxIdleConns is the number of idle connections to keep open to a node, up to 10,000.
	// Default, when 0: 2.
	MaxIdleConns int
	// TLS encrypts connections. If its ServerName is empty, the host of the node is used.
	// Default: no TLS.
	TLS *tls.Config

	// MaxReads is the number of concurrent reads of one node, up to 10,000. Calls that
	// arrive meanwhile wait, and are read together. Default, when 0: 2.
	MaxReads int
	// MaxWaiting is the number of hits and charges that may wait for one node; further calls
	// fail with ErrBusy. Default, when 0: 16,384.
	MaxWaiting int
	// MaxWorkers is the number of concurrent increments on one node, up to 10,000.
	// Default, when 0: 8.
	MaxWorkers int
	// MaxPending is the number of counters that may wait for an increment on one node. If
	// that many wait, a call on another counter sends an increment before it returns, and
	// may last longer than Timeout. Default, when 0: 16,384.
	MaxPending int

	// BreakerFailures is the least number of commands and connections that fail before calls to
	// a node are suspended: see the package documentation. Default, when 0: 3; Never means
	// never.
	BreakerFailures int
	// BreakerWait is the pause after the first attempt to reach a node that fails; it doubles
	// up to BreakerMaxWait. Defaults, when 0: 10 and 100 milliseconds.
	BreakerWait, BreakerMaxWait time.Duration

	// Log reports nodes to which calls are suspended and that recover, and SRV records that cannot be looked up.
	// Default: slog.Default().
	Log *slog.Logger
	// Now returns the current time, which determines the expiry of counters that live for
	// more than 30 days: it must agree with the clocks of the nodes. Default: time.Now.
	Now func() time.Time
	// Resolver looks up SRV records and the host names of nodes.
	// Default: net.DefaultResolver.
	Resolver *net.Resolver

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // tests replace it
}

// Errors of Add, Subtract and Charge, for errors.Is. No hit of an Add that fails is counted.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("memcachestore: the store is closed")
	// ErrBusy is returned if Options.MaxWaiting hits already wait for a node. It wraps
	// ratelimit.ErrOverloaded.
	ErrBusy = fmt.Errorf("memcachestore: too many calls are waiting: %w", ratelimit.ErrOverloaded)
	// ErrSuspended is returned while calls to a node are suspended because it fails.
	ErrSuspended = errors.New("memcachestore: calls are suspended for a moment because the node is failing")
	// ErrTimeout is returned if a node did not reply within Options.Timeout.
	ErrTimeout = errors.New("memcachestore: no reply within the timeout")
	// ErrKey is returned for a key that memcached does not accept. A ratelimit.Error of
	// kind Invalid wraps it.
	ErrKey = errors.New("memcachestore: invalid memcached key")
	// ErrContended is returned by Charge if other instances changed a state again and again. It wraps
	// ratelimit.ErrOverloaded.
	ErrContended = fmt.Errorf("memcachestore: too many instances change the state of a limit at once: %w", ratelimit.ErrOverloaded)
	// ErrNotAState is returned by Charge for a value that it has not stored.
	ErrNotAState = errors.New("memcachestore: the value is not the state of a limit")
	// ErrNotANumber is returned if the value of a counter on its node is not a number:
	// another program must have stored it.
	ErrNotANumber = errors.New("memcachestore: the counter is not a number")
)

// orDefault returns a copy with defaults, or an error that lists all invalid options.
func (o *Options) orDefault() (Options, error) {
	opts := *cmp.Or(o, new(Options))
	var errs []error
	settings.Default(&errs, "Timeout", &opts.Timeout, time.Second, math.MaxInt64)
	settings.Default(&errs, "CloseTimeout", &opts.CloseTimeout, 5*time.Second, math.MaxInt64)
	settings.Default(&errs, "MaxIdleConns", &opts.MaxIdleConns, 2, maxConns)
	settings.Default(&errs, "MaxReads", &opts.MaxReads, 2, maxConns)
	settings.Default(&errs, "MaxWaiting", &opts.MaxWaiting, 16384, math.MaxInt32)
	settings.Default(&errs, "MaxWorkers", &opts.MaxWorkers, 8, maxConns)
	settings.Default(&errs, "MaxPending", &opts.MaxPending, 16384, math.MaxInt32)
	settings.Default(&errs, "BreakerFailures", &opts.BreakerFailures, 3, Never)
	settings.Default(&errs, "BreakerWait", &opts.BreakerWait, 10*time.Millisecond, math.MaxInt64)
	settings.Default(&errs, "BreakerMaxWait", &opts.BreakerMaxWait, 100*time.Millisecond, math.MaxInt64)
	opts.Resolver = cmp.Or(opts.Resolver, net.DefaultResolver)
	opts.Log = cmp.Or(opts.Log, slog.Default())
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.dial == nil {
		opts.dial = (&net.Dialer{Resolver: opts.Resolver}).DialContext
	}
	return opts, errors.Join(errs...)
}
