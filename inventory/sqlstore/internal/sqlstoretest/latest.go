package sqlstoretest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
)

// CheckLatest says that of the records with the same value only the latest is there, which
// filters, orders and totals are about. The store must be empty, and an
// inventory.LatestLister.
func CheckLatest(t testing.TB, store inventory.Store) {
	t.Helper()
	lister, ok := store.(inventory.LatestLister)
	require.True(t, ok, "%T can't list the latest", store)
	at := func(n int) *time.Time { at := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC); return &at }
	metric := func(n, device int, cpu float64, ts *time.Time) inventory.Record {
		return Based(n, &inventory.Metric{DeviceID: ID(device), CPU: &cpu, TS: ts})
	}
	require.NoError(t, Create(t, store, append(Fleet(0, 4),
		metric(10, 0, 1, at(1)), metric(11, 0, 90, at(3)), metric(12, 0, 3, at(2)),
		metric(13, 1, 50, at(1)), metric(14, 1, 40, at(1)), // the second has the higher id
		metric(15, 2, 99, at(1)), metric(16, 2, 5, nil),
	)...))
	metrics := inventory.Of[inventory.Metric]()
	device, _ := metrics.Field("device_id")
	cpu, _ := metrics.Field("cpu")
	ts, _ := metrics.Field("ts")
	for _, c := range []struct {
		name string
		q    inventory.Query
		ids  []int
		of   int64
	}{
		{"all", inventory.Query{Count: true}, []int{11, 14, 15}, 3},
		{"sorted", inventory.Query{Count: true, Limit: 2, Sort: []inventory.SortKey{{Field: cpu, Desc: true}}}, []int{15, 11}, 3},
		{"filtered", inventory.Query{Count: true, Filters: []inventory.Filter{{Field: cpu, Op: inventory.Lt, Value: 50.0}}}, []int{14}, 1},
		{"behind", inventory.Query{Count: true, Limit: 1, Offset: 7}, nil, 3},
		{"after", inventory.Query{Sort: []inventory.SortKey{{Field: cpu, Desc: true}}, After: &inventory.Place{ID: ID(15), Values: []any{99.0}}}, []int{11, 14}, 0},
	} {
		c.q.Resource = metrics
		page, err := lister.ListLatest(t.Context(), &c.q, device, ts)
		require.NoError(t, err, c.name)
		var ids []string
		for _, rec := range page.Records {
			ids = append(ids, rec.Meta().ID)
		}
		var want []string
		for _, n := range c.ids {
			want = append(want, ID(n))
		}
		require.Equal(t, want, ids, c.name)
		require.Equal(t, c.of, page.Total, c.name)
	}
}
