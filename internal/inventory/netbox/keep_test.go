package netbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

var unknownFixtures = `[
{"model":"dcim.site","pk":1,"fields":{"name":"Vienna","_name":"Vienna","slug":"vie","facility":"DC 1","comments":"one\r\ntwo\n","created":"2020-01-01",
 "custom_field_data":{"Contract":7,"on_call":true,"tier":{"value":"gold","label":"Gold"},"none":null,"empty":"","facility":"custom"}}},
{"model":"dcim.site","pk":2,"fields":{"name":"Graz","slug":"grz","facility":"DC 2","comments":"` + strings.Repeat("é", 501) + `",
 "custom_field_data":{"Contract":null,"list":["a"],"bell":"\u0007","` + strings.Repeat("x", 34) + `":"y"}}},
{"model":"dcim.device","pk":1,"fields":{"name":"sw1","site":1,"status":"active","comments":"read","airflow":"front-to-rear","custom_field_data":{"tier":"gold"}}},
{"model":"dcim.sitegroup","pk":4,"fields":{"name":"Offices"}},
{"model":"dcim.device","pk":2,"fields":{"name":"sw2","site":1,"status":"active","vc_position":2,"vc_priority":0,"module":5,"oob":true,"off":false,"asns":[1]}},
{"model":"dcim.site","pk":5,"fields":{"name":"Linz","slug":"lnz","tenant":1,"group":4}},
{"model":"extras.tag","pk":1,"fields":{"name":"Edge"}},
{"model":"extras.tag","pk":2,"fields":{"name":"Core"}},
{"model":"extras.taggeditem","pk":1,"fields":{"content_type":["dcim","site"],"object_id":5,"tag":1}},
{"model":"extras.taggeditem","pk":2,"fields":{"content_type":["dcim","site"],"object_id":5,"tag":2}},
{"model":"tenancy.tenant","pk":1,"fields":{"name":"T","comments":"not a row"}},
{"model":"circuits.circuit","pk":1,"fields":{"cid":"C1","custom_field_data":{"tier":"gold"}}}]`

// keepUnknown imports an export and keeps what has no field.
func keepUnknown(t *testing.T, engine *records.Engine, x *netbox.Export, dryRun bool) (kept, lost []importer.Count, _ *importer.Report) {
	t.Helper()
	kept, err := x.KeepUnknown(t.Context(), engine, records.Caller{Name: "test"}, dryRun)
	require.NoError(t, err)
	report, err := importer.Run(t.Context(), engine, []importer.Source{x.Source(engine.Store().Schema())}, &importer.Options{DryRun: dryRun})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	return kept, x.Unplaced(), report
}

func fixture(t *testing.T, text string) *netbox.Export {
	t.Helper()
	x, err := netbox.Read(strings.NewReader(text))
	require.NoError(t, err)
	return x
}

// extra returns the values of the custom fields of the site and device with this name.
func extra(t *testing.T, engine *records.Engine, resource, name string) records.Values {
	t.Helper()
	r, _ := engine.Store().Schema().Named(resource)
	page, err := engine.Store().List(t.Context(), &records.Query{Resource: r})
	require.NoError(t, err)
	f, ok := r.Field("hostname")
	if !ok {
		f, _ = r.Field("name")
	}
	for _, rec := range page.Records {
		if f.Value(rec) == name {
			return rec.Meta().Extra
		}
	}
	return nil
}

