package standard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// TestPages: with all features, the home page and the page of a record of each resource are shown to everybody who
// may list its records.
func TestPages(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	_, err := demo.Fill(t.Context(), store, &demo.Options{Devices: 100})
	require.NoError(t, err)
	api := featuretest.New(t, store, standard.Features()...)
	for _, user := range []string{"root", "viewer"} {
		require.Contains(t, api.Page(user, "/"), "Devices by status")
	}
	shown := 0
	for _, r := range store.Schema().Resources() {
		if r.Internal || !r.Routes.Has(records.RouteGet) {
			continue
		}
		page, err := store.List(t.Context(), &records.Query{Resource: r, Limit: 1})
		require.NoError(t, err)
		if len(page.Records) > 0 {
			require.Contains(t, api.Page("root", "/r/"+r.Name+"/"+page.Records[0].Meta().ID), "record-values", r.Name)
			shown++
		}
	}
	require.GreaterOrEqual(t, shown, 12)
}
