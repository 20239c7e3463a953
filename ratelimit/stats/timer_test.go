package stats_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

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
}

// Quantiles against sorted durations: never too short, at most an eighth too long.
func TestTimerQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		timer := stats.New(nil).Timer("t")
		all := make([]time.Duration, 1+random.IntN(300))
		for i := range all {
			all[i] = time.Duration(random.Int64N(1 << random.IntN(44)))
			timer.Record(all[i])
		}
		slices.Sort(all)
		s := timer.Summary()
		for _, q := range []struct {
			got     time.Duration
			percent int
		}{{s.P50, 50}, {s.P90, 90}, {s.P99, 99}} {
			exact := all[(len(all)*q.percent+99)/100-1]
			require.GreaterOrEqual(t, q.got, exact, "p%d of %d durations", q.percent, len(all))
			require.LessOrEqual(t, q.got, exact+exact/8, "p%d of %d durations", q.percent, len(all))
		}
		require.Equal(t, all[len(all)-1], s.Max)
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
	require.Equal(t, 1000*time.Hour, s.P99, "nothing may exceed it that P99 says was not exceeded")
}

// Those who observe see timers that were there and timers that come, each duration
// once and no earlier ones.
func TestObserve(t *testing.T) {
	r := stats.New(nil)
	old := r.Timer("old")
	old.Record(time.Hour)
	var mu sync.Mutex
	seen := map[string][]time.Duration{}
	watch := func(prefix string) {
		r.Observe(func(name string) func(time.Duration) {
			if name == "unwanted" {
				return nil
			}
			return func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				seen[prefix+name] = append(seen[prefix+name], d)
			}
		})
	}
	watch("1 ")
	old.Record(time.Second)
	watch("2 ")
	old.Record(time.Minute)
	r.Timer("new").Record(time.Millisecond)
	r.Timer("unwanted").Record(time.Millisecond)
	require.Equal(t, map[string][]time.Duration{
		"1 old": {time.Second, time.Minute},
		"2 old": {time.Minute},
		"1 new": {time.Millisecond},
		"2 new": {time.Millisecond},
	}, seen)
}

func BenchmarkRecord(b *testing.B) {
	timer := stats.New(nil).Timer("t")
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			timer.Record(50 * time.Microsecond)
		}
	})
}
