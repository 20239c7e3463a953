package sqlstoretest

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Cabinet is a resource that is not in the inventory.
type Cabinet struct {
	records.Base
	Name   string  `json:"name" field:"required,unique,max=100"`
	Order  *int64  `json:"order" field:"min=1,index"` // a word of SQL
	Heavy  bool    `json:"heavy" field:"counted"`
	Parent *string `json:"parent_id" field:"ref=cabinets:null"`
}

// Extended returns the schema of the inventory with more, as a program adds it.
func Extended(t testing.TB) *records.Schema {
	t.Helper()
	schema, err := inventory.NewSchema(
		records.Define[Cabinet](records.Definition{Name: "cabinets", Label: "Cabinet"}),
		records.Extend("devices", "cabinet_id", records.Text, "ref=cabinets:cascade"),
		records.Extend("devices", "asset_tag", records.Text, "unique,max=50,search"),
		records.Extend("devices", "select", records.Text, "values=a|b,default=b,counted"), // a word of SQL
		records.Extend("devices", "units", records.Int, "min=1,max=60,index,counted"),
		records.Extend("devices", "weight", records.Float, "min=0"),
		records.Extend("devices", "leased", records.Bool, "counted"),
		records.Extend("devices", "bought", records.Time, "index"),
		records.Extend("devices", "owners", records.List, "max=3"),
		records.Extend("devices", "a_field_with_the_longest_name_of_them_al", records.Text, "unique=asset_tag,max=20,index"),
		records.Extend("devices", "uplink", records.Text, "natural,max=50,default=eth10,index"),
		records.Extend("devices", "management_ip", records.Text, "format=interface-ip"),
	)
	require.NoError(t, err)
	return schema
}

// CheckExtended opens a database that has devices with a schema that has more resources and
// fields. The devices have the defaults of the fields, totals are right, and keys, references
// and checks are enforced.
func CheckExtended(t testing.TB, open func(*records.Schema) records.Store) {
	t.Helper()
	require.NoError(t, Create(t, open(inventory.Schema()), Devices(0, 3)...))
	schema := Extended(t)
	store := open(schema)
	devices, cabinets := records.Of[inventory.Device](schema), records.Of[Cabinet](schema)
	total := func(field string, value any) int64 {
		page, err := store.List(t.Context(), (&records.Query{Resource: devices, Count: true, Limit: 1}).Where(field, value))
		require.NoError(t, err)
		return page.Total
	}
	require.EqualValues(t, 3, total("leased", nil))
	require.EqualValues(t, 3, total("select", "b"))
	old, err := records.Get[inventory.Device](t.Context(), store, ID(0))
	require.NoError(t, err)
	require.Equal(t, records.Values{"select": "b", "owners": []string{}, "uplink": "eth10"}, old.Extra)

	cabinet := func(n int, name string) *Cabinet {
		return WithBase(n, &Cabinet{Name: name, Order: new(int64(n)), Heavy: true})
	}
	device := func(n int, extra records.Values) *inventory.Device {
		d := Devices(n, n+1)[0].(*inventory.Device)
		d.Extra = extra
		return d
	}
	at := *Devices(0, 1)[0].(*inventory.Device).LastSeen
	values := records.Values{
		"cabinet_id": ID(50), "asset_tag": "A1", "select": "a", "units": int64(2), "weight": 2.5, "leased": true, "bought": at,
		"owners": []string{"x", "y"}, "a_field_with_the_longest_name_of_them_al": "z",
		"uplink": "eth9", "management_ip": "10.9.9.1/24",
	}
	require.NoError(t, Create(t, store, cabinet(50, "s1"), device(10, values)))
	got, err := records.Get[inventory.Device](t.Context(), store, ID(10))
	require.NoError(t, err)
	require.Equal(t, values, got.Extra)
	require.EqualValues(t, 1, total("select", "a"))
	require.EqualValues(t, 1, total("leased", true))
	require.EqualValues(t, 1, total("units", int64(2)))
	q, err := records.ParseQuery(devices, url.Values{"sortby": {"uplink:asc"}})
	require.NoError(t, err)
	page, err := store.List(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, ID(10), page.Records[0].Meta().ID, "eth9 comes before eth10, the default of the others")
	q, err = records.ParseQuery(devices, url.Values{"within": {"10.9.0.0/16"}})
	require.NoError(t, err)
	page, err = store.List(t.Context(), q)
	require.NoError(t, err)
	require.EqualValues(t, 1, page.Total)

	err = Create(t, store, device(11, records.Values{"asset_tag": "A1", "select": "b"}))
	require.Equal(t, records.Duplicate(devices, devices.Uniques()[len(devices.Uniques())-2]).Error(), err.Error())
	err = Create(t, store, device(11, records.Values{"cabinet_id": ID(51)}))
	ref, _ := devices.Field("cabinet_id")
	require.Equal(t, records.Dangling(devices, ref).Error(), err.Error())
	require.Error(t, Create(t, store, cabinet(52, "s1")), "a name that another one has")
	wrong := cabinet(53, "s2")
	wrong.Order = new(int64(0))
	require.Error(t, Create(t, store, wrong), "an order that the check of the table refuses")

	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Delete(t.Context(), cabinets, ID(50), 1, nil) }))
	_, err = store.Get(t.Context(), devices, ID(10))
	require.Equal(t, records.NotFound, records.KindOf(err), "the device is deleted with its cabinet")
	require.EqualValues(t, 0, total("select", "a"))
	require.EqualValues(t, 3, total("select", "b"))

	again := open(schema) // there is nothing to generate
	page, err = again.List(t.Context(), &records.Query{Resource: devices, Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, page.Total)
}
