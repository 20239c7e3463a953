package storetest

import (
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
)

func windowCases(o *Options) []Case {
	cases := []Case{
		{"windows/apart", "a window begins at zero, whatever was counted in the one before", checkApart},
		{"windows/units", "a limit may be set per any unit, and limits of several units hold at once", checkUnits},
		{"windows/lengths", "a limit may be set per 15 minutes or per day of a calendar, whose windows end where no unit's does", checkLengths},
		{"windows/past", "a request may reach the store just after its window has turned, as the first or not, and is still a hit", checkPast},
		{"windows/jitter", "jitter spreads the expiry of counters, it does not change what they count", checkJitter},
	}
	if o.Clock == nil {
		return cases
	}
	return append(cases,
		Case{"windows/last second", "a limit holds until the end of its window; a counter lost before lets a second flood in", checkLastSecond},
		Case{"windows/last second of lengths", "so does a limit per 15 minutes or per month of a calendar", checkLastOfLengths},
		Case{"windows/late", "a request that was decided in one second and counted in the next belongs to the window it was decided in", checkLate},
		Case{"windows/turning", "windows come and go for as long as the process lives", checkTurning},
		Case{"windows/long quiet", "a store must count after a pause in which everything has expired", checkQuiet},
		Case{"windows/clock back", "clocks are set back; a limiter must go on counting when that happens", checkClockBack},
	)
}

func units() []ratelimit.Unit {
	var all []ratelimit.Unit
	for u := ratelimit.Second; u.Valid(); u++ {
		all = append(all, u)
	}
	return all
}

