package memstore

import "sync/atomic"

const (
	// maxCount is where counters stop.
	maxCount = 1 << 62
	// frozen marks a count that is no longer, or for the moment not, to be added
	// to without the shard's lock.
	frozen = 1 << 63
	// Below these, no number of goroutines that there can be makes an atomic
	// addition reach maxCount.
	quickCount = 1 << 61
	quickHits  = 1 << 32
)

// cell is one counter and the beginning of its key, most often all of it: one
// cache line. It holds no pointer.
type cell struct {
	count atomic.Uint64
	tail  uint32 // where the arena holds the rest of the key, if there is more
	mark  uint16 // of the name
	head  [headSize]byte
}

// headSize is how much of a key lies in the cell itself.
const headSize = 50

// add adds n and returns the count, or reports false if the cell is frozen: what
// was added then is lost, and the caller has to ask again with the shard locked.
func (c *cell) add(n uint64) (uint64, bool) {
	if now := c.count.Load(); n < quickHits && now < quickCount {
		now = c.count.Add(n)
		return now, now&frozen == 0
	}
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

// load returns the count, or reports false if the cell is frozen.
func (c *cell) load() (uint64, bool) {
	now := c.count.Load()
	return now, now&frozen == 0
}

// freeze returns the count and makes all additions that come later fail. The
// shard must be locked. The cell counts again once it is thawed.
func (c *cell) freeze() uint64 { return c.count.Or(frozen) }

// thaw sets the count. What was added to the frozen cell goes with the old one.
func (c *cell) thaw(count uint64) { c.count.Store(count) }

// plus adds without ever passing maxCount.
func plus(a, b uint64) uint64 {
	if a > maxCount || b > maxCount-a {
		return maxCount
	}
	return a + b
}
