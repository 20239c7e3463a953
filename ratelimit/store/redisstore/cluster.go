package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// redirects is how often a hit may be sent on to another node.
const redirects = 8

// Cluster keeps counters in a cluster of Redis servers. It is a ratelimit.Store but no
// ratelimit.ConditionalStore, since no step is atomic over several nodes: an Engine
// with StopIncrementWhenOverLimit reads first and adds then. Create it with NewCluster.
type Cluster struct {
	client
	seeds    []place
	known    atomic.Pointer[topology]
	learning singleflight.Group
	asking   atomic.Bool

	mu     sync.Mutex
	nodes  map[place]*node
	closed bool
	tasks  sync.WaitGroup
}

// NewCluster returns a store in the cluster that these nodes, host:port each, belong to.
// One that answers is enough to find the others. It does not connect: see WaitReady. It
// fails if the addresses or the options are no good. opts may be nil.
func NewCluster(nodes []string, opts *Options) (*Cluster, error) {
	seeds, err := parseHosts("nodes", nodes)
	if err != nil {
		return nil, err
	}
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	return &Cluster{client: c, seeds: seeds, nodes: make(map[place]*node)}, nil
}

// part is the hits of a request that one node is asked about.
type part struct {
	node *node
	call *call
}

// Add implements ratelimit.Store. Each node gets its part of the hits. If it fails for
// one, the others' may have been counted.
func (c *Cluster) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if len(hits) == 0 {
		return nil
	}
	t, err := c.topology(ctx)
	if err != nil {
		return err
	}
	r := request{Cluster: c, hits: hits}
	for i := range hits {
		if err := r.route(t, i); err != nil {
			return err
		}
	}
	for range redirects {
		if err := r.round(ctx); err != nil || len(r.parts) == 0 {
			return err
		}
	}
	r.drop()
	return fmt.Errorf("redisstore: sent from node to node %d times: the cluster does not agree on who serves a slot", redirects)
}

// request is one call of Add.
type request struct {
	*Cluster
	hits  []ratelimit.Hit
	parts []part
	first error
}

// route adds the hit to the part of the node that serves it.
func (r *request) route(t *topology, index int) error {
	slot := slotOf(r.hits[index].Key)
	n := t.owner[slot]
	if n == nil {
		r.drop()
		r.suspect()
		return fmt.Errorf("redisstore: no node of the cluster serves slot %d", slot)
	}
	r.send(n, false, index)
	return nil
}

// send adds the hit to the part of the node.
func (r *request) send(n *node, asking bool, index int) {
	for _, p := range r.parts {
		if p.node == n && p.call.asking == asking {
			p.call.add(&r.hits[index], index)
			return
		}
	}
	p := part{n, r.spares.call(counting)}
	p.call.asking = asking
	p.call.add(&r.hits[index], index)
	r.parts = append(r.parts, p)
}

// drop frees the calls that are not going to be made.
func (r *request) drop() {
	for _, p := range r.parts {
		r.spares.free(p.call)
	}
	r.parts = nil
}

// round asks the nodes, so many at once. What they send on is the parts of the next
// round. The first error is that of the request, once no part is under way.
func (r *request) round(ctx context.Context) error {
	parts := r.parts
	r.parts = nil
	for len(parts) > 0 {
		now := parts[:min(len(parts), r.opts.Parallelism)]
		parts = parts[len(now):]
		r.ask(ctx, now)
	}
	if r.first != nil {
		r.drop()
	}
	return r.first
}

func (r *request) ask(ctx context.Context, parts []part) {
	if ctx.Err() != nil {
		r.fail(fmt.Errorf("redisstore: %w", context.Cause(ctx)))
		return
	}
	for _, p := range parts {
		if err := p.node.submit(p.call); err != nil {
			p.call.err = err
			p.call.finish()
		}
	}
	for _, p := range parts {
		free, err := p.call.wait(ctx)
		if !free {
			r.fail(fmt.Errorf("redisstore: given up: %w", err))
			continue
		}
		r.take(ctx, p, err)
		r.spares.free(p.call)
	}
}

func (r *request) fail(err error) {
	if r.first == nil {
		r.first = err
	}
}

// take has the answers of a part.
func (r *request) take(ctx context.Context, p part, err error) {
	for i := range p.call.items {
		it := &p.call.items[i]
		failed := err
		if failed == nil {
			failed = it.err
		}
		if failed == nil {
			r.hits[it.index].Count = it.count
			continue
		}
		r.sendOn(ctx, p.node, it.index, failed)
	}
}

// sendOn finds the node that a hit is to be asked of instead, if it was not counted.
func (r *request) sendOn(ctx context.Context, from *node, index int, err error) {
	r.suspect()
	if addr, ok := redis.IsMovedError(err); ok {
		r.send(r.nodeAt(beside(from.at, addr)), false, index)
		return
	}
	if addr, ok := redis.IsAskError(err); ok {
		r.send(r.nodeAt(beside(from.at, addr)), true, index)
		return
	}
	if !errors.Is(err, errNoServer) && !errors.Is(err, ErrClosed) {
		r.fail(err)
		return
	}
	// The node is gone, and nothing was counted. Another may serve its slots by now.
	t, again := r.refresh(ctx)
	slot := slotOf(r.hits[index].Key)
	if again != nil || t.owner[slot] == nil || t.owner[slot] == from {
		r.fail(err)
		return
	}
	r.send(t.owner[slot], false, index)
}

// Ping returns nil when every slot has a node that serves it, and all of these answer.
func (c *Cluster) Ping(ctx context.Context) error {
	t, err := c.refresh(ctx)
	if err != nil {
		return err
	}
	for slot, n := range t.owner {
		if n == nil {
			return fmt.Errorf("redisstore: no node of the cluster serves slot %d", slot)
		}
	}
	for _, n := range t.nodes {
		if err := ping(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// WaitReady returns when every slot of the cluster is served: see Store.WaitReady.
func (c *Cluster) WaitReady(ctx context.Context, backoff *Backoff) error {
	return c.waitReady(ctx, backoff, c.Ping)
}

// Close is as Store.Close.
func (c *Cluster) Close() error {
	c.mu.Lock()
	c.closed = true
	var nodes []*node
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	c.mu.Unlock()
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(n.close)
	}
	all.Wait()
	c.tasks.Wait()
	return nil
}

// Stats are numbers about connections. Those that the nodes are asked about the cluster
// on are not among them.
func (c *Cluster) Stats() Stats {
	if t := c.known.Load(); t != nil {
		for _, n := range t.nodes {
			n.prune()
		}
	}
	return c.stats()
}
