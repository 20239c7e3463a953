package memcachestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// queue holds the work for one node: calls that wait for a read, counters that wait for an
// increment, and states of other algorithms that wait for an exchange. Worker goroutines start when there is work and end when there is none. A
// node that does not reply delays its own queue only.
type queue struct {
	node      *node
	suspended error // ErrSuspended with the address

	mu         sync.Mutex
	changed    sync.Cond           // signals the end of any work
	counters   map[string]*counter // being read, or with hits that have not arrived
	reads      []*call             // wait for a read
	increments []*counter          // wait for an increment
	readers    int                 // goroutines
	writers    int                 // goroutines
	sending    int                 // increments under way
	active     int                 // calls and pings under way
	phase      phase

	states      map[string]*state // that wait for an exchange, or have one under way
	exchanges   []*state          // wait for an exchange
	exchangers  int               // goroutines
	waitingJobs int
}

// phase is the phase of a queue. Each includes the restrictions of those before.
type phase int

const (
	serving phase = iota
	retired       // the node is not in the ring: keep no idle connections
	closed        // accept no calls
	aborted       // discard increments
)

func newQueue(n *node) *queue {
	q := &queue{node: n, counters: make(map[string]*counter), states: make(map[string]*state), suspended: fmt.Errorf("%w (node %s)", ErrSuspended, n.addr)}
	q.changed.L = &q.mu
	return q
}

// begin queues the counters of a call for reading. They stay in q.counters until count or
// cancel, so that no increment is missed between reading and counting.
func (q *queue) begin(c *call, hits []ratelimit.Hit) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.phase >= closed:
		return ErrClosed
	case len(q.reads) >= q.node.opts.MaxWaiting:
		return fmt.Errorf("%w: %d for node %s", ErrBusy, len(q.reads), q.node.addr)
	case !q.node.circuit.Allow():
		return q.suspended
	}
	for i, it := range c.on(q) {
		it.counter = q.counters[string(hits[i].Key)]
		if it.counter == nil {
			it.counter = &counter{key: string(hits[i].Key)}
			q.counters[it.counter.key] = it.counter
		}
		it.counter.calls++
	}
	q.active++
	q.reads = append(q.reads, c)
	if q.readers < q.node.opts.MaxReads {
		q.readers++
		go q.read()
	}
	return nil
}

// cancel releases the counters of a call that is not counted.
func (q *queue) cancel(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range c.on(q) {
		it.counter.calls--
		q.forget(it.counter)
	}
	q.active--
	q.signal()
}

// forget removes a counter whose hits are all on the node and that no call is reading.
func (q *queue) forget(c *counter) {
	if c.calls == 0 && !c.listed {
		delete(q.counters, c.key)
	}
}

// batch is one read, on behalf of all calls that were waiting.
type batch struct {
	calls []*call
	keys  []string
}

// maxBatch is the number of keys from which on a batch takes no further call.
const maxBatch = 512

// read is a goroutine that reads until no call waits.
func (q *queue) read() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.reads) > 0 {
		b := q.nextBatch()
		q.mu.Unlock()
		q.fetch(b)
		q.mu.Lock()
	}
	q.readers--
	q.signal()
}

// nextBatch removes waiting calls from the queue. A key that several need is read once.
func (q *queue) nextBatch() *batch {
	b := new(batch)
	n := 0
	for ; n < len(q.reads) && len(b.keys) < maxBatch; n++ {
		c := q.reads[n]
		if c.abandoned.Load() {
			continue
		}
		b.calls = append(b.calls, c)
		for _, it := range c.on(q) {
			it.decrements = it.counter.decrements
			if it.counter.batch != b {
				it.counter.batch = b
				b.keys = append(b.keys, it.counter.key)
			}
		}
	}
	rest := copy(q.reads, q.reads[n:])
	clear(q.reads[rest:])
	q.reads = q.reads[:rest]
	return b
}

// fetch reads a batch and hands the values to its calls.
func (q *queue) fetch(b *batch) {
	if len(b.keys) == 0 {
		return
	}
	found, err := q.node.get(b.keys)
	for _, c := range b.calls {
		for i, it := range c.on(q) {
			it.err = err
			if value := found[it.counter.key]; value != nil && err == nil {
				if it.value, it.err = parseValue(value.Value); it.err != nil {
					it.err = fmt.Errorf("%w (hit %d, node %s)", it.err, i, q.node.addr)
				}
			}
		}
		c.readDone()
	}
}

