package ratelimit

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Unit is the length of a window. The zero Unit is invalid.
//
// Windows are aligned to the Unix epoch, so weeks begin on Thursday at 00:00 UTC, and
// months and years have 30 and 365 days (REFERENCE.md, 3.1 to 3.3), unless a limit has
// another [Align].
type Unit uint8

// The units, numbered as in the v3 rate limit service protocol.
const (
	Second Unit = 1 // 1 s
	Minute Unit = 2 // 60 s
	Hour   Unit = 3 // 3,600 s
	Day    Unit = 4 // 86,400 s
	Month  Unit = 5 // 2,592,000 s: 30 days
	Year   Unit = 6 // 31,536,000 s: 365 days
	Week   Unit = 7 // 604,800 s
)

// UnitNames lists the units by length, for error messages.
const UnitNames = "second, minute, hour, day, week, month or year"

var unitTable = [...]struct {
	name    string
	seconds int64
}{
	Second: {"second", 1},
	Minute: {"minute", 60},
	Hour:   {"hour", 3600},
	Day:    {"day", 86400},
	Month:  {"month", 30 * 86400},
	Year:   {"year", 365 * 86400},
	Week:   {"week", 7 * 86400},
}

// ParseUnit returns the unit with a name, in any letter case. It reports false for unknown
// names.
func ParseUnit(name string) (Unit, bool) {
	for u := Second; u.Valid(); u++ {
		if strings.EqualFold(name, unitTable[u].name) {
			return u, true
		}
	}
	return 0, false
}

// Valid reports whether u is one of the constants.
func (u Unit) Valid() bool { return u != 0 && int(u) < len(unitTable) }

// Seconds returns the length of the window; 0 for an invalid unit.
func (u Unit) Seconds() int64 {
	if !u.Valid() {
		return 0
	}
	return unitTable[u].seconds
}

// Window returns the start of the window that contains the Unix time now, in Unix seconds. The window ends, exclusively, at Window(now)+Seconds().
func (u Unit) Window(now int64) int64 {
	s := u.Seconds()
	if s == 0 {
		return now
	}
	return floor(now, s)
}

// String returns the unit's name in lower case, or "unknown".
func (u Unit) String() string {
	if !u.Valid() {
		return "unknown"
	}
	return unitTable[u].name
}

// Text returns the length of a window of n units, 0 meaning 1, in words: "minute" or "15 minutes".
func (u Unit) Text(n uint32) string {
	if n <= 1 {
		return u.String()
	}
	return strconv.FormatUint(uint64(n), 10) + " " + u.String() + "s"
}

// clock returns the current second and the windows of every unit. They are computed once a
// second, because reading the system's clock can cost as much as the rest of a decision.
type clock struct {
	now     func() time.Time // nil for the system's
	current atomic.Pointer[tick]
}

// tick is one second.
type tick struct {
	read  time.Time            // when it was read from the system's clock
	micro int64                // read in Unix microseconds
	now   int64                // Unix seconds
	units [len(unitTable)]span // the windows that contain it
}

// read returns the current second. With the system's clock, that is the one which
// a timer has not yet declared to be over; the timer may be late by as much as the
// scheduler is, some milliseconds on a busy machine, and by up to a second when
// the clock is set. Windows then begin that much late and are whole nevertheless, since every hit carries its window.
func (c *clock) read() *tick {
	if t := c.current.Load(); t != nil && c.now == nil {
		return t
	}
	return c.readAgain()
}

// readAgain is read for another clock, and for a second that is over.
func (c *clock) readAgain() *tick {
	if c.now == nil {
		return c.refresh()
	}
	t, now := c.current.Load(), c.now().Unix()
	if t == nil || t.now != now {
		t = newTick(now)
		c.current.Store(t)
	}
	return t
}

// moment returns the time in microseconds. The clock of a second that t is follows the system's when that ends.
func (c *clock) moment(t *tick) moment {
	if c.now != nil {
		return moment{c.now().UnixMicro()}
	}
	return moment{t.micro + int64(time.Since(t.read)/time.Microsecond)}
}

// refresh reads the system's clock and sets the timer that ends the second. There is a timer
// only while decisions are made, and never more than one.
func (c *clock) refresh() *tick {
	now := time.Now()
	t := newTick(now.Unix())
	t.read, t.micro = now, now.UnixMicro()
	if c.current.CompareAndSwap(nil, t) {
		rest := min(time.Until(time.Unix(t.now+1, 0)), time.Second) // less if the clock is set back just now
		time.AfterFunc(rest, func() { c.current.Store(nil) })
	}
	return t
}

func newTick(now int64) *tick {
	t := &tick{now: now}
	for u := Second; u.Valid(); u++ {
		start := u.Window(now)
		t.units[u] = newSpan(start, start+u.Seconds())
	}
	return t
}
