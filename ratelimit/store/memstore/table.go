package memstore

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

const (
	slotSize = int(unsafe.Sizeof(cell{})) + 4 // cell and tag
	minSlots = 8
	// tableSize is the memory of a table without keys.
	tableSize = int(unsafe.Sizeof(table{})+unsafe.Sizeof(arena{})) + minSlots*slotSize
)

// table is a hash table, open addressing with linear probing, of the counters whose windows
// have the same end. Keys are never deleted: the table is freed as a whole.
//
// A slot is a tag and a cell with the same index. A lookup scans the tags, sixteen to a cache
// line, and then reads one cell.
//
// Lookups and counting need no lock: the tag of a slot is stored after its cell was written,
// and then only the count changes. Everything else needs the lock of the shard. Resizing
// creates a new table and freezes the cells of the old one, so that concurrent additions to
// them notice.
type table struct {
	end   int64    // of the windows, or later (gridEnd), in Unix seconds
	tags  []uint32 // atomic; first position and filter; 0 is an empty slot
	cells []cell
	tails *arena // of the keys that are longer than headSize

	keys int // slots in use
	// shared contains the counters of all names that found no room, by hash; nil until then.
	// All names without a slot use it, so no name has two counters.
	shared []uint64
	start  int64 // of the window of the first hit, in Unix seconds
	second bool  // whether the windows are those of one second
	until  int64 // when to drop it, in Unix seconds
}

// find returns the cell of the name, or nil.
func (t *table) find(k name) *cell {
	tag, tags := k.tag(), t.tags
	for i := t.home(tag); ; {
		switch atomic.LoadUint32(&tags[i]) {
		case 0:
			return nil
		case tag:
			if c := &t.cells[i]; t.holds(c, k) {
				return c
			}
		}
		if i++; i == len(tags) {
			i = 0
		}
	}
}

// holds reports whether the cell belongs to the name.
func (t *table) holds(c *cell, k name) bool {
	if c.header&ofName != k.header() {
		return false
	}
	if len(k.key) > headSize {
		return t.holdsLong(c, k.key)
	}
	return string(c.head[:len(k.key)]) == string(k.key)
}

func (t *table) holdsLong(c *cell, key []byte) bool {
	return string(c.head[:]) == string(key[:headSize]) &&
		bytes.Equal(t.tails.at(c.tail, len(key)-headSize), key[headSize:])
}

// home returns the first slot to examine. It scales the range of tags to the number of slots,
// so that a larger table has the same order.
func (t *table) home(tag uint32) int {
	return int(uint64(tag) * uint64(len(t.tags)) >> 32)
}

// crowded reports whether one more key would fill more than 4/5 of the slots.
func (t *table) crowded() bool { return 5*t.keys >= 4*len(t.tags) }

// rebuilt returns a table of n slots with the counters of t, without those that drops selects. It freezes all
// of t. Tails that are in another arena than tails are copied.
func (t *table) rebuilt(n int, tails *arena, drops func(header uint16, count uint64) bool) *table {
	r := *t
	r.tags, r.cells, r.tails = make([]uint32, n), make([]cell, n), tails
	for i, tag := range t.tags {
		if tag == 0 {
			continue
		}
		from := &t.cells[i]
		count := from.freeze()
		if drops(from.header, count) {
			r.keys--
			continue
		}
		slot := r.vacant(tag)
		to := &r.cells[slot]
		to.tail, to.header, to.head = from.tail, older(from.header), from.head
		if tail := from.length() - headSize; tail > 0 && tails != t.tails {
			if !tails.fits(tail) {
				tails.extend(tails.step(tail))
			}
			to.tail = tails.put(t.tails.at(from.tail, tail))
		}
		to.count.Store(count)
		r.tags[slot] = tag
	}
	return &r
}

// vacant returns the first empty slot for the tag.
func (t *table) vacant(tag uint32) int {
	i := t.home(tag)
	for t.tags[i] != 0 {
		if i++; i == len(t.tags) {
			i = 0
		}
	}
	return i
}

// insert creates a counter for the name, for which there must be room.
func (t *table) insert(k name, fixed bool) *cell {
	slot := t.vacant(k.tag())
	c := &t.cells[slot]
	c.header = k.header()
	if fixed {
		c.header |= pinned
	}
	if n := copy(c.head[:], k.key); n < len(k.key) {
		c.tail = t.tails.put(k.key[n:])
	}
	t.keys++
	atomic.StoreUint32(&t.tags[slot], k.tag()) // publishes the cell
	return c
}

// sealed reports whether the table has rejected a name.
func (t *table) sealed() bool { return t.shared != nil }

// sharedBy returns the counter that the name shares with others.
func (t *table) sharedBy(k name) *uint64 {
	return &t.shared[int(k.sum>>1)&(len(t.shared)-1)]
}

// extra returns the memory beyond tableSize and the shared counters.
func (t *table) extra() int { return (len(t.tags)-minSlots)*slotSize + t.tails.bytes }

const (
	minChunk  = 256
	maxChunk  = 1 << 16
	maxChunks = 256
	// chunkOverhead is the memory of a chunk besides its bytes.
	chunkOverhead = 48
)

// arena stores the tails of long keys consecutively in chunks without pointers. It grows under
// the lock of its shard and is read without it: chunks never move, and their contents never
// change.
//
// A ref is the index of a chunk in the upper 8 bits and an offset in the lower 24.
type arena struct {
	chunks [maxChunks / 32]atomic.Pointer[[32][]byte]
	n      int // chunks in use; the last is being filled
	next   int // offset of the next tail in it
	bytes  int // memory of all chunks
}

func (a *arena) chunk(i int) []byte { return a.chunks[i/32].Load()[i%32] }

// fits reports whether there is room for n bytes.
func (a *arena) fits(n int) bool {
	return n == 0 || a.n > 0 && a.next+n <= len(a.chunk(a.n-1))
}

// step returns the size of the chunk to add: an eighth of the present size, so that neither
// small nor large arenas waste much, or 0 if no chunk can be added.
func (a *arena) step(n int) int {
	if a.n == maxChunks {
		return 0
	}
	return max(min(a.bytes/8, 1<<24), minChunk, n)
}

// extend adds a chunk, which becomes the current one.
func (a *arena) extend(size int) {
	if a.n%32 == 0 {
		a.chunks[a.n/32].Store(new([32][]byte))
		a.bytes += 32 * 24
	}
	a.chunks[a.n/32].Load()[a.n%32] = make([]byte, size)
	a.n, a.next = a.n+1, 0
	a.bytes += size + chunkOverhead
}

// put stores b, for which fits has found room.
func (a *arena) put(b []byte) uint32 {
	copy(a.chunk(a.n - 1)[a.next:], b)
	ref := uint32(a.n-1)<<24 | uint32(a.next)
	a.next += len(b)
	return ref
}

// at returns the n bytes at ref.
func (a *arena) at(ref uint32, n int) []byte {
	return a.chunk(int(ref >> 24))[ref&(1<<24-1):][:n]
}
