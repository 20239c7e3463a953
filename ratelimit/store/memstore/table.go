package memstore

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	slotSize = int(unsafe.Sizeof(cell{})) + 4 // and a tag
	minSlots = 8
	// tableSize is what every table costs, however few its keys.
	tableSize = int(unsafe.Sizeof(table{})+unsafe.Sizeof(arena{})) + minSlots*slotSize
)

// table is a hash table, open addressing with linear probing, of the counters
// whose windows end at one time. It is never deleted from: it goes as a whole.
//
// A slot is a tag and a cell of the same index. Looking for a key runs along the
// tags, sixteen to a cache line, and then goes to the one cell.
//
// Looking and counting need no lock: a slot's tag is stored after its cell has
// been written, and neither changes but for the count. All else needs the lock of
// the shard. A table of another size is another table; the cells of the old one
// are frozen, so that who still looks there finds out.
type table struct {
	end   int64    // of the windows, in Unix seconds
	tags  []uint32 // atomic; of the names: where to look first, and a filter; 0 is an empty slot
	cells []cell
	tails *arena // of the keys that are longer than headSize

	keys int // slots in use
	// shared counts for all names that found no room, each by its hash. It is nil
	// until then. Since it is asked for every name that has no slot, a name never
	// has two counters.
	shared []uint64
	unit   ratelimit.Unit // of the first hit
	until  int64          // when to let go of it, in Unix seconds
}

func newTable(end int64, slots int) *table {
	return &table{end: end, tags: make([]uint32, slots), cells: make([]cell, slots), tails: new(arena)}
}

// find returns the name's cell, or nil.
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

// holds reports whether the cell is that of the name.
func (t *table) holds(c *cell, k name) bool {
	if c.mark != k.mark {
		return false
	}
	if len(k.key) <= headSize {
		return string(c.head[:len(k.key)]) == string(k.key)
	}
	return string(c.head[:]) == string(k.key[:headSize]) &&
		bytes.Equal(t.tails.at(c.tail, len(k.key)-headSize), k.key[headSize:])
}

// home is the slot to look at first. It maps the tag's range onto that of the
// slots, whatever their number; growing then walks both in the same order.
func (t *table) home(tag uint32) int {
	return int(uint64(tag) * uint64(len(t.tags)) >> 32)
}

// crowded reports whether one more key would fill more than 4/5 of the slots.
func (t *table) crowded() bool { return 5*t.keys >= 4*len(t.tags) }

// resized returns a table of n slots with the counters of t, and freezes those.
func (t *table) resized(n int) *table {
	r := *t
	r.tags, r.cells = make([]uint32, n), make([]cell, n)
	for i, tag := range t.tags {
		if tag == 0 {
			continue
		}
		from, slot := &t.cells[i], r.vacant(tag)
		to := &r.cells[slot]
		to.tail, to.mark, to.head = from.tail, from.mark, from.head
		to.count.Store(from.freeze())
		r.tags[slot] = tag
	}
	return &r
}

// vacant is the first empty slot for the tag.
func (t *table) vacant(tag uint32) int {
	i := t.home(tag)
	for t.tags[i] != 0 {
		if i++; i == len(t.tags) {
			i = 0
		}
	}
	return i
}

// take makes a counter for the name, for which there must be room.
func (t *table) take(k name) *cell {
	slot := t.vacant(k.tag())
	c := &t.cells[slot]
	c.mark = k.mark
	if n := copy(c.head[:], k.key); n < len(k.key) {
		c.tail = t.tails.put(k.key[n:])
	}
	t.keys++
	atomic.StoreUint32(&t.tags[slot], k.tag()) // from here on others see the cell
	return c
}

// sealed reports whether the table has turned a name away.
func (t *table) sealed() bool { return t.shared != nil }

// sharedBy is the counter that the name has in common with others.
func (t *table) sharedBy(k name) *uint64 {
	return &t.shared[int(k.sum>>1)&(len(t.shared)-1)]
}

// extra is what the table costs beyond tableSize and the shared counters.
func (t *table) extra() int { return (len(t.tags)-minSlots)*slotSize + t.tails.bytes }
