package redisstore

import (
	"context"
	"fmt"
	"math"
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

// States of a call. The side that moves it out of callWaiting decides whether it is sent.
const (
	callWaiting int32 = iota
	callStarted
	callAbandoned
)

// call is what one goroutine asks of one server.
type call struct {
	kind    callKind
	keys    []byte // of all items and takes
	items   []item
	charges []chargeItem
	since   time.Duration // when it was queued, on the queue's clock
	err     error
	state   atomic.Int32
	done    chan struct{} // with a buffer of one
}

// item is a hit. Its key is a copy: the caller may return before the call is sent.
type item struct {
	keyFrom, keyTo int // in the call's keys
	index          int // in the caller's hits
	n              uint64
	limit          uint32
	windowEnd      int64         // Unix seconds
	jitter         int64         // seconds
	maxTTL         time.Duration // the unit's length and the jitter

	counter  int    // in the batch, or the scripted there
	before   uint64 // what the batch adds to the counter before this item
	position int    // in the scripted
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
	for i := range c.charges {
		c.charges[i].err = nil
	}
	p.Put(c)
}

// add copies the hit at an index of the caller's hits.
func (c *call) add(h *ratelimit.Hit, index int) {
	from := len(c.keys)
	c.keys = append(c.keys, h.Key...)
	c.items = append(c.items, item{
		keyFrom: from, keyTo: len(c.keys), index: index,
		n: min(h.N, maxCount), limit: h.Limit,
		windowEnd: h.End(), jitter: int64(h.Jitter), maxTTL: h.TTL(),
	})
}

// len returns the number of hits and charges.
func (c *call) len() int { return len(c.items) + len(c.charges) }

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

// result stores the results in the caller's hits or charges, or returns the first error of one.
func (c *call) result(r *request) error {
	for i := range c.items {
		it := &c.items[i]
		if it.err != nil {
			return it.err
		}
		r.hits[it.index].Count = it.count
	}
	for i := range c.charges {
		it := &c.charges[i]
		if it.err != nil {
			return it.err
		}
		t := &r.charges[it.index]
		t.Allowed, t.State = it.charge.Allowed, it.charge.State
	}
	return nil
}

// ttl is how long the counter must live from now on: until the end of the window and of
// the jitter, at least minTTL for hits that come late, and no longer than the unit and
// the jitter.
func (it *item) ttl(now time.Time) time.Duration {
	left := time.Unix(it.windowEnd+it.jitter, 0).Sub(now)
	return min(max(left, minTTL), max(it.maxTTL, minTTL))
}

// addCounts adds without exceeding maxCount.
func addCounts(a, b uint64) uint64 { return min(a+b, maxCount) }
