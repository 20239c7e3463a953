package sqlstoretest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// KillAfter kills a process of the test binary, with a variable in its environment, after it has
// printed some lines, and returns how many it printed.
func KillAfter(t testing.TB, variable, value string, times int) (done int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") // #nosec G204 G702 -- itself
	child.Env = append(os.Environ(), variable+"="+value)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		done++
		if done == times {
			require.NoError(t, child.Process.Kill())
		}
	}
	require.Error(t, child.Wait())
	require.GreaterOrEqual(t, done, times)
	return done
}

// Summarize rolls metrics up until the process is killed, and prints a line after each step.
func Summarize(ctx context.Context, store records.Store) error {
	now := time.Now().Add(time.Hour) // all metrics are old enough
	roller := inventory.NewRoller(store, inventory.Retention{}, func() time.Time { return now })
	for {
		if _, err := roller.Step(ctx); err != nil {
			return err
		}
		fmt.Println("done")
	}
}

// The metrics of CheckRollups: one of each device a minute.
const rolledDevices, rolledMinutes = 25, 240

// CheckRollups requires that summaries count each metric once, although a process is killed while it
// makes them, and two stores of one database continue, each of which takes the job over from the
// other at any time. kill kills a process that calls Summarize after some lines. The database must
// be empty.
func CheckRollups(t testing.TB, stores [2]records.Store, kill func(times int)) {
	t.Helper()
	store, start := stores[0], time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, Create(t, store, Devices(0, rolledDevices)...))
	var all []records.Record
	for n := range rolledDevices * rolledMinutes {
		cpu, ts := float64(n%97), start.Add(time.Duration(n/rolledDevices)*time.Minute)
		all = append(all, WithBase(1000+n, &inventory.Metric{DeviceID: ID(n % rolledDevices), CPU: &cpu, TS: &ts}))
	}
	require.NoError(t, Create(t, store, all...))
	kill(2)
	require.NotZero(t, Count[inventory.MetricRollup](t, store))

	var ticks atomic.Int64
	now := time.Now().Add(2 * time.Hour)
	clock := func() time.Time { return now.Add(time.Duration(ticks.Add(1)) * 2 * time.Minute) } // leases are over at once
	var group sync.WaitGroup
	for _, s := range stores {
		group.Go(func() {
			roller := inventory.NewRoller(s, inventory.Retention{}, clock)
			for lastSummarized(t, s) != ID(1000+len(all)-1) {
				if _, err := roller.Step(t.Context()); records.KindOf(err) != records.Stale && !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	group.Wait()

	type sum struct {
		samples          int64
		least, most, sum float64
	}
	want := map[string]*sum{}
	for _, rec := range all {
		m := rec.(*inventory.Metric)
		for _, step := range []inventory.Step{inventory.FiveMinutes, inventory.OneHour} {
			key := m.DeviceID + step.Bucket(*m.TS)
			s := want[key]
			if s == nil {
				s = &sum{0, *m.CPU, *m.CPU, 0}
				want[key] = s
			}
			s.samples, s.least, s.most, s.sum = s.samples+1, min(s.least, *m.CPU), max(s.most, *m.CPU), s.sum+*m.CPU
		}
	}
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.MetricRollup](store.Schema())})
	require.NoError(t, err)
	require.Len(t, page.Records, len(want))
	for _, rec := range page.Records {
		m := rec.(*inventory.MetricRollup)
		s := want[m.DeviceID+m.Bucket]
		require.NotNil(t, s, m.Bucket)
		require.Equal(t, sum{m.Samples, *m.CPUMin, *m.CPUMax, s.sum}, *s, m.Bucket)
		require.InDelta(t, s.sum/float64(s.samples), *m.CPUAvg, 1e-9, m.Bucket)
	}
	CheckTotals(t, store)
}

// lastSummarized returns the id of the metric up to which all have been summarized.
func lastSummarized(t testing.TB, store records.Store) string {
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Job](store.Schema())})
	if !assert.NoError(t, err) || len(page.Records) == 0 {
		return ""
	}
	return page.Records[0].(*inventory.Job).Cursor
}
