package memstore

import (
	"math"
	"unsafe"
)

const (
	slotSize = int(unsafe.Sizeof(cell{}))
	minSlots = 8
	// tableSize is the memory of a table without keys.
	tableSize = int(unsafe.Sizeof(table{})) + minSlots*slotSize
)

// table is a hash table, open addressing with linear probing, of the counters whose windows
// have the same end. Keys are never deleted: the table is freed as a whole.
//
// Lookups and counting need no lock: the sum of a cell is stored after the rest was written,
// and then only the count changes. Everything else needs the lock of the shard. Resizing
// creates a new table and freezes the cells of the old one, so that concurrent additions to
// them notice.
type table struct {
	end   int64 // of the windows, or later (gridEnd), in Unix seconds
	cells []cell

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
	for i := t.home(k.sum); ; {
		c := &t.cells[i]
		switch c.sum.Load() {
		case 0:
			return nil
		case k.sum:
			if c.check == k.check {
				return c
			}
		}
		if i++; i == len(t.cells) {
			i = 0
		}
	}
}

// home returns the first slot to examine. It scales the range of half a sum to the number of slots,
// so that a larger table has the same order.
func (t *table) home(sum uint64) int {
	return int(sum & (1<<32 - 1) * uint64(len(t.cells)) >> 32)
}

// crowded reports whether one more key would fill more than 4/5 of the slots.
func (t *table) crowded() bool { return 5*t.keys >= 4*len(t.cells) }

// rebuilt returns a table of n slots with the counters of t, without those that drops selects. It freezes all
// of t.
func (t *table) rebuilt(n int, drops func(c *cell, count uint64) bool) *table {
	r := *t
	r.cells, r.keys = make([]cell, n), 0
	for i := range t.cells {
		from := &t.cells[i]
		k := name{from.sum.Load(), from.check}
		if k.sum == 0 {
			continue
		}
		if count := from.freeze(); !drops(from, count) {
			r.insert(k, from.pinned, min(from.age, math.MaxUint8-1)+1).count.Store(count)
		}
	}
	return &r
}

// insert creates a counter for the name, for which there must be room.
func (t *table) insert(k name, pinned bool, age uint8) *cell {
	i := t.home(k.sum)
	for t.cells[i].sum.Load() != 0 {
		if i++; i == len(t.cells) {
			i = 0
		}
	}
	c := &t.cells[i]
	c.check, c.pinned, c.age = k.check, pinned, age
	t.keys++
	c.sum.Store(k.sum) // publishes the cell
	return c
}

// sealed reports whether the table has rejected a name.
func (t *table) sealed() bool { return t.shared != nil }

// sharedBy returns the counter that the name shares with others.
func (t *table) sharedBy(k name) *uint64 {
	return &t.shared[int(k.check)&(len(t.shared)-1)]
}

// extra returns the memory beyond tableSize and the shared counters.
func (t *table) extra() int { return (len(t.cells) - minSlots) * slotSize }
