package memcachestore

import (
	"math"
	"time"
)

// maxCount is where counters stop. memcached's go on to 1<<64 and then wrap round:
// that takes three increments as large as this that nobody has seen yet.
const maxCount = 1 << 62

// counter is a counter that calls are reading, or that has hits which are not on its
// node yet. It is used under its lane's lock.
type counter struct {
	key   string
	calls int    // that read it
	batch *batch // the last one that it was part of

	seen   uint64 // the highest value it is known to have had on its node
	sent   uint64 // hits on their way there: seen may hold them already
	base   uint64 // seen, when they were sent
	queued uint64 // hits that wait until those have arrived
	listed bool   // for an increment, or being incremented
	ttl    time.Duration
}

// add counts n hits, none included, and returns the count after them. value is what a
// call has read since the counter is here.
//
// The count is never too high: every hit in it was made. It is exact as long as
// nobody else increments the counter: base and sent then make up its value, whether
// that was read before the increment or after.
func (c *counter) add(value, n uint64) uint64 {
	c.seen = max(c.seen, value)
	before := plus(max(plus(c.base, c.sent), c.seen), c.queued)
	if before >= maxCount {
		return before
	}
	n = min(n, maxCount-before)
	c.queued += n
	return before + n
}

// send returns the hits that wait, which are then under way.
func (c *counter) send() (n uint64) {
	c.base, c.sent, c.queued = c.seen, c.queued, 0
	return c.sent
}

// arrived ends that. value is what the node has answered, 0 if it has not.
func (c *counter) arrived(value uint64) {
	c.seen = max(c.seen, value)
	c.base, c.sent = 0, 0
}

// plus adds without wrapping round.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
