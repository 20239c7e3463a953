package modeltest

import (
	"sort"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// bounds returns the window of a limit that contains a time (REFERENCE.md, 3.2).
func (t *target) bounds(at int64) (start, end int64) {
	units := int(max(t.units, 1))
	length := seconds[t.unit] * int64(units)
	if t.zone == nil {
		return at / length * length, at/length*length + length
	}
	if t.unit >= ratelimit.Day {
		return calendarWindow(t.unit, units, t.zone, at)
	}
	from, to := calendarWindow(ratelimit.Day, 1, t.zone, at)
	start = from + (at-from)/length*length
	return start, min(start+length, to)
}

// calendarWindow returns a window of days or more. It searches a list of all windows.
func calendarWindow(unit ratelimit.Unit, units int, zone *time.Location, at int64) (start, end int64) {
	begin := func(n int) int64 {
		n *= units
		year, month, day := 1970, 1, 1
		switch unit {
		case ratelimit.Year:
			year = n
		case ratelimit.Month:
			year, month = 0, 1+n
		case ratelimit.Week:
			day = 5 + 7*n // a Monday
		default:
			day += n
		}
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, zone).Unix()
	}
	const most = 100_000 // days until 2243
	next := sort.Search(most, func(n int) bool { return begin(n) > at })
	return begin(next - 1), begin(next)
}
