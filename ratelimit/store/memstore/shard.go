package memstore

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// unitWindows is the number of tables that memory is set aside for. One per unit is current and
	// as many may be in their grace period: at most 12, because windows with the same end share a table.
	unitWindows = 16
	// maxWindows is the maximum number of tables of a shard: the windows of other lengths have at most
	// three for each of the 15 grids of gridEnd.
	maxWindows = 64
	// grace is the time for which a window is retained after its end, in seconds.
	grace = 2
	// lateFor is the time for which a window that had ended before its first hit is retained, in seconds.
	lateFor = 60
)

// shard is a part of the counters, selected by the hash of the name.
type shard struct {
	// windows are unordered; the first sh.open are in use. Reading one, and counting in its
	// table, needs no lock.
	windows [maxWindows]atomic.Pointer[table]

	mu        sync.Mutex
	open      int // windows in use
	extra     int // the sum of table.extra of their tables
	limit     int // the maximum of extra
	reserve   int // the part of limit that only counters with Hit.Fixed may use
	whenFull  WhenFull
	sharedLen int    // length of table.shared: a power of two
	shared    uint64 // hits
	uncounted uint64 // hits
	evicted   uint64 // counters
	// lastSecond is the number of slots that the last window of a second needed: the next one
	// starts with as many.
	lastSecond int
	states     states
	ledgers    map[name]ledger
	// ledgersChecked is when those that have expired were dropped, in Unix seconds.
	ledgersChecked int64

	_ [64]byte // keeps the next shard out of this one's cache lines
}

const shardSize = int(unsafe.Sizeof(shard{}))

// at returns the table of the windows with that end, or nil. Without the lock it may miss one
// that is being opened or closed.
func (sh *shard) at(end int64) *table {
	for i := range sh.windows {
		t := sh.windows[i].Load()
		if t == nil || t.end == end {
			return t
		}
	}
	return nil
}

// counter is the counter of a hit: its own cell or a shared counter. Without either the hit is
// not counted.
type counter struct {
	own    *cell
	shared *uint64
}

// counter returns the counter of the hit, and creates it if necessary. now is called if the
// hit is the first of its window. The shard must be locked.
func (sh *shard) counter(h *ratelimit.Hit, k name, now func() int64) counter {
	end := tableEnd(h)
	t := sh.at(end)
	if t == nil {
		t = sh.start(end, h, now())
	}
	if c := t.find(k); c != nil {
		return counter{own: c}
	}
	if !t.sealed() || h.Fixed {
		if c := sh.insert(t, k, h.Fixed); c != nil {
			return counter{own: c}
		}
		if sh.whenFull == Allow {
			return counter{}
		}
		if c := sh.replace(end, k, h.Fixed); c != nil {
			return counter{own: c}
		}
		// A table that has rejected one name accepts no other.
		if t = sh.at(end); !t.sealed() {
			t.shared = make([]uint64, sh.sharedLen)
		}
	}
	return counter{shared: t.sharedBy(k)}
}

// replace evicts counters and creates one for the name. It returns nil if the store does not
// evict, or if nothing can be evicted.
func (sh *shard) replace(end int64, k name, fixed bool) *cell {
	if sh.whenFull == Deny {
		return nil
	}
	for range 2 { // the second time in another table
		if !sh.evict() {
			break
		}
		if c := sh.insert(sh.at(end), k, fixed); c != nil {
			return c
		}
	}
	return nil
}

// evict drops about half of the counters of the largest table. It returns false if most of
// them are pinned, or if there are few.
func (sh *shard) evict() bool {
	largest := 0
	for i := range sh.windows[:sh.open] {
		if sh.windows[i].Load().extra() > sh.windows[largest].Load().extra() {
			largest = i
		}
	}
	if sh.open == 0 || len(sh.states.slots)*stateSize > sh.windows[largest].Load().extra() {
		return sh.evictStates(len(sh.states.slots) * 5 / 8)
	}
	t := sh.windows[largest].Load()
	r := t.reduced(sh.whenFull)
	if r == nil {
		return false
	}
	sh.windows[largest].Store(r)
	sh.extra += r.extra() - t.extra()
	sh.evicted += uint64(t.keys - r.keys)
	return true
}

// tableEnd returns the end of the table that has the counter of a hit: that of the window for a
// window of a unit.
func tableEnd(h *ratelimit.Hit) int64 {
	if h.Length == 0 {
		return h.Window + h.Unit.Seconds()
	}
	return gridEnd(h)
}

// gridEnd is tableEnd for other windows, which may end at any second. So that there are few
// tables, theirs end at the next multiple of a power of four seconds, the first that is as long as
// the window.
func gridEnd(h *ratelimit.Hit) int64 {
	end, grid := h.End(), int64(1)
	for grid < int64(h.Length) {
		grid *= 4
	}
	if rest := end % grid; rest > 0 {
		return end + grid - rest
	}
	return end
}

// existing returns the counter of the hit, if there is one. The shard must be locked.
func (sh *shard) existing(h *ratelimit.Hit, k name) counter {
	t := sh.at(tableEnd(h))
	if t == nil {
		return counter{}
	}
	if c := t.find(k); c != nil {
		return counter{own: c}
	}
	if t.sealed() {
		return counter{shared: t.sharedBy(k)}
	}
	return counter{}
}

