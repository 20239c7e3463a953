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
	parts := make([]part, 0, 1)
	for i := range r.len() {
		q := ring.queue(r.key(i))
		at := slices.IndexFunc(parts, func(p part) bool { return p.queue == q })
		if at < 0 {
			at, parts = len(parts), append(parts, part{queue: q})
		}
		parts[at].indexes = append(parts[at].indexes, i)
	}
	for i := range parts {
		if err = parts[i].queue.enter(&parts[i], r); err != nil {
			parts = parts[:i]
			break
		}
	}
	if err == nil {
		err = s.wait(ctx, parts, r)
	}
	for i := range parts {
		parts[i].queue.end(&parts[i], r, err == nil)
	}
	return err
}

// wait returns when all counters are read, or all charges are made.
func (s *Store) wait(ctx context.Context, parts []part, r *request) error {
	late := time.NewTimer(s.opts.Timeout)
	defer late.Stop()
	for i := range parts {
		if r.charges != nil {
			parts[i].queue.addCharges(&parts[i], r)
		}
	}
	for _, p := range parts {
		for _, c := range p.charges {
			if err := c.exchange.wait(ctx, late); err != nil {
				return err
			}
		}
		if p.read == nil {
			continue
		}
		if err := p.read.wait(ctx, late); err != nil {
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
