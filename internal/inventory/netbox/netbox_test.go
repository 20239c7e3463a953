package netbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const fixtures = `[
{"model":"dcim.site","pk":3,"fields":{"name":"Vienna","slug":"vie","latitude":"48.2","longitude":"16.37"}},
{"model":"dcim.manufacturer","pk":1,"fields":{"name":"Juniper"}},
{"model":"dcim.devicetype","pk":2,"fields":{"model":"EX","manufacturer":1}},
{"model":"ipam.ipaddress","pk":8,"fields":{"address":"192.0.2.8/24"}},
{"model":"ipam.ipaddress","pk":9,"fields":{"address":"192.0.2.1/24"}},
{"model":"dcim.device","pk":7,"fields":{"name":null,"device_type":2,"site":3,"status":"staged","primary_ip4":9}},
{"model":"dcim.device","pk":8,"fields":{"name":"sw8","device_type":2,"site":3,"status":"active"}},
{"model":"ipam.vlan","pk":5,"fields":{"vid":7,"name":"users","site":3,"status":"active"}},
{"model":"ipam.vlan","pk":6,"fields":{"vid":8,"name":"guests","site":3,"status":"active"}},
{"model":"extras.tag","pk":1,"fields":{"name":"Edge"}},
{"model":"extras.taggeditem","pk":1,"fields":{"content_type":["dcim","device"],"object_id":7,"tag":1}},
{"model":"dcim.interface","pk":1,"fields":{"name":"ge-0","device":7,"enabled":false,"speed":1000000,"mtu":9000,"lag":2}},
{"model":"dcim.interface","pk":2,"fields":{"name":"ae0","type":"lag","device":7,"mtu":null,"parent":null,"mode":"tagged","untagged_vlan":5,"tagged_vlans":[6,5]}},
{"model":"dcim.interface","pk":3,"fields":{"name":"ae0.7","type":"virtual","device":7,"parent":2,"mode":"access","untagged_vlan":5}},
{"model":"dcim.interface","pk":4,"fields":{"name":"ge-0","device":8,"lag":2,"untagged_vlan":5,"tagged_vlans":[6]}},
{"model":"dcim.cable","pk":1,"fields":{}}]`

// TestFetch reads the same from the REST API, whose references and choices are objects, page by page.
func TestFetch(t *testing.T) {
	t.Parallel()
	lists := map[string][]string{
		"dcim/sites": {`{"id":3,"name":"Vienna","slug":"vie","latitude":48.2,"longitude":16.37}`}, "dcim/manufacturers": {`{"id":1,"name":"Juniper"}`},
		"dcim/device-types": {`{"id":2,"model":"EX","manufacturer":{"id":1}}`}, "ipam/ip-addresses": {`{"id":8,"address":"192.0.2.8/24"}`, `{"id":9,"address":"192.0.2.1/24"}`},
		"dcim/devices": {
			`{"id":7,"name":null,"device_type":{"id":2},"site":{"id":3},"status":{"value":"staged","label":"Staged"},"primary_ip4":{"id":9},"tags":[{"id":1,"name":"Edge"}]}`,
			`{"id":8,"name":"sw8","device_type":{"id":2},"site":{"id":3},"status":{"value":"active"},"tags":[]}`,
		},
		"ipam/vlans": {
			`{"id":5,"vid":7,"name":"users","site":{"id":3},"status":{"value":"active"}}`, `{"id":6,"vid":8,"name":"guests","site":{"id":3},"status":{"value":"active"}}`,
		},
		"dcim/interfaces": {
			`{"id":1,"name":"ge-0","device":{"id":7},"enabled":false,"speed":1000000,"mtu":9000,"lag":{"id":2}}`,
			`{"id":2,"name":"ae0","type":{"value":"lag"},"device":{"id":7},"mtu":null,"parent":null,"mode":{"value":"tagged"},"untagged_vlan":{"id":5},"tagged_vlans":[{"id":6},{"id":5}]}`,
			`{"id":3,"name":"ae0.7","type":{"value":"virtual"},"device":{"id":7},"parent":{"id":2},"mode":{"value":"access"},"untagged_vlan":{"id":5}}`,
			`{"id":4,"name":"ge-0","device":{"id":8},"lag":{"id":2},"untagged_vlan":{"id":5},"tagged_vlans":[{"id":6}]}`,
		},
		"dcim/cables": {`{"id":1}`},
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
	require.Equal(t, []importer.Count{{Kind: "dcim.cable", Objects: 1}, {Kind: "dcim.interface lag: is an interface of another device", Objects: 1}, {Kind: "dcim.interface tagged_vlans", Objects: 1}, {Kind: "dcim.interface untagged_vlan: the interface has no mode with VLANs", Objects: 1}}, want.Unplaced())
	require.Equal(t, want.Unplaced(), got.Unplaced())
	wanted := rows(t, want)
	require.Equal(t, wanted, rows(t, got))
	require.Contains(t, wanted, `"device":{"hostname":"Juniper EX (7)","location":{"site_code":"vie"}}`)
	require.Contains(t, wanted, `"ip":"192.0.2.1"`)
	require.Contains(t, wanted, `"status":"provisioning","tags":["Edge"]`)
	require.Equal(t, 1, strings.Count(wanted, `"lag":{"device":{"hostname":"Juniper EX (7)","location":{"site_code":"vie"}},"name":"ae0"}`))
	require.Equal(t, 1, strings.Count(wanted, `"parent":{"device"`))
	require.Contains(t, wanted, `"mode":"trunk","mtu":null,"name":"ae0","parent":null,"type":"lag","untagged_vlan":{"location":{"site_code":"vie"},"name":"users","vlan_id":7}`)
	require.Equal(t, 2, strings.Count(wanted, `"_resource":"tagged-vlans"`), "those of the trunk")

	_, err = netbox.Fetch(t.Context(), server.URL, "wrong-token", nil)
	require.ErrorContains(t, err, "token")
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
	require.Equal(t, int64(14), report.Created)
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
		"": "is no JSON array", `{"a":1}`: "is no JSON array", `[{"a":1}]`: "no model", `[{"model":"x","fields":{}},`: "byte", "\x1f\x8bxxxxxxxxxxx": "can't be decompressed",
	} {
		_, err := netbox.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}
