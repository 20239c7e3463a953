package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/circuit"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Store keeps counters on memcached nodes. It implements ratelimit.Store,
// ratelimit.SubtractStore and ratelimit.ChargeStore. Create one with New or NewSRV, and close it.
type Store struct {
	opts     Options
	circuits circuit.Totals
	timers   sync.Pool          // of *time.Timer
	workers  sync.WaitGroup     // all goroutines
	stop     context.CancelFunc // ends lookups of the SRV record

	mu      sync.Mutex // protects the work of all nodes too
	stats   Stats
	changed sync.Cond        // signals the end of any work
	addrs   []string         // of the ring
	ring    []*node          // in the order of addrs, duplicates included
	nodes   map[string]*node // by address: those of the ring, and others with unfinished work
	closed  bool
}

// New returns a Store that distributes counters over the nodes, each host:port. All
// instances of a service need the same nodes in the same order. A node that is listed
// twice gets twice as many counters.
//
// New opens no connection: see Ping. It returns an error if there is no node, or if an
// address or an option is invalid. opts may be nil.
func New(nodes []string, opts *Options) (*Store, error) {
	s, err := newStore(opts)
	nodes, err2 := settings.HostPorts("nodes", nodes)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("memcachestore: %w", err)
	}
	s.setNodes(nodes)
	return s, nil
}

func newStore(opts *Options) (*Store, error) {
	o, err := opts.orDefault()
	s := &Store{opts: o, nodes: make(map[string]*node), stop: func() {}}
	s.changed.L = &s.mu
	return s, err
}

// setNodes distributes counters over the nodes from now on. It stops other nodes that have no work left.
func (s *Store) setNodes(addrs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.addrs, s.ring = addrs, nil
	for _, addr := range addrs {
		if s.nodes[addr] == nil {
			s.nodes[addr] = newNode(addr, s)
		}
		s.ring = append(s.ring, s.nodes[addr])
	}
	for addr, n := range s.nodes {
		if !slices.Contains(addrs, addr) && n.idle() {
			delete(s.nodes, addr)
			n.stop()
		}
	}
}

// Nodes returns the addresses of the nodes, in the order that determines where keys are.
func (s *Store) Nodes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.addrs)
}

// nodeOf returns the node that has the key: the same that memcache.ServerList of the client
// library, which the reference service uses, selects from the same list. The lock is held.
func (s *Store) nodeOf(key []byte) *node {
	return s.ring[crc32.ChecksumIEEE(key)%uint32(len(s.ring))]
}

// result is the result of work that calls wait for.
type result struct {
	node *node
	done chan struct{} // closed when there is one
	err  error
}

