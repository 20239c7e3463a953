package sqlstoretest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

// CheckContract runs the suite of stores, with the race detector the cases that have goroutines.
func CheckContract(t *testing.T, open func(t testing.TB) records.Store) {
	t.Helper()
	if !scaletest.Race() {
		storetest.Run(t, open)
		return
	}
	store := open(t)
	for _, c := range storetest.Cases() {
		if strings.HasPrefix(c.Name, "concurrency/") || strings.HasPrefix(c.Name, "transaction/") {
			require.NoError(t, c.Check(t.Context(), store), c.Name)
		}
	}
}

// CheckTotals compares every total that a store counts with the records.
func CheckTotals(t testing.TB, store records.Store) {
	t.Helper()
	for _, r := range inventory.Schema().StoredResources() {
		all, err := store.List(t.Context(), &records.Query{Resource: r, Count: true})
		require.NoError(t, err)
		require.Len(t, all.Records, int(all.Total), r.Name)
		for _, f := range r.Fields() {
			if !f.Counted {
				continue
			}
			have := map[any]int64{}
			for _, rec := range all.Records {
				have[f.Value(rec)]++
			}
			for value, n := range have {
				for op, want := range map[records.Op]int64{records.Eq: n, records.Ne: int64(len(all.Records)) - n} {
					q := &records.Query{Resource: r, Count: true, Limit: 1, Filters: []records.Filter{{Field: f, Op: op, Value: value}}}
					page, err := store.List(t.Context(), q)
					require.NoError(t, err)
					require.Equal(t, want, page.Total, "%v", q.Filters)
				}
			}
		}
	}
}
