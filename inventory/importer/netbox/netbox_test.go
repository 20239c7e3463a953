package netbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/importer/netbox"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// TestSample imports a real export, twice: all sites, devices, interfaces and VLANs have their place, and
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
		"locations": 67 + 24 + 4, "racks": 42, "device-types": 14, "devices": 72, "interfaces": 1586, "rear-ports": 630, "front-ports": 912,
		"vlans": 63, "cables": 50, "vrfs": 6, "prefixes": 90, "addresses": 180,
	}
	all := int64(0)
	for _, n := range want {
		all += n
	}
	for _, created := range []int64{all, 0} {
		if keep {
			unknown, err := export.KeepUnknown(t.Context(), engine, records.Caller{}, false)
			require.NoError(t, err)
			require.Empty(t, unknown.Lost)
			require.Contains(t, unknown.Kept, netbox.Value{Kind: "dcim.site", Name: "facility", Field: "locations.netbox_facility", Objects: 4})
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
	require.Contains(t, export.Unplaced(), importer.Count{Kind: "dcim.cable", Objects: 58})
}

const fixtures = `[
{"model":"dcim.site","pk":3,"fields":{"name":"Vienna","slug":"vie","latitude":"48.2","longitude":"16.37"}},
{"model":"dcim.manufacturer","pk":1,"fields":{"name":"Juniper"}},
{"model":"dcim.devicetype","pk":2,"fields":{"model":"EX","manufacturer":1}},
{"model":"ipam.ipaddress","pk":8,"fields":{"address":"192.0.2.8/24"}},
{"model":"ipam.ipaddress","pk":9,"fields":{"address":"192.0.2.1/24"}},
{"model":"dcim.device","pk":7,"fields":{"name":null,"device_type":2,"site":3,"status":"staged","primary_ip4":9}},
{"model":"dcim.interface","pk":1,"fields":{"name":"ge-0","device":7,"enabled":false,"speed":1000000,"mtu":9000}},
{"model":"dcim.cable","pk":1,"fields":{}}]`

// TestFetch reads the same from the REST API, whose references and choices are objects, page by page.
func TestFetch(t *testing.T) {
	t.Parallel()
	lists := map[string][]string{
		"dcim/sites": {`{"id":3,"name":"Vienna","slug":"vie","latitude":48.2,"longitude":16.37}`}, "dcim/manufacturers": {`{"id":1,"name":"Juniper"}`},
		"dcim/device-types": {`{"id":2,"model":"EX","manufacturer":{"id":1}}`}, "ipam/ip-addresses": {`{"id":8,"address":"192.0.2.8/24"}`, `{"id":9,"address":"192.0.2.1/24"}`},
		"dcim/devices":    {`{"id":7,"name":null,"device_type":{"id":2},"site":{"id":3},"status":{"value":"staged","label":"Staged"},"primary_ip4":{"id":9}}`},
		"dcim/interfaces": {`{"id":1,"name":"ge-0","device":{"id":7},"enabled":false,"speed":1000000,"mtu":9000}`}, "dcim/cables": {`{"id":1}`},
	}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Token secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
		all, at, next := lists[path], 0, "null"
		_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &at)
		if at+1 < len(all) {
			next = fmt.Sprintf(`"%s%s?offset=%d"`, server.URL, r.URL.Path, at+1)
		}
		results := ""
		if at < len(all) {
			results = all[at]
		}
		fmt.Fprintf(w, `{"count":%d,"next":%s,"results":[%s]}`, len(all), next, results)
	}))
	defer server.Close()

	want, err := netbox.Read(strings.NewReader(fixtures))
	require.NoError(t, err)
	got, err := netbox.Fetch(t.Context(), server.URL, "secret", nil)
	require.NoError(t, err)
	require.Equal(t, []importer.Count{{Kind: "dcim.cable", Objects: 1}}, want.Unplaced())
	wanted := rows(t, want)
	require.Equal(t, wanted, rows(t, got))
	require.Contains(t, wanted, `"device":{"hostname":"Juniper EX (7)","location":{"site_code":"vie"}}`)
	require.Contains(t, wanted, `"ip":"192.0.2.1"`)
	require.Contains(t, wanted, `"status":"provisioning"`)

	_, err = netbox.Fetch(t.Context(), server.URL, "wrong-token", nil)
	require.ErrorContains(t, err, "set NETBOX_TOKEN")
	require.NotContains(t, err.Error(), "wrong-token")
	_, err = netbox.Fetch(t.Context(), "netbox", "", nil)
	require.ErrorContains(t, err, "must be a URL")
}

// rows returns the rows of an export as text, and imports them.
func rows(t *testing.T, x *netbox.Export) string {
	t.Helper()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	report, err := importer.Run(t.Context(), engine, []importer.Source{x.Source(engine.Store().Schema())}, nil)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, int64(6), report.Created)
	var all []string
	for s := x.Source(engine.Store().Schema()); ; {
		row, err := s.Next()
		if err != nil {
			return strings.Join(all, "")
		}
		require.True(t, json.Valid(row.Text))
		all = append(all, string(row.Text))
	}
}

// TestBadFixtures: a file that is no export is refused.
func TestBadFixtures(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "is no JSON array", `{"a":1}`: "is no JSON array", `[{"a":1}]`: "has no model or no fields", `[{"model":"x","fields":{}},`: "byte", "\x1f\x8bxxxxxxxxxxx": "can't be decompressed",
	} {
		_, err := netbox.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}