// do has n hits or charges join the work of their nodes, and waits for all results, no
// longer than Options.Timeout. If a node does not admit one, none joins.
func (s *Store) do(ctx context.Context, n int, key func(i int) []byte, join func(i int, to *node) *result) error {
	if n == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var memory [8]*result
	results, err := s.join(memory[:0], n, key, join)
	if err != nil {
		return err
	}
	late, ok := s.timers.Get().(*time.Timer)
	if !ok {
		late = time.NewTimer(s.opts.Timeout)
	}
	late.Reset(s.opts.Timeout)
	defer s.timers.Put(late)
	defer late.Stop()
	for _, r := range results {
		select {
		case <-r.done:
			if r.err != nil {
				return r.err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return fmt.Errorf("%w, from node %s", ErrTimeout, r.node.addr)
		}
	}
	return nil
}

// maxKey is the maximum length of a memcached key in bytes.
const maxKey = 250

func (s *Store) join(results []*result, n int, key func(i int) []byte, join func(i int, to *node) *result) ([]*result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for i := range n {
		// The error does not show the key: clients choose it, and it may be a secret.
		if k := key(i); len(k) == 0 || len(k) > maxKey || slices.ContainsFunc(k, func(b byte) bool { return b <= ' ' || b == 0x7f }) {
			return nil, &ratelimit.Error{Kind: ratelimit.Invalid, Err: ErrKey, Message: fmt.Sprintf(
				"the counter key of hit %d has %d bytes: memcached accepts 1 to %d, without whitespace and control characters", i, len(k), maxKey)}
		}
		switch n := s.nodeOf(key(i)); {
		case n.waiting >= s.opts.MaxWaiting:
			return nil, fmt.Errorf("%w: %d for node %s", ErrBusy, n.waiting, n.addr)
		case !n.circuit.Allow():
			return nil, fmt.Errorf("%w (node %s)", ErrSuspended, n.addr)
		}
	}
	for i := range n {
		results = append(results, join(i, s.nodeOf(key(i))))
	}
	return results, nil
}

// Ping sends a command to all nodes, on new connections, and returns an errors.Join of one error for
// each node that does not reply before ctx is done. This may last twice
// Options.Timeout: to connect, and to reply.
func (s *Store) Ping(ctx context.Context) error {
	s.mu.Lock()
	ring := s.ring
	s.mu.Unlock()
	errs := make([]error, len(ring))
	var pings sync.WaitGroup
	for i, n := range ring {
		if slices.Index(ring, n) == i {
			pings.Go(func() { errs[i] = n.ping(ctx) })
		}
	}
	pings.Wait()
	return errors.Join(errs...)
}

// Flush waits until all hits of calls that have returned are on their nodes. It returns an error if ctx
// is done before.
func (s *Store) Flush(ctx context.Context) error {
	return s.wait(ctx, func(*node) bool { return s.stats.Pending == 0 })
}

// wait returns when done, called with the lock held, returns true for all nodes, or an error when ctx is
// done before.
func (s *Store) wait(ctx context.Context, done func(*node) bool) error {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range slices.Collect(maps.Values(s.nodes)) {
		for !done(n) {
			if ctx.Err() != nil {
				return fmt.Errorf("memcachestore: node %s: not all hits have arrived: %w", n.addr, context.Cause(ctx))
			}
			s.changed.Wait()
		}
	}
	return nil
}

// Close rejects new calls, waits for calls and increments that are under way, and closes
// all connections. After Options.CloseTimeout it aborts them and returns an error with
// the number of hits lost. No goroutine is left when it returns.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true // s.nodes does not change from now on
	s.mu.Unlock()
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.CloseTimeout)
	defer cancel()
	lost := s.Stats().Lost
	err := s.wait(ctx, (*node).idle)
	for _, n := range s.nodes {
		n.stop()
	}
	_ = s.wait(context.Background(), (*node).idle) // calls that were aborted end
	s.workers.Wait()
	if err != nil {
		return fmt.Errorf("memcachestore: closing: %d hits are lost: %w", s.Stats().Lost-lost, err)
	}
	return nil
}

// Stats are the statistics of a Store since it was created (REFERENCE.md, 6.2).
type Stats struct {
	// MultiGet, Increment, Add, Decrement and CompareAndSwap count commands by their result. A
	// read may serve several calls.
	MultiGet, Increment, Add, Decrement, CompareAndSwap Codes
	// KeysRequested and KeysFound count the keys of reads, and those that existed.
	KeysRequested, KeysFound uint64

	// Pending is the number of counters that wait for an increment now, or are being
	// incremented.
	Pending int
	// Held counts increments that calls had to send themselves, because
	// Options.MaxPending counters were waiting.
	Held uint64
	// Lost counts hits that were not added to their counter, because the node failed after
	// Add had returned. Hits that were not given back are not included.
	Lost uint64

	// Suspended is the number of nodes to which calls are suspended now. Suspensions counts how often
	// that happened, and Refused the calls that have failed with ErrSuspended.
	Suspended            int64
	Suspensions, Refused uint64
}

// Codes counts commands by their result.
type Codes struct {
	Success, Error uint64
	Miss           uint64 // the counter does not exist
	NotStored      uint64 // additions of a counter that already exists
	Conflict       uint64 // swaps of a state that another instance has written meanwhile
}

// of returns the counter of commands that end with err.
func (c *Codes) of(err error) *uint64 {
	switch {
	case err == nil:
		return &c.Success
	case errors.Is(err, memcache.ErrCacheMiss):
		return &c.Miss
	case errors.Is(err, memcache.ErrNotStored):
		return &c.NotStored
	case errors.Is(err, memcache.ErrCASConflict):
		return &c.Conflict
	}
	return &c.Error
}

// Stats returns the statistics.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Suspended, stats.Suspensions, stats.Refused = s.circuits.Open.Load(), s.circuits.Opened.Load(), s.circuits.Refused.Load()
	return stats
}
