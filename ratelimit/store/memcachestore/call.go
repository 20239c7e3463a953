package memcachestore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// call is one Add or Subtract: it first reads all counters, then counts.
type call struct {
	back   bool     // subtracts
	items  []item   // one for each hit
	queues []*queue // of the items, each once
	begun  int      // queues that the call has begun on

	unread    atomic.Int32  // queues that have not read the counters yet
	done      chan struct{} // receives one value when unread is 0
	abandoned atomic.Bool   // the caller waits no longer; queues may still use the call
	timer     *time.Timer
}

// item is the state of one hit.
type item struct {
	queue   *queue
	counter *counter
	value   uint64 // on the node
	// decrements is the number of the counter when the read of the value began.
	decrements int
	err        error
}

func newCall() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &call{done: make(chan struct{}, 1), timer: timer}
}

// assign resets the call and distributes the hits over the queues.
func (c *call) assign(r *ring, hits []ratelimit.Hit) {
	c.items = slices.Grow(c.items[:0], len(hits))[:len(hits)]
	c.queues, c.begun = c.queues[:0], 0
	for i := range hits {
		q := r.queue(hits[i].Key)
		c.items[i] = item{queue: q}
		if !slices.Contains(c.queues, q) {
			c.queues = append(c.queues, q)
		}
	}
	c.unread.Store(int32(len(c.queues)))
}

// on returns the items of a queue, with the indexes of their hits.
func (c *call) on(q *queue) iter.Seq2[int, *item] {
	return func(yield func(int, *item) bool) {
		for i := range c.items {
			if c.items[i].queue == q && !yield(i, &c.items[i]) {
				return
			}
		}
	}
}

// run reads all counters and then counts the hits; if it fails, none is counted.
func (c *call) run(ctx context.Context, hits []ratelimit.Hit, timeout time.Duration) error {
	err := c.read(ctx, hits, timeout)
	for _, q := range c.queues[:c.begun] {
		if err == nil {
			q.count(c, hits)
		} else {
			q.cancel(c)
		}
	}
	return err
}

func (c *call) read(ctx context.Context, hits []ratelimit.Hit, timeout time.Duration) error {
	c.timer.Reset(timeout)
	defer c.timer.Stop()
	for _, q := range c.queues {
		if err := q.begin(c, hits); err != nil {
			c.abandoned.Store(true)
			return err
		}
		c.begun++
	}
	select {
	case <-c.done:
		for i := range c.items {
			if err := c.items[i].err; err != nil {
				return err
			}
		}
		return nil
	case <-ctx.Done():
		c.abandoned.Store(true)
		return context.Cause(ctx)
	case <-c.timer.C:
		c.abandoned.Store(true)
		var nodes []string
		for _, q := range c.queues {
			nodes = append(nodes, q.node.addr)
		}
		return fmt.Errorf("%w of %v from %s", ErrTimeout, timeout, strings.Join(nodes, ", "))
	}
}

// readDone is called by each queue when it has read the counters, or has failed to.
func (c *call) readDone() {
	if c.unread.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}
