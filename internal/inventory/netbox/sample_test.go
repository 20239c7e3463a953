//go:build !race

package netbox_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// TestSample imports a real export, twice: all sites, devices, interfaces and VLANs have their location, and
// the second time nothing changes.
func TestSample(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	f, err := os.Open(filepath.Join(dir, "netbox", "demo-v3.6.json.gz"))
	require.NoError(t, err)
	defer f.Close()
	export, err := netbox.Read(f)
	require.NoError(t, err)
	for name, keep := range map[string]bool{"fields": false, "keep unknown": true} {
		t.Run(name, func(t *testing.T) { importSample(t, export, keep) })
	}
}

func importSample(t *testing.T, export *netbox.Export, keep bool) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "inventory.db"), inventory.Schema(), &sqlite.Options{
		Store: &sqlstore.Options{Timeout: 10 * time.Minute}, // as for inventoryd import
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	engine := records.New(store, nil)
	want := map[string]int64{
		"locations": 67 + 24 + 4, "racks": 42, "device-types": 14, "port-templates": 268 + 120 + 73, "devices": 72, "interfaces": 1586, "rear-ports": 630, "front-ports": 912,
		"vlans": 63, "cables": 108, "terminations": 41 + 75 + 104 + 48 + 45, "vrfs": 6, "prefixes": 90, "addresses": 180,
	}
	all := int64(0)
	for _, n := range want {
		all += n
	}
	for _, created := range []int64{all, 0} {
		if keep {
			kept, err := export.KeepUnknown(t.Context(), engine, records.Caller{}, false)
			require.NoError(t, err)
			require.Contains(t, export.Unplaced(), importer.Count{Kind: "dcim.interface module: refers to an object that is not imported", Objects: 128})
			require.Contains(t, kept, importer.Count{Kind: "ipam.prefix tenant: prefixes.netbox_tenant", Objects: 68})
			require.Contains(t, kept, importer.Count{Kind: "dcim.site tags: locations.netbox_tags", Objects: 24})
			require.Contains(t, kept, importer.Count{Kind: "dcim.site facility: locations.netbox_facility", Objects: 4})
		}
		report, err := importer.Run(t.Context(), engine, []importer.Source{export.Source(store.Schema())}, nil)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Equal(t, created, report.Created)
		require.Zero(t, report.Updated)
	}
	for name, want := range want {
		r, _ := store.Schema().Named(name)
		page, err := store.List(t.Context(), &records.Query{Resource: r, Count: true, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, want, page.Total, name)
	}
	interfaces, _ := store.Schema().Named("interfaces")
	members, err := records.ParseQuery(interfaces, url.Values{"lag_id__isnull": {"false"}})
	require.NoError(t, err)
	page, err := store.List(t.Context(), members)
	require.NoError(t, err)
	require.Equal(t, int64(52), page.Total, "members of LAGs")
	require.NotContains(t, fmt.Sprint(export.Unplaced()), "dcim.cable ")
}
