package memstore

import (
	"sync"
	"unsafe"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// maxWindows is how many tables a shard has at most. One of each unit is
	// current at a time, and as many may be in their grace: 12 ends of windows, at
	// the worst, since windows that end together share a table.
	maxWindows = 16
	// grace is how long a window is kept after its end, in seconds.
	grace = 2
	// lateFor is how long a window is kept that was over before its first hit.
	lateFor = 60
	// spareFor is how long an empty table is kept for the next window of a second.
	spareFor = 3
	// lookEvery is after how many calls a shard has the clock looked at.
	lookEvery = 32
)

// shard is a part of the counters, chosen by the name's hash.
type shard struct {
	mu    sync.Mutex
	calls uint32
	open  int // windows in use
	// windows are in no order. The first few share a cache line with the lock.
	windows [maxWindows]window

	spare      *table // memory of a window that has passed; nil for none
	spareUntil int64
	extra      int // what the tables, the spare one included, cost by table.extra
	limit      int // the most that extra may be
	sharedLen  int // length of table.shared: a power of two
	shared     uint64

	_ [64]byte // keeps the next shard's lock out of this one's cache lines
}

// window is the table of all windows that end at one time.
type window struct {
	end int64
	*table
}

const shardSize = int(unsafe.Sizeof(shard{}))

// at returns the table of the windows that end then, or nil.
func (sh *shard) at(end int64) *table {
	for i := range sh.windows[:sh.open] {
		if sh.windows[i].end == end {
			return sh.windows[i].table
		}
	}
	return nil
}

// counter returns the counter the hit adds to, and whether it is the hit's own.
// now is asked if the hit is the first of its window; the shard must be locked.
func (sh *shard) counter(h *ratelimit.Hit, k name, now func() int64) (c *uint64, own bool) {
	end := h.End()
	t := sh.at(end)
	if t == nil {
		t = sh.start(end, h.Unit, now())
	}
	s := t.find(k)
	if s.ref != 0 {
		return &s.count, true
	}
	if !t.sealed() {
		if c := sh.insert(t, s, k); c != nil {
			return c, true
		}
		t.shared = make([]uint64, sh.sharedLen)
	}
	return t.sharedBy(k), false
}

// value reads the hit's counter; one that does not exist is 0 and stays so.
func (sh *shard) value(h *ratelimit.Hit, k name) uint64 {
	t := sh.at(h.End())
	if t == nil {
		return 0
	}
	if s := t.find(k); s.ref != 0 {
		return s.count
	}
	if t.sealed() {
		return *t.sharedBy(k)
	}
	return 0
}

// add adds the hit's N and returns the counter's value.
func (sh *shard) add(h *ratelimit.Hit, k name, now func() int64) uint64 {
	if h.N == 0 {
		return sh.value(h, k)
	}
	c, own := sh.counter(h, k, now)
	if !own {
		sh.shared = plus(sh.shared, h.N)
	}
	*c = plus(*c, h.N)
	return *c
}

// insert makes a counter for the name in the empty slot, or, if the table has to
// grow, in another. It returns nil if there is no memory left for it.
func (sh *shard) insert(t *table, s *slot, k name) *uint64 {
	if !t.names.fits(k) && !sh.extend(t, k) {
		return nil
	}
	if t.crowded() {
		if !sh.grow(t) {
			return nil
		}
		s = t.vacant(k.tag())
	}
	return t.take(s, k)
}

// extend gives the table's arena room for one more name.
func (sh *shard) extend(t *table, k name) bool {
	size := t.names.step(k)
	if len(t.names.chunks) == maxChunks || !sh.room(size+chunkOverhead) {
		return false
	}
	t.names.extend(size)
	sh.extra += size + chunkOverhead
	return true
}

// grow makes the table larger by half, or by what there is memory for.
// The old slots count until they are free.
func (sh *shard) grow(t *table) bool {
	n := len(t.slots)
	for _, part := range [...]int{2, 8} {
		larger := n + n/part
		if sh.room(larger * slotSize) {
			t.resize(larger)
			sh.extra += (larger - n) * slotSize
			return true
		}
	}
	return false
}

// room reports whether there is memory for that many bytes more; the spare
// table goes first.
func (sh *shard) room(bytes int) bool {
	if sh.extra+bytes > sh.limit {
		sh.dropSpare()
	}
	return sh.extra+bytes <= sh.limit
}

// start opens a table for the windows that end then.
func (sh *shard) start(end int64, unit ratelimit.Unit, now int64) *table {
	sh.trim(now)
	if sh.open == maxWindows {
		sh.forget(sh.farthest(now))
	}
	t := sh.spare
	if t != nil && unit == ratelimit.Second {
		sh.spare = nil
		t.reset()
	} else {
		t = newTable()
	}
	t.unit, t.until = unit, end+grace
	if t.until <= now {
		t.until = now + lateFor
	}
	sh.windows[sh.open] = window{end, t}
	sh.open++
	sh.calls |= lookEvery - 1 // time has passed: have the others looked at, too
	return t
}

// trim lets go of all windows that are over.
func (sh *shard) trim(now int64) {
	if now >= sh.spareUntil {
		sh.dropSpare()
	}
	for i := sh.open - 1; i >= 0; i-- {
		t := sh.windows[i].table
		if now < t.until {
			continue
		}
		sh.forget(i)
		if t.unit == ratelimit.Second && !t.idle() {
			sh.keepSpare(t, now)
		}
	}
}

// forget takes the window out, and its memory off the account.
func (sh *shard) forget(i int) {
	sh.extra -= sh.windows[i].extra()
	sh.open--
	sh.windows[i] = sh.windows[sh.open]
	sh.windows[sh.open] = window{}
}

// farthest is the window that has been over, or is still to begin, for longest.
func (sh *shard) farthest(now int64) int {
	far, most := 0, uint64(0)
	for i, w := range sh.windows[:sh.open] {
		if away := w.away(now); away > most {
			far, most = i, away
		}
	}
	return far
}

// away is how many seconds lie between now and the window; unsigned, since that
// can be more than an int64 holds.
func (w *window) away(now int64) uint64 {
	switch start := w.end - w.unit.Seconds(); {
	case now >= w.end:
		return uint64(now) - uint64(w.end)
	case now < start:
		return uint64(start) - uint64(now)
	}
	return 0
}

func (sh *shard) keepSpare(t *table, now int64) {
	sh.dropSpare()
	sh.spare, sh.spareUntil = t, now+spareFor
	sh.extra += t.extra()
}

func (sh *shard) dropSpare() {
	if sh.spare != nil {
		sh.extra -= sh.spare.extra()
		sh.spare = nil
	}
}

// called counts a call and reports whether it is time to look at the clock.
func (sh *shard) called() bool {
	sh.calls++
	return sh.calls%lookEvery == 0
}

func (sh *shard) keys() int {
	n := 0
	for _, w := range sh.windows[:sh.open] {
		n += w.keys
	}
	return n
}

func (sh *shard) bytes() int {
	n := shardSize + sh.open*tableSize + sh.extra
	if sh.spare != nil {
		n += tableSize
	}
	for _, w := range sh.windows[:sh.open] {
		n += 8 * len(w.table.shared)
	}
	return n
}
