package memstore

import (
	"crypto/sha256"
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

// cell is a counter and the beginning of its key, usually all of it. It fills one cache line
// and contains no pointer.
type cell struct {
	count  atomic.Uint64
	tail   uint32 // position of the rest of the key in the arena
	header uint16 // of the name, and its age and pinned; it never changes
	head   [headSize]byte
}

// headSize is the number of bytes of a key in the cell itself.
const headSize = 50

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

// length returns the length of the key, or of its digest.
func (c *cell) length() int { return int(c.header & (oneAge - 1)) }

// thaw sets the count, which discards additions to the frozen cell.
func (c *cell) thaw(count uint64) { c.count.Store(count) }

// plus adds, and stops at maxCount.
func plus(a, b uint64) uint64 {
	if a > maxCount || b > maxCount-a {
		return maxCount
	}
	return a + b
}

const (
	// maxKey is the maximum length of a key that is stored unchanged, in bytes.
	maxKey = 512
	// digested in the header of a name distinguishes a digest from a key of the same bytes.
	digested = 1 << 15
	// pinned in the header of a cell is the Fixed of the hit that created it.
	pinned = 1 << 14
	// oneAge and allAges count in the header of a cell how often its table was resized since
	// it was created, at most 15 times.
	oneAge  = 1 << 10
	allAges = 15 * oneAge
	// ofName are the bits that a cell has in common with its name.
	ofName = ^uint16(pinned | allAges)
)

// older returns a header with its age increased.
func older(header uint16) uint16 {
	if header&allAges == allAges {
		return header
	}
	return header + oneAge
}

// name identifies a counter within a window. It is small enough for registers.
type name struct {
	key []byte // at most maxKey bytes: the key or its digest
	// sum is a seeded hash: the low half is the tag, the high bits choose the shard. The lowest
	// bit reports a digest instead.
	sum uint64
}

// tag is never 0.
func (k name) tag() uint32 { return uint32(k.sum) | 1 }

// header is len(key), and digested.
func (k name) header() uint16 { return uint16(len(k.key)) | uint16(k.sum&1)*digested }

// tail returns the number of bytes of the key that do not fit in a cell.
func (k name) tail() int { return max(len(k.key)-headSize, 0) }

// name returns the name of a key of up to maxKey bytes.
func (s *Store) name(key []byte) name { return name{key, maphash.Bytes(s.seed, key) &^ 1} }

// longName returns the name of a longer key: its digest, stored in buf. So clients, who choose
// the contents of keys, cannot choose how much memory a key takes.
func (s *Store) longName(key []byte, buf *[sha256.Size]byte) name {
	*buf = sha256.Sum256(key)
	k := s.name(buf[:])
	k.sum |= 1
	return k
}
