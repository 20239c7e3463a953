package redisstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"
)

const (
	defaultPoolSize    = 10
	defaultOnEmptyWait = time.Second
	defaultTimeout     = 10 * time.Second
	defaultMaxWaiting  = 16384
	// maxPoolSize keeps a slip of the finger from opening a connection per port.
	maxPoolSize = 10_000
)

// OnEmpty says what a call does when all connections to a node are in use.
type OnEmpty uint8

const (
	// Create opens one connection more after the wait and closes it after use. There
	// are at most PoolSize of these.
	Create OnEmpty = iota
	// Fail fails with ErrPoolEmpty after the wait.
	Fail
	// Wait waits for a connection as long as Timeout allows.
	Wait
)

// Options are the choices of a store. The zero value, like nil, is a server without
// password and TLS.
type Options struct {
	// Auth is "password" or "username:password" (specification, "Authentication"). A
	// password that holds a colon works as well: see the package's documentation.
	Auth string
	// SentinelAuth is the same for the sentinels. It is not Auth if it is empty.
	SentinelAuth string
	// TLS has connections be encrypted, those to sentinels included. If it has no
	// ServerName, that is the host of the address. Default: no TLS.
	TLS *tls.Config

	// PoolSize is how many connections to a node are used at once, 1 to 10,000.
	// Default, when 0: 10.
	PoolSize int
	// OnEmpty says what happens when all of them are in use, and OnEmptyWait after what
	// time. Default, when 0: one second; less than 0 is no wait.
	OnEmpty     OnEmpty
	OnEmptyWait time.Duration
	// Timeout is the most that a call may last, whatever its context allows: the wait
	// for a connection, connecting, writing and reading, together. Default, when 0:
	// 10 seconds.
	Timeout time.Duration

	// PipelineWindow is how long to gather calls before they are written together, at
	// most Timeout/2. Calls gather without it whenever there is a pipeline under way;
	// it makes pipelines longer and calls slower. Default: not at all.
	PipelineWindow time.Duration
	// Parallelism is how many nodes of a cluster one call may wait for at once, at most
	// PoolSize. 1 is one after the other. Default, when 0: all that the call needs.
	Parallelism int
	// MaxWaiting is how many calls may wait for a pipeline to one node; more fail with
	// ErrBusy. Default, when 0: 16,384.
	MaxWaiting int

	// Now is the clock that windows are of, the Engine's. Default: time.Now.
	Now func() time.Time
	// Log is told when the store is lost, and found again. Default: no log.
	Log *slog.Logger
	// Dial opens connections. network is "tcp" or "unix". Default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Errors of a call that was not made, to be told with errors.Is. None of its hits was
// counted then.
var (
	// ErrClosed is a call of a store that has been closed.
	ErrClosed = errors.New("redisstore: the store is closed")
	// ErrPoolEmpty is a call for which no connection was free in time, with OnEmpty: Fail.
	ErrPoolEmpty = errors.New("redisstore: all connections are in use")
	// ErrBusy is a call for which there was no room among those that wait.
	ErrBusy = errors.New("redisstore: too many calls are waiting")
	// ErrTimeout is a call that has waited for a connection for as long as Timeout.
	ErrTimeout = errors.New("redisstore: no connection was free within the timeout")
)

func (o *Options) orDefault() (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.check(); err != nil {
		return opts, err
	}
	opts.PoolSize = cmp.Or(opts.PoolSize, defaultPoolSize)
	opts.OnEmptyWait = max(cmp.Or(opts.OnEmptyWait, defaultOnEmptyWait), 0)
	opts.Timeout = cmp.Or(opts.Timeout, defaultTimeout)
	opts.MaxWaiting = cmp.Or(opts.MaxWaiting, defaultMaxWaiting)
	opts.Parallelism = min(cmp.Or(opts.Parallelism, opts.PoolSize), opts.PoolSize)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Dial == nil {
		opts.Dial = new(net.Dialer).DialContext
	}
	return opts, nil
}

// check finds everything that is wrong at once.
func (o *Options) check() error {
	var wrong []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf("redisstore: "+format, args...))
		}
	}
	timeout := cmp.Or(o.Timeout, defaultTimeout)
	refuse(o.PoolSize < 0 || o.PoolSize > maxPoolSize, "PoolSize %d: must be 1 to %d, or 0 for %d", o.PoolSize, maxPoolSize, defaultPoolSize)
	refuse(o.OnEmpty > Wait, "OnEmpty %d: must be Create, Fail or Wait", o.OnEmpty)
	refuse(o.Timeout < 0, "Timeout %v: must be more than 0, or 0 for %v", o.Timeout, defaultTimeout)
	refuse(o.PipelineWindow < 0 || o.PipelineWindow > timeout/2, "PipelineWindow %v: must be 0 to %v, which is half of Timeout", o.PipelineWindow, timeout/2)
	refuse(o.Parallelism < 0, "Parallelism %d: must be 1 or more, or 0 for as many as a call needs", o.Parallelism)
	refuse(o.MaxWaiting < 0, "MaxWaiting %d: must be 1 or more, or 0 for %d", o.MaxWaiting, defaultMaxWaiting)
	return errors.Join(wrong...)
}

// place is where a server listens.
type place struct {
	network, addr string
}

// parsePlace reads host:port, or the path of a unix socket.
func parsePlace(text string) (place, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "@") {
		return place{"unix", text}, nil
	}
	return parseHost(text)
}

func parseHost(text string) (place, error) {
	text = strings.TrimSpace(text)
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || port == "" {
		return place{}, fmt.Errorf("redisstore: address %q: must be host:port", masked(text))
	}
	return place{"tcp", text}, nil
}

// masked hides what stands before an "@", which may be a password.
func masked(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "***" + text[at:]
	}
	return text
}

// parseHosts reads one address at least.
func parseHosts(what string, texts []string) ([]place, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("redisstore: no %s: give the address of one at least, host:port", what)
	}
	places := make([]place, len(texts))
	var wrong []error
	for i, text := range texts {
		var err error
		if places[i], err = parseHost(text); err != nil {
			wrong = append(wrong, err)
		}
	}
	return places, errors.Join(wrong...)
}
