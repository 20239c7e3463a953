package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// summarizing is the variable with the database whose metrics this binary summarizes when a test runs it.
const summarizing = "ASHLAR_TEST_SUMMARIZE_UNTIL_KILLED"

// summarizeUntilKilled rolls metrics up until the process is killed, and prints a line after each step.
func summarizeUntilKilled(address string) error {
	ctx := context.Background()
	open := func() (*sqlstore.Store, error) { return sqlite.Open(ctx, address, inventory.Schema(), nil) }
	if strings.HasPrefix(address, "postgres") {
		open = func() (*sqlstore.Store, error) { return postgres.Open(ctx, address, inventory.Schema(), nil) }
	}
	store, err := open()
	if err != nil {
		return err
	}
	now := time.Now().Add(time.Hour) // all metrics are old enough
	roller, err := inventory.NewRoller(store, inventory.Retention{}, func() time.Time { return now })
	if err != nil {
		return err
	}
	for {
		if _, err := roller.Step(ctx); err != nil {
			return err
		}
		fmt.Println("done")
	}
}

// The metrics of TestRollups: one of each device a minute.
const rolledDevices, rolledMinutes = 25, 240

// TestRollups: summaries count each metric once, although a process is killed while it makes them, and two stores of
// one database continue, each of which gets the job from the other at any time.
func TestRollups(t *testing.T) {
	scaletest.Unraced(t)
	onBoth(t, checkRollups)
}

func checkRollups(t *testing.T, d *database) {
	stores := [2]records.Store{d.open(t), d.open(t)}
	store, start := stores[0], time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(0, rolledDevices)...))
	var all []records.Record
	for n := range rolledDevices * rolledMinutes {
		cpu, ts := float64(n%97), start.Add(time.Duration(n/rolledDevices)*time.Minute)
		all = append(all, sqlstoretest.WithBase(1000+n, &inventory.Metric{DeviceID: sqlstoretest.ID(n % rolledDevices), CPU: &cpu, TS: &ts}))
	}
	require.NoError(t, sqlstoretest.Create(t, store, all...))
	killAfter(t, summarizing, d.address, 2)
	require.NotZero(t, count[inventory.MetricRollup](t, store))

	var ticks atomic.Int64
	now := time.Now().Add(2 * time.Hour)
	clock := func() time.Time { return now.Add(time.Duration(ticks.Add(1)) * 2 * time.Minute) } // leases are over at once
	var group sync.WaitGroup
	for _, s := range stores {
		group.Go(func() {
			roller, err := inventory.NewRoller(s, inventory.Retention{}, clock)
			require.NoError(t, err)
			for lastSummarized(t, s) != sqlstoretest.ID(1000+len(all)-1) {
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
	sqlstoretest.CheckTotals(t, store)
}

// lastSummarized returns the id of the metric up to which all have been summarized.
func lastSummarized(t testing.TB, store records.Store) string {
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Job](store.Schema())})
	if !assert.NoError(t, err) || len(page.Records) == 0 {
		return ""
	}
	return page.Records[0].(*inventory.Job).Cursor
}
