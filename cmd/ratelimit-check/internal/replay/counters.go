package replay

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// keepEnded is the time for which counters are kept after the end of their window, in seconds of the log:
// lines that are late by less are counted in their window.
const keepEnded = 15 * 60

// minSweep is the least number of counters with which those that have expired are dropped.
const minSweep = 1000

// id is a hash of 128 bits, so that different keys never have the same in practice.
type id [2]uint64

// counter is the count of a window, or the state of a limit that has no windows.
type counter struct {
	ratelimit.State
	count   uint64 // hits of the window, or changes of the state
	expires int64  // Unix seconds
}

// counters is a ratelimit.ChargeStore for the clock of a log, which may go back. It keeps counters for keepEnded after
// they have expired, and at most a number of them. It is not safe for concurrent use.
type counters struct {
	seeds   [2]maphash.Seed
	known   map[id]counter
	max     int
	sweep   int    // the number of counters with which those that have expired are dropped
	now     int64  // time of the line, Unix seconds
	dropped uint64 // counters that were dropped before they had expired
	key     []byte
}

func (c *counters) id(b []byte) id {
	return id{maphash.Bytes(c.seeds[0], b), maphash.Bytes(c.seeds[1], b)}
}

// Add implements ratelimit.Store. The error is always nil.
func (c *counters) Add(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		c.key = binary.LittleEndian.AppendUint64(append(c.key[:0], h.Key...), uint64(h.End()))
		k := c.id(c.key)
		h.Count = c.known[k].count + h.N
		if h.N > 0 {
			c.set(k, counter{count: h.Count, expires: h.End()})
		}
	}
	return nil
}

// Charge implements ratelimit.ChargeStore. It lets pass all hits under limits of concurrency: a log does
// not tell when requests end. The error is always nil.
func (c *counters) Charge(_ context.Context, charges []ratelimit.Charge) error {
	for i := range charges {
		t := &charges[i]
		if t.Algorithm.HasPermits() {
			t.Allowed, t.State = true, ratelimit.State{}
			continue
		}
		k := c.id(t.Key)
		s, known := c.known[k]
		t.Apply(&s.State)
		if known || t.N > 0 && t.Allowed {
			s.count++
			s.expires = t.Expires() / 1e6
			c.set(k, s)
		}
	}
	return nil
}

// set keeps a counter, and makes room if there are too many. Their number must double before it looks for those that
// have expired again, so that this costs little.
func (c *counters) set(k id, v counter) {
	if c.known[k] = v; len(c.known) <= c.sweep {
		return
	}
	maps.DeleteFunc(c.known, func(_ id, v counter) bool { return v.expires+keepEnded < c.now })
	if len(c.known) > c.max {
		c.shrink()
	}
	c.sweep = min(max(2*len(c.known), minSweep), c.max)
}

// shrink drops half of the counters: those that have expired, the oldest first, then those with the fewest hits.
func (c *counters) shrink() {
	order := func(a, b counter) int {
		if a.expires < c.now || b.expires < c.now {
			return cmp.Compare(a.expires, b.expires)
		}
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.expires, b.expires))
	}
	last := slices.SortedFunc(maps.Values(c.known), order)[len(c.known)/2]
	maps.DeleteFunc(c.known, func(_ id, v counter) bool {
		drop := len(c.known) > c.max/2 && order(v, last) <= 0
		if drop {
			c.dropped++
		}
		return drop
	})
}
