package modeltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// windowOf returns the window of a limit that contains a time, as the hits of an engine have it.
func windowOf(t require.TestingT, limit ratelimit.Limit, at time.Time) (start, end time.Time) {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{{Key: "k", Limit: &limit}}}}, nil)
	require.NoError(t, err)
	hits, err := rules.Plan(&ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "k", Value: "v"}}},
	}}, at, nil)
	require.NoError(t, err)
	return time.Unix(hits[0].Window, 0), time.Unix(hits[0].End(), 0)
}

// TestCalendar compares windows with those on the wall, where clocks change too.
func TestCalendar(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		zone       string
		unit       ratelimit.Unit
		multiplier uint32
		at         string // local, or with an offset
		start, end string
	}{
		{"Europe/Vienna", ratelimit.Day, 0, "2026-03-28T12:00:00+01:00", "2026-03-28T00:00:00+01:00", "2026-03-29T00:00:00+01:00"},
		{"Europe/Vienna", ratelimit.Day, 1, "2026-03-29T12:00:00+02:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"}, // 23 h
		{"Europe/Vienna", ratelimit.Day, 0, "2026-10-25T00:30:00+02:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"}, // 25 h
		{"Europe/Vienna", ratelimit.Week, 0, "2026-03-29T12:00:00+02:00", "2026-03-23T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"Europe/Vienna", ratelimit.Week, 2, "2026-03-29T12:00:00+02:00", "2026-03-16T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"Europe/Vienna", ratelimit.Month, 0, "2026-02-28T23:59:59+01:00", "2026-02-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00"},
		{"Europe/Vienna", ratelimit.Month, 3, "2026-12-31T23:59:59+01:00", "2026-10-01T00:00:00+02:00", "2027-01-01T00:00:00+01:00"},
		{"Europe/Vienna", ratelimit.Year, 0, "2028-02-29T12:00:00+01:00", "2028-01-01T00:00:00+01:00", "2029-01-01T00:00:00+01:00"},
		{"Europe/Vienna", ratelimit.Year, 5, "2028-02-29T12:00:00+01:00", "2025-01-01T00:00:00+01:00", "2030-01-01T00:00:00+01:00"},
		{"Asia/Kolkata", ratelimit.Hour, 0, "2026-01-31T12:34:56+05:30", "2026-01-31T12:00:00+05:30", "2026-01-31T13:00:00+05:30"},
		{"Asia/Kolkata", ratelimit.Minute, 45, "2026-01-31T23:50:00+05:30", "2026-01-31T23:15:00+05:30", "2026-02-01T00:00:00+05:30"},
		{"Asia/Kolkata", ratelimit.Hour, 7, "2026-01-31T22:00:00+05:30", "2026-01-31T21:00:00+05:30", "2026-02-01T00:00:00+05:30"}, // the rest of the day
		{"", ratelimit.Month, 0, "2026-01-31T12:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		// Clocks went from 00:00 to 01:00, so that the day began at 01:00.
		{"Asia/Beirut", ratelimit.Day, 0, "2021-03-28T12:00:00+03:00", "2021-03-28T01:00:00+03:00", "2021-03-29T00:00:00+03:00"},
		// Clocks went from 24:00 back to 23:00.
		{"America/Asuncion", ratelimit.Day, 0, "2021-03-27T23:30:00-04:00", "2021-03-27T00:00:00-03:00", "2021-03-28T00:00:00-04:00"},
		// Clocks went from 01:00 back to 00:00, so that midnight came twice.
		{"Atlantic/Azores", ratelimit.Day, 0, "2021-10-31T12:00:00-01:00", "2021-10-31T00:00:00+00:00", "2021-11-01T00:00:00-01:00"},
		// Clocks went from 00:01 back to 23:01.
		{"America/St_Johns", ratelimit.Hour, 0, "2006-10-28T23:30:00-03:30", "2006-10-29T00:00:00-02:30", "2006-10-29T01:00:00-02:30"},
		// There was no 30 December.
		{"Pacific/Apia", ratelimit.Day, 0, "2011-12-29T12:00:00-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
	} {
		at, err := time.Parse(time.RFC3339, row.at)
		require.NoError(t, err)
		zone, err := time.LoadLocation(row.zone)
		require.NoError(t, err)
		limit := ratelimit.Limit{RequestsPerUnit: 1, Unit: row.unit, UnitMultiplier: row.multiplier, Align: ratelimit.AlignCalendar, TimeZone: row.zone}
		start, end := windowOf(t, limit, at)
		format := func(at time.Time) string { return at.In(zone).Format("2006-01-02T15:04:05-07:00") }
		want := func(text string) string {
			at, err := time.Parse(time.RFC3339, text)
			require.NoError(t, err)
			return format(at)
		}
		require.Equal(t, want(row.start)+" "+want(row.end), format(start)+" "+format(end), "%s, %d %v at %s", row.zone, row.multiplier, row.unit, row.at)
	}
}

// TestWindowsFollowEachOther checks that each second is in one window, and that windows of a calendar
// begin at local midnight or within the day.
func TestWindowsFollowEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := ratelimit.Limit{
			RequestsPerUnit: 1, Unit: ratelimit.Unit(rapid.IntRange(1, 7).Draw(t, "unit")),
			Align: rapid.SampledFrom([]ratelimit.Align{"", ratelimit.AlignEpoch, ratelimit.AlignCalendar}).Draw(t, "align"),
		}
		if limit.Align == ratelimit.AlignCalendar {
			limit.TimeZone = rapid.SampledFrom([]string{
				"", "UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Asia/Beirut", "America/Santiago",
				"Pacific/Apia", "Africa/Casablanca", "America/St_Johns", "America/Asuncion", "Atlantic/Azores",
			}).Draw(t, "zone")
		}
		limit.UnitMultiplier = uint32(rapid.Int64Range(0, min(100, ratelimit.MaxWindow/limit.Unit.Seconds())).Draw(t, "multiplier"))
		at := time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(t, "at"), 0)
		start, end := windowOf(t, limit, at)
		if at.Before(start) || !at.Before(end) {
			t.Fatalf("%v is not in the window from %v to %v", at.UTC(), start.UTC(), end.UTC())
		}
		if _, before := windowOf(t, limit, start.Add(-time.Second)); !before.Equal(start) {
			t.Fatalf("a window ends at %v, and the next begins at %v", before.UTC(), start.UTC())
		}
		if next, _ := windowOf(t, limit, end); !next.Equal(end) {
			t.Fatalf("a window ends at %v, and the next begins at %v", end.UTC(), next.UTC())
		}
		if last, same := windowOf(t, limit, end.Add(-time.Second)); !last.Equal(start) || !same.Equal(end) {
			t.Fatalf("the last second of a window from %v is in one from %v", start.UTC(), last.UTC())
		}
		length := int64(end.Sub(start) / time.Second)
		if most := limit.Unit.Seconds() * int64(max(limit.UnitMultiplier, 1)); limit.Align != ratelimit.AlignCalendar && length != most {
			t.Fatalf("the window has %d s, want %d", length, most)
		}
	})
}

