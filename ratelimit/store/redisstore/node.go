package redisstore

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long calls wait for a pipeline that is under way before the next
	// begins beside it. One pipeline at a time makes the longest ones, and on a near
	// server none takes as long as this.
	patience = time.Millisecond
	// longest is how many hits a pipeline may have.
	longest = 1024
)

// node is one server, or the one that is master of a group, and the calls for it.
//
// A call waits in the queue until a pipeline takes it. Pipelines run in goroutines
// which are there only as long as there are calls.
type node struct {
	opts    *Options
	dialer  *dialer
	ledger  *ledger
	spares  *spares
	epochs  *atomic.Uint32 // of all nodes of the store
	resolve func(deadline time.Time) (place, error)
	cluster bool
	at      place     // in a cluster, where it does not change
	zero    time.Time // of the node's clock

	mu       sync.Mutex
	queue    []*call
	hits     int // in the queue
	running  int // pipelines under way
	overflow int // how many of them are beyond the pool
	idle     []*conn
	age      int // of the idle connections: see forsake
	timer    *time.Timer
	closed   bool
	lanes    sync.WaitGroup

	// epoch changes whenever a connection is opened. Until then all of them lead to the
	// same server, and what was learned of its counters still holds.
	epoch atomic.Uint32
	lost  atomic.Bool
}

func (n *node) now() time.Duration { return time.Since(n.zero) }

// submit puts the call into the queue. If no pipeline is under way, one begins.
func (n *node) submit(c *call) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return ErrClosed
	case len(n.queue) >= n.opts.MaxWaiting:
		return ErrBusy
	}
	c.since = n.now()
	n.queue = append(n.queue, c)
	n.hits += len(c.items)
	switch {
	case n.running == 0, n.hits >= longest && n.running < n.opts.PoolSize:
		n.launch(false)
	case len(n.queue) == 1:
		n.arm(c.since)
	}
	return nil
}

// launch begins a pipeline. The lock is held.
func (n *node) launch(extra bool) {
	n.running++
	if extra {
		n.overflow++
	}
	n.lanes.Go(func() { n.run(extra) })
}

// run makes pipelines for as long as there are calls; one is enough if it is extra.
func (n *node) run(extra bool) {
	b := n.spares.batch()
	defer n.spares.keep(b)
	for more := true; more; more = !extra {
		time.Sleep(n.opts.PipelineWindow)
		if !n.take(b, extra) {
			return
		}
		n.serve(b, extra)
		b.reset()
		// Those who have just got their answers may ask again: let them, so that the next
		// pipeline has them all.
		runtime.Gosched()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leave(extra)
}

// leave ends a pipeline. The lock is held.
func (n *node) leave(extra bool) {
	n.running--
	if extra {
		n.overflow--
	}
	n.arm(n.now())
}

// take moves calls from the queue to the batch. If there are none, it leaves.
func (n *node) take(b *batch, extra bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	used := 0
	for used < len(n.queue) && b.hits < longest {
		c := n.queue[used]
		used++
		n.hits -= len(c.items)
		since := c.since
		if !c.take() {
			continue
		}
		if len(b.calls) == 0 {
			b.deadline = n.zero.Add(since + n.opts.Timeout)
		}
		b.calls = append(b.calls, c)
		b.hits += max(len(c.items), 1)
	}
	n.pop(used)
	if len(b.calls) == 0 {
		n.leave(extra)
		return false
	}
	n.arm(n.now())
	return true
}

// pop drops the first calls of the queue.
func (n *node) pop(used int) {
	rest := copy(n.queue, n.queue[used:])
	clear(n.queue[rest:])
	n.queue = n.queue[:rest]
}

// close fails the calls in the queue, waits for the pipelines under way, which takes
// Timeout at most, and closes the connections.
func (n *node) close() {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		n.lanes.Wait()
		return
	}
	n.closed = true
	n.refuse(len(n.queue), ErrClosed)
	if n.timer != nil {
		n.timer.Stop()
	}
	n.mu.Unlock()
	n.lanes.Wait()
	n.drop()
}

// refuse fails the first calls of the queue. The lock is held.
func (n *node) refuse(count int, err error) {
	for _, c := range n.queue[:count] {
		n.hits -= len(c.items)
		if c.take() {
			c.err = err
			c.finish()
		}
	}
	n.pop(count)
}
