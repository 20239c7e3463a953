package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// at returns an engine whose clock stands at the creation of the nth device.
func at(store records.Store, n int) *records.Engine {
	now := sqlstoretest.Devices(n, n+1)[0].Meta().CreatedAt
	return records.New(store, &records.Options{Now: func() time.Time { return now }})
}

// writeUntil calls write in two goroutines, up to 300 times each, until the returned function is
// called.
func writeUntil(t testing.TB, write func(writer, n int) error) (stop func()) {
	t.Helper()
	done, group := make(chan struct{}), sync.WaitGroup{}
	for w := range 2 {
		group.Go(func() {
			for n := range 300 {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					if !assert.NoError(t, write(w, n)) {
						return
					}
				}
			}
		})
	}
	return func() { close(done); group.Wait() }
}

// checkPrune prunes half of some thousands of events, by age, while others are written, and then by
// number. The store must be empty, and size a multiple of 2,000 from 4,000.
func checkPrune(t testing.TB, store records.Store, size int) {
	t.Helper()
	createEvents(t, store, size)
	total := checkPruneByAge(t, store, size)
	checkPruneByNumber(t, store, total)
	require.Equal(t, int64(size/2)+total-1000, prunedEvents(t, store))
	_, err := records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
}

// createEvents creates events, a millisecond apart.
func createEvents(t testing.TB, store records.Store, size int) {
	t.Helper()
	for n := 0; n < size; n += 1000 {
		var batch []records.Record
		for i := range 1000 {
			severity := inventory.Severity("").Values()[i%3]
			batch = append(batch, sqlstoretest.WithBase(n+i, &inventory.Event{Severity: inventory.Severity(severity), Type: "t", Message: "m"}))
		}
		require.NoError(t, sqlstoretest.Create(t, store, batch...))
	}
}

// checkPruneByAge prunes the older half of some events while others are created and changed. It
// returns the number of those that are left.
func checkPruneByAge(t testing.TB, store records.Store, size int) (total int64) {
	t.Helper()
	events := records.Of[inventory.Event](store.Schema())
	by, late := records.Caller{Name: "jane"}, records.New(store, nil)
	var written [2]int64
	stop := writeUntil(t, func(w, n int) error {
		err := late.Create(t.Context(), by, &inventory.Event{Severity: "info", Type: "late", Message: "m"})
		if err != nil {
			return err
		}
		written[w]++
		_, err = late.Update(t.Context(), by, events, records.Edit{ID: sqlstoretest.ID((n*37 + w) % size), Apply: func(rec records.Record) error {
			rec.(*inventory.Event).AcknowledgedAt = new(time.Now())
			return nil
		}})
		if records.KindOf(err) == records.NotFound {
			return nil
		}
		return err
	})
	preview := &records.Preview{}
	byAge := records.Retention{MaxAge: time.Duration(size) * time.Millisecond} // one for each
	result, err := at(store, size+size/2).DryRun(preview).Prune(t.Context(), by, events, byAge)
	if assert.NoError(t, err) {
		assert.Equal(t, fmt.Sprintf("Would delete %d events", size/2), preview.Message())
		assert.Zero(t, result.Deleted)
		result, err = at(store, size+size/2).Prune(t.Context(), by, events, byAge)
	}
	stop()
	require.NoError(t, err)
	require.Equal(t, &records.Pruned{Deleted: int64(size / 2)}, result)
	sqlstoretest.CheckTotals(t, store)
	total = count[inventory.Event](t, store)
	require.Equal(t, int64(size/2)+written[0]+written[1], total)
	page, err := store.List(t.Context(), &records.Query{Resource: events, Limit: int64(size / 2)})
	require.NoError(t, err)
	for i, rec := range page.Records {
		require.Equal(t, sqlstoretest.ID(size/2+i), rec.Meta().ID)
	}
	return total
}

// checkPruneByNumber prunes all but 1,000 of some events: 250 with a limit, and the others by two
// calls at once, which leave as many as one.
func checkPruneByNumber(t testing.TB, store records.Store, total int64) {
	t.Helper()
	events := records.Of[inventory.Event](store.Schema())
	by, v := records.Caller{Name: "jane"}, records.New(store, nil)
	result, err := v.Prune(t.Context(), by, events, records.Retention{MaxRecords: 100, Limit: 250})
	require.NoError(t, err)
	require.Equal(t, &records.Pruned{Deleted: 250, More: true}, result)
	var group sync.WaitGroup
	results, errs := make([]*records.Pruned, 2), make([]error, 2)
	for i := range results {
		group.Go(func() {
			results[i], errs[i] = v.Prune(t.Context(), by, events, records.Retention{MaxRecords: 1000})
		})
	}
	group.Wait()
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	require.Equal(t, total-250-1000, results[0].Deleted+results[1].Deleted)
	sqlstoretest.CheckTotals(t, store)
	require.EqualValues(t, 1000, count[inventory.Event](t, store))
}

// prunedEvents returns the number of pruned events in the audit log.
func prunedEvents(t testing.TB, store records.Store) (pruned int64) {
	t.Helper()
	entries, err := store.List(t.Context(), (&records.Query{Resource: records.Of[records.AuditLog](store.Schema())}).Where("action", records.PruneAction))
	require.NoError(t, err)
	for _, rec := range entries.Records {
		a := rec.(*records.AuditLog)
		require.Equal(t, "event", a.ResourceType)
		require.Contains(t, a.Changes, "oldest")
		var n int64
		_, err := fmt.Sscan(fmt.Sprint(a.Changes["pruned"].After), &n)
		require.NoError(t, err)
		pruned += n
	}
	return pruned
}

