package redisstore

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxCount is the largest value of a Redis counter.
const maxCount = math.MaxInt64

// kind is what a call wants.
type kind uint8

const (
	counting    kind = iota // add each hit, as Add
	conditional             // add if none is over, as AddUnlessOver
	pinging                 // nothing but an answer
)

// States of a call. Who moves it out of waiting decides whether it is made.
const (
	waiting int32 = iota
	taken         // it is part of a pipeline
	left          // its caller has given up
)

// item is a hit on its way. Keys are copies: the caller's memory is the caller's again
// as soon as it gives up.
type item struct {
	from, to int // of the key in the call's keys
	index    int // of the hit in the caller's hits
	n        uint64
	limit    uint32
	end      int64         // of the window, in Unix seconds
	jitter   int64         // in seconds
	longest  time.Duration // the unit's length and the jitter

	slot   int    // of the batch
	before uint64 // what the batch adds to the slot before this item
	count  uint64
	err    error
}

// call is what one goroutine asks of one node.
type call struct {
	kind   kind
	asking bool // of a node that is taking the keys over (cluster)
	keys   []byte
	items  []item
	since  time.Duration // on the node's clock, when it began to wait
	err    error         // of the call as a whole
	state  atomic.Int32
	done   chan struct{} // of one element
}

// add copies the hit that has the index among the caller's.
func (c *call) add(h *ratelimit.Hit, index int) {
	from := len(c.keys)
	c.keys = append(c.keys, h.Key...)
	c.items = append(c.items, item{
		from: from, to: len(c.keys), index: index,
		n: min(h.N, maxCount), limit: h.Limit,
		end: h.End(), jitter: int64(h.Jitter), longest: h.TTL(),
	})
}

func (c *call) key(it *item) []byte { return c.keys[it.from:it.to] }

// take makes the call part of a pipeline, unless its caller has given up.
func (c *call) take() bool { return c.state.CompareAndSwap(waiting, taken) }

// finish hands the call back to its caller. It must not be touched after that.
func (c *call) finish() { c.done <- struct{}{} }

// wait returns when the call is finished or ctx is done. Then the call is not made any
// more if it was not under way yet, and it is not ours any more: free reports whether
// it is.
func (c *call) wait(ctx context.Context) (free bool, err error) {
	select {
	case <-c.done:
		return true, c.err
	case <-ctx.Done():
		c.state.CompareAndSwap(waiting, left)
		return false, context.Cause(ctx)
	}
}

// fill stores the counts and returns the first error of an item.
func (c *call) fill(hits []ratelimit.Hit) error {
	for i := range c.items {
		it := &c.items[i]
		if it.err != nil {
			return it.err
		}
		hits[it.index].Count = it.count
	}
	return nil
}

// plus adds without passing the largest count.
func plus(a, b uint64) uint64 { return min(a+b, maxCount) }
