package memstore

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	// maxCount is the maximum of a counter.
	maxCount = 1 << 62
	// frozen is set in a count that must not be added to without the lock of the shard.
	frozen = 1 << 63
	// Below these, no possible number of concurrent atomic additions reaches maxCount.
	quickCount = 1 << 61
	quickHits  = 1 << 32
)

// cell is a slot of a table: a counter, and which name has it. It contains no pointer, and only count
// changes.
type cell struct {
	sum    atomic.Uint64 // of the name; 0 is an empty slot
	check  uint32        // of the name
	age    uint8         // how often the table was resized since the counter was created, at most 255
	pinned bool          // the Fixed of the hit that created it
	count  atomic.Uint64
}

// add adds n and returns the count, or false if the cell is frozen: the addition has no
// effect then, and must be repeated with the shard locked.
func (c *cell) add(n uint64) (uint64, bool) {
	if n < quickHits && c.count.Load() < quickCount {
		now := c.count.Add(n)
		return now, now&frozen == 0
	}
	return c.addSlowly(n)
}

// addSlowly is add for counts that may come to maxCount.
func (c *cell) addSlowly(n uint64) (uint64, bool) {
	for {
		now := c.count.Load()
		if now&frozen != 0 {
			return 0, false
		}
		sum := plus(now, n)
		if c.count.CompareAndSwap(now, sum) {
			return sum, true
		}
	}
}

// load returns the count, or false if the cell is frozen.
func (c *cell) load() (uint64, bool) {
	now := c.count.Load()
	return now, now&frozen == 0
}

// freeze returns the count and makes all later additions fail until thaw. The shard must be
// locked.
func (c *cell) freeze() uint64 { return c.count.Or(frozen) }

// thaw sets the count, which discards additions to the frozen cell.
func (c *cell) thaw(count uint64) { c.count.Store(count) }

// plus adds, and stops at maxCount.
func plus(a, b uint64) uint64 {
	if a > maxCount || b > maxCount-a {
		return maxCount
	}
	return a + b
}

// name identifies a counter within a window by two hashes of its key with secret seeds.
type name struct {
	sum   uint64 // never 0; the low half is the position, the high bits choose the shard
	check uint32
}

// name returns the name of a key.
func (s *Store) name(key []byte) name {
	return name{max(maphash.Bytes(s.seeds[0], key), 1), uint32(maphash.Bytes(s.seeds[1], key))}
}
