package ratelimit

import (
	"fmt"
	"sort"
	"strconv"
	"sync/atomic"
	"time"
)

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

// AlignNames lists the alignments, for error messages.
const AlignNames = "epoch or calendar"

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

// newPeriod returns the windows of a limit, nil for those of a unit. The limit is valid.
func newPeriod(l *Limit) (*period, error) {
	zone, err := l.zone()
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
