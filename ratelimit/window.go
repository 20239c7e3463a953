package ratelimit

import (
	"fmt"
	"sort"
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
	now     func() time.Time // Options.Now; nil for system
	system  func() time.Time // that of the store or the system
	current atomic.Pointer[clockSecond]
}

// clockSecond holds one second.
type clockSecond struct {
	read  time.Time            // when it was read, by the system's clock
	micro int64                // read in Unix microseconds
	now   int64                // Unix seconds
	units [len(unitTable)]span // the windows that contain it
}

// read returns the current second. Without Options.Now, that is the one which
// a timer has not yet declared to be over; the timer may be late by as much as the
// scheduler is, some milliseconds on a busy machine, and by up to a second when
// the clock is set. Windows then begin that much late and are whole nevertheless, since every hit carries its window.
func (c *clock) read() *clockSecond {
	if t := c.current.Load(); t != nil && c.now == nil {
		return t
	}
	return c.readAgain()
}

// readAgain is read with Options.Now, and for a second that is over. Without Options.Now it sets
// the timer that ends the second. There is a timer only while decisions are made, and never more than one.
func (c *clock) readAgain() *clockSecond {
	if c.now == nil {
		now, read := c.system(), time.Now()
		t := newClockSecond(now.Unix())
		t.read, t.micro = read, now.UnixMicro()
		if c.current.CompareAndSwap(nil, t) {
			time.AfterFunc(time.Second-time.Duration(now.Nanosecond()), func() { c.current.Store(nil) })
		}
		return t
	}
	t, now := c.current.Load(), c.now().Unix()
	if t == nil || t.now != now {
		t = newClockSecond(now)
		c.current.Store(t)
	}
	return t
}

// micro returns the Unix time in microseconds. Without Options.Now it is counted from the time at
// which t was read.
func (c *clock) micro(t *clockSecond) int64 {
	if c.now != nil {
		return c.now().UnixMicro()
	}
	return t.micro + int64(time.Since(t.read)/time.Microsecond)
}

func newClockSecond(now int64) *clockSecond {
	t := &clockSecond{now: now}
	for u := Second; u.Valid(); u++ {
		start := u.Window(now)
		t.units[u] = newSpan(start, start+u.Seconds())
	}
	return t
}

// second is one in microseconds.
const second = 1_000_000

// Align determines where the windows of a limit begin. The empty Align is AlignEpoch.
type Align string

// The alignments.
const (
	// AlignEpoch counts windows from the start of 1970 in UTC, as the reference service does.
	AlignEpoch Align = "epoch"
	// AlignCalendar begins windows where a calendar on the wall does, in Limit.TimeZone: days at
	// midnight, weeks on Monday, months and years on their first day, with the lengths that these have,
	// also where clocks change. Seconds, minutes and hours count from midnight, and the last
	// window of a day ends with the day.
	AlignCalendar Align = "calendar"
)

// alignNames lists the alignments, for error messages.
const alignNames = "epoch or calendar"

// MaxWindow is the maximum length of a window in seconds: ten years of 365 days.
const MaxWindow = 10 * 365 * 86400

// span is one window.
type span struct {
	start, end int64 // Unix seconds; the end is exclusive
	// text is the end of a counter's key: the start of the window in decimal after a
	// separator and, in the unambiguous format, its length.
	text [keyFormats]string
}

func newSpan(start, end int64) span {
	from := strconv.FormatInt(start, 10)
	return span{start, end, [...]string{
		unambiguous: "|" + from + "+" + strconv.FormatInt(end-start, 10),
		reference:   "_" + from,
	}}
}

// seconds returns the length of the window.
func (s *span) seconds() int64 { return s.end - s.start }

// period is the windows of a limit that are not those of a unit: some units long, or aligned to a
// calendar. Its windows follow each other without gaps.
type period struct {
	unit       Unit
	multiplier uint32         // units in a window, at least 1
	zone       *time.Location // of the calendar; nil for windows that are aligned to the epoch
	current    atomic.Pointer[span]
}

