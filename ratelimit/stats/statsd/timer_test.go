package statsd_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// timerLines returns the values of a timer's lines in the order they were sent, and the
// number of calls that they represent.
func timerLines(t *testing.T, text, name string) (values []uint64, calls float64) {
	t.Helper()
	for _, s := range parse(t, text) {
		if s.JSON.Type != "timer" || s.JSON.Name != name {
			continue
		}
		value, err := strconv.ParseUint(strings.TrimSuffix(s.JSON.Value, ".000000"), 10, 64)
		require.NoError(t, err)
		values = append(values, value)
		calls += 1 / rateOf(t, s)
	}
	return values, calls
}

func TestTimersAreInWholeMilliseconds(t *testing.T) {
	r := stats.New(nil)
	early := r.Timer("early") // before the sink exists
	early.Record(time.Second)
	var out bytes.Buffer
	s := newWriter(t, r, &out, nil)
	early.Record(3 * time.Millisecond)
	late := r.Timer("late")
	durations := []time.Duration{-time.Second, 0, 999_999, time.Millisecond, 1_999_999, 63 * time.Millisecond, 64 * time.Millisecond, 64*time.Millisecond + 1}
	for _, d := range durations {
		late.Record(d)
	}
	flushOnce(t, s)
	values, _ := timerLines(t, out.String(), "early")
	require.Equal(t, []uint64{3}, values)
	values, _ = timerLines(t, out.String(), "late")
	require.Equal(t, []uint64{0, 0, 0, 1, 1, 63, 64, 64}, values)
	late.Record(time.Second) // after Run
}

// Durations are sent to within one part in 1,000.
func TestTimerRange(t *testing.T) {
	r := stats.New(nil)
	var out bytes.Buffer
	s := newWriter(t, r, &out, &statsd.Options{MaxTimerLines: 1_000_000})
	var want []uint64
	record := func(ms uint64) {
		r.Timer("t").Record(time.Duration(ms)*time.Millisecond + 400*time.Microsecond)
		want = append(want, ms)
	}
	for ms := range uint64(1100) {
		record(ms)
	}
	for limit := uint64(2048); limit <= 1<<22; limit *= 2 {
		for _, ms := range []uint64{limit - 2, limit - 1} {
			record(ms)
		}
		record(limit/2 + rand.Uint64N(limit/2))
	}
	slices.Sort(want)
	flushOnce(t, s)
	values, calls := timerLines(t, out.String(), "t")
	require.Len(t, values, len(want))
	require.EqualValues(t, len(want), calls)
	for i, v := range values {
		if want[i] < 1024 {
			require.Equal(t, want[i], v)
		}
		require.InEpsilon(t, want[i]+1, v+1, 0.001)
	}
}

func TestTimerOutOfRangeCountsAsLongest(t *testing.T) {
	r := stats.New(nil)
	var out bytes.Buffer
	s := newWriter(t, r, &out, nil)
	r.Timer("t").Record(1000 * time.Hour)
	flushOnce(t, s)
	values, _ := timerLines(t, out.String(), "t")
	require.Len(t, values, 1)
	require.InEpsilon(t, 156*time.Hour.Milliseconds(), values[0], 0.01)
}

// A sample represents all calls and has their percentiles.
func TestTimersAreSampledEvenly(t *testing.T) {
	for _, most := range []int{1, 100, 999, 5000} {
		r := stats.New(nil)
		var out bytes.Buffer
		s := newWriter(t, r, &out, &statsd.Options{MaxTimerLines: most})
		const calls = 54_321
		all := make([]uint64, calls)
		for i := range all {
			all[i] = uint64(50 * rand.ExpFloat64())
			r.Timer("t").Record(time.Duration(all[i]) * time.Millisecond)
		}
		slices.Sort(all)
		flushOnce(t, s)
		values, sum := timerLines(t, out.String(), "t")
		require.Len(t, values, most)
		require.InDelta(t, calls, sum, 0.01, "calls that %d lines represent", most)
		require.True(t, slices.IsSorted(values))
		for i, v := range values { // each is at its index in the sorted calls
			require.LessOrEqual(t, all[i*calls/most], v)
			require.GreaterOrEqual(t, all[((i+1)*calls-1)/most], v)
		}
		require.NotContains(t, out.String(), "e-", "a rate must be without an exponent")
	}
}

func TestRecordWithSinkAllocatesNothing(t *testing.T) {
	r := stats.New(nil)
	newWriter(t, r, &bytes.Buffer{}, nil)
	timer := r.Timer("t")
	for _, d := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 5 * time.Second, time.Hour} {
		timer.Record(d) // the first may allocate a page
		require.Zero(t, testing.AllocsPerRun(1000, func() { timer.Record(d) }))
	}
}

func TestConcurrentRecord(t *testing.T) {
	r := stats.New(nil)
	var out logtest.Log
	stop := run(t, newWriter(t, r, &out, &statsd.Options{FlushInterval: time.Millisecond}))
	const workers, each = 8, 2000
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				r.Timer("t").Record(time.Duration(w*i) * time.Millisecond)
				r.Counter("c").Add(1)
			}
		})
	}
	wg.Wait()
	stop()
	_, calls := timerLines(t, out.String(), "t")
	require.InDelta(t, workers*each, calls, 0.01)
	var counted int
	for _, s := range parse(t, out.String()) {
		if s.JSON.Name == "c" {
			n, err := strconv.Atoi(strings.TrimSuffix(s.JSON.Value, ".000000"))
			require.NoError(t, err)
			counted += n
		}
	}
	require.Equal(t, workers*each, counted)
}
