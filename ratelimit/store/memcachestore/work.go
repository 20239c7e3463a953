package memcachestore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// read is a read of counters, for all hits that joined it before it began.
type read struct {
	result
	keys       []string
	hits       int // that wait for it
	begun      bool
	decrements int // of the node, when it began
	found      map[string]*memcache.Item
}

// maxBatch is the number of keys from which on hits do not join a read.
const maxBatch = 512

// idle reports whether no call waits for the node and no hit is on its way to it.
func (n *node) idle() bool { return len(n.counters)+len(n.exchanges) == 0 }

// Add implements ratelimit.Store. It reads all counters, and increments them after it has
// returned. Count is the sum of the value read, the hits of this Store that have not
// arrived on the node yet, and N. It is exact if no other instance counts, and never too
// high. Counters stop at 1<<62.
//
// It fails if a key is invalid (ErrKey, of kind ratelimit.Invalid), if a counter is not a
// number (ErrNotANumber), if a node fails or does not reply within Options.Timeout
// (ErrTimeout), if too many calls wait (ErrBusy), after Close (ErrClosed), and when ctx is
// done. No hit of a call that fails is counted.
func (s *Store) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.count(ctx, hits, false)
}

// Subtract implements ratelimit.SubtractStore. Like Add it reads all counters, and
// decrements them after it has returned, after the hits that Add counted before. Count is exact
// if no other instance counts. Errors are those of Add. If a node fails after Subtract has
// returned, hits on their way to it may not be given back.
func (s *Store) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return s.count(ctx, hits, true)
}

// reading is a hit whose counter is being read.
type reading struct {
	counter *counter
	read    *read
	value   uint64
	full    bool // there was no room for its increment: the call sends one
}

