package statsd

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// Durations are counted in cells, in whole milliseconds. A page has 512 cells. The
// first two pages are exact, up to 1,023 ms; in each further one cells are twice as
// wide, so that a value is never off by more than one part in 1,000. What takes longer
// than all pages hold, 70 minutes, counts as that.
const (
	cellBits = 9
	cells    = 1 << cellBits
	pages    = 14
	maxMS    = 1<<(pages-1+cellBits) - 1
	// hotCells are those at the beginning, where nearly all calls of a busy server
	// fall. They are there once for each lane, so that cores do not wait for each other.
	hotCells = 64
)

type page [cells]atomic.Uint64

type lane [hotCells]atomic.Uint64

// timer counts the durations of one timer. It is as large as it will ever be after a
// few calls, and what it has counted is kept until it has been sent.
type timer struct {
	name  string
	label label
	ready bool         // label has been made
	off   *atomic.Bool // the sink has ended
	lanes []lane
	pages [pages]atomic.Pointer[page]

	// The rest belongs to the goroutine that flushes.
	sent  [pages]*[cells]uint64
	runs  []run
	first int // the first of the runs that has not been sent
}

// run is what one cell has counted and is still to be sent.
type run struct {
	page, cell int
	count      uint64
	left       uint64
}

func newTimer(name string, off *atomic.Bool) *timer {
	n := 1 << bits.Len(uint(runtime.GOMAXPROCS(0))) // more than cores, so that two seldom draw the same
	t := &timer{name: name, off: off, lanes: make([]lane, min(n, 32))}
	t.pages[0].Store(new(page))
	return t
}

// observe counts one duration. It is called on the path of a decision.
func (t *timer) observe(d time.Duration) {
	if t.off.Load() {
		return
	}
	ms := min(uint64(max(d, 0)/time.Millisecond), maxMS)
	if ms < hotCells {
		t.lanes[int(rand.Uint32())&(len(t.lanes)-1)][ms].Add(1)
		return
	}
	number, cell := cellOf(ms)
	t.page(number)[cell].Add(1)
}

// cellOf is the page and the cell of so many milliseconds.
func cellOf(ms uint64) (number, cell int) {
	if ms < cells {
		return 0, int(ms)
	}
	number = bits.Len64(ms) - cellBits // 1 for 512 to 1,023
	return number, int(ms>>(number-1)) - cells
}

// valueOf is what durations in a cell are sent as: the middle of what they may be.
func valueOf(number, cell int) uint64 {
	if number == 0 {
		return uint64(cell)
	}
	width := uint64(1) << (number - 1)
	return uint64(cells+cell)*width + (width-1)/2
}

// page finds a page, or makes it when the first call takes so long.
func (t *timer) page(number int) *page {
	if p := t.pages[number].Load(); p != nil {
		return p
	}
	t.pages[number].CompareAndSwap(nil, new(page))
	return t.pages[number].Load()
}

// count is how often a cell has been counted in.
func (t *timer) count(p *page, number, cell int) uint64 {
	if number > 0 || cell >= hotCells {
		return p[cell].Load()
	}
	var n uint64
	for i := range t.lanes {
		n += t.lanes[i][cell].Load()
	}
	return n
}

// collect puts what is still to be sent into runs, the shortest first, and returns
// how many calls that is.
func (t *timer) collect() uint64 {
	t.runs, t.first = t.runs[:0], 0
	var total uint64
	for number := range t.pages {
		p := t.pages[number].Load()
		if p == nil {
			continue
		}
		if t.sent[number] == nil {
			t.sent[number] = new([cells]uint64)
		}
		for cell, sent := range t.sent[number] {
			if n := t.count(p, number, cell) - sent; n > 0 {
				t.runs = append(t.runs, run{number, cell, n, n})
				total += n
			}
		}
	}
	return total
}

// advance notes that the next n calls have been sent.
func (t *timer) advance(n uint64) {
	for n > 0 {
		r := &t.runs[t.first]
		part := min(n, r.left)
		t.sent[r.page][r.cell] += part
		n -= part
		if r.left -= part; r.left == 0 {
			t.first++
		}
	}
}

// each calls line for at most most lines that stand for all collected calls: one
// for each call, or else values that lie evenly among the sorted ones. line is told
// the milliseconds, for how many calls they stand, and for which part of all calls there
// are lines; if it returns false there are no more.
func (t *timer) each(total, most uint64, line func(ms, calls uint64, rate float64) bool) {
	n := min(total, most)
	rate := float64(n) / float64(total)
	at, below := 0, uint64(0) // the run, and how many calls are in those before it
	for i := range n {
		from, to := i*total/n, (i+1)*total/n
		middle := from + (to-from)/2
		for below+t.runs[at].count <= middle {
			below += t.runs[at].count
			at++
		}
		if !line(valueOf(t.runs[at].page, t.runs[at].cell), to-from, rate) {
			return
		}
	}
}
