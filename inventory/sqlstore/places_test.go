package sqlstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// lister is a reader without optional capabilities.
type lister struct{ records.Reader }

// checkSummaries compares summaries of the devices of a location with those of a list.
func checkSummaries(t *testing.T, store records.Store) {
	t.Helper()
	site := &inventory.Location{Base: records.Base{ID: sqlstoretest.ID(900_000), Version: 1}, Name: "summarized", SiteCode: "S"}
	all := []records.Record{site}
	for i, rec := range sqlstoretest.Devices(900_001, 900_051) {
		d := rec.(*inventory.Device)
		d.LocationID, d.Vendor, d.Role = &site.ID, []string{"a", "b", ""}[i%3], "r"
		if i%10 == 0 {
			d.LocationID = nil
		}
		all = append(all, d)
	}
	require.NoError(t, sqlstoretest.Create(t, store, all...))
	r := records.Of[inventory.Device](store.Schema())
	var counted []*records.Field
	for _, f := range r.Fields() {
		if f.Counted && f.Scalar() {
			counted = append(counted, f)
		}
	}
	for _, only := range []*records.Places{records.NewPlaces([]string{site.ID}, ""), records.NewPlaces([]string{}, "")} {
		got, err := records.Summarize(t.Context(), records.Limited(store, only), r, counted)
		require.NoError(t, err)
		want, err := records.Summarize(t.Context(), records.Limited(lister{store}, only), r, counted)
		require.NoError(t, err)
		require.Equal(t, want.Total, got.Total)
		for i, f := range want.Fields {
			require.Equal(t, f.Values, got.Fields[i].Values, f.Field.Name)
			require.Equal(t, f.Other, got.Fields[i].Other, f.Field.Name)
		}
	}
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		for _, rec := range all[1:] {
			if err := tx.Delete(t.Context(), r, rec.Meta().ID, 1, nil); err != nil {
				return err
			}
		}
		return tx.Delete(t.Context(), records.Of[inventory.Location](store.Schema()), site.ID, 1, nil)
	}))
}