// noStore fails.
type noStore struct{}

func (noStore) Add(context.Context, []ratelimit.Hit) error { return errors.New("no store") }

// TestUnitMultiplier counts in windows of 15 minutes, by rules and by the limit of a request.
func TestUnitMultiplier(t *testing.T) {
	t.Parallel()
	now := time.Unix(900*1_000_000, 0)
	clock := func() time.Time { return now }
	for name, format := range map[string]ratelimit.KeyFormat{"unambiguous": ratelimit.KeyUnambiguous, "reference": ratelimit.KeyReference} {
		t.Run(name, func(t *testing.T) {
			engine := ratelimit.MustNew(memstore.MustNew(&memstore.Options{Now: clock}), &ratelimit.Options{Now: clock, CounterKeyFormat: format, PerSecond: noStore{}})
			rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{
				{Key: "quarter", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute, UnitMultiplier: 15}},
				{Key: "ten", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Second, UnitMultiplier: 10}},
			}}}, nil)
			require.NoError(t, err)
			engine.Use(rules)
			decide := func(d ratelimit.Descriptor) ratelimit.Status {
				got, err := engine.Decide(t.Context(), &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{d}})
				require.NoError(t, err)
				return got.Statuses[0]
			}
			begin := now
			for key, length := range map[string]time.Duration{"quarter": 15 * time.Minute, "ten": 10 * time.Second, "override": 15 * time.Minute} {
				d := ratelimit.Descriptor{Entries: []ratelimit.Entry{{Key: key, Value: "v"}}}
				if key == "override" {
					d.Limit = &ratelimit.Override{RequestsPerUnit: 2, Unit: ratelimit.Minute, UnitMultiplier: 15}
				}
				now = begin
				status := decide(d)
				require.Equal(t, ratelimit.OK, status.Code)
				require.Equal(t, length, status.Reset())
				require.EqualValues(t, int64(length/time.Second)/status.Unit.Seconds(), status.UnitMultiplier)
				now = begin.Add(length - time.Second)
				require.EqualValues(t, 0, decide(d).Remaining)
				status = decide(d)
				require.Equal(t, ratelimit.OverLimit, status.Code)
				require.Equal(t, time.Second, status.Reset())
				now = begin.Add(length)
				require.EqualValues(t, 1, decide(d).Remaining)
			}
			now = begin
		})
	}
}
