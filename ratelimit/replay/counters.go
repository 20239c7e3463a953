package replay

import (
	"context"
	"hash/maphash"
	"math"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// keepEnded is how long the counters of a window are kept after its end, in seconds of the log:
// lines that are late by less are counted in their window.
const keepEnded = 15 * 60

// windowCost is the memory of a window in counters: a log may have very many with one counter.
const windowCost = 8

// stateCost is the memory of a state in counters.
const stateCost = 3

// id is a hash of 128 bits, so that different keys never have the same in practice.
type id [2]uint64

// hasher makes ids.
type hasher [2]maphash.Seed

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

func (h *hasher) id(b []byte) id { return id{maphash.Bytes(h[0], b), maphash.Bytes(h[1], b)} }

// counters is a ratelimit.TakeStore for the clock of a log, which may go back. It keeps the windows that
// ended within keepEnded before the newest time, and at most a number of counters. It is not safe
// for concurrent use.
type counters struct {
	hasher
	windows map[int64]map[id]uint64 // by their end
	end     int64                   // of the window that was used last
	last    map[id]uint64
	n, max  int // counters, where a window counts as windowCost more and a state as stateCost

	states map[id]state
	sweep  int // the number of states with which those that have expired are dropped

	newest, swept int64 // Unix seconds
	// dropped is the number of counters that were dropped before their time.
	dropped uint64
}

func newCounters(most int) *counters {
	return &counters{
		hasher: newHasher(), windows: make(map[int64]map[id]uint64), states: make(map[id]state), sweep: minSweep, end: math.MinInt64, max: most,
	}
}

// Add implements ratelimit.Store. The error is always nil.
func (c *counters) Add(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		if end := h.End(); end != c.end {
			c.open(end)
		}
		k := c.id(h.Key)
		before := len(c.last)
		h.Count = c.last[k] + h.N
		if h.N == 0 {
			continue
		}
		c.last[k] = h.Count
		if c.n += len(c.last) - before; c.n > c.max {
			c.shrink()
		}
	}
	return nil
}

// open makes a window the last one.
func (c *counters) open(end int64) {
	c.end = end
	if c.last = c.windows[end]; c.last == nil {
		c.last = make(map[id]uint64)
		c.windows[end] = c.last
		c.n += windowCost
	}
}

// at is told the time of each line. It drops the windows that are over.
func (c *counters) at(second int64) {
	c.newest = max(c.newest, second)
	if c.newest-c.swept < 60 {
		return
	}
	c.swept = c.newest
	for end := range c.windows {
		if end+keepEnded < c.newest {
			c.drop(end)
		}
	}
}

func (c *counters) drop(end int64) {
	c.n -= len(c.windows[end]) + windowCost
	delete(c.windows, end)
	if end == c.end {
		c.end, c.last = math.MinInt64, nil
	}
}

// shrink drops windows that have ended, the oldest first, and if that is not enough the states
// that expire first and the counters with the fewest hits, until half of the counters are left.
func (c *counters) shrink() {
	ends := make([]int64, 0, len(c.windows))
	for end := range c.windows {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	for _, end := range ends {
		if end < c.newest && end != c.end && c.n > c.max/2 {
			c.dropped += uint64(len(c.windows[end]))
			c.drop(end)
		}
	}
	c.shrinkStates()
	for fewest := uint64(1); c.n > c.max/2 && fewest > 0; fewest *= 2 {
		for _, w := range c.windows {
			for k, count := range w {
				if count <= fewest && c.n > c.max/2 {
					delete(w, k)
					c.n--
					c.dropped++
				}
			}
		}
	}
}