// count counts the hits of a call that has been read, and ends it.
func (q *queue) count(c *call, hits []ratelimit.Hit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var own []*counter // increments for which the queue has no room
	for i, it := range c.on(q) {
		h, counter := &hits[i], it.counter
		if counter.know(it.value, it.decrements); c.back {
			h.Count = counter.subtract(h.N)
		} else {
			h.Count = counter.add(h.N)
			counter.ttl = max(counter.ttl, h.TTL())
		}
		counter.calls--
		switch {
		case !counter.waits() || counter.listed:
		case len(q.increments) >= q.node.opts.MaxPending:
			counter.listed = true
			q.sending++
			own = append(own, counter)
		default:
			q.enqueue(counter)
		}
		q.forget(counter)
	}
	for _, counter := range own {
		q.node.totals.held.Add(1)
		q.increment(counter)
	}
	q.active--
	q.signal()
}

// enqueue queues a counter for an increment.
func (q *queue) enqueue(c *counter) {
	if q.phase == aborted {
		q.discard(c)
		return
	}
	c.listed = true
	q.increments = append(q.increments, c)
	if q.writers < q.node.opts.MaxWorkers {
		q.writers++
		go q.write()
	}
}

// discard drops the queued hits of a counter and counts them as lost.
func (q *queue) discard(c *counter) {
	for _, e := range c.earlier {
		if !e.back {
			c.queued += e.n
		}
	}
	q.node.totals.lost.Add(c.queued)
	c.queued, c.earlier, c.listed = 0, nil, false
	q.forget(c)
}

// write is a goroutine that increments until no counter waits.
func (q *queue) write() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.increments) > 0 {
		c := q.increments[0]
		q.increments[0] = nil
		q.increments = q.increments[1:]
		q.sending++
		q.increment(c)
	}
	q.writers--
	q.signal()
}

// increment sends the hits of a counter to the node; hits that arrive meanwhile wait for the
// next command. The caller holds the lock, which increment releases while it sends.
func (q *queue) increment(c *counter) {
	next, ttl := c.send(), c.ttl
	q.mu.Unlock()
	var value uint64
	var err error
	if next.back {
		value, err = q.node.decrement(c.key, next.n)
	} else {
		value, err = q.node.increment(c.key, next.n, ttl)
	}
	q.mu.Lock()
	if err != nil && !next.back {
		q.node.totals.lost.Add(next.n)
	}
	c.arrived(value, err)
	c.listed = false
	q.sending--
	if c.waits() {
		q.enqueue(c)
	}
	q.forget(c)
	q.signal()
}

// pending returns the number of counters with hits that have not arrived. The caller holds
// the lock.
func (q *queue) pending() int { return len(q.increments) + q.sending }

// idle reports whether no work waits or is under way. The caller holds the lock.
func (q *queue) idle() bool {
	return q.active+q.readers+q.writers+q.pending()+q.exchangers == 0
}

// signal wakes up wait. The caller holds the lock.
func (q *queue) signal() {
	if q.phase >= retired && q.idle() {
		_ = q.node.client.Close() // closes idle connections
	}
	q.changed.Broadcast()
}

// wait returns when done, called with the lock held, returns true, or an error when ctx is
// done before.
func (q *queue) wait(ctx context.Context, done func() bool) error {
	defer context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})()
	q.mu.Lock()
	defer q.mu.Unlock()
	for !done() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q.changed.Wait()
	}
	return nil
}

// reinstate ends the retirement of a queue whose node is in the ring again.
func (q *queue) reinstate() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.phase = serving
}

// retire closes connections as soon as they are idle. It closes an idle queue at once, and
// reports whether it has.
func (q *queue) retire() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.phase = retired
	if q.idle() {
		q.phase = closed
	}
	q.signal()
	return q.phase == closed
}

// close rejects further calls.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.phase = max(q.phase, closed)
	q.signal()
}

// abort discards waiting increments and closes the connections of commands under way.
func (q *queue) abort() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.phase = aborted
	for _, c := range q.increments {
		q.discard(c)
	}
	q.increments = nil
	q.abortCharges()
	q.node.abort()
	q.signal()
}

// ping waits for a reply of the node, or until ctx is done.
func (q *queue) ping(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase >= closed {
		return ErrClosed
	}
	q.active++
	q.mu.Unlock()
	reply := make(chan error, 1)
	go func() {
		reply <- q.node.do(pinging, q.node.client.Ping)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.active--
		q.signal()
	}()
	var err error
	select {
	case err = <-reply:
	case <-ctx.Done():
		err = fmt.Errorf("memcachestore: node %s: %w", q.node.addr, context.Cause(ctx))
	}
	q.mu.Lock()
	return err
}
