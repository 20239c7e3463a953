package redisstore

import (
	"bytes"
	"time"

	"github.com/redis/go-redis/v9"
)

// late is how long at least a counter is kept, for hits that come when their window is
// about to end, or has ended.
const late = 2 * time.Second

// batch is the calls of one pipeline. Hits on the same counter become one command.
type batch struct {
	calls    []*call
	hits     int
	deadline time.Time

	slots []slot
	index map[uint64]int // of the slot, by the hash of its key
	cmds  []redis.Cmder
	txs   []transaction
	asks  []question
}

// slot is one counter and what the batch does to it.
type slot struct {
	key     []byte
	hash    uint64
	asking  bool
	total   uint64
	expires int64 // Unix milliseconds
	ttl     time.Duration
	end     int64 // Unix seconds

	known bool // it has an expiry already
	full  bool // its additions are more than it holds
	done  bool
	base  int64 // the counter before the additions
	err   error
	cmd   redis.Cmder // the one that answers, if it is no transaction's
}

// question is a call that has an answer of its own.
type question struct {
	call *call
	done bool
	text bool // the server does not know the script by its name
	cmd  *redis.Cmd
}

func newBatch() *batch { return &batch{index: make(map[uint64]int)} }

// reset forgets the calls.
func (b *batch) reset() {
	clear(b.calls)
	clear(b.slots)
	clear(b.cmds)
	clear(b.txs)
	clear(b.asks)
	clear(b.index)
	b.calls, b.slots, b.cmds, b.txs, b.asks = b.calls[:0], b.slots[:0], b.cmds[:0], b.txs[:0], b.asks[:0]
	b.hits = 0
}

// merge finds the counter of every hit.
func (b *batch) merge(l *ledger, now time.Time) {
	for _, c := range b.calls {
		if c.kind != counting {
			b.asks = append(b.asks, question{call: c})
			continue
		}
		for i := range c.items {
			it := &c.items[i]
			it.slot = b.slotOf(c, it, l)
			s := &b.slots[it.slot]
			it.before = s.total
			s.total = plus(s.total, it.n)
			s.keep(it, now)
		}
	}
}

// slotOf is the index of the item's slot. If two keys have the same hash, the second
// does without the index.
func (b *batch) slotOf(c *call, it *item, l *ledger) int {
	key := c.key(it)
	hash := l.hash(key)
	if at, ok := b.index[hash]; ok && bytes.Equal(b.slots[at].key, key) && b.slots[at].asking == c.asking {
		return at
	}
	b.index[hash] = len(b.slots)
	b.slots = append(b.slots, slot{key: key, hash: hash, asking: c.asking})
	return len(b.slots) - 1
}

// keep has the counter live until the end of the item's window and the jitter after
// that: at least for a moment, and never longer than the unit and the jitter.
func (s *slot) keep(it *item, now time.Time) {
	ttl := it.ttl(now)
	if at := now.Add(ttl).UnixMilli(); at > s.expires {
		s.expires, s.ttl = at, ttl
	}
	s.end = max(s.end, it.end)
}

func (it *item) ttl(now time.Time) time.Duration {
	left := time.Unix(it.end+it.jitter, 0).Sub(now)
	return min(max(left, late), max(it.longest, late))
}

// settle gives every hit its count: what the counter was before the batch and what has
// been added to it up to and with the hit.
func (b *batch) settle() {
	for _, c := range b.calls {
		if c.kind != counting {
			continue
		}
		for i := range c.items {
			it := &c.items[i]
			s := &b.slots[it.slot]
			if it.err = s.err; it.err != nil {
				continue
			}
			it.count = s.after(plus(it.before, it.n))
		}
	}
}

// fail ends what has no answer yet.
func (b *batch) fail(err error) {
	for i := range b.slots {
		if s := &b.slots[i]; !s.done {
			s.done, s.err = true, err
		}
	}
	for i := range b.asks {
		if q := &b.asks[i]; !q.done {
			q.done, q.call.err = true, err
		}
	}
}

// open reports whether anything has no answer yet.
func (b *batch) open() bool {
	for i := range b.slots {
		if !b.slots[i].done {
			return true
		}
	}
	for i := range b.asks {
		if !b.asks[i].done {
			return true
		}
	}
	return false
}

// after is the counter when n of the batch's additions are made. Below zero, which
// somebody else must have made it, it is as good as zero.
func (s *slot) after(n uint64) uint64 {
	if s.base < 0 {
		return uint64(max(s.base+int64(n), 0))
	}
	return plus(uint64(s.base), n)
}

// refused reports whether anything has the answer of a replica.
func (b *batch) refused() bool {
	for _, cmd := range b.cmds {
		if err := cmd.Err(); err != nil && again(err) {
			return true
		}
	}
	return false
}
