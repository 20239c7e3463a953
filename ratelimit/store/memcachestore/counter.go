package memcachestore

import (
	"fmt"
	"math"
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
	calls int    // calls that are reading it
	batch *batch // the last one that contained it

	seen   uint64 // the highest value known from its node
	sent   uint64 // hits of the command under way: seen may include them already
	back   bool   // it is a decrement
	base   uint64 // seen, when they were sent
	queued uint64 // hits that wait for the next increment
	listed bool   // it waits for a command, or one is under way
	ttl    time.Duration

	earlier []change // wait for commands before that, if hits are given back
	// decrements is how many have ended. A value whose read began before the last one is too
	// old: it may be higher than what is on the node.
	decrements int
}

// change is hits to add or to give back.
type change struct {
	n    uint64
	back bool
}

// count returns the value on the node after all commands. It is exact as long as nobody else changes
// the counter: base+sent is the value after the increment under way then, whether seen was read
// before it or after it, and seen was read before a decrement under way.
func (c *counter) count() uint64 {
	n := max(addSaturating(c.base, c.sent), c.seen)
	if c.back {
		n = c.seen - min(c.seen, c.sent)
	}
	for _, e := range c.earlier {
		if e.back {
			n -= min(n, e.n)
		} else {
			n = addSaturating(n, e.n)
		}
	}
	return addSaturating(n, c.queued)
}

// know notes a value of the node that was read when so many decrements had ended.
func (c *counter) know(value uint64, decrements int) {
	if decrements == c.decrements {
		c.seen = max(c.seen, value)
	}
}

// add counts n hits, which may be 0, and returns the count after them. The count is never too
// high: it contains only hits that were made.
func (c *counter) add(n uint64) uint64 {
	before := c.count()
	if before >= maxCount {
		return before
	}
	n = min(n, maxCount-before)
	c.queued += n
	return before + n
}

// subtract gives n hits back, and returns the count after that. Earlier hits are added before, because
// a counter stops at zero.
func (c *counter) subtract(n uint64) uint64 {
	if n > 0 {
		if c.queued > 0 {
			c.earlier = append(c.earlier, change{n: c.queued})
			c.queued = 0
		}
		if last := len(c.earlier) - 1; last >= 0 && c.earlier[last].back {
			c.earlier[last].n = addSaturating(c.earlier[last].n, n)
		} else {
			c.earlier = append(c.earlier, change{n, true})
		}
	}
	return c.count()
}

// waits reports whether there are hits to send.
func (c *counter) waits() bool { return c.queued > 0 || len(c.earlier) > 0 }

// send begins the next command and returns it.
func (c *counter) send() change {
	next := change{n: c.queued}
	if len(c.earlier) > 0 {
		next = c.earlier[0]
		c.earlier = c.earlier[1:]
	} else {
		c.queued = 0
	}
	c.base, c.sent, c.back = c.seen, next.n, next.back
	return next
}

// arrived ends the command under way. value is the reply of the node, unless it failed.
func (c *counter) arrived(value uint64, err error) {
	switch {
	case c.back && err == nil:
		c.seen = value
	case c.back: // it may have been executed
		c.seen -= min(c.seen, c.sent)
	case err == nil:
		c.seen = max(c.seen, value)
	}
	if c.back {
		c.decrements++
	}
	c.base, c.sent, c.back = 0, 0, false
}

func addSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

const (
	// maxRelativeTTL is the longest lifetime that memcached accepts as a duration. It takes
	// a longer one as a Unix time.
	maxRelativeTTL = 30 * 24 * time.Hour
	// clockStep is added to lifetimes: the clock of memcached has a resolution of a second,
	// so that a lifetime of one second could end at once.
	clockStep = time.Second
	// maxUnixTime is the latest time that the protocol can express, in January 2038.
	maxUnixTime = math.MaxInt32
)

// expiry returns the memcached expiration of a counter with a lifetime that begins now.
// From 2038 on, it shortens lifetimes to 30 days.
func expiry(ttl time.Duration, now time.Time) int32 {
	ttl += clockStep
	if ttl <= maxRelativeTTL {
		return int32(ttl / time.Second)
	}
	at := min(now.Add(ttl).Unix(), maxUnixTime)
	if at-now.Unix() <= int64(maxRelativeTTL/time.Second) {
		return int32(maxRelativeTTL / time.Second)
	}
	return int32(at)
}

// maxKey is the maximum length of a memcached key in bytes.
const maxKey = 250

// checkKeys returns an error of kind Invalid for the first key that memcached does not
// accept. The error does not contain the key: clients choose it, and it may be a secret.
func checkKeys(n int, key func(i int) []byte) error {
	for i := range n {
		if problem := checkKey(key(i)); problem != "" {
			return &ratelimit.Error{
				Kind:    ratelimit.Invalid,
				Message: fmt.Sprintf("the counter key of hit %d %s", i, problem),
				Err:     ErrKey,
			}
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
