package ratelimit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var units = []struct {
	unit    ratelimit.Unit
	number  uint8 // in the v3 protocol
	name    string
	seconds int64
}{
	{ratelimit.Second, 1, "second", 1},
	{ratelimit.Minute, 2, "minute", 60},
	{ratelimit.Hour, 3, "hour", 3600},
	{ratelimit.Day, 4, "day", 86400},
	{ratelimit.Month, 5, "month", 2592000},
	{ratelimit.Year, 6, "year", 31536000},
	{ratelimit.Week, 7, "week", 604800},
}

func TestUnit(t *testing.T) {
	for _, u := range units {
		equal(t, u.name+" number", uint8(u.unit), u.number)
		equal(t, u.name+" seconds", u.unit.Seconds(), u.seconds)
		equal(t, u.name+" name", u.unit.String(), u.name)
		equal(t, u.name+" valid", u.unit.Valid(), true)
		for _, text := range []string{u.name, strings.ToUpper(u.name), strings.ToUpper(u.name[:1]) + u.name[1:]} {
			got, ok := ratelimit.ParseUnit(text)
			if got != u.unit || !ok {
				t.Errorf("ParseUnit(%q) = %v, %v; want %v", text, got, ok, u.unit)
			}
		}
		if !strings.Contains(ratelimit.UnitNames, u.name) {
			t.Errorf("UnitNames lacks %q: %q", u.name, ratelimit.UnitNames)
		}
	}
}

func TestUnitInvalid(t *testing.T) {
	for _, name := range []string{"", "unknown", "seconds", " second", "min", "0", "1"} {
		if u, ok := ratelimit.ParseUnit(name); ok || u != 0 {
			t.Errorf("ParseUnit(%q) = %v, %v; want none", name, u, ok)
		}
	}
	for _, u := range []ratelimit.Unit{0, 8, 255} {
		if u.Valid() || u.Seconds() != 0 || u.String() != "unknown" || u.Window(77) != 77 {
			t.Errorf("Unit(%d) passes for a unit", u)
		}
	}
}

func FuzzUnitWindow(f *testing.F) {
	f.Add(uint8(2), int64(59))
	f.Add(uint8(2), int64(-1))
	f.Add(uint8(7), int64(1_700_000_123))
	f.Add(uint8(0), int64(5))
	f.Fuzz(func(t *testing.T, number uint8, now int64) {
		u := ratelimit.Unit(number)
		if !u.Valid() || now < math.MinInt64/2 || now > math.MaxInt64/2 {
			return
		}
		w, s := u.Window(now), u.Seconds()
		if w > now || now >= w+s || w%s != 0 {
			t.Errorf("%v.Window(%d) = %d", u, now, w)
		}
	})
}

func TestHitTTL(t *testing.T) {
	h := ratelimit.Hit{Unit: ratelimit.Second, Jitter: 100}
	equal(t, "reference's vector", h.TTL(), 101*time.Second)
	h = ratelimit.Hit{Unit: ratelimit.Year, Jitter: math.MaxUint32}
	equal(t, "no overflow", h.TTL(), (31536000+math.MaxUint32)*time.Second)
}
