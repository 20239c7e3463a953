package memstore

import (
	"math"
	"unsafe"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	slotSize = int(unsafe.Sizeof(slot{}))
	minSlots = 16
	// tableSize is what every table costs, however few its keys.
	tableSize = int(unsafe.Sizeof(table{})) + minSlots*slotSize
)

// slot is one counter. It holds no pointer.
type slot struct {
	tag   uint32 // of the name: where to look for it first, and a filter
	ref   uint32 // where the arena holds the name; 0 in an empty slot
	count uint64
}

// table is a hash table, open addressing with linear probing, of the counters
// whose windows end at one time. It is never deleted from: it goes as a whole.
type table struct {
	slots []slot
	keys  int // slots in use
	names arena
	// shared counts for all names that found no room, each by its tag. It is nil
	// until then. Since it is asked for every name that has no slot, a name never
	// has two counters.
	shared []uint64

	unit  ratelimit.Unit // of the first hit
	until int64          // when to let go of it, in Unix seconds
}

func newTable() *table {
	t := &table{slots: make([]slot, minSlots)}
	t.names.reset()
	return t
}

// find returns the slot of the name, or the empty one it would go to.
func (t *table) find(k name) *slot {
	tag := k.tag()
	for i := t.home(tag); ; {
		s := &t.slots[i]
		if s.ref == 0 || s.tag == tag && t.names.holds(s.ref, k) {
			return s
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

// home is the slot to look at first. It maps the tag's range onto that of the
// slots, whatever their number; growing then walks both in the same order.
func (t *table) home(tag uint32) int {
	return int(uint64(tag) * uint64(len(t.slots)) >> 32)
}

// crowded reports whether one more key would fill more than 3/4 of the slots.
func (t *table) crowded() bool { return 4*t.keys >= 3*len(t.slots) }

// idle reports whether the table was too large for what it held.
func (t *table) idle() bool { return 8*t.keys < len(t.slots) }

// resize moves all counters to n slots.
func (t *table) resize(n int) {
	old := t.slots
	t.slots = make([]slot, n)
	for i := range old {
		if old[i].ref != 0 {
			*t.vacant(old[i].tag) = old[i]
		}
	}
}

// vacant is the first empty slot for the tag.
func (t *table) vacant(tag uint32) *slot {
	i := t.home(tag)
	for t.slots[i].ref != 0 {
		if i++; i == len(t.slots) {
			i = 0
		}
	}
	return &t.slots[i]
}

// take puts the name, for which fits found room, into the empty slot.
func (t *table) take(s *slot, k name) *uint64 {
	*s = slot{tag: k.tag(), ref: t.names.put(k)}
	t.keys++
	return &s.count
}

// sealed reports whether the table has turned a name away.
func (t *table) sealed() bool { return t.shared != nil }

// sharedBy is the counter that the name has in common with others.
func (t *table) sharedBy(k name) *uint64 {
	return &t.shared[int(k.tag())&(len(t.shared)-1)]
}

// extra is what the table costs beyond tableSize and the shared counters.
func (t *table) extra() int { return (len(t.slots)-minSlots)*slotSize + t.names.bytes }

// reset makes the table as good as new and keeps its memory.
func (t *table) reset() {
	clear(t.slots)
	t.keys, t.shared = 0, nil
	t.names.reset()
}

// plus adds without ever wrapping round.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