// killed is a store that a process can change a few times.
type killed struct {
	records.Store
	changes int
}

var errKilled = errors.New("killed")

func (k *killed) Change(ctx context.Context, f func(tx records.Tx) error) error {
	if k.changes == 0 {
		return errKilled
	}
	k.changes--
	return k.Store.Change(ctx, f)
}

// checkPruneKilled requires that the audit log has what a process has pruned before it was killed.
// The store must be empty.
func checkPruneKilled(t testing.TB, store records.Store) {
	t.Helper()
	createEvents(t, store, 3000)
	events := records.Of[inventory.Event](store.Schema())
	_, err := records.New(&killed{store, 2}, nil).Prune(t.Context(), records.Caller{Name: "jane"}, events, records.Retention{MaxRecords: 1})
	require.ErrorIs(t, err, errKilled)
	deleted := 3000 - count[inventory.Event](t, store)
	require.Positive(t, deleted)
	require.Equal(t, deleted, prunedEvents(t, store))
}

// checkPruneLatest requires that pruning metrics leaves the latest of those that remain. The store
// must be empty.
func checkPruneLatest(t testing.TB, store records.Store) {
	t.Helper()
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(0, 10)...))
	var all []records.Record
	for n := range 100 {
		ts := time.Date(2026, 1, 1, 0, (n*7)%100, 0, 0, time.UTC)
		all = append(all, sqlstoretest.WithBase(100+n, &inventory.Metric{DeviceID: sqlstoretest.ID(n % 10), TS: &ts}))
	}
	require.NoError(t, sqlstoretest.Create(t, store, all...))
	metrics := records.Of[inventory.Metric](store.Schema())
	for _, keep := range []int64{70, 25, 4} {
		_, err := records.New(store, nil).Prune(t.Context(), records.Caller{}, metrics, records.Retention{MaxRecords: keep})
		require.NoError(t, err)
		sqlstoretest.CheckTotals(t, store)
		rest, err := store.List(t.Context(), &records.Query{Resource: metrics})
		require.NoError(t, err)
		require.Len(t, rest.Records, int(keep))
		latest, err := store.(records.LatestLister).ListLatest(t.Context(), &records.Query{Resource: metrics})
		require.NoError(t, err)
		require.ElementsMatch(t, metrics.SelectLatest(rest.Records), latest.Records)
	}
}

// checkPruneAudit prunes the audit log while others write to it and verify it. The store must be
// empty.
func checkPruneAudit(t testing.TB, store records.Store) {
	t.Helper()
	ctx, by := t.Context(), records.Caller{Name: "jane"}
	logs := records.Of[records.AuditLog](store.Schema())
	for n := 0; n < 3000; n += 1000 {
		require.NoError(t, at(store, n).Create(ctx, by, sqlstoretest.Devices(n, n+1000)...))
	}
	v := at(store, 3000)
	stop := writeUntil(t, func(w, n int) error {
		if w == 0 && n%8 == 0 {
			_, err := records.VerifyAudit(ctx, store, nil)
			return err
		}
		return v.Create(ctx, by, &inventory.Event{Severity: "info", Type: "t", Message: "m"})
	})
	result, err := v.Prune(ctx, by, logs, records.Retention{MaxAge: 3 * time.Second})
	if assert.NoError(t, err) {
		assert.Zero(t, result.Deleted, "none is older")
		result, err = v.Prune(ctx, by, logs, records.Retention{MaxAge: 2 * time.Second})
	}
	stop()
	require.NoError(t, err)
	require.Equal(t, &records.Pruned{Deleted: 1000}, result)
	report, err := records.VerifyAudit(ctx, store, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1000, report.Pruned)
	sqlstoretest.CheckTotals(t, store)
	require.Equal(t, report.Checked, count[records.AuditLog](t, store))

	preview := &records.Preview{}
	_, err = v.DryRun(preview).Prune(ctx, by, logs, records.Retention{MaxRecords: 500})
	require.NoError(t, err)
	require.Equal(t, report.Checked-500+1, preview.Deleted)
	result, err = v.Prune(ctx, by, logs, records.Retention{MaxRecords: 500, Limit: 700})
	require.NoError(t, err)
	require.Equal(t, &records.Pruned{Deleted: 700, More: true}, result)
	_, err = v.Prune(ctx, by, logs, records.Retention{MaxRecords: 500})
	require.NoError(t, err)
	report, err = records.VerifyAudit(ctx, store, nil)
	require.NoError(t, err)
	require.EqualValues(t, 500, report.Checked)
	require.EqualValues(t, 500, count[records.AuditLog](t, store))
	sqlstoretest.CheckTotals(t, store)

	// Pruning again has nothing to delete, and does not replace its own entries.
	for range 3 {
		result, err = v.Prune(ctx, by, logs, records.Retention{MaxRecords: 500})
		require.NoError(t, err)
		require.Zero(t, result.Deleted)
		_, err = records.New(store, nil).Prune(ctx, by, logs, records.Retention{MaxAge: time.Hour})
		require.NoError(t, err)
	}
	require.EqualValues(t, 3, count[records.AuditLog](t, store), "the entries of three prunings")
	_, err = records.VerifyAudit(ctx, store, nil)
	require.NoError(t, err)
}
