package replay

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errTime = errors.New("no time that is understood")

// The years that a line may have, as Unix seconds: those of which nanoseconds fit into 64 bits.
const maxSecond = math.MaxInt64 / int64(time.Second)

// combinedTime is the layout of the combined log format.
const combinedTime = "02/Jan/2006:15:04:05 -0700"

// readTime returns a time in Unix nanoseconds. The layout is that of package time; empty accepts the usual forms.
func readTime(layout, text string) (int64, error) {
	if layout != "" {
		return inRange(time.Parse(layout, text))
	}
	if len(text) > 10 {
		switch {
		case text[2] == '/':
			return inRange(time.Parse(combinedTime, text))
		case text[10] == 'T':
			if t, err := time.Parse(time.RFC3339, text); err == nil {
				return inRange(t, nil)
			}
		}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return unixTime(text, f)
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, zone := range [...]string{"Z07:00", "-0700", "", " -0700", " MST"} {
		if t, err := time.Parse("2006-01-02T15:04:05"+zone, text); err == nil { // with a fraction, too
			return inRange(t, nil)
		}
	}
	return 0, errTime
}

func inRange(t time.Time, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, errTime
	case t.Unix() < 0 || t.Unix() >= maxSecond:
		return 0, errors.New("the time is not in the years 1970 to 2261")
	}
	return t.UnixNano(), nil
}

// unixTime reads a number of seconds, milliseconds, microseconds or nanoseconds: which of them
// follows from the size, for times after 1973.
func unixTime(text string, f float64) (int64, error) {
	unit := int64(time.Second)
	switch {
	case !(f >= 0):
		return 0, errTime
	case f >= 1e17:
		unit = 1
	case f >= 1e14:
		unit = int64(time.Microsecond)
	case f >= 1e11:
		unit = int64(time.Millisecond)
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		if whole > math.MaxInt64/unit {
			return 0, errTime
		}
		return whole * unit, nil
	}
	if f*float64(unit) >= math.MaxInt64 {
		return 0, errTime
	}
	whole, part := math.Modf(f)
	return int64(whole)*unit + int64(math.Round(part*1e6)*float64(unit)/1e6), nil
}
