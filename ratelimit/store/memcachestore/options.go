package memcachestore

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

const (
	defaultTimeout      = time.Second
	defaultMaxIdleConns = 2
	defaultMaxReads     = 2
	defaultMaxWorkers   = 8
	defaultMaxPending   = 16384
	defaultMaxWaiting   = 16384
	// maxConns keeps a slip of the finger from using up a node's connections.
	maxConns = 10_000
)

// Options are the choices of a Store. The zero value, like nil, is fit for use.
type Options struct {
	// Timeout bounds each wait for a node: to connect, TLS included, and to write a
	// command and read its answer. It is also the most that a call waits for its
	// counters. Default, when 0: one second.
	Timeout time.Duration
	// MaxIdleConns is how many connections to a node are kept when they are not in use, up
	// to 10,000. Default, when 0: 2 (specification, "Limits").
	MaxIdleConns int
	// TLS has connections be encrypted. If it has no ServerName, that is the host of the
	// node. Default: no TLS.
	TLS *tls.Config

	// MaxReads is how many reads are under way at once to one node, up to 10,000. Calls
	// that come meanwhile are gathered and read together. Default, when 0: 2.
	MaxReads int
	// MaxWaiting is how many calls may wait for a read of one node; more fail with
	// ErrBusy. Default, when 0: 16,384.
	MaxWaiting int
	// MaxWorkers is how many increments are under way at once to one node, up to 10,000.
	// Default, when 0: 8.
	MaxWorkers int
	// MaxPending is how many counters may wait for an increment on one node. When there
	// are so many, a call that has another makes the increment before it returns.
	// Default, when 0: 16,384.
	MaxPending int

	// Log is told when a node fails, and when it answers again, and of SRV records that can't be
	// looked up. Default: no log.
	Log *slog.Logger
	// Now is the clock that counters of windows of more than 30 days expire by. It must
	// show the time: the nodes compare it with theirs. Default: time.Now.
	Now func() time.Time
	// Resolver looks up SRV records, and the names of nodes. Default: net.DefaultResolver.
	Resolver *net.Resolver
}

// Errors of a call, to be told with errors.Is. None of its hits was counted then.
var (
	// ErrClosed is a call of a store that has been closed.
	ErrClosed = errors.New("memcachestore: the store is closed")
	// ErrBusy is a call for which there was no room among those that wait.
	ErrBusy = errors.New("memcachestore: too many calls are waiting")
	// ErrTimeout is a call whose counters did not come within Options.Timeout.
	ErrTimeout = errors.New("memcachestore: no answer within the timeout")
	// ErrKey is a call with a key that memcached does not take (specification, Errors 5).
	// It comes within a ratelimit.Error of kind Invalid.
	ErrKey = errors.New("memcachestore: memcached does not take the key")
	// ErrNotANumber is a call with a counter whose value on its node is no number, which
	// somebody else must have stored there.
	ErrNotANumber = errors.New("memcachestore: the counter is no number")
)

func (o *Options) orDefault() (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.check(); err != nil {
		return opts, err
	}
	opts.Timeout = cmp.Or(opts.Timeout, defaultTimeout)
	opts.MaxIdleConns = cmp.Or(opts.MaxIdleConns, defaultMaxIdleConns)
	opts.MaxReads = cmp.Or(opts.MaxReads, defaultMaxReads)
	opts.MaxWaiting = cmp.Or(opts.MaxWaiting, defaultMaxWaiting)
	opts.MaxWorkers = cmp.Or(opts.MaxWorkers, defaultMaxWorkers)
	opts.MaxPending = cmp.Or(opts.MaxPending, defaultMaxPending)
	opts.Resolver = cmp.Or(opts.Resolver, net.DefaultResolver)
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return opts, nil
}

// check finds everything that is wrong at once.
func (o *Options) check() error {
	var wrong []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf("memcachestore: "+format, args...))
		}
	}
	conns := func(name string, n, otherwise int) {
		refuse(n < 0 || n > maxConns, "%s %d: must be 1 to %d, or 0 for %d", name, n, maxConns, otherwise)
	}
	room := func(name string, n, otherwise int) {
		refuse(n < 0, "%s %d: must be 1 or more, or 0 for %d", name, n, otherwise)
	}
	refuse(o.Timeout < 0, "Timeout %v: must be more than 0, or 0 for %v", o.Timeout, defaultTimeout)
	conns("MaxIdleConns", o.MaxIdleConns, defaultMaxIdleConns)
	conns("MaxReads", o.MaxReads, defaultMaxReads)
	room("MaxWaiting", o.MaxWaiting, defaultMaxWaiting)
	conns("MaxWorkers", o.MaxWorkers, defaultMaxWorkers)
	room("MaxPending", o.MaxPending, defaultMaxPending)
	return errors.Join(wrong...)
}
