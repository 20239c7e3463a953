package sqlstore_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// checkCounts requires that totals are right after random changes by concurrent callers, with
// cascades, errors and rollbacks. The store must be empty.
func checkCounts(t testing.TB, store records.Store, callers, changes int) {
	t.Helper()
	sites := make([]records.Record, 4)
	for i := range sites {
		sites[i] = sqlstoretest.WithBase(100+i, &inventory.Location{Name: "x", City: "x", Country: string(rune('A' + i%2)), Address: "x"})
	}
	require.NoError(t, sqlstoretest.Create(t, store, sites...))
	errs := make([]error, callers)
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for range changes {
				errs[c] = errors.Join(errs[c], changeSome(t, store, random.Uint64()))
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	sqlstoretest.CheckTotals(t, store)
}

var errRollback = errors.New("rolled back")

// changeSome makes a transaction of random changes, and rolls back one of three.
func changeSome(t testing.TB, store records.Store, seed uint64) error {
	t.Helper()
	err := store.Change(t.Context(), func(tx records.Tx) error {
		random := rand.New(rand.NewPCG(seed, 1)) // the same changes if the store runs them again
		for range 1 + random.IntN(4) {
			if err := change(t, tx, random); err != nil && records.KindOf(err) == 0 {
				return err
			}
		}
		if random.IntN(3) == 0 {
			return errRollback
		}
		return nil
	})
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

// change makes one change, which may be refused.
func change(t testing.TB, tx records.Tx, random *rand.Rand) error {
	t.Helper()
	ctx, n := t.Context(), random.IntN(20)
	devices, sites := records.Of[inventory.Device](inventory.Schema()), records.Of[inventory.Location](inventory.Schema())
	device := sqlstoretest.Devices(n, n+1)[0].(*inventory.Device)
	site := sqlstoretest.ID(100 + random.IntN(5)) // the last does not exist
	device.LocationID, device.Status = &site, inventory.DeviceStatus(device.Status.Values()[random.IntN(5)])
	switch random.IntN(8) {
	case 0, 1, 2:
		mtu := int64(1000 + n)
		return tx.Create(ctx, device,
			sqlstoretest.WithBase(200+n, &inventory.Interface{DeviceID: device.ID, Name: "a", Type: "fiber", Status: inventory.LinkUp, MTU: &mtu}),
			sqlstoretest.WithBase(300+n, &inventory.Event{Severity: inventory.SeverityLow, Type: "x", Message: "x", LocationID: &site, DeviceID: &device.ID}))
	case 3:
		return tx.Create(ctx, sqlstoretest.WithBase(400+random.IntN(50), &inventory.User{Username: string(rune('a' + n)), Email: string(rune('a'+n)) + "@x.org", Role: inventory.Editor, InactiveStatus: n%2 == 0}))
	case 4:
		rec, err := tx.Get(ctx, sites, site)
		if err != nil {
			return err
		}
		if err := tx.Delete(ctx, sites, site, rec.Meta().Version, nil); err != nil {
			return err
		}
		return tx.Create(ctx, sqlstoretest.WithBase(int(site[len(site)-1]-'0')+100, &inventory.Location{Name: "x", City: "x", Country: "C", Address: "x"}))
	case 5:
		rec, err := tx.Get(ctx, devices, device.ID)
		if err != nil {
			return err
		}
		return tx.Delete(ctx, devices, device.ID, rec.Meta().Version, nil)
	}
	rec, err := tx.Get(ctx, devices, device.ID)
	if err != nil {
		return err
	}
	version := rec.Meta().Version
	*device.Meta() = *rec.Meta()
	device.Version++
	return tx.Update(ctx, device, version)
}

// checkLatest requires that a list of the latest records has only the latest of those with the
// same value, and that filters, orders and totals apply to these. The store must be empty, and
// an records.LatestLister.
func checkLatest(t testing.TB, store records.Store) {
	t.Helper()
	lister, ok := store.(records.LatestLister)
	require.True(t, ok, "%T is no records.LatestLister", store)
	at := func(n int) *time.Time { at := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC); return &at }
	metric := func(n, device int, cpu float64, ts *time.Time) records.Record {
		return sqlstoretest.WithBase(n, &inventory.Metric{DeviceID: sqlstoretest.ID(device), CPU: &cpu, TS: ts})
	}
	require.NoError(t, sqlstoretest.Create(t, store, append(sqlstoretest.Devices(0, 4),
		metric(10, 0, 1, at(1)), metric(11, 0, 90, at(3)), metric(12, 0, 3, at(2)),
		metric(13, 1, 50, at(1)), metric(14, 1, 40, at(1)), // the second has the higher id
		metric(15, 2, 99, at(1)), metric(16, 2, 5, nil),
	)...))
	metrics := records.Of[inventory.Metric](inventory.Schema())
	cpu, _ := metrics.Field("cpu")
	for _, c := range []struct {
		name string
		q    records.Query
		ids  []int
		of   int64
	}{
		{"all", records.Query{Count: true}, []int{11, 14, 15}, 3},
		{"sorted", records.Query{Count: true, Limit: 2, Sort: []records.SortKey{{Field: cpu, Desc: true}}}, []int{15, 11}, 3},
		{"filtered", records.Query{Count: true, Filters: []records.Filter{{Field: cpu, Op: records.Lt, Value: 50.0}}}, []int{14}, 1},
		{"behind", records.Query{Count: true, Limit: 1, Offset: 7}, nil, 3},
		{"after", records.Query{Sort: []records.SortKey{{Field: cpu, Desc: true}}, After: &records.Place{ID: sqlstoretest.ID(15), Values: []any{99.0}}}, []int{11, 14}, 0},
	} {
		c.q.Resource = metrics
		page, err := lister.ListLatest(t.Context(), &c.q)
		require.NoError(t, err, c.name)
		var ids []string
		for _, rec := range page.Records {
			ids = append(ids, rec.Meta().ID)
		}
		var want []string
		for _, n := range c.ids {
			want = append(want, sqlstoretest.ID(n))
		}
		require.Equal(t, want, ids, c.name)
		require.Equal(t, c.of, page.Total, c.name)
	}
}

// checkUniqueHostnames requires that a database refuses a hostname in two locations while it is
// opened with inventory.GloballyUniqueHostnames. The database must be empty.
func checkUniqueHostnames(t testing.TB, open func(schema *records.Schema) (records.Store, error)) {
	t.Helper()
	at := func(n, location int) records.Record {
		device := sqlstoretest.Devices(0, 1)[0].(*inventory.Device)
		id := sqlstoretest.ID(location)
		device.LocationID, device.SerialNumber = &id, ""
		return sqlstoretest.WithBase(n, device)
	}
	unique, err := inventory.NewSchema(inventory.GloballyUniqueHostnames())
	require.NoError(t, err)
	opened := func(schema *records.Schema) records.Store {
		store, err := open(schema)
		require.NoError(t, err)
		return store
	}
	store := opened(unique)
	require.NoError(t, sqlstoretest.Create(t, store,
		sqlstoretest.WithBase(1, &inventory.Location{Name: "a"}), sqlstoretest.WithBase(2, &inventory.Location{Name: "b"}), at(3, 1)))
	for range 2 {
		err := sqlstoretest.Create(t, store, at(4, 2))
		require.Equal(t, records.Conflict, records.KindOf(err), "%v", err)
		require.EqualError(t, err, "Hostname already exists")
		store = opened(unique) // again: the index exists
	}
	require.NoError(t, sqlstoretest.Create(t, opened(inventory.Schema()), at(4, 2)))
	_, err = open(unique)
	require.ErrorContains(t, err, "records share the value of a unique key")
}

// checkLatestOfMany requires that the latest records are right after concurrent transactions have
// added metrics of a few devices, in different orders and with earlier times than others, and
// deleted some of them. The store must be empty, and an records.LatestLister.
func checkLatestOfMany(t testing.TB, store records.Store) {
	t.Helper()
	const writers, rounds, devices = 6, 25, 3
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(0, devices)...))
	metrics := records.Of[inventory.Metric](inventory.Schema())
	var all sync.WaitGroup
	failed := make(chan error, writers*rounds)
	for w := range writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			var own []records.Record
			for n := range rounds {
				failed <- store.Change(t.Context(), func(tx records.Tx) error {
					if n%3 == 2 {
						last := own[len(own)-1]
						return tx.Delete(t.Context(), metrics, last.Meta().ID, 1, nil)
					}
					var recs []records.Record
					for d := range devices {
						ts := time.Date(2026, 1, 1, 0, random.IntN(60), 0, 0, time.UTC)
						recs = append(recs, sqlstoretest.WithBase(1000+w*1000+n*10+d, &inventory.Metric{DeviceID: sqlstoretest.ID((d + w) % devices), TS: &ts}))
					}
					own = recs
					return tx.Create(t.Context(), recs...)
				})
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	page, err := store.List(t.Context(), &records.Query{Resource: metrics})
	require.NoError(t, err)
	latest, err := store.(records.LatestLister).ListLatest(t.Context(), &records.Query{Resource: metrics, Count: true})
	require.NoError(t, err)
	require.ElementsMatch(t, metrics.SelectLatest(page.Records), latest.Records)
	require.EqualValues(t, devices, latest.Total)
}

