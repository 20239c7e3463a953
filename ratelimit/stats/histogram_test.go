package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// nearestRank returns the exact quantile of sorted durations.
func nearestRank(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))-1e-9)), 1)-1]
}

// The logarithm of the durations is uniform, so that all scales from nanoseconds to
// hours occur.
func TestHistogramQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 100, 1001, 50_000} {
		var parts [3]stats.Histogram
		var values []time.Duration
		for i := range n {
			v := time.Duration(math.Exp(random.Float64() * math.Log(float64(100*time.Hour))))
			parts[i%len(parts)].Record(v)
			values = append(values, v)
		}
		slices.Sort(values)
		merged := &parts[0]
		merged.Merge(&parts[1])
		merged.Merge(&parts[2])
		require.EqualValues(t, n, merged.Count())
		for _, q := range []float64{0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			want, got := nearestRank(values, q), merged.Quantile(q)
			require.GreaterOrEqual(t, got, want, "n %d, quantile %v", n, q)
			require.LessOrEqual(t, got, want+want/511, "n %d, quantile %v", n, q)
		}
		require.Equal(t, values[n-1], merged.Max())
	}
}

func TestHistogramSmallValuesAreExact(t *testing.T) {
	for v := range time.Duration(488) {
		var h stats.Histogram
		h.Record(v)
		h.Record(1 << 20)
		require.Equal(t, v, h.Quantile(0.5))
	}
}

// A product such as 0.99*100 must not be rounded up to the next rank.
func TestHistogramRanks(t *testing.T) {
	for _, n := range []int{1, 7, 10, 100, 300, 1000, 2900} {
		var h stats.Histogram
		var values []time.Duration
		for i := range n {
			values = append(values, time.Duration(i)*time.Hour/time.Duration(n))
			h.Record(values[i])
		}
		for percent := range 101 {
			q := float64(percent) / 100
			want := values[max((n*percent+99)/100, 1)-1]
			require.InDelta(t, want, h.Quantile(q), float64(want)/511, "n %d, quantile %v", n, q)
		}
	}
}

func TestHistogramEdges(t *testing.T) {
	var h stats.Histogram
	require.Zero(t, h.Quantile(0.5), "nothing recorded")
	require.Empty(t, h.Milliseconds())
	h.Record(-5)
	require.Zero(t, h.Quantile(1), "a negative duration counts as zero")
	h.Record(math.MaxInt64)
	require.EqualValues(t, math.MaxInt64, h.Max(), "the maximum is exact however long")
	require.EqualValues(t, math.MaxInt64, h.Quantile(1))
}

// Milliseconds are rounded down exactly below 1,024 ms, on both sides of each boundary.
func TestHistogramMilliseconds(t *testing.T) {
	var h stats.Histogram
	var want []stats.Milliseconds
	h.Record(0)
	for ms := range time.Duration(1024) {
		h.Record(ms*time.Millisecond + time.Millisecond/3)
		h.Record((ms+1)*time.Millisecond - 1)
		h.Record((ms + 1) * time.Millisecond)
		want = append(want, stats.Milliseconds{Value: uint64(ms), Count: 3})
	}
	require.Equal(t, want, h.Milliseconds()[:1024])
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		var h stats.Histogram
		ms := uint64(1024 + random.Int64N(1<<random.IntN(22)))
		h.Record(time.Duration(ms)*time.Millisecond + time.Duration(random.Int64N(1e6)))
		got := h.Milliseconds()
		require.Len(t, got, 1)
		require.InEpsilon(t, ms+1, got[0].Value+1, 0.001)
	}
}

func TestTimerSummary(t *testing.T) {
	timer := stats.New(nil).Timer("t")
	require.Equal(t, stats.Summary{}, timer.Summary())
	require.Zero(t, timer.Summary().Mean())
	for i := range 100 {
		timer.Record(time.Duration(i+1) * time.Millisecond)
	}
	s := timer.Summary()
	require.EqualValues(t, 100, s.Count)
	require.Equal(t, 5050*time.Millisecond, s.Sum)
	require.Equal(t, 50500*time.Microsecond, s.Mean())
	require.Equal(t, 100*time.Millisecond, s.Max)
	for percent, got := range map[int]time.Duration{50: s.P50, 90: s.P90, 99: s.P99} {
		require.InEpsilon(t, time.Duration(percent)*time.Millisecond, got, 1.0/511, "p%d", percent)
	}
}

func TestTimerExtremes(t *testing.T) {
	timer := stats.New(nil).Timer("t")
	timer.Record(-time.Second)
	timer.Record(1000 * time.Hour)
	s := timer.Summary()
	require.EqualValues(t, 2, s.Count)
	require.Equal(t, 1000*time.Hour, s.Max)
	require.Equal(t, 1000*time.Hour, s.Sum)
	require.Zero(t, s.P50)
	require.Equal(t, 1000*time.Hour, s.P99)
}

// Observers receive the durations of existing and future timers, each duration once,
// and none from before they observed.
func TestObserve(t *testing.T) {
	r := stats.New(nil)
	old := r.Timer("old")
	old.Record(time.Hour)
	var mu sync.Mutex
	seen := map[string][]time.Duration{}
	observe := func(prefix string) func() {
		return r.Observe(func(name string) func(time.Duration) {
			if name == "ignored" {
				return nil
			}
			return func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				seen[prefix+name] = append(seen[prefix+name], d)
			}
		})
	}
	endFirst := observe("1 ")
	old.Record(time.Second)
	endSecond := observe("2 ")
	old.Record(time.Minute)
	r.Timer("new").Record(time.Millisecond)
	r.Timer("ignored").Record(time.Millisecond)
	endFirst()
	endFirst()
	old.Record(time.Microsecond)
	r.Timer("newer").Record(time.Microsecond)
	endSecond()
	old.Record(time.Nanosecond)
	r.Timer("newest").Record(time.Nanosecond)
	require.Equal(t, map[string][]time.Duration{
		"1 old":   {time.Second, time.Minute},
		"2 old":   {time.Minute, time.Microsecond},
		"1 new":   {time.Millisecond},
		"2 new":   {time.Millisecond},
		"2 newer": {time.Microsecond},
	}, seen)
}

// BenchmarkRecord measures a timer without observers, with one, and after that one
// has ended: the first and the last must cost the same.
func BenchmarkRecord(b *testing.B) {
	r := stats.New(nil)
	run := func(name string) {
		timer := r.Timer("t")
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					timer.Record(50 * time.Microsecond)
				}
			})
		})
	}
	run("alone")
	end := r.Observe(func(string) func(time.Duration) { return func(time.Duration) {} })
	run("observed")
	end()
	run("ended")
}

func BenchmarkHistogramRecord(b *testing.B) {
	var h stats.Histogram
	v := time.Duration(1)
	for b.Loop() {
		h.Record(v)
		v = v*5%1_000_003 + 1
	}
}
