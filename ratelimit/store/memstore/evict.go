package memstore

import (
	"math"
	"math/bits"
)

// minEvict is the number of counters that an eviction drops at least.
const minEvict = 4

// reduced returns a table without about half of the counters that are not pinned, in new
// memory, and freezes those of t. It returns nil if it would drop less than an eighth of all.
func (t *table) reduced(order WhenFull) *table {
	e := t.plan(order)
	if e.drop < max(minEvict, t.keys/8) {
		return nil
	}
	kept := t.keys - e.drop
	return t.rebuilt(max(kept+kept/2, minSlots), e.drops)
}

// eviction selects the counters to drop by a rank from 0 to 255.
type eviction struct {
	order WhenFull
	drop  int // how many
	left  int // of so many that are not pinned
	below int // drop all with a lower rank
	at    int // and so many with this rank
	of    int // of so many
	debt  int // at for each of those seen, less of for each dropped
}

// plan selects half of the counters of t that are not pinned. Counts may grow until drops sees
// them.
func (t *table) plan(order WhenFull) eviction {
	e := eviction{order: order}
	var ranks [256]int
	for i := range t.cells {
		if c := &t.cells[i]; c.sum.Load() != 0 && !c.pinned {
			ranks[e.rank(c, c.count.Load())]++
			e.left++
		}
	}
	e.drop = e.left / 2
	e.at = e.drop
	for e.at > ranks[e.below] {
		e.at -= ranks[e.below]
		e.below++
	}
	e.of = ranks[e.below]
	return e
}

// rank is low for counters to drop first.
func (e *eviction) rank(c *cell, count uint64) int {
	switch {
	case e.order == EvictOldest:
		return math.MaxUint8 - int(c.age)
	case count < 128:
		return int(count)
	}
	return 128 + bits.Len64(count)
}

// drops reports whether to drop a counter, and notes it.
func (e *eviction) drops(c *cell, count uint64) bool {
	if c.pinned || e.drop == 0 {
		return false
	}
	rank := e.rank(c, count)
	chosen := rank < e.below
	if rank == e.below { // evenly, or the rest would be crowded into a part of the table
		e.debt += e.at
		if chosen = e.debt >= e.of; chosen {
			e.debt -= e.of
		}
	}
	if !chosen && e.drop < e.left { // there are others to drop instead
		e.left--
		return false
	}
	e.drop--
	e.left--
	return true
}