// count reads the counters of all hits, and then counts the hits.
func (s *Store) count(ctx context.Context, hits []ratelimit.Hit, subtract bool) error {
	var memory [8]reading
	all := memory[:0]
	err := s.do(ctx, len(hits), func(i int) []byte { return hits[i].Key }, func(i int, n *node) *result {
		all = append(all, n.join(hits[i].Key))
		return &all[i].read.result
	})
	for i := 0; i < len(all) && err == nil; i++ {
		if item := all[i].read.found[all[i].counter.key]; item != nil {
			if all[i].value, err = parseValue(item.Value); err != nil {
				err = fmt.Errorf("%w (hit %d, node %s)", err, i, all[i].read.node.addr)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		all[i].end(&hits[i], subtract, err == nil)
	}
	for i := range all {
		if n := all[i].read.node; all[i].full && len(n.increments) > 0 {
			n.write()
		}
	}
	return err
}

// join has a hit wait for a read of its counter. The counter stays in n.counters until the hit is counted,
// so that no increment is missed in between.
func (n *node) join(key []byte) reading {
	r := n.next
	if r == nil || len(r.keys) >= maxBatch {
		r = &read{result: result{node: n, done: make(chan struct{})}}
		n.next = r
		n.store.workers.Go(func() { n.fetch(r) })
	}
	r.hits++
	n.waiting++
	c := n.counters[string(key)]
	if c == nil {
		c = &counter{key: string(key)}
		n.counters[c.key] = c
	}
	c.hits++
	if c.read != r {
		c.read = r
		r.keys = append(r.keys, c.key)
	}
	return reading{counter: c, read: r}
}

// fetch makes a read when it may begin, unless all its calls have given up.
func (n *node) fetch(r *read) {
	n.reading <- struct{}{}
	defer func() { <-n.reading }()
	n.store.mu.Lock()
	if n.next == r {
		n.next = nil
	}
	n.waiting -= r.hits
	r.begun, r.decrements = true, n.decrements
	n.store.mu.Unlock()
	if r.hits > 0 {
		r.found, r.err = n.get(r.keys)
	}
	close(r.done)
}

// end counts a hit if its call has succeeded. The lock is held.
func (r *reading) end(h *ratelimit.Hit, subtract, succeeded bool) {
	n, c := r.read.node, r.counter
	if !r.read.begun {
		r.read.hits--
		n.waiting--
	}
	if succeeded {
		if c.decremented <= r.read.decrements {
			c.seen = max(c.seen, r.value)
		}
		h.Count = c.change(h.N, subtract)
		c.ttl = max(c.ttl, h.TTL())
	}
	c.hits--
	waiting := len(n.increments)
	n.release(c)
	if r.full = len(n.increments) > max(waiting, n.store.opts.MaxPending); r.full {
		n.store.stats.Held++
	}
}

// release queues a counter that has changes, or forgets it if it has none and no call is reading it.
func (n *node) release(c *counter) {
	switch {
	case c.listed:
	case len(c.changes) > 0:
		c.listed = true
		n.increments = append(n.increments, c)
		n.store.stats.Pending++
		if n.writers < n.store.opts.MaxWorkers {
			n.writers++
			n.store.workers.Go(n.writeAll)
		}
	case c.hits == 0:
		delete(n.counters, c.key)
	}
	n.store.changed.Broadcast()
}

// writeAll sends changes while counters wait.
func (n *node) writeAll() {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	for len(n.increments) > 0 {
		n.write()
	}
	n.writers--
}

// write sends the first change of the first counter to the node; changes that arrive meanwhile wait for
// the next command. The lock is held, and released meanwhile.
func (n *node) write() {
	c := n.increments[0]
	n.increments[0] = nil
	n.increments = n.increments[1:]
	sent, ttl := c.changes[0], c.ttl
	c.base, c.sent, c.changes = c.seen, sent, slices.Delete(c.changes, 0, 1)
	n.store.mu.Unlock()
	var value uint64
	var err error
	if sent.subtract {
		value, err = n.decrement(c.key, sent.n)
	} else {
		value, err = n.increment(c.key, sent.n, ttl)
	}
	n.store.mu.Lock()
	switch {
	case sent.subtract && err == nil:
		c.seen = value
	case sent.subtract: // it may have been executed
		c.seen = sent.apply(c.seen)
	case err == nil:
		c.seen = max(c.seen, value)
	default:
		n.store.stats.Lost += sent.n
	}
	if sent.subtract {
		n.decrements++
		c.decremented = n.decrements
	}
	c.base, c.sent = 0, change{}
	c.listed = false
	n.store.stats.Pending--
	n.release(c)
}

// maxCount is the highest value this package counts to. memcached itself wraps round at
// 1<<64, which takes three concurrent increments of this size.
const maxCount = 1 << 62

// counter is a counter that calls are reading, or that has hits which have not arrived on
// its node. The lock of the Store protects it.
type counter struct {
	key  string
	hits int   // that wait for a read of it
	read *read // the last one that contained it

	seen    uint64   // the highest value known from its node
	sent    change   // the command under way: seen may include it already
	base    uint64   // seen, when the command was sent
	changes []change // wait for commands, in this order
	listed  bool     // it waits for a command, or one is under way
	ttl     time.Duration

	// decremented numbers the end of the last decrement. A value whose read began before it is too
	// old: it may be higher than what is on the node.
	decremented int
}

// change adds hits to a counter or subtracts them.
type change struct {
	n        uint64
	subtract bool
}

func (c change) apply(n uint64) uint64 {
	if c.subtract {
		return n - min(n, c.n)
	}
	return n + min(c.n, math.MaxUint64-n)
}

// count returns the value on the node after all commands. It is exact as long as nobody else changes
// the counter: an increment under way leads from base to base+sent, whether seen was read before it
// or after it, and seen was read before a decrement under way.
func (c *counter) count() uint64 {
	n := c.sent.apply(c.seen)
	if !c.sent.subtract {
		n = max(c.sent.apply(c.base), c.seen)
	}
	for _, change := range c.changes {
		n = change.apply(n)
	}
	return n
}

// change adds or subtracts n hits, which may be 0, and returns the count after them. The count is never too
// high: it contains only hits that were made. Changes stay in order, because a counter stops at zero.
func (c *counter) change(n uint64, subtract bool) uint64 {
	before := c.count()
	if !subtract {
		n = min(n, maxCount-min(before, maxCount))
	}
	if n == 0 {
		return before
	}
	if last := len(c.changes) - 1; last >= 0 && c.changes[last].subtract == subtract {
		c.changes[last].n += min(n, math.MaxUint64-c.changes[last].n)
	} else {
		c.changes = append(c.changes, change{n, subtract})
	}
	return c.count()
}

// maxRelativeTTL is the longest lifetime that memcached accepts as a duration. It takes a longer
// one as a Unix time.
const maxRelativeTTL = 30 * 24 * time.Hour

// expiry returns the memcached expiration of a counter with a lifetime that begins now. It adds a
// second, because the clock of memcached has that resolution, so that a lifetime of one second could
// end at once. The protocol can express times until January 2038; from then on, expiry shortens
// lifetimes to 30 days.
func expiry(ttl time.Duration, now time.Time) int32 {
	if ttl += time.Second; ttl > maxRelativeTTL {
		at := min(now.Add(ttl).Unix(), math.MaxInt32)
		if at-now.Unix() > int64(maxRelativeTTL/time.Second) {
			return int32(at)
		}
		ttl = maxRelativeTTL
	}
	return int32(ttl / time.Second)
}