// TestKeepUnknown: values without a field are kept in custom fields, which are created and audited once; the
// others are reported.
func TestKeepUnknown(t *testing.T) {
	t.Parallel()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	custom := records.Of[inventory.CustomField](engine.Store().Schema())
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, &inventory.CustomField{Resource: "devices", Name: "netbox_tier", Type: inventory.CustomInteger}))
	count := func(r *records.Resource) int64 {
		page, err := engine.Store().List(t.Context(), &records.Query{Resource: r, Count: true, Limit: 1})
		require.NoError(t, err)
		return page.Total
	}
	audit, _ := engine.Store().Schema().Named("audit-logs")

	dry, _, report := keepUnknown(t, engine, fixture(t, unknownFixtures), true)
	require.Equal(t, int64(5), report.Created)
	require.Equal(t, int64(1), count(custom), "a dry run creates no field")
	require.Equal(t, int64(1), count(audit))

	kept, lost, report := keepUnknown(t, engine, fixture(t, unknownFixtures), false)
	require.Equal(t, dry, kept)
	require.Equal(t, int64(5), report.Created)
	require.Equal(t, []importer.Count{
		{Kind: "dcim.site facility: locations.netbox_facility", Objects: 2},
		{Kind: "dcim.device airflow: devices.netbox_airflow", Objects: 1},
		{Kind: "dcim.device oob: devices.netbox_oob", Objects: 1},
		{Kind: "dcim.device vc_position: devices.netbox_vc_position", Objects: 1},
		{Kind: "dcim.site Contract: locations.netbox_contract", Objects: 1},
		{Kind: "dcim.site comments: locations.netbox_comments", Objects: 1},
		{Kind: "dcim.site group: locations.netbox_group", Objects: 1},
		{Kind: "dcim.site on_call: locations.netbox_on_call", Objects: 1},
		{Kind: "dcim.site tags: locations.netbox_tags", Objects: 1},
		{Kind: "dcim.site tenant: locations.netbox_tenant", Objects: 1},
		{Kind: "dcim.site tier: locations.netbox_tier", Objects: 1},
	}, kept)
	for _, want := range []string{
		"dcim.device tier: netbox_tier integer", "dcim.site comments: 500",
		"dcim.site bell: has control characters", "dcim.site list: is no text", "dcim.site facility: same",
		"dcim.site " + strings.Repeat("x", 34) + ": name custom",
		"dcim.device module: refers", "dcim.device asns: is a list", "circuits.circuit", "dcim.sitegroup",
	} {
		require.True(t, slices.ContainsFunc(lost, func(c importer.Count) bool { return errtest.Names(c.Kind, want) }), "%v: %s", lost, want)
	}
	require.Len(t, lost, 10)
	require.Equal(t, int64(1+11), count(custom))
	require.Equal(t, int64(1+11+5), count(audit))
	require.Equal(t, records.Values{
		"netbox_contract": "7", "netbox_on_call": "true", "netbox_tier": "gold", "netbox_facility": "custom", "netbox_comments": "one two",
	}, extra(t, engine, "locations", "Vienna"))
	linz := extra(t, engine, "locations", "Linz")
	require.Equal(t, []any{"Offices", "T", "Core, Edge"}, []any{linz["netbox_group"], linz["netbox_tenant"], linz["netbox_tags"]})
	require.Equal(t, "2", extra(t, engine, "devices", "sw2")["netbox_vc_position"])
	require.Equal(t, "DC 2", extra(t, engine, "locations", "Graz")["netbox_facility"])
	require.Equal(t, "front-to-rear", extra(t, engine, "devices", "sw1")["netbox_airflow"])

	again, _, report := keepUnknown(t, engine, fixture(t, unknownFixtures), false)
	require.Equal(t, kept, again)
	require.Equal(t, int64(5), report.Unchanged)
	require.Equal(t, int64(1+11+5), count(audit), "a second import changes nothing")

	_, _, report = keepUnknown(t, engine, fixture(t, strings.Replace(unknownFixtures, `"DC 2"`, `""`, 1)), false)
	require.Equal(t, int64(1), report.Updated, "a value that NetBox no longer has is cleared")
	require.Empty(t, extra(t, engine, "locations", "Graz")["netbox_facility"])
}

// TestKeepMost: of more attributes than a resource can have custom fields, those are kept that most objects
// have.
func TestKeepMost(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 3 {
		fmt.Fprintf(&text, `,{"model":"dcim.site","pk":%d,"fields":{"name":"s%d","slug":"s%d","custom_field_data":{"often":"x"`, i+1, i, i)
		for n := range inventory.MaxCustomFields {
			fmt.Fprintf(&text, `,"rare%d_%d":"x"`, min(i, 1), n)
		}
		text.WriteString("}}}")
	}
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	for range 2 {
		kept, lost, _ := keepUnknown(t, engine, fixture(t, "["+text.String()[1:]+"]"), false)
		require.Len(t, kept, inventory.MaxCustomFields)
		require.Equal(t, importer.Count{Kind: "dcim.site often: locations.netbox_often", Objects: 3}, kept[0])
		require.Equal(t, int64(2), kept[len(kept)-1].Objects)
		require.Len(t, lost, 51)
		require.Contains(t, lost[0].Kind, "50 custom fields")
	}
	require.Equal(t, "x", extra(t, engine, "locations", "s2")["netbox_often"])
}

// TestKeepFetched keeps the same of the REST API.
func TestKeepFetched(t *testing.T) {
	t.Parallel()
	site := `{"id":1,"url":"http://x/1","display":"Vienna","name":"Vienna","slug":"vie","facility":"DC 1","custom_fields":{"tier":{"value":"gold","label":"Gold"},"of":{"id":1,"display":"x"}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "dcim/sites") {
			fmt.Fprintf(w, `{"count":1,"results":[%s]}`, site)
			return
		}
		fmt.Fprint(w, `{"count":0,"results":[]}`)
	}))
	defer server.Close()
	x, err := netbox.Fetch(t.Context(), server.URL, "", nil)
	require.NoError(t, err)
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	_, lost, _ := keepUnknown(t, engine, x, false)
	require.Equal(t, records.Values{"netbox_facility": "DC 1", "netbox_tier": "gold"}, extra(t, engine, "locations", "Vienna"))
	require.Equal(t, []importer.Count{{Kind: "dcim.site of: is no text, number or boolean", Objects: 1}}, lost)
}
