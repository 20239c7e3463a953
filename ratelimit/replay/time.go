package replay

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// clock reads the times of lines. Most lines begin with the date and time of the line before, so
// it remembers those of the last one.
type clock struct {
	layout string // of package time; empty accepts the usual forms
	text   string // up to the second
	zone   string
	second int64
}

var errTime = errors.New("no time that is understood")

// The years that a line may have, as Unix seconds: those of which nanoseconds fit into 64 bits.
const maxSecond = math.MaxInt64 / int64(time.Second)

// combinedTime is the layout of the combined log format.
const combinedTime = "02/Jan/2006:15:04:05 -0700"

// read returns the Unix time in nanoseconds.
func (c *clock) read(text string) (int64, error) {
	if c.layout != "" {
		return inRange(time.Parse(c.layout, text))
	}
	if len(text) > 19 && text[4] == '-' && (text[10] == 'T' || text[10] == ' ') {
		return c.readDate(text)
	}
	if len(text) == len(combinedTime) && text[2] == '/' {
		if text == c.text {
			return c.second * int64(time.Second), nil
		}
		t, err := inRange(time.Parse(combinedTime, text))
		if err == nil {
			c.text, c.zone, c.second = text, "", t/int64(time.Second)
		}
		return t, err
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return unixTime(text, f)
	}
	for _, layout := range [...]string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04:05.999999999-0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return inRange(t, nil)
		}
	}
	return 0, errTime
}

// readDate reads a time such as 2006-01-02T15:04:05.123Z.
func (c *clock) readDate(text string) (int64, error) {
	end, nanos, unit := 19, int64(0), int64(100_000_000)
	if text[end] == '.' || text[end] == ',' {
		for end++; end < len(text) && text[end] >= '0' && text[end] <= '9'; end++ {
			nanos += int64(text[end]-'0') * unit
			unit /= 10
		}
	}
	if text[:19] == c.text && text[end:] == c.zone {
		return c.second*int64(time.Second) + nanos, nil
	}
	layout := "2006-01-02T15:04:05"
	if text[10] == ' ' {
		layout = time.DateTime
	}
	var t time.Time
	err := errTime
	for _, zone := range [...]string{"Z07:00", "-0700", "", " -0700", " MST"} {
		if t, err = time.Parse(layout+zone, text[:19]+text[end:]); err == nil {
			break
		}
	}
	second, err := inRange(t, err)
	if err == nil {
		c.text, c.zone, c.second = text[:19], text[end:], second/int64(time.Second)
	}
	return second + nanos, err
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
