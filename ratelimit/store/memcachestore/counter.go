package memcachestore

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxCount is the highest value this package counts to. memcached itself wraps round at
// 1<<64, which takes three concurrent increments of this size.
const maxCount = 1 << 62

// counter is a counter that calls are reading, or that has hits which have not arrived on
// its node. The lock of its queue protects it.
type counter struct {
	key   string
	calls int   // calls that are reading it
	read  *read // the last one that contained it

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
	return addSaturating(n, c.n)
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
		c.changes[last].n = addSaturating(c.changes[last].n, n)
	} else {
		c.changes = append(c.changes, change{n, subtract})
	}
	return c.count()
}

// send begins the next command and returns it.
func (c *counter) send() change {
	c.base, c.sent = c.seen, c.changes[0]
	c.changes = slices.Delete(c.changes, 0, 1)
	return c.sent
}

// arrived ends the command under way. value is the reply of the node, unless it failed.
func (c *counter) arrived(value uint64, err error) {
	switch {
	case !c.sent.subtract && err == nil:
		c.seen = max(c.seen, value)
	case c.sent.subtract && err == nil:
		c.seen = value
	case c.sent.subtract: // it may have been executed
		c.seen = c.sent.apply(c.seen)
	}
	c.base, c.sent = 0, change{}
}

func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
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

// maxKey is the maximum length of a memcached key in bytes.
const maxKey = 250

// checkKeys returns an error of kind Invalid for the first key that memcached does not
// accept. The error does not contain the key: clients choose it, and it may be a secret.
func checkKeys(r *request) error {
	for i := range r.len() {
		if problem := checkKey(r.key(i)); problem != "" {
			return &ratelimit.Error{Kind: ratelimit.Invalid, Message: fmt.Sprintf("the counter key of hit %d %s", i, problem), Err: ErrKey}
		}
	}
	return nil
}

// checkKey describes the problem of a key, "" if there is none.
func checkKey(key []byte) string {
	switch {
	case len(key) == 0:
		return fmt.Sprintf("is empty: it must have 1 to %d bytes", maxKey)
	case len(key) > maxKey:
		return fmt.Sprintf("has %d bytes: memcached accepts at most %d, so send shorter descriptors or set a shorter key prefix", len(key), maxKey)
	}
	for i, b := range key {
		if b <= ' ' || b == 0x7f {
			return fmt.Sprintf("has the byte 0x%02x at %d: memcached accepts neither whitespace nor control characters, so send descriptors without them", b, i)
		}
	}
	return ""
}