// add adds n and returns the count. The shard must be locked, so no cell is frozen.
func (sh *shard) add(c counter, n uint64) uint64 {
	switch {
	case c.own != nil:
		count, _ := c.own.add(n)
		return count
	case c.shared == nil:
		sh.uncounted = plus(sh.uncounted, n)
		return min(n, maxCount)
	}
	sh.shared = plus(sh.shared, n)
	*c.shared = plus(*c.shared, n)
	return *c.shared
}

// value returns the count, 0 if there is no counter.
func (c counter) value() uint64 {
	switch {
	case c.own != nil:
		count, _ := c.own.load()
		return count
	case c.shared != nil:
		return *c.shared
	}
	return 0
}

// insert creates a counter for the name. It returns nil if there is no memory for it.
func (sh *shard) insert(t *table, k name, fixed bool) *cell {
	if !sh.room(0, fixed) { // the table may have room that was reserved
		return nil
	}
	if t.crowded() {
		if t = sh.grow(t, fixed); t == nil {
			return nil
		}
	}
	return t.insert(k, fixed, 0)
}

// grow replaces the table by one that is larger by a quarter, or an eighth if memory is
// short. It returns nil if there is no memory. The old table is not counted any more. From the
// reserve it uses an eighth at most, so that the reserve is enough for all tables.
func (sh *shard) grow(t *table, fixed bool) *table {
	n := len(t.cells)
	for _, part := range [...]int{4, 8} {
		more := n / part * slotSize
		if n/part == 0 || !sh.room(more, fixed && part == 8) {
			continue
		}
		larger := t.rebuilt(n+n/part, func(*cell, uint64) bool { return false })
		for i := range sh.windows[:sh.open] {
			if sh.windows[i].Load() == t {
				sh.windows[i].Store(larger)
			}
		}
		sh.extra += more
		return larger
	}
	return nil
}

// room reports whether there is memory for so many more bytes, with or without the reserve.
func (sh *shard) room(bytes int, reserved bool) bool {
	bytes += sh.extra + max(sh.open-unitWindows, 0)*sh.tableBytes()
	if reserved {
		return bytes <= sh.limit
	}
	return bytes <= sh.limit-sh.reserve
}

// tableBytes is the memory of a table, without extra.
func (sh *shard) tableBytes() int { return tableSize + 8*sh.sharedLen }

// start opens a table for the windows with that end.
func (sh *shard) start(end int64, h *ratelimit.Hit, now int64) *table {
	second := h.Length == 0 && h.Unit == ratelimit.Second
	sh.trim(now)
	if sh.open == maxWindows || sh.open >= unitWindows && !sh.room(sh.tableBytes(), true) {
		sh.drop(sh.farthest(now))
	}
	slots := minSlots
	if second && sh.lastSecond > minSlots && sh.room((sh.lastSecond-minSlots)*slotSize, false) {
		slots = sh.lastSecond
	}
	t := &table{end: end, cells: make([]cell, slots)}
	sh.extra += t.extra()
	t.start, t.second, t.until = h.Window, second, end+grace
	if t.until <= now {
		t.until = now + lateFor
	}
	sh.windows[sh.open].Store(t)
	sh.open++
	return t
}

// trim drops all windows that are no longer retained.
func (sh *shard) trim(now int64) {
	for i := sh.open - 1; i >= 0; i-- {
		if t := sh.windows[i].Load(); now >= t.until {
			sh.drop(i)
		}
	}
}

// drop removes the window and subtracts its memory. A concurrent hit may still count in its
// table, for a window that nobody reads any more.
func (sh *shard) drop(i int) {
	t := sh.windows[i].Load()
	sh.extra -= t.extra()
	if t.second {
		sh.lastSecond = t.keys + t.keys/3
	}
	sh.open--
	sh.windows[i].Store(sh.windows[sh.open].Load())
	sh.windows[sh.open].Store(nil)
}

// farthest returns the window that is furthest from now, past or future.
func (sh *shard) farthest(now int64) int {
	farthest, most := 0, uint64(0)
	for i := range sh.windows[:sh.open] {
		if away := sh.windows[i].Load().away(now); away > most {
			farthest, most = i, away
		}
	}
	return farthest
}

// away returns the number of seconds between now and the window. It is unsigned, because the
// distance can exceed the range of int64.
func (t *table) away(now int64) uint64 {
	switch {
	case now >= t.end:
		return uint64(now) - uint64(t.end)
	case now < t.start:
		return uint64(t.start) - uint64(now)
	}
	return 0
}

func (sh *shard) keys() int {
	n := sh.states.used + len(sh.ledgers)
	for i := range sh.windows[:sh.open] {
		n += sh.windows[i].Load().keys
	}
	return n
}

func (sh *shard) bytes() int {
	n := shardSize + sh.open*tableSize + sh.extra
	for i := range sh.windows[:sh.open] {
		n += 8 * len(sh.windows[i].Load().shared)
	}
	return n
}
