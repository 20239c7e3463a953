package redisstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxCount is the largest value of a Redis counter.
const maxCount = math.MaxInt64

type callKind uint8

const (
	addCall         callKind = iota // add every hit
	conditionalCall                 // add the hits if none is over its limit
	pingCall                        // wait for any reply
	subtractCall                    // subtract every hit
	chargeCall                      // make every charge
)

// request has the hits or charges of a caller.
type request struct {
	kind    callKind
	hits    []ratelimit.Hit
	charges []ratelimit.Charge
}

func (r *request) len() int { return len(r.hits) + len(r.charges) }

// key returns the key of a hit or charge.
func (r *request) key(i int) []byte {
	if r.kind == chargeCall {
		return r.charges[i].Key
	}
	return r.hits[i].Key
}

// check returns an error for charges that no script is for.
func (r *request) check() error {
	for i := range r.charges {
		if a := r.charges[i].Algorithm; algorithmOf(a) == nil {
			return fmt.Errorf("redisstore: a charge has the algorithm %s: must be another one than fixed_window", a)
		}
	}
	return nil
}

// States of a call. Whoever moves it out of callWaiting decides whether it is sent.
const (
	callWaiting int32 = iota
	callStarted
	callAbandoned
)

// call has the part of a request that is for one server.
type call struct {
	kind    callKind
	keys    []byte // of all items
	items   []item
	charges []ratelimit.Charge // of the items, without keys
	ping    int                // index of the script call in the batch
	since   time.Duration      // when it was queued, on the queue's clock
	err     error
	state   atomic.Int32
	done    chan struct{} // with a buffer of one
}

// item is a hit or charge. Its key is a copy: the caller may return before the call is sent.
type item struct {
	keyFrom, keyTo int // in the call's keys
	index          int // in the request
	n              uint64
	limit          uint32
	windowEnd      int64         // Unix seconds
	jitter         int64         // seconds
	maxTTL         time.Duration // the unit's length and the jitter

	command  int    // index of the counter in the batch, or of the script call
	before   uint64 // what the batch adds to the counter before this item
	position int    // in the script call
	count    uint64
	err      error
}

// callPool recycles calls. Those with a lot of memory are left to the garbage collector.
type callPool struct{ sync.Pool }

func (p *callPool) get(kind callKind) *call {
	c, ok := p.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1)}
	}
	c.kind, c.err = kind, nil
	c.keys, c.items, c.charges = c.keys[:0], c.items[:0], c.charges[:0]
	c.state.Store(callWaiting)
	return c
}

func (p *callPool) put(c *call) {
	const maxKeys = 64 << 10
	if cap(c.keys) > maxKeys || cap(c.items) > maxBatchHits || cap(c.charges) > maxBatchHits {
		return
	}
	for i := range c.items {
		c.items[i].err = nil
	}
	p.Put(c)
}

// add copies a hit or charge of a request.
func (c *call) add(r *request, index int) {
	from := len(c.keys)
	c.keys = append(c.keys, r.key(index)...)
	it := item{keyFrom: from, keyTo: len(c.keys), index: index}
	if c.kind == chargeCall {
		c.charges = append(c.charges, r.charges[index])
		c.charges[len(c.charges)-1].Key = nil
	} else {
		h := &r.hits[index]
		it.n, it.limit = min(h.N, maxCount), h.Limit
		it.windowEnd, it.jitter, it.maxTTL = h.End(), int64(h.Jitter), h.TTL()
	}
	c.items = append(c.items, it)
}

func (c *call) key(it *item) []byte { return c.keys[it.keyFrom:it.keyTo] }

// start makes the call part of a batch, unless its caller has given up.
func (c *call) start() bool { return c.state.CompareAndSwap(callWaiting, callStarted) }

// finish returns the call to its caller.
func (c *call) finish() { c.done <- struct{}{} }

// wait returns when the call is finished, or when ctx is done; then owned is false, the
// call is not sent if it was still waiting, and the caller must not use it any more.
func (c *call) wait(ctx context.Context) (owned bool, err error) {
	select {
	case <-c.done:
		return true, c.err
	case <-ctx.Done():
		c.state.CompareAndSwap(callWaiting, callAbandoned)
		return false, fmt.Errorf("redisstore: given up: %w", context.Cause(ctx))
	}
}

// result stores the results in the request, or returns the first error of a hit or charge.
func (c *call) result(r *request) error {
	for i := range c.items {
		it := &c.items[i]
		switch {
		case it.err != nil:
			return it.err
		case c.kind == chargeCall:
			r.charges[it.index].Allowed, r.charges[it.index].State = c.charges[i].Allowed, c.charges[i].State
		default:
			r.hits[it.index].Count = it.count
		}
	}
	return nil
}

// ttl returns the least lifetime of the counter from now on: until the end of the window and of
// the jitter, at least minTTL for hits that come late, and no longer than the unit and
// the jitter.
func (it *item) ttl(now time.Time) time.Duration {
	left := time.Unix(it.windowEnd+it.jitter, 0).Sub(now)
	return min(max(left, minTTL), max(it.maxTTL, minTTL))
}

// addCounts adds without exceeding maxCount.
func addCounts(a, b uint64) uint64 { return min(a+b, maxCount) }

// part is the part of a request for one server.
type part struct {
	queue *queue
	call  *call
}

// do makes a call for each server that has keys of the request, by find, and stores the results in the
// request. Calls of Options.Parallelism servers are made at once. Only a ping may have neither hits nor
// charges: nothing is done without.
func (s *shared) do(ctx context.Context, r *request, find func(key []byte) (*queue, error)) error {
	if r.len() == 0 && r.kind != pingCall {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("redisstore: %w", context.Cause(ctx))
	}
	if err := r.check(); err != nil {
		return err
	}
	var memory [4]part
	parts, err := s.split(memory[:0], r, find)
	for len(parts) > 0 && err == nil {
		together := parts[:min(len(parts), s.opts.Parallelism)]
		parts = parts[len(together):]
		err = s.makeCalls(ctx, together, r)
	}
	for _, p := range parts {
		s.callPool.put(p.call)
	}
	return err
}

func (s *shared) split(parts []part, r *request, find func(key []byte) (*queue, error)) ([]part, error) {
	if r.kind == pingCall {
		q, err := find(nil)
		return append(parts, part{q, s.callPool.get(r.kind)}), err
	}
	for i := range r.len() {
		q, err := find(r.key(i))
		if err != nil {
			return parts, err
		}
		at := slices.IndexFunc(parts, func(p part) bool { return p.queue == q })
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{q, s.callPool.get(r.kind)})
		}
		parts[at].call.add(r, i)
	}
	return parts, nil
}

// makeCalls makes calls at the same time. It returns the first error when all have ended.
func (s *shared) makeCalls(ctx context.Context, parts []part, r *request) (first error) {
	for _, p := range parts {
		if err := p.queue.add(p.call); err != nil {
			p.call.err = err
			p.call.finish()
		}
	}
	for _, p := range parts {
		owned, err := p.call.wait(ctx)
		if owned {
			if err == nil {
				err = p.call.result(r)
			}
			s.callPool.put(p.call)
		}
		if first == nil {
			first = err
		}
	}
	return first
}