// checkPrefetch requires that a prefetched record is never older than the changes of its
// transaction, and that prefetching changes nothing else. The store must be empty, and its
// transactions inventory.Prefetchers.
func checkPrefetch(t testing.TB, store records.Store) {
	t.Helper()
	devices := records.Of[inventory.Device](inventory.Schema())
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(0, 600)...))
	hostname := func(tx records.Tx, n int) string {
		rec, err := tx.Get(t.Context(), devices, sqlstoretest.ID(n))
		if err != nil {
			return err.Error()
		}
		return rec.(*inventory.Device).Hostname
	}
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		p, ok := tx.(records.Prefetcher)
		require.True(t, ok, "%T is no records.Prefetcher", tx)
		var names, ids []string
		for n := range 600 {
			names = append(names, hostname(tx, n))
			ids = append(ids, sqlstoretest.ID(n), sqlstoretest.ID(n), sqlstoretest.ID(n+1000)) // twice, and one that does not exist
		}
		require.NoError(t, p.Prefetch(t.Context(), devices, ids))
		for n, want := range names[:500] {
			require.Equal(t, want, hostname(tx, n))
			require.Equal(t, want, hostname(tx, n), "and again")
		}
		require.Equal(t, records.Absent(devices).Error(), hostname(tx, 1000))

		renamed := sqlstoretest.Devices(500, 501)[0].(*inventory.Device)
		renamed.Hostname, renamed.Version = "renamed", 2
		require.NoError(t, tx.Update(t.Context(), renamed, 1))
		require.Equal(t, "renamed", hostname(tx, 500))
		require.NoError(t, tx.Delete(t.Context(), devices, sqlstoretest.ID(501), 1, nil))
		require.Equal(t, records.Absent(devices).Error(), hostname(tx, 501))
		require.Equal(t, names[502], hostname(tx, 502))

		require.NoError(t, p.Prefetch(t.Context(), devices, nil))
		require.Equal(t, names[503], hostname(tx, 503))
		return nil
	}))
}
