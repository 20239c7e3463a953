package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Store keeps counters on memcached nodes. It implements ratelimit.Store,
// ratelimit.SubtractStore and ratelimit.ChargeStore. Create one with New or NewSRV, and close it.
type Store struct {
	opts   Options
	totals totals
	ring   atomic.Pointer[ring]
	calls  sync.Pool // of *call

	mu     sync.Mutex
	queues map[string]*queue // by address: those of the ring, and others with unfinished work
	closed bool

	stopRefresh context.CancelFunc // of the SRV record
	refreshing  sync.WaitGroup
}

// New returns a Store that distributes counters over the nodes, each host:port. All
// instances of a service need the same nodes in the same order. A node that is listed
// twice gets twice as many counters.
//
// New opens no connection: see Ping. It returns an error if there is no node, or if an
// address or an option is invalid. opts may be nil.
func New(nodes []string, opts *Options) (*Store, error) {
	s, err := newStore(opts)
	nodes, err2 := parseNodes(nodes)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	s.setNodes(nodes)
	return s, nil
}

func newStore(opts *Options) (*Store, error) {
	o, err := opts.orDefault()
	s := &Store{opts: o, calls: sync.Pool{New: newCall}, queues: make(map[string]*queue), stopRefresh: func() {}}
	s.ring.Store(new(ring))
	return s, err
}

// setNodes distributes counters over the nodes from now on.
func (s *Store) setNodes(nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || slices.Equal(nodes, s.ring.Load().nodes) {
		return
	}
	next := &ring{nodes: nodes}
	for _, addr := range nodes {
		if s.queues[addr] == nil {
			s.queues[addr] = newQueue(newNode(addr, &s.opts, &s.totals))
		}
		next.queues = append(next.queues, s.queues[addr])
	}
	s.ring.Store(next)
	for addr, q := range s.queues {
		if slices.Contains(nodes, addr) {
			q.enterPhase(serving)
		} else if q.enterPhase(retired) == closed {
			delete(s.queues, addr)
			q.node.circuit.Close()
		}
	}
}

// Nodes returns the addresses of the nodes, in the order that determines where keys are.
func (s *Store) Nodes() []string { return slices.Clone(s.ring.Load().nodes) }

// allQueues returns each queue once.
func (s *Store) allQueues() []*queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.queues))
}

// Add implements ratelimit.Store. It reads all counters, and increments them after it has
// returned. Count is the sum of the value read, the hits of this Store that have not
// arrived on the node yet, and N. It is exact if no other instance counts, and never too
// high. Counters stop at 1<<62.
//
// It fails if a key is invalid (ErrKey, of kind ratelimit.Invalid), if a counter is not a
// number (ErrNotANumber), if a node fails or does not reply within Options.Timeout
// (ErrTimeout), if too many calls wait (ErrBusy), after Close (ErrClosed), and when ctx is
// done. No hit of a call that fails is counted.
func (s *Store) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.do(ctx, &request{hits: hits})
}

// Subtract implements ratelimit.SubtractStore. Like Add it reads all counters, and
// decrements them after it has returned, after the hits that Add counted before. Count is exact
// if no other instance counts. Errors are those of Add. If a node fails after Subtract has
// returned, hits on their way to it may not be given back.
func (s *Store) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return s.do(ctx, &request{hits: hits, subtract: true})
}

// Charge implements ratelimit.ChargeStore by compare-and-swap: a state is read, and written unless
// another instance has written it meanwhile. That is two round trips for each key, and one if
// nothing is charged. Charges on one key wait for the exchange under way and share the next one, so
// only instances compete for a key, not calls. After eight attempts Charge fails with ErrContended.
//
// Other errors are those of Add. Some charges of a call that fails may have been made.
func (s *Store) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	return s.do(ctx, &request{charges: charges})
}

// Ping sends a command to all nodes, on new connections, and returns an errors.Join of one error for
// each node that does not reply before ctx is done. A node may take twice Options.Timeout: to
// connect, and to reply.
func (s *Store) Ping(ctx context.Context) error {
	queues := s.ring.Load().queues
	errs := make([]error, len(queues))
	var pings sync.WaitGroup
	for i, q := range queues {
		if slices.Index(queues, q) == i {
			pings.Go(func() { errs[i] = q.node.ping(ctx) })
		}
	}
	pings.Wait()
	return errors.Join(errs...)
}

// Flush waits, for one node after the other, until all hits of calls that have returned
// are on the node. It returns an error if ctx is done before.
func (s *Store) Flush(ctx context.Context) error {
	for _, q := range s.allQueues() {
		if err := q.wait(ctx, func() bool { return q.pending() == 0 }); err != nil {
			return fmt.Errorf("memcachestore: node %s: not all counters are incremented: %w", q.node.addr, err)
		}
	}
	return nil
}

// Close rejects new calls, waits for calls and increments that are under way, and closes
// all connections. After Options.CloseTimeout it aborts them and returns an error with
// the number of hits lost. No goroutine is left when it returns.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stopRefresh()
	s.refreshing.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.CloseTimeout)
	defer cancel()
	queues := s.allQueues()
	for _, q := range queues {
		q.enterPhase(closed)
	}
	lost := s.Stats().Lost
	var err error
	for _, q := range queues {
		if err = q.wait(ctx, q.idle); err != nil {
			break
		}
	}
	for _, q := range queues {
		q.node.abort() // all first: a call on several nodes is active on each until it ends
	}
	for _, q := range queues {
		_ = q.wait(context.Background(), q.idle)
		q.node.circuit.Close()
	}
	if err != nil {
		return fmt.Errorf("memcachestore: closing: %d hits are lost: %w", s.Stats().Lost-lost, err)
	}
	return nil
}
