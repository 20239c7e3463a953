package memcachestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/bradfitz/gomemcache/memcache"
)

// queue holds the work for one node: reads, counters that wait for an increment, and states that wait
// for an exchange. Worker goroutines start when there is work and end when there is none. A node
// that does not reply delays its own queue only.
type queue struct {
	node      *node
	suspended error // ErrSuspended with the address

	mu      sync.Mutex
	changed sync.Cond // signals the end of any work
	phase   phase
	active  int // calls under way

	counters   map[string]*counter // being read, or with hits that have not arrived
	decrements int                 // that have ended
	reads      []*read             // not begun; calls join the last one
	waiting    int                 // calls for these
	readers    int                 // goroutines
	increments []*counter          // wait for an increment
	sending    int                 // increments under way
	writers    int                 // goroutines

	states     map[string]*state // wait for an exchange, or have one under way
	exchanges  []*state          // wait for an exchange
	charges    int               // wait for these
	exchangers int               // goroutines
}

// phase is the phase of a queue. Each includes the restrictions of those before.
type phase int

const (
	serving phase = iota
	retired       // the node is not in the ring: keep no idle connections
	closed        // accept no calls
)

func newQueue(n *node) *queue {
	q := &queue{node: n, counters: make(map[string]*counter), states: make(map[string]*state), suspended: fmt.Errorf("%w (node %s)", ErrSuspended, n.addr)}
	q.changed.L = &q.mu
	return q
}

// read is a read of counters, for all calls that joined it before it began.
type read struct {
	result
	keys       []string
	calls      int
	begun      bool
	decrements int // of the queue, when it began
	found      map[string]*memcache.Item
}

// value returns the value of a counter.
func (r *read) value(key []byte) (uint64, error) {
	if item := r.found[string(key)]; item != nil {
		return parseValue(item.Value)
	}
	return 0, nil
}

// maxBatch is the number of keys from which on a read takes no further call.
const maxBatch = 512

// enter admits a call, which must end, and has it join a read of its counters. They stay in
// q.counters until the end, so that no increment is missed between reading and counting.
func (q *queue) enter(p *part, r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting
	if r.charges != nil {
		waiting = q.charges
	}
	switch {
	case q.phase >= closed:
		return ErrClosed
	case waiting >= q.node.opts.MaxWaiting:
		return fmt.Errorf("%w: %d for node %s", ErrBusy, waiting, q.node.addr)
	case !q.node.circuit.Allow():
		return q.suspended
	}
	q.active++
	if r.charges != nil {
		return nil
	}
	if last := len(q.reads) - 1; last < 0 || len(q.reads[last].keys) >= maxBatch {
		q.reads = append(q.reads, &read{result: newResult(q)})
	}
	p.read = q.reads[len(q.reads)-1]
	p.read.calls++
	q.waiting++
	for _, i := range p.indexes {
		c := q.counters[string(r.hits[i].Key)]
		if c == nil {
			c = &counter{key: string(r.hits[i].Key)}
			q.counters[c.key] = c
		}
		c.calls++
		if c.read != p.read {
			c.read = p.read
			p.read.keys = append(p.read.keys, c.key)
		}
	}
	q.start(&q.readers, q.node.opts.MaxReads, (*queue).fetch)
	return nil
}

// end ends a call. If it has succeeded, end counts its hits, or stores the results of its charges.
func (q *queue) end(p *part, r *request, succeeded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for at, c := range p.charges {
		if to := &r.charges[p.indexes[at]]; succeeded {
			to.Allowed, to.State = c.Allowed, c.State
		} else {
			c.abandoned.Store(true)
		}
	}
	if p.read != nil {
		q.count(p, r, succeeded)
	}
	q.active--
	q.signal()
}

// count counts the hits of a call, if it has succeeded, and releases their counters. The caller holds
// the lock.
func (q *queue) count(p *part, r *request, succeeded bool) {
	if !p.read.begun {
		p.read.calls--
		q.waiting--
	}
	var own []*counter // increments for which the queue has no room
	for _, i := range p.indexes {
		h := &r.hits[i]
		c := q.counters[string(h.Key)]
		if succeeded {
			if value, _ := p.read.value(h.Key); c.decremented <= p.read.decrements {
				c.seen = max(c.seen, value)
			}
			h.Count = c.change(h.N, r.subtract)
			c.ttl = max(c.ttl, h.TTL())
		}
		c.calls--
		switch {
		case len(c.changes) == 0 || c.listed:
		case len(q.increments) >= q.node.opts.MaxPending:
			c.listed = true
			q.sending++
			own = append(own, c)
		default:
			q.addIncrement(c)
		}
		q.forget(c)
	}
	for _, c := range own {
		q.node.totals.addTo(&q.node.totals.Held, 1)
		q.increment(c)
	}
}

// forget removes a counter whose hits are all on the node and that no call is reading.
func (q *queue) forget(c *counter) {
	if c.calls == 0 && !c.listed {
		delete(q.counters, c.key)
	}
}

// start starts a goroutine that works until there is no work, unless there are enough. A work
// function is called with the lock held, releases it while it waits for the node, and returns false
// if there is no work.
func (q *queue) start(workers *int, most int, work func(*queue) bool) {
	if *workers >= most {
		return
	}
	*workers++
	go func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for work(q) {
		}
		*workers--
		q.signal()
	}()
}

// next removes the first element of a list.
func next[T any](list *[]*T) (first *T, ok bool) {
	if len(*list) == 0 {
		return nil, false
	}
	first, (*list)[0] = (*list)[0], nil
	*list = (*list)[1:]
	return first, true
}

// fetch makes the next read, unless all its calls have given up.
func (q *queue) fetch() bool {
	r, ok := next(&q.reads)
	if !ok {
		return false
	}
	q.waiting -= r.calls
	r.begun, r.decrements = true, q.decrements
	if r.calls > 0 {
		q.mu.Unlock()
		r.found, r.err = q.node.get(r.keys)
		q.mu.Lock()
	}
	close(r.done)
	return true
}

// addIncrement queues a counter for an increment.
func (q *queue) addIncrement(c *counter) {
	c.listed = true
	q.increments = append(q.increments, c)
	q.start(&q.writers, q.node.opts.MaxWorkers, (*queue).write)
}

// write increments the next counter.
func (q *queue) write() bool {
	c, ok := next(&q.increments)
	if ok {
		q.sending++
		q.increment(c)
	}
	return ok
}

// increment sends the first change of a counter to the node; changes that arrive meanwhile wait for
// the next command. The caller holds the lock, which increment releases while it sends.
func (q *queue) increment(c *counter) {
	change, ttl := c.send(), c.ttl
	q.mu.Unlock()
	var value uint64
	var err error
	if change.subtract {
		value, err = q.node.decrement(c.key, change.n)
	} else {
		value, err = q.node.increment(c.key, change.n, ttl)
	}
	q.mu.Lock()
	if change.subtract {
		q.decrements++
		c.decremented = q.decrements
	} else if err != nil {
		q.node.totals.addTo(&q.node.totals.Lost, change.n)
	}
	c.arrived(value, err)
	c.listed = false
	q.sending--
	if len(c.changes) > 0 {
		q.addIncrement(c)
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

// enterPhase begins a phase, and returns it. An idle queue that is retired is closed at once.
func (q *queue) enterPhase(p phase) phase {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase = p; p == retired && q.idle() {
		q.phase = closed
	}
	q.signal()
	return q.phase
}
