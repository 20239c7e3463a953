package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// request holds what a caller asks for: hits to add, or to subtract, or charges.
type request struct {
	hits     []ratelimit.Hit
	subtract bool
	charges  []ratelimit.Charge
}

func (r *request) len() int { return len(r.hits) + len(r.charges) }

// key returns the key of a hit or charge.
func (r *request) key(i int) []byte {
	if r.charges != nil {
		return r.charges[i].Key
	}
	return r.hits[i].Key
}

// part is the part of a request for one queue.
type part struct {
	queue   *queue
	indexes []int     // of hits or charges
	read    *read     // of the counters
	charges []*charge // with the same indexes
}

// call is the memory of a request.
type call struct {
	parts []part
	late  *time.Timer
}

func newCall() any {
	late := time.NewTimer(time.Hour)
	late.Stop()
	return &call{late: late}
}

// split distributes a request over the queues of a ring.
func (c *call) split(ring *ring, r *request) {
	c.parts = c.parts[:0]
	for i := range r.len() {
		q := ring.queue(r.key(i))
		at := slices.IndexFunc(c.parts, func(p part) bool { return p.queue == q })
		if at < 0 {
			at = len(c.parts)
			c.parts = slices.Grow(c.parts, 1)[:at+1]
			c.parts[at] = part{queue: q, indexes: c.parts[at].indexes[:0]}
		}
		c.parts[at].indexes = append(c.parts[at].indexes, i)
	}
}

// result is a result that calls wait for.
type result struct {
	node string
	done chan struct{} // closed when there is one
	err  error
}

func newResult(q *queue) result { return result{node: q.node.addr, done: make(chan struct{})} }

func (r *result) wait(ctx context.Context, late *time.Timer) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late.C:
		return fmt.Errorf("%w, from node %s", ErrTimeout, r.node)
	}
}

// do makes a request.
func (s *Store) do(ctx context.Context, r *request) error {
	if r.len() == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := checkKeys(r); err != nil {
		return err
	}
	for {
		ring := s.ring.Load()
		err := s.doOn(ctx, ring, r)
		if errors.Is(err, ErrClosed) && s.ring.Load() != ring {
			continue // the node was retired after the ring was loaded
		}
		return err
	}
}

// doOn makes a request on the nodes of a ring: it first reads all counters, and then counts the hits;
// if it fails, none is counted. Charges are made when all queues have admitted the call.
func (s *Store) doOn(ctx context.Context, ring *ring, r *request) (err error) {
	c := s.calls.Get().(*call)
	defer s.calls.Put(c)
	c.split(ring, r)
	parts := c.parts
	for i := range parts {
		if err = parts[i].queue.enter(&parts[i], r); err != nil {
			parts = parts[:i]
			break
		}
	}
	if err == nil {
		c.late.Reset(s.opts.Timeout)
		err = c.wait(ctx, r)
		c.late.Stop()
	}
	for i := range parts {
		parts[i].queue.end(&parts[i], r, err == nil)
	}
	return err
}

// wait returns when all counters are read, or all charges are made.
func (c *call) wait(ctx context.Context, r *request) error {
	for i := range c.parts {
		if r.charges != nil {
			c.parts[i].queue.addCharges(&c.parts[i], r)
		}
	}
	for _, p := range c.parts {
		for _, charge := range p.charges {
			if err := charge.exchange.wait(ctx, c.late); err != nil {
				return err
			}
		}
		if p.read == nil {
			continue
		}
		if err := p.read.wait(ctx, c.late); err != nil {
			return err
		}
		for _, i := range p.indexes {
			if _, err := p.read.value(r.key(i)); err != nil {
				return fmt.Errorf("%w (hit %d, node %s)", err, i, p.read.node)
			}
		}
	}
	return nil
}
