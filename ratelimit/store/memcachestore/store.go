package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Store keeps counters on memcached nodes. It is a ratelimit.Store. Make one with New
// or NewSRV, and close it.
type Store struct {
	opts  Options
	tally tally
	ring  atomic.Pointer[ring]
	calls sync.Pool // of *call

	mu     sync.Mutex
	old    []*lane // of nodes that are in the ring no more, but have something to do
	closed bool

	record *record // nil if the nodes were given
}

// New returns a store that spreads counters over the nodes, each host:port. All
// instances of a service must be given the same nodes in the same order. A
// node that is listed twice gets twice as many counters.
//
// Nothing is connected to yet: see Ping. It fails if there is no node, or an address or
// an option is malformed. opts may be nil.
func New(nodes []string, opts *Options) (*Store, error) {
	s, err := newStore(opts)
	nodes, err2 := parseNodes(nodes)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	s.use(nodes)
	return s, nil
}

func newStore(opts *Options) (*Store, error) {
	o, err := opts.orDefault()
	s := &Store{opts: o, calls: sync.Pool{New: makeCall}}
	s.ring.Store(new(ring))
	return s, err
}

// use spreads counters over the nodes from now on.
func (s *Store) use(nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.ring.Load()
	if s.closed || slices.Equal(nodes, was.nodes) {
		return
	}
	lanes := make(map[string]*lane)
	for i, addr := range was.nodes {
		lanes[addr] = was.lanes[i]
	}
	next := &ring{nodes: nodes}
	for _, addr := range nodes {
		if lanes[addr] == nil {
			lanes[addr] = newLane(addr, &s.opts, &s.tally)
		}
		next.lanes = append(next.lanes, lanes[addr])
	}
	s.ring.Store(next)
	s.retire(was, next)
}

// retire lets go of the lanes that are not in use any more.
func (s *Store) retire(was, next *ring) {
	s.old = slices.DeleteFunc(s.old, (*lane).closeIfQuiet)
	for _, l := range was.lanes {
		if !slices.Contains(next.lanes, l) && !slices.Contains(s.old, l) {
			l.retire()
			s.old = append(s.old, l)
		}
	}
}

// Nodes is the addresses of the nodes, in the order by which keys are spread.
func (s *Store) Nodes() []string { return slices.Clone(s.ring.Load().nodes) }

// allLanes is each lane once.
func (s *Store) allLanes() []*lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.old)
	for _, l := range s.ring.Load().lanes {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

// Add implements ratelimit.Store. It reads all counters, and adds to them after it has
// returned. Count is what has been read, the hits of this Store that are not on their
// node yet, and N. It is exact if no other instance counts, and never too high.
// Counters stop at 1<<62.
//
// It fails if memcached does not take a key (ErrKey, of kind ratelimit.Invalid), if a
// counter is no number (ErrNotANumber), if a node fails or does not answer within
// Options.Timeout (ErrTimeout), if too many calls wait (ErrBusy), after Close
// (ErrClosed), and when ctx is done. No hit of the call is counted then.
func (s *Store) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(hits) == 0 {
		return nil
	}
	if err := checkKeys(hits); err != nil {
		return err
	}
	for {
		r := s.ring.Load()
		err := s.addTo(ctx, r, hits)
		if errors.Is(err, ErrClosed) && s.ring.Load() != r {
			continue // the nodes have changed since, twice
		}
		return err
	}
}

// addTo makes a call on the nodes of a ring.
func (s *Store) addTo(ctx context.Context, r *ring, hits []ratelimit.Hit) error {
	c := s.newCall(r, hits)
	free, err := c.read(ctx, hits, s.opts.Timeout)
	if err != nil {
		c.end()
	} else {
		c.count(hits)
	}
	if free {
		s.free(c)
	}
	return err
}

// Ping asks all nodes for an answer and returns an error that names those which give
// none before ctx is done. A node may take twice Options.Timeout, to connect and to
// answer.
func (s *Store) Ping(ctx context.Context) error {
	lanes := s.ring.Load().lanes
	errs := make([]error, len(lanes))
	var all sync.WaitGroup
	for i, l := range lanes {
		if slices.Index(lanes, l) == i {
			all.Go(func() { errs[i] = l.ping(ctx) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// Flush returns when there was a moment in which all hits of calls that had returned
// were on their node, for each node. It returns an error if ctx is done before.
func (s *Store) Flush(ctx context.Context) error {
	for _, l := range s.allLanes() {
		if err := l.await(ctx, l.flushed); err != nil {
			return fmt.Errorf("memcachestore: %d counters of node %s are still to be incremented: %w", l.pending(), l.addr, err)
		}
	}
	return nil
}

// Close takes no more calls, waits for the calls and increments that are under way, and
// closes all connections. When ctx is done it breaks them off and returns an error that
// says how many hits were lost. No goroutine is left afterwards.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.record.stop()
	lanes := s.allLanes()
	for _, l := range lanes {
		l.close()
	}
	var err error
	lost := s.tally.lost.Load()
	for _, l := range lanes {
		if l.await(ctx, l.quiet) != nil {
			err = context.Cause(ctx)
			break
		}
	}
	for _, l := range lanes {
		l.kill()
		_ = l.await(context.Background(), l.quiet)
	}
	if err != nil {
		return fmt.Errorf("memcachestore: closing: %w: %d hits are lost", err, s.tally.lost.Load()-lost)
	}
	return nil
}