func checkApart(p *probe) error {
	for _, unit := range units() {
		this := unit.Window(p.now)
		next := this + unit.Seconds()
		err := first(
			func() error { return p.add(hits{p.hitAt(unit, this, "apart", 4)}, 4) },
			func() error { return p.add(hits{p.hitAt(unit, next, "apart", 1)}, 1) },
			func() error {
				return p.add(hits{p.hitAt(unit, this, "apart", 1), p.hitAt(unit, next, "apart", 1)}, 5, 2)
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func checkUnits(p *probe) error {
	for rank := range uint64(3) {
		var call hits
		var want []uint64
		for i, unit := range units() {
			n := uint64(i + 1)
			call = append(call, p.hitIn(unit, "units", n))
			want = append(want, n*(rank+1))
		}
		if err := p.add(call, want...); err != nil {
			return err
		}
	}
	return nil
}

// lengths returns lengths of windows in seconds that no unit has: 90 s, 15 minutes, days on which clocks
// change, a month of a calendar, and three years.
func lengths() []int64 { return []int64{90, 900, 23 * 3600, 25 * 3600, 31 * 86400, 3 * 365 * 86400} }

// hitOf returns a hit in a window of a length.
func (p *probe) hitOf(length, window int64, name string, n uint64) ratelimit.Hit {
	h := p.hitAt(ratelimit.Second, window, fmt.Sprint(name, length), n)
	h.Length = uint32(length)
	return h
}

func checkLengths(p *probe) error {
	for _, length := range lengths() {
		this := p.now - length/2
		next := this + length
		err := first(
			func() error { return p.add(hits{p.hitOf(length, this, "lengths", 4)}, 4) },
			func() error { return p.add(hits{p.hitOf(length, next, "lengths", 1)}, 1) },
			func() error {
				return p.add(hits{p.hitOf(length, this, "lengths", 1), p.hitOf(length, next, "lengths", 1)}, 5, 2)
			},
		)
		if err != nil {
			return fmt.Errorf("in windows of %d s: %w", length, err)
		}
	}
	return nil
}

func checkLastOfLengths(p *probe) error {
	for _, length := range lengths() {
		window := p.now + 17
		p.at(window)
		if err := p.add(hits{p.hitOf(length, window, "last", 3)}, 3); err != nil {
			return err
		}
		p.at(window + length - 1)
		err := first(
			func() error { return p.disturb(ratelimit.Second) },
			func() error { return p.add(hits{p.hitOf(length, window, "last", 0)}, 3) },
			func() error { return p.add(hits{p.hitOf(length, window, "last", 1)}, 4) },
		)
		if err != nil {
			return fmt.Errorf("in the last second of a window of %d s: %w", length, err)
		}
	}
	return nil
}

func checkPast(p *probe) error {
	for _, unit := range units() {
		last := unit.Window(p.now) - unit.Seconds()
		err := first(
			func() error { return p.add(hits{p.hitAt(unit, last, "past", 0)}, 0) },
			func() error { return p.add(hits{p.hitAt(unit, last, "past", 2)}, 2) },
			func() error { return p.add(hits{p.hitAt(unit, last, "past", 1)}, 3) },
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func checkJitter(p *probe) error {
	for rank := range uint64(3) {
		h := p.hit("jitter", 1)
		h.Jitter = uint32(300 * rank)
		if err := p.add(hits{h}, rank+1); err != nil {
			return err
		}
	}
	return nil
}

// checkLastSecond adds at the beginning of a window and then only at its end, so that a store
// that counts lifetimes from the last change fails.
func checkLastSecond(p *probe) error {
	start := p.now
	for _, unit := range units() {
		window := unit.Window(start) + unit.Seconds()
		p.at(window)
		if err := p.add(hits{p.hitIn(unit, "last", 3)}, 3); err != nil {
			return err
		}
		p.at(window + unit.Seconds() - 1)
		err := first(
			func() error { return p.disturb(unit) },
			func() error { return p.add(hits{p.hitIn(unit, "last", 0)}, 3) },
			func() error { return p.add(hits{p.hitIn(unit, "last", 1)}, 4) },
		)
		if err != nil {
			return fmt.Errorf("in the last second of the window of a %v: %w", unit, err)
		}
	}
	return nil
}

// disturb makes many calls on other counters, in which a store may free ended windows.
func (p *probe) disturb(unit ratelimit.Unit) error {
	for i := range 2000 {
		call := hits{p.hitIn(unit, fmt.Sprint("noise", i), 1)}
		if err := p.store.Add(p.ctx, call); err != nil {
			return err
		}
	}
	return nil
}

func checkLate(p *probe) error {
	for _, unit := range units() {
		window := unit.Window(p.now) + unit.Seconds()
		p.at(window)
		if err := p.add(hits{p.hitIn(unit, "late", 3)}, 3); err != nil {
			return err
		}
		p.at(window + unit.Seconds())
		err := first(
			func() error { return p.disturb(unit) },
			func() error { return p.add(hits{p.hitAt(unit, window, "late", 1)}, 4) },
			func() error { return p.add(hits{p.hitIn(unit, "late", 1)}, 1) },
			func() error { return p.add(hits{p.hitAt(unit, window, "late", 1)}, 5) },
		)
		if err != nil {
			return fmt.Errorf("in the first second after the window of a %v: %w", unit, err)
		}
	}
	return nil
}

func checkTurning(p *probe) error {
	for _, unit := range units() {
		for range 50 {
			p.at(unit.Window(p.now) + unit.Seconds())
			err := first(
				func() error { return p.add(hits{p.hitIn(unit, "turning", 1)}, 1) },
				func() error { return p.add(hits{p.hitIn(unit, "turning", 1)}, 2) },
			)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func checkQuiet(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hitIn(ratelimit.Second, "quiet", 5)}, 5) },
		func() error { return p.disturb(ratelimit.Minute) },
		func() error { p.at(p.now + 10*ratelimit.Year.Seconds()); return nil },
		func() error { return p.add(hits{p.hitIn(ratelimit.Second, "quiet", 1)}, 1) },
		func() error { return p.disturb(ratelimit.Minute) },
		func() error { return p.add(hits{p.hitIn(ratelimit.Second, "quiet", 1)}, 2) },
	)
}

// checkClockBack does not check earlier counters of the windows that are current again, only
// that later hits are counted.
func checkClockBack(p *probe) error {
	back := p.now - 3*ratelimit.Day.Seconds()
	if err := p.add(hits{p.hitIn(ratelimit.Minute, "forth", 1)}, 1); err != nil {
		return err
	}
	p.at(back)
	for rank := range uint64(3) {
		if err := p.add(hits{p.hitIn(ratelimit.Minute, "back", 1)}, rank+1); err != nil {
			return fmt.Errorf("after the clock was set back by three days: %w", err)
		}
		if err := p.disturb(ratelimit.Second); err != nil {
			return err
		}
	}
	return nil
}
