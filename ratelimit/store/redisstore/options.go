package redisstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxPoolSize guards against typing errors: more connections need more ports than a host has.
const maxPoolSize = 10_000

// NoWait as Options.OnEmptyWait makes OnEmpty apply at once.
const NoWait = time.Nanosecond

// Never as Options.BreakerFailures has calls reach a server whatever happens.
const Never = math.MaxInt

// OnEmpty selects what happens to a call when all connections to a server are in use.
type OnEmpty uint8

const (
	// Create uses one more connection after the wait. There are at most PoolSize extra
	// connections, and the pool keeps at most PoolSize connections that are idle.
	Create OnEmpty = iota
	// Fail returns ErrPoolEmpty after the wait.
	Fail
	// Wait waits for a connection as long as Timeout allows.
	Wait
)

// Options configures a store. The zero value, like nil, means no password, no TLS and
// the documented defaults.
type Options struct {
	// Auth is "password" or "username:password". See the package documentation for
	// passwords with a colon.
	Auth string
	// SentinelAuth is the same for sentinels. Empty disables authentication: Auth is not
	// used for them.
	SentinelAuth string
	// Database is the number of the database, from 0, not for clusters. Default: 0.
	Database int
	// Network is "tcp", "tcp4" for IPv4 only, or "tcp6" for IPv6 only. It does not apply to
	// unix sockets. Default: "tcp".
	Network string
	// TLS encrypts all connections, those to sentinels included. An empty ServerName
	// stands for the host of the address. Default: no TLS.
	TLS *tls.Config

	// PoolSize limits the connections to a server that are used at once, 1 to 10,000.
	// Default: 10.
	PoolSize int
	// OnEmpty selects what happens when all of them are in use, and OnEmptyWait after
	// which time. Default: Create, after one second; NoWait means at once.
	OnEmpty     OnEmpty
	OnEmptyWait time.Duration
	// Timeout bounds a call, whatever its context allows: waiting for a connection,
	// connecting, writing and reading, together. Default: 10 seconds.
	Timeout time.Duration

	// PipelineWindow is the time for which calls are gathered before they are sent together, at
	// most Timeout/2. Without it calls are gathered only while a pipeline is running.
	// Default: no window.
	PipelineWindow time.Duration
	// Parallelism limits the servers of a cluster that one call waits for at once, at most
	// PoolSize; 1 asks one after the other. Default: PoolSize.
	Parallelism int
	// MaxWaiting limits the calls that may wait for a pipeline to one server; further ones
	// fail with ErrBusy. Default: 16,384.
	MaxWaiting int

	// BreakerFailures is the least number of attempts to reach a server that fail before
	// calls to it are suspended: see the package documentation. Default: 3; Never means
	// never.
	BreakerFailures int
	// BreakerWait is the pause after the first attempt to reach a server that fails; it
	// doubles up to BreakerMaxWait. Defaults: 10 and 100 milliseconds.
	BreakerWait, BreakerMaxWait time.Duration

	// Now is the clock of the rate limit windows, for tests. Default: that of the server: see
	// the package documentation.
	Now func() time.Time
	// Log receives a record when the server stops responding and when it responds again.
	// Default: slog.Default().
	Log *slog.Logger
	// Dial opens connections. network is that of Network, or "unix". Default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Errors of calls that did not reach the server, for errors.Is. Nothing was counted.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("redisstore: the store is closed")
	// ErrPoolEmpty is returned with OnEmpty Fail if no connection was free in time. It
	// wraps ratelimit.ErrOverloaded.
	ErrPoolEmpty = fmt.Errorf("redisstore: all connections are in use: %w", ratelimit.ErrOverloaded)
	// ErrBusy is returned if MaxWaiting calls are waiting already. It wraps
	// ratelimit.ErrOverloaded.
	ErrBusy = fmt.Errorf("redisstore: too many calls are waiting: %w", ratelimit.ErrOverloaded)
	// ErrSuspended is returned while calls to a server are suspended because it fails.
	ErrSuspended = errors.New("redisstore: calls are suspended for a moment because the server is failing")
	// ErrTimeout is returned if no connection was free within Timeout. A server that
	// hangs causes it too, so it does not wrap ratelimit.ErrOverloaded.
	ErrTimeout = errors.New("redisstore: no connection was free within the timeout")
)

// withDefaults returns a copy with the defaults filled in, and one error for all invalid options.
func (o *Options) withDefaults() (Options, error) {
	opts := *cmp.Or(o, new(Options))
	var errs []error
	settings.Default(&errs, "Database", &opts.Database, 0, math.MaxInt)
	settings.Default(&errs, "PoolSize", &opts.PoolSize, 10, maxPoolSize)
	settings.Default(&errs, "OnEmptyWait", &opts.OnEmptyWait, time.Second, math.MaxInt64)
	settings.Default(&errs, "Timeout", &opts.Timeout, 10*time.Second, math.MaxInt64)
	settings.Default(&errs, "PipelineWindow", &opts.PipelineWindow, 0, opts.Timeout/2)
	settings.Default(&errs, "Parallelism", &opts.Parallelism, opts.PoolSize, math.MaxInt)
	settings.Default(&errs, "MaxWaiting", &opts.MaxWaiting, 16384, math.MaxInt)
	settings.Default(&errs, "BreakerFailures", &opts.BreakerFailures, 3, Never)
	settings.Default(&errs, "BreakerWait", &opts.BreakerWait, 10*time.Millisecond, math.MaxInt64)
	settings.Default(&errs, "BreakerMaxWait", &opts.BreakerMaxWait, 100*time.Millisecond, math.MaxInt64)
	if !slices.Contains([]string{"", "tcp", "tcp4", "tcp6"}, opts.Network) {
		errs = append(errs, fmt.Errorf("option Network %q: must be tcp, tcp4 or tcp6", opts.Network))
	}
	if opts.OnEmpty > Wait {
		errs = append(errs, fmt.Errorf("option OnEmpty %d: must be Create, Fail or Wait", opts.OnEmpty))
	}
	opts.Network = cmp.Or(opts.Network, "tcp")
	opts.Parallelism = min(opts.Parallelism, opts.PoolSize)
	opts.Log = cmp.Or(opts.Log, slog.Default())
	if opts.Dial == nil {
		opts.Dial = new(net.Dialer).DialContext
	}
	if err := errors.Join(errs...); err != nil {
		return opts, fmt.Errorf("redisstore: %w", err)
	}
	return opts, nil
}

// isSocket reports whether an address is a unix socket: a path, or an abstract name that
// begins with "@".
func isSocket(addr string) bool {
	return strings.HasPrefix(addr, "/") || strings.HasPrefix(addr, "@")
}
