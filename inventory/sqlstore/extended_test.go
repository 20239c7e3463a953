package sqlstore_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// cabinetRecord is a resource that is not in the inventory.
type cabinetRecord struct {
	records.Base
	Name   string  `json:"name" field:"required,unique,max=100"`
	Order  *int64  `json:"order" field:"min=1,index"` // a word of SQL
	Heavy  bool    `json:"heavy" field:"counted"`
	Parent *string `json:"parent_id" field:"ref=cabinets:null"`
}

// extended returns the schema of the inventory with more, as a program adds it.
func extended(t testing.TB) *records.Schema {
	t.Helper()
	schema, err := inventory.NewSchema(
		records.Define[cabinetRecord](records.Definition{Name: "cabinets", Label: "Cabinet"}),
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

// TestExtended opens a database that has devices with a schema that has more resources and
// fields. The devices have the defaults of the fields, totals are right, and keys, references
// and checks are enforced.
func TestExtended(t *testing.T) {
	onBoth(t, checkExtended)
}

func checkExtended(t *testing.T, d *database) {
	require.NoError(t, sqlstoretest.Create(t, d.open(t), sqlstoretest.Devices(0, 3)...))
	schema := extended(t)
	store, err := d.openSchema(t, schema)
	require.NoError(t, err)
	devices, cabinets := records.Of[inventory.Device](schema), records.Of[cabinetRecord](schema)
	total := func(field string, value any) int64 {
		page, err := store.List(t.Context(), (&records.Query{Resource: devices, Count: true, Limit: 1}).Where(field, value))
		require.NoError(t, err)
		return page.Total
	}
	require.EqualValues(t, 3, total("leased", nil))
	require.EqualValues(t, 3, total("select", "b"))
	old, err := records.Get[inventory.Device](t.Context(), store, sqlstoretest.ID(0))
	require.NoError(t, err)
	require.Equal(t, records.Values{"select": "b", "owners": []string{}, "uplink": "eth10"}, old.Extra)

	cabinet := func(n int, name string) *cabinetRecord {
		return sqlstoretest.WithBase(n, &cabinetRecord{Name: name, Order: new(int64(n)), Heavy: true})
	}
	device := func(n int, extra records.Values) *inventory.Device {
		d := sqlstoretest.Devices(n, n+1)[0].(*inventory.Device)
		d.Extra = extra
		return d
	}
	at := *sqlstoretest.Devices(0, 1)[0].(*inventory.Device).LastSeen
	values := records.Values{
		"cabinet_id": sqlstoretest.ID(50), "asset_tag": "A1", "select": "a", "units": int64(2), "weight": 2.5, "leased": true, "bought": at,
		"owners": []string{"x", "y"}, "a_field_with_the_longest_name_of_them_al": "z",
		"uplink": "eth9", "management_ip": "10.9.9.1/24",
	}
	require.NoError(t, sqlstoretest.Create(t, store, cabinet(50, "s1"), device(10, values)))
	got, err := records.Get[inventory.Device](t.Context(), store, sqlstoretest.ID(10))
	require.NoError(t, err)
	require.Equal(t, values, got.Extra)
	require.EqualValues(t, 1, total("select", "a"))
	require.EqualValues(t, 1, total("leased", true))
	require.EqualValues(t, 1, total("units", int64(2)))
	q, err := records.ParseQuery(devices, url.Values{"sortby": {"uplink:asc"}})
	require.NoError(t, err)
	page, err := store.List(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, sqlstoretest.ID(10), page.Records[0].Meta().ID, "eth9 comes before eth10, the default of the others")
	q, err = records.ParseQuery(devices, url.Values{"within": {"10.9.0.0/16"}})
	require.NoError(t, err)
	page, err = store.List(t.Context(), q)
	require.NoError(t, err)
	require.EqualValues(t, 1, page.Total)

	err = sqlstoretest.Create(t, store, device(11, records.Values{"asset_tag": "A1", "select": "b"}))
	require.Equal(t, records.Duplicate(devices, devices.Uniques()[len(devices.Uniques())-2]).Error(), err.Error())
	err = sqlstoretest.Create(t, store, device(11, records.Values{"cabinet_id": sqlstoretest.ID(51)}))
	ref, _ := devices.Field("cabinet_id")
	require.Equal(t, records.Dangling(devices, ref).Error(), err.Error())
	require.Error(t, sqlstoretest.Create(t, store, cabinet(52, "s1")), "a name that another one has")
	wrong := cabinet(53, "s2")
	wrong.Order = new(int64(0))
	require.Error(t, sqlstoretest.Create(t, store, wrong), "an order that the check of the table refuses")

	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Delete(t.Context(), cabinets, sqlstoretest.ID(50), 1, nil) }))
	_, err = store.Get(t.Context(), devices, sqlstoretest.ID(10))
	require.Equal(t, records.NotFound, records.KindOf(err), "the device is deleted with its cabinet")
	require.EqualValues(t, 0, total("select", "a"))
	require.EqualValues(t, 3, total("select", "b"))

	have, err := d.dialect().Catalog(t.Context(), d.raw(t), schema)
	require.NoError(t, err)
	none, err := d.dialect().Statements(schema, have)
	require.NoError(t, err)
	require.Empty(t, none)
	again, err := d.openSchema(t, schema)
	require.NoError(t, err)
	page, err = again.List(t.Context(), &records.Query{Resource: devices, Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, page.Total)
}

