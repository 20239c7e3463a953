package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Store keeps counters in one Redis server, or in the master of a group that sentinels
// watch. It is a ratelimit.ConditionalStore, a ratelimit.SubtractStore, a
// ratelimit.ChargeStore and a ratelimit.LedgerStore. Create it with New or NewSentinel.
type Store struct {
	*shared
	queue  *queue
	client *redis.Client
	stop   func() // stops what NewSentinel has started; may be nil

	scripts atomic.Int32 // useScripts, noScripts or unknownScripts
	finding singleflight.Group
}

// New returns a store in the server at addr, which is host:port or the path of a unix
// socket. It does not use the network: see WaitReady. It returns an error if the address
// or an option is invalid. opts may be nil.
func New(addr string, opts *Options) (*Store, error) {
	if addr = strings.TrimSpace(addr); !isSocket(addr) {
		if err := settings.CheckHostPort(addr); err != nil {
			return nil, fmt.Errorf("redisstore: %q %w", settings.MaskURL(addr), err)
		}
	}
	return newStore(addr, sameAddr, opts)
}

// sameAddr locates a server at its address.
func sameAddr(_ context.Context, addr string) (string, error) { return addr, nil }

// newStore returns a store in one server. name is the address that locate is given.
func newStore(name string, locate func(context.Context, string) (string, error), opts *Options) (*Store, error) {
	shared, err := newShared(locate, opts)
	if err != nil {
		return nil, err
	}
	client := shared.dialer.client(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return shared.dialer.dial(ctx, network, name)
	})
	s := &Store{shared: shared, client: client, queue: shared.newQueue(name, client.Pipeline)}
	shared.send, shared.ping = s.send, s.Ping
	shared.ledgers.start(client, shared.opts.PoolSize, func(context.Context, []byte) (*queue, error) { return s.queue, nil })
	shared.clock.ask = func(ctx context.Context) (time.Time, error) { return client.Time(ctx).Result() }
	return s, nil
}

func newShared(locate func(context.Context, string) (string, error), opts *Options) (*shared, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &shared{opts: o, expiries: &expiryTable{seed: maphash.MakeSeed(), sets: make([][expiryWays]expiryEntry, expirySets)}}
	s.clock = newClock(&s.opts)
	s.dialer = &dialer{opts: &s.opts, logins: parseAuth(o.Auth), database: o.Database, locate: locate}
	return s, nil
}

func (s *Store) send(ctx context.Context, r request) error {
	return s.do(ctx, &r, func([]byte) (*queue, error) { return s.queue, nil })
}

// Ping returns nil if the server replies. It waits for a connection like any call, and
// opens one if there is none.
func (s *Store) Ping(ctx context.Context) error { return s.send(ctx, request{kind: pingCall}) }

// Close fails the calls that wait, waits for those under way, which takes Timeout at
// most, and closes all connections. Later calls fail with ErrClosed. The error is always
// nil.
func (s *Store) Close() error {
	s.queue.close()
	s.clock.close()
	_ = s.client.Close()
	if s.stop != nil {
		s.stop()
	}
	return nil
}

// Stats describes the connections of a store, to all servers together, and its breakers.
type Stats struct {
	// Active counts the connections that are open, those of the breakers' attempts included. One
	// that the server has closed counts until a call would use it.
	Active int64
	// Total counts the connections that were opened, and Closed those of them that were
	// closed, by either side.
	Total, Closed uint64

	// Suspended counts the servers to which calls are suspended now, Suspensions how often that
	// happened, and Refused the calls that have failed with ErrSuspended.
	Suspended            int64
	Suspensions, Refused uint64
}

// Stats returns the current numbers.
func (s *shared) Stats() Stats {
	closed := s.dialer.closed.Load() // first, so that Active is never negative
	opened := s.dialer.opened.Load()
	return Stats{
		Active: int64(opened - closed), Total: opened, Closed: closed,
		Suspended: s.circuits.Open.Load(), Suspensions: s.circuits.Opened.Load(), Refused: s.circuits.Refused.Load(),
	}
}

// Backoff configures WaitReady. The zero value, like nil, means the documented defaults.
type Backoff struct {
	// Initial is the first wait. Each is twice as long as the one before, up to Max, with
	// a random part removed. Defaults: one second and 30 seconds.
	Initial, Max time.Duration
	// MaxElapsed limits the time until WaitReady gives up. Default: never.
	MaxElapsed time.Duration
}

// Add implements ratelimit.Store. A counter holds up to 1<<63-1. If ctx ends first, the
// error wraps its cause; hits that were under way then are counted once. Each server of a cluster gets its
// part of the hits: if one part fails, others may have been counted.
func (s *shared) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.send(ctx, request{kind: addCall, hits: hits})
}

// Charge implements ratelimit.ChargeStore. Charges on one key that calls of this process make at
// the same time reach the server as one script call. The error wraps errors.ErrUnsupported
// if the server does not execute scripts. If ctx ends first, charges that were under way are made once. In a
// cluster, see Add.
func (s *shared) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	return s.send(ctx, request{kind: chargeCall, charges: charges})
}

// Now implements ratelimit.ClockStore: see the package documentation.
func (s *shared) Now() time.Time {
	s.clock.follow()
	return s.clock.now()
}

// Supports implements ratelimit.AlgorithmStore.
func (s *shared) Supports(a ratelimit.Algorithm) error {
	if algorithmOf(a) == nil {
		return fmt.Errorf("redisstore: no script for the algorithm %s: %w", a, errors.ErrUnsupported)
	}
	return nil
}

// Subtract implements ratelimit.SubtractStore; for errors see Charge.
func (s *shared) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return s.send(ctx, request{kind: subtractCall, hits: hits})
}

// WaitReady returns nil when the server replies, or all servers of a cluster that have slots. Until then it tries
// again and logs why. It returns an error if ctx ends or MaxElapsed has passed, with the last reason, or if
// the store is closed. b may be nil.
func (s *shared) WaitReady(ctx context.Context, b *Backoff) error {
	b = cmp.Or(b, &Backoff{})
	retry := backoff.Backoff{Initial: cmp.Or(max(b.Initial, 0), time.Second), Max: cmp.Or(max(b.Max, 0), 30*time.Second), Jitter: 0.25}
	if b.MaxElapsed > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, b.MaxElapsed, fmt.Errorf("redisstore: the store has not responded for %v", b.MaxElapsed))
		defer cancel()
	}
	var last error
	for failures := 0; ; failures++ {
		err := s.ping(ctx)
		if err == nil {
			s.clock.wait() // the first decision has the right time
		}
		if err == nil || errors.Is(err, ErrClosed) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		wait := retry.Wait(failures)
		s.opts.Log.Warn("redis: waiting for the store", "err", err, "retry_in", wait)
		if backoff.Sleep(ctx, wait) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}