// at returns the window that contains the Unix time now. The last one is remembered.
func (p *period) at(now int64) *span {
	if s := p.current.Load(); s != nil && s.start <= now && now < s.end {
		return s
	}
	s := new(span)
	*s = newSpan(p.bounds(now))
	p.current.Store(s)
	return s
}

// bounds returns the start and the end of the window that contains a Unix time.
func (p *period) bounds(now int64) (start, end int64) {
	if p.zone == nil {
		length := p.unit.Seconds() * int64(p.multiplier)
		start = floor(now, length)
		return start, start + length
	}
	date := time.Unix(now, 0).In(p.zone)
	for start, end = p.boundsOf(now, date); now >= end; start, end = p.boundsOf(now, date) {
		date = date.AddDate(0, 0, 1) // clocks were set back to the day before
	}
	for ; now < start; start, end = p.boundsOf(now, date) {
		date = date.AddDate(0, 0, -1)
	}
	return start, end
}

// boundsOf returns the window of a calendar with a Unix time, or else one of the date.
func (p *period) boundsOf(now int64, date time.Time) (start, end int64) {
	m := int64(p.multiplier)
	switch year, month, day := date.Date(); p.unit {
	case Year:
		first := int(floor(int64(year), m))
		return p.midnight(first, 1, 1), p.midnight(first+int(m), 1, 1)
	case Month:
		first := int(floor(int64(year)*12+int64(month)-1, m))
		return p.midnight(0, 1+time.Month(first), 1), p.midnight(0, 1+time.Month(first+int(m)), 1)
	case Week:
		const monday = 4 // 1970-01-05, in days since 1970
		first := int(floor(days(year, month, day)-monday, 7*m)) + monday
		return p.midnight(1970, 1, 1+first), p.midnight(1970, 1, 1+first+7*int(m))
	case Day:
		first := int(floor(days(year, month, day), m))
		return p.midnight(1970, 1, 1+first), p.midnight(1970, 1, 1+first+int(m))
	default:
		from, to := p.midnight(year, month, day), p.midnight(year, month, day+1)
		if now < from || now >= to {
			return from, to
		}
		length := p.unit.Seconds() * m
		start = from + floor(now-from, length)
		return start, min(start+length, to)
	}
}

// floor rounds x down to a multiple of n.
func floor(x, n int64) int64 {
	rest := x % n
	if rest < 0 {
		rest += n
	}
	return x - rest
}

// days returns the number of days from 1970-01-01 to a date.
func days(year int, month time.Month, day int) int64 {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// midnight returns the first second of a day, which is not 00:00 where clocks are set forward then.
// Months and days outside their usual ranges are normalized, as by time.Date.
func (p *period) midnight(year int, month time.Month, day int) int64 {
	wall := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() // as if the zone were UTC
	const most = 24 * 3600                                           // more than any zone differs from UTC
	return wall - most + int64(sort.Search(2*most, func(i int) bool {
		at := wall - most + int64(i)
		_, offset := time.Unix(at, 0).In(p.zone).Zone()
		return at+int64(offset) >= wall
	}))
}

// newPeriod returns the windows of a limit, nil for those of a unit. The limit is valid. With months, those without an
// Align are those of a calendar.
func newPeriod(l *Limit, months bool) (*period, error) {
	zone, err := l.zone()
	if months && l.Unit == Month && l.Align == "" {
		zone = time.UTC
	}
	if err != nil || zone == nil && l.UnitMultiplier <= 1 {
		return nil, err
	}
	return &period{unit: l.Unit, multiplier: max(l.UnitMultiplier, 1), zone: zone}, nil
}

// zone returns the time zone of a limit that is aligned to a calendar, or nil.
func (l *Limit) zone() (*time.Location, error) {
	if l.Align != AlignCalendar {
		return nil, nil
	}
	if l.TimeZone == "Local" { // would differ from machine to machine
		return nil, fmt.Errorf("unknown time zone '%s': use a name such as Europe/Vienna", l.TimeZone)
	}
	zone, err := time.LoadLocation(l.TimeZone) // "" is UTC
	if err != nil {
		return nil, fmt.Errorf("unknown time zone '%.100s': use a name such as Europe/Vienna", l.TimeZone)
	}
	return zone, nil
}