// TestStatements: the statements are the same each time, there are none for a database that has
// all, and a column that does not fit is named.
func TestStatements(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	schema, d := extended(t), sqlite.Dialect()
	first, err := d.Statements(schema, &sqlstore.Catalog{})
	require.NoError(t, err)
	again, err := d.Statements(extended(t), &sqlstore.Catalog{})
	require.NoError(t, err)
	require.Equal(t, first, again)
	db := (&database{"sqlite", filepath.Join(t.TempDir(), "inventory.db")}).raw(t)
	_, err = db.ExecContext(t.Context(), "BEGIN; "+strings.Join(first, ";\n")+"; COMMIT")
	require.NoError(t, err)
	have, err := d.Catalog(t.Context(), db, schema)
	require.NoError(t, err)
	none, err := d.Statements(schema, have)
	require.NoError(t, err)
	require.Empty(t, none)

	at := slices.IndexFunc(first, func(text string) bool { return strings.HasPrefix(text, "CREATE INDEX devices_units_") })
	index, _, _ := strings.Cut(strings.TrimPrefix(first[at], "CREATE INDEX "), " ")
	for text, want := range map[string]string{
		"DROP INDEX " + index + "; ALTER TABLE devices DROP COLUMN units; ALTER TABLE devices ADD COLUMN units TEXT": "the column units of the table devices has the type TEXT, and the field needs INTEGER",
		"ALTER TABLE devices DROP COLUMN owners; ALTER TABLE devices ADD COLUMN owners TEXT":                         "the column owners of the table devices may be null",
	} {
		other := newSQLite(t)
		_, err := other.openSchema(t, schema)
		require.NoError(t, err)
		_, err = other.raw(t).ExecContext(t.Context(), text)
		require.NoError(t, err)
		_, err = other.openSchema(t, schema)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, other.address)
	}
}

// TestMismatch: a column of another type than its field is named.
func TestMismatch(t *testing.T) {
	t.Parallel()
	d, schema := newPostgres(t), extended(t)
	_, err := d.openSchema(t, schema)
	require.NoError(t, err)
	_, err = d.raw(t).ExecContext(t.Context(), "ALTER TABLE devices ALTER COLUMN asset_tag TYPE varchar(10)")
	require.NoError(t, err)
	_, err = d.openSchema(t, schema)
	require.ErrorContains(t, err, `the column asset_tag of the table devices has the type character varying(10), and the field needs text COLLATE "C"`)
}

// TestExtendersAtOnce: processes that start at the same time with a new field take turns.
func TestExtendersAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) {
		schema := extended(t)
		errs := make([]error, 4)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				store, err := d.openPlain(t, schema)
				if err == nil {
					err = errors.Join(sqlstoretest.Create(t, store, sqlstoretest.Devices(i, i+1)...), store.Close())
				}
				errs[i] = err
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
	})
}
