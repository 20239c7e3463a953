package redisstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Store keeps counters in one Redis server, or in the one that is master of a group
// that sentinels watch. It is a ratelimit.ConditionalStore. Create it with New or
// NewSentinel.
type Store struct {
	client
	node *node
	stop func() // ends what runs beside the node; nil if nothing does
}

// client is what all stores have.
type client struct {
	opts    Options
	ledger  *ledger
	spares  *spares
	epochs  *atomic.Uint32
	traffic *traffic
	auth    *auth
}

func newClient(opts *Options) (client, error) {
	o, err := opts.orDefault()
	if err != nil {
		return client{}, err
	}
	return client{
		opts: o, ledger: newLedger(), spares: newSpares(), epochs: new(atomic.Uint32), traffic: new(traffic), auth: parseAuth(o.Auth),
	}, nil
}

func (c *client) newNode(cluster bool, resolve func(deadline time.Time) (place, error)) *node {
	n := &node{
		opts: &c.opts, dialer: &dialer{&c.opts, c.auth, c.traffic}, ledger: c.ledger, spares: c.spares, epochs: c.epochs,
		resolve: resolve, cluster: cluster, zero: time.Now(),
	}
	return n
}

// always resolves to the same place.
func always(at place) func(time.Time) (place, error) {
	return func(time.Time) (place, error) { return at, nil }
}

// New returns a store in the server at addr, which is host:port or the path of a unix
// socket. It does not connect: see WaitReady. It fails if the address or the options
// are no good. opts may be nil.
func New(addr string, opts *Options) (*Store, error) {
	at, err := parsePlace(addr)
	if err != nil {
		return nil, err
	}
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	s := &Store{client: c}
	s.node = s.newNode(false, always(at))
	return s, nil
}

// Add implements ratelimit.Store. A counter holds up to 1<<63-1. The error is ctx's if
// that ended first: what was under way then may still be counted, once.
func (s *Store) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.do(ctx, counting, hits)
}

// AddUnlessOver implements ratelimit.ConditionalStore, by a script that the server runs
// as one step.
func (s *Store) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return s.do(ctx, conditional, hits)
}

// Ping returns nil when the server answers. It waits for a connection like any call, and
// opens one if there is none.
func (s *Store) Ping(ctx context.Context) error { return ping(ctx, s.node) }

func (s *Store) do(ctx context.Context, k kind, hits []ratelimit.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	c := s.spares.call(k)
	for i := range hits {
		c.add(&hits[i], i)
	}
	return s.node.do(ctx, c, hits)
}

// do makes the call and returns when it is finished, or when ctx is done.
func (n *node) do(ctx context.Context, c *call, hits []ratelimit.Hit) error {
	free, err := n.await(ctx, c)
	if !free {
		return err
	}
	if err == nil {
		err = c.fill(hits)
	}
	n.spares.free(c)
	return err
}

func (n *node) await(ctx context.Context, c *call) (free bool, err error) {
	if ctx.Err() != nil {
		return true, fmt.Errorf("redisstore: %w", context.Cause(ctx))
	}
	if err := n.submit(c); err != nil {
		return true, err
	}
	if free, err = c.wait(ctx); !free {
		err = fmt.Errorf("redisstore: given up: %w", err)
	}
	return free, err
}

func ping(ctx context.Context, n *node) error {
	return n.do(ctx, n.spares.call(pinging), nil)
}

// Close fails the calls that wait, lets those under way end, which takes Timeout at
// most, and closes all connections. Calls that come later fail with ErrClosed. The
// error is always nil.
func (s *Store) Close() error {
	if s.stop != nil {
		s.stop()
	}
	s.node.close()
	return nil
}

// Stats are numbers about connections.
func (s *Store) Stats() Stats {
	s.node.prune()
	return s.stats()
}
