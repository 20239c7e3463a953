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

// key returns the key of a hit or charge, nil for a ping.
func (r *request) key(i int) []byte {
	switch r.kind {
	case pingCall:
		return nil
	case chargeCall:
		return r.charges[i].Key
	}
	return r.hits[i].Key
}

// States of a call. Whoever moves it out of callWaiting decides whether it is sent.
const (
	callWaiting int32 = iota
	callStarted
	callAbandoned
)

// call has the part of a request that is for one server. Its hits and charges are copies, and so are
// their keys: the caller may return before the call is sent.
type call struct {
	request
	queue *queue
	items []item // one for each hit or charge, or for a ping
	keys  []byte
	since time.Duration // when it was queued, on the queue's clock
	err   error
	state atomic.Int32
	done  chan struct{} // with a buffer of one
}

// item relates a hit or charge to the batch.
type item struct {
	index   int    // in the caller's request
	command int    // in the batch
	before  uint64 // the total of the command before this item
	err     error
}

// callPool recycles calls. Those with a lot of memory are left to the garbage collector.
type callPool struct{ sync.Pool }

func (p *callPool) get(q *queue, kind callKind) *call {
	c, ok := p.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1)}
	}
	c.queue, c.kind, c.err = q, kind, nil
	c.keys, c.items, c.hits, c.charges = c.keys[:0], c.items[:0], c.hits[:0], c.charges[:0]
	c.state.Store(callWaiting)
	return c
}

func (p *callPool) put(c *call) {
	const maxKeys = 64 << 10
	if cap(c.keys) <= maxKeys && cap(c.items) <= maxBatchHits {
		clear(c.items)
		p.Put(c)
	}
}

// add copies a hit or charge of a request.
func (c *call) add(r *request, index int) {
	from := len(c.keys)
	c.keys = append(c.keys, r.key(index)...) // earlier keys stay where they are if this moves
	key := c.keys[from:len(c.keys):len(c.keys)]
	if c.kind == chargeCall {
		c.charges = append(c.charges, r.charges[index])
		c.charges[len(c.charges)-1].Key = key
	} else {
		h := r.hits[index]
		h.Key, h.N = key, min(h.N, maxCount)
		c.hits = append(c.hits, h)
	}
	c.items = append(c.items, item{index: index})
}

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
	for i, it := range c.items {
		switch {
		case it.err != nil:
			return it.err
		case c.kind == chargeCall:
			r.charges[it.index].Allowed, r.charges[it.index].State = c.charges[i].Allowed, c.charges[i].State
		case c.kind != pingCall:
			r.hits[it.index].Count = c.hits[i].Count
		}
	}
	return nil
}

// ttlOf returns the least lifetime of the counter from now on: until the end of the window and of
// the jitter, at least minTTL for hits that come late, and no longer than the unit and
// the jitter.
func ttlOf(h *ratelimit.Hit, now time.Time) time.Duration {
	left := time.Unix(h.End()+int64(h.Jitter), 0).Sub(now)
	return min(max(left, minTTL), max(h.TTL(), minTTL))
}

// addCounts adds without exceeding maxCount.
func addCounts(a, b uint64) uint64 { return min(a+b, maxCount) }

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
	for i := range r.charges {
		if a := r.charges[i].Algorithm; algorithmOf(a) == nil {
			return fmt.Errorf("redisstore: a charge has the algorithm %s: must be another one than fixed_window", a)
		}
	}
	var memory [4]*call
	calls, err := s.split(memory[:0], r, find)
	for len(calls) > 0 && err == nil {
		together := calls[:min(len(calls), s.opts.Parallelism)]
		calls = calls[len(together):]
		err = s.makeCalls(ctx, together, r)
	}
	for _, c := range calls {
		s.callPool.put(c)
	}
	return err
}

func (s *shared) split(calls []*call, r *request, find func(key []byte) (*queue, error)) ([]*call, error) {
	if r.kind == pingCall {
		q, err := find(nil)
		c := s.callPool.get(q, r.kind)
		c.items = append(c.items, item{})
		return append(calls, c), err
	}
	for i := range r.len() {
		q, err := find(r.key(i))
		if err != nil {
			return calls, err
		}
		at := slices.IndexFunc(calls, func(c *call) bool { return c.queue == q })
		if at < 0 {
			at = len(calls)
			calls = append(calls, s.callPool.get(q, r.kind))
		}
		calls[at].add(r, i)
	}
	return calls, nil
}

// makeCalls makes calls at the same time. It returns the first error when all have ended.
func (s *shared) makeCalls(ctx context.Context, calls []*call, r *request) (first error) {
	for _, c := range calls {
		if err := c.queue.add(c); err != nil {
			c.err = err
			c.finish()
		}
	}
	for _, c := range calls {
		owned, err := c.wait(ctx)
		if owned {
			if err == nil {
				err = c.result(r)
			}
			s.callPool.put(c)
		}
		if first == nil {
			first = err
		}
	}
	return first
}
