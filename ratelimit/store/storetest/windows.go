package storetest

import (
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var windowCases = []Case{
	{"windows/apart", "a window begins at zero, whatever was counted in the one before", func(p *probe) { checkApart(p, units()) }},
	{"windows/units", "a limit may be set per any unit, and limits of several units hold at once", func(p *probe) {
		for rank := range uint64(3) {
			var call hits
			var want []uint64
			for i, w := range units() {
				n := uint64(i + 1)
				call = append(call, p.hitIn(w.unit, "units", n))
				want = append(want, n*(rank+1))
			}
			p.add(call, want...)
		}
	}},
	{"windows/lengths", "a limit may be set per 15 minutes or per day of a calendar, whose windows end where no unit's does", func(p *probe) { checkApart(p, lengths()) }},
	{"windows/past", "a request may reach the store just after its window has turned, as the first or not, and is still a hit", func(p *probe) {
		for _, w := range units() {
			last := w.start(p.now) - w.length
			p.add(hits{p.hitAt(w.unit, last, "past", 0)}, 0)
			p.add(hits{p.hitAt(w.unit, last, "past", 2)}, 2)
			p.add(hits{p.hitAt(w.unit, last, "past", 1)}, 3)
		}
	}},
	{"windows/jitter", "jitter spreads the expiry of counters, it does not change what they count", func(p *probe) {
		for rank := range uint64(3) {
			h := p.hit("jitter", 1)
			h.Jitter = uint32(300 * rank)
			p.add(hits{h}, rank+1)
		}
	}},
}

// clockCases are for stores with Options.Clock.
var clockCases = []Case{
	{"windows/last second", "a limit holds until the end of its window; a counter lost before lets a second flood in", func(p *probe) { checkLast(p, units()) }},
	{"windows/last second of lengths", "so does a limit per 15 minutes or per month of a calendar", func(p *probe) { checkLast(p, lengths()) }},
	{"windows/late", "a request that was decided in one second and counted in the next belongs to the window it was decided in", func(p *probe) {
		for _, w := range units() {
			p.within("in the first second after the window of a %v", w.unit)
			window := w.start(p.now) + w.length
			p.at(window)
			p.add(hits{p.hitIn(w.unit, "late", 3)}, 3)
			p.at(window + w.length)
			p.disturb(w.unit)
			p.add(hits{p.hitAt(w.unit, window, "late", 1)}, 4)
			p.add(hits{p.hitIn(w.unit, "late", 1)}, 1)
			p.add(hits{p.hitAt(w.unit, window, "late", 1)}, 5)
		}
	}},
	{"windows/turning", "windows come and go for as long as the process lives", func(p *probe) {
		for _, w := range units() {
			for range 50 {
				p.at(w.start(p.now) + w.length)
				p.add(hits{p.hitIn(w.unit, "turning", 1)}, 1)
				p.add(hits{p.hitIn(w.unit, "turning", 1)}, 2)
			}
		}
	}},
	{"windows/long quiet", "a store must count after a pause in which everything has expired", func(p *probe) {
		p.add(hits{p.hitIn(ratelimit.Second, "quiet", 5)}, 5)
		p.disturb(ratelimit.Minute)
		p.at(p.now + 10*ratelimit.Year.Seconds())
		p.add(hits{p.hitIn(ratelimit.Second, "quiet", 1)}, 1)
		p.disturb(ratelimit.Minute)
		p.add(hits{p.hitIn(ratelimit.Second, "quiet", 1)}, 2)
	}},
	// It does not check earlier counters of the windows that are current again, only that later hits are counted.
	{"windows/clock back", "clocks are set back; a limiter must go on counting when that happens", func(p *probe) {
		p.add(hits{p.hitIn(ratelimit.Minute, "forth", 1)}, 1)
		p.at(p.now - 3*ratelimit.Day.Seconds())
		p.within("after the clock was set back by three days")
		for rank := range uint64(3) {
			p.add(hits{p.hitIn(ratelimit.Minute, "back", 1)}, rank+1)
			p.disturb(ratelimit.Second)
		}
	}},
}

// period is windows of a unit, or of a length in seconds that no unit has.
type period struct {
	unit   ratelimit.Unit
	length int64
}

func units() (all []period) {
	for u := ratelimit.Second; u.Valid(); u++ {
		all = append(all, period{u, u.Seconds()})
	}
	return all
}

// lengths returns windows of 90 s, 15 minutes, days on which clocks change, a month of a calendar, and three years.
func lengths() (all []period) {
	for _, length := range []int64{90, 900, 23 * 3600, 25 * 3600, 31 * 86400, 3 * 365 * 86400} {
		all = append(all, period{ratelimit.Second, length})
	}
	return all
}

// start returns the start of a window that contains the Unix time now.
func (w period) start(now int64) int64 {
	if w.length != w.unit.Seconds() {
		return now - w.length/2
	}
	return w.unit.Window(now)
}

// hitOf returns a hit in a window.
func (p *probe) hitOf(w period, window int64, name string, n uint64) ratelimit.Hit {
	h := p.hitAt(w.unit, window, fmt.Sprint(name, w.length), n)
	if w.length != w.unit.Seconds() {
		h.Length = uint32(w.length)
	}
	return h
}

func checkApart(p *probe, all []period) {
	for _, w := range all {
		p.within("in windows of %d s", w.length)
		this := w.start(p.now)
		next := this + w.length
		p.add(hits{p.hitOf(w, this, "apart", 4)}, 4)
		p.add(hits{p.hitOf(w, next, "apart", 1)}, 1)
		p.add(hits{p.hitOf(w, this, "apart", 1), p.hitOf(w, next, "apart", 1)}, 5, 2)
	}
}

// checkLast adds at the beginning of a window and then only at its end, so that a store
// that counts lifetimes from the last change fails.
func checkLast(p *probe, all []period) {
	for _, w := range all {
		p.within("in the last second of a window of %d s", w.length)
		window := w.start(p.now) + w.length
		p.at(window)
		p.add(hits{p.hitOf(w, window, "last", 3)}, 3)
		p.at(window + w.length - 1)
		p.disturb(w.unit)
		p.add(hits{p.hitOf(w, window, "last", 0)}, 3)
		p.add(hits{p.hitOf(w, window, "last", 1)}, 4)
	}
}

// disturb makes many calls on other counters, in which a store may free ended windows.
func (p *probe) disturb(unit ratelimit.Unit) {
	for i := 0; i < 2000 && p.err == nil; i++ {
		p.check(p.store.Add(p.ctx, hits{p.hitIn(unit, fmt.Sprint("noise", i), 1)}))
	}
}
