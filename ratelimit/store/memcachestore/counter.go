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
	sent   uint64 // hits of the increment under way: seen may include them already
	base   uint64 // seen, when they were sent
	queued uint64 // hits that wait for the next increment
	listed bool   // it waits for an increment, or one is under way
	ttl    time.Duration
}

// add counts n hits, which may be 0, and returns the count after them. value was read from
// the node by a call that holds this counter.
//
// The count is never too high: it contains only hits that were made. It is exact as long as
// nobody else increments the counter: base+sent is its value then, whether value was read
// before the increment under way or after it.
func (c *counter) add(value, n uint64) uint64 {
	c.seen = max(c.seen, value)
	before := addSaturating(max(addSaturating(c.base, c.sent), c.seen), c.queued)
	if before >= maxCount {
		return before
	}
	n = min(n, maxCount-before)
	c.queued += n
	return before + n
}

// send moves the queued hits to the increment under way and returns their number.
func (c *counter) send() uint64 {
	c.base, c.sent, c.queued = c.seen, c.queued, 0
	return c.sent
}

// arrived ends the increment under way. value is the reply of the node, or 0 if it failed.
func (c *counter) arrived(value uint64) {
	c.seen = max(c.seen, value)
	c.base, c.sent = 0, 0
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
func checkKeys(hits []ratelimit.Hit) error {
	for i := range hits {
		if problem := checkKey(hits[i].Key); problem != "" {
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
