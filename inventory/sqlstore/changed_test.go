package sqlstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// earlierState and laterState are an enumeration in two versions of a program.
type (
	earlierState string
	laterState   string
)

func (earlierState) Values() []string { return []string{"new", "old", "lost"} }
func (laterState) Values() []string   { return []string{"new", "old", "retired"} }

// earlierTool and laterTool are one resource in two versions of a program.
type (
	earlierTool struct {
		records.Base
		Name       string       `json:"name" field:"required,unique,natural,max=100"`
		State      earlierState `json:"state" field:"required"`
		Grade      earlierState `json:"grade"`
		Size       int64        `json:"size" field:"min=1,max=10"`
		Weight     *int64       `json:"weight"`
		Amount     int64        `json:"amount"`
		Note       string       `json:"note" field:"required,max=100"`
		Code       string       `json:"code" field:"required,unique,max=100"`
		DeviceID   *string      `json:"device_id" field:"ref=devices:null"`
		LocationID *string      `json:"location_id" field:"ref=locations:null"`
		VLANID     *string      `json:"vlan_id" field:"max=36"`
	}
	laterTool struct {
		records.Base
		Name       string     `json:"name" field:"required,unique,natural,max=100"`
		State      laterState `json:"state" field:"required"`
		Grade      laterState `json:"grade"`
		Size       int64      `json:"size" field:"min=1,max=20"`
		Weight     int64      `json:"weight"`
		Amount     *int64     `json:"amount"`
		Note       string     `json:"note" field:"max=100"`
		Code       string     `json:"code" field:"unique,max=100"`
		DeviceID   *string    `json:"device_id" field:"ref=devices:cascade"`
		LocationID string     `json:"location_id" field:"max=36"`
		VLANID     *string    `json:"vlan_id" field:"ref=vlans:null"`
	}
)

// TestChanged opens a database with a struct in an earlier and in a later version, whose checks, references and
// NOT NULL differ. The records stay, and the later version decides what they may be.
func TestChanged(t *testing.T) {
	onBoth(t, checkChanged)
}

func checkChanged(t *testing.T, d *database) {
	definition := records.Definition{Name: "tools", Label: "Tool"}
	earlier, err := inventory.NewSchema(records.Define[earlierTool](definition))
	require.NoError(t, err)
	definition.Checks = []string{"size <> 13 OR state <> 'old'"}
	later, err := inventory.NewSchema(records.Define[laterTool](definition), records.Migrations(records.Migration{Version: 100_000}))
	require.NoError(t, err)
	store, err := d.openSchema(t, earlier)
	require.NoError(t, err)
	tool := func(n int) *earlierTool {
		return sqlstoretest.WithBase(n, &earlierTool{Name: sqlstoretest.ID(n), State: "new", Size: 2, Amount: 3, Note: "n", Code: sqlstoretest.ID(n), DeviceID: new(sqlstoretest.ID(0))})
	}
	lost := tool(2)
	lost.State = "lost"
	require.NoError(t, sqlstoretest.Create(t, store, append(sqlstoretest.Devices(0, 1), tool(1), lost)...))

	_, err = d.openSchema(t, later)
	require.ErrorContains(t, err, "not allow", "a record has a value that the later version does not know")
	require.ErrorContains(t, err, "tools")
	store, err = d.openSchema(t, earlier)
	require.NoError(t, err, "nothing was changed")
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		return tx.Delete(t.Context(), records.Of[earlierTool](earlier), lost.ID, lost.Version, nil)
	}))

	store, err = d.openSchema(t, later)
	require.NoError(t, err)
	got, err := records.Get[laterTool](t.Context(), store, sqlstoretest.ID(1))
	require.NoError(t, err)
	want := sqlstoretest.WithBase(1, &laterTool{Name: sqlstoretest.ID(1), State: "new", Size: 2, Amount: new(int64(3)), Note: "n", Code: sqlstoretest.ID(1), DeviceID: new(sqlstoretest.ID(0))})
	require.Equal(t, want, got)
	n := 10
	change := func(f func(*laterTool)) error {
		n++
		tool := sqlstoretest.WithBase(n, &laterTool{Name: sqlstoretest.ID(n), State: "new", Size: 2})
		f(tool)
		return sqlstoretest.Create(t, store, tool)
	}
	for _, f := range []func(*laterTool){
		func(*laterTool) {}, func(tool *laterTool) { tool.State = "retired" }, func(tool *laterTool) { tool.Size = 20 }, func(tool *laterTool) { tool.Grade = "retired" },
	} {
		require.NoError(t, change(f))
	}
	for _, f := range []func(*laterTool){
		func(tool *laterTool) { tool.State = "lost" }, func(tool *laterTool) { tool.State = "" }, func(tool *laterTool) { tool.Size = 21 }, func(tool *laterTool) { tool.Grade = "lost" },
		func(tool *laterTool) { tool.Size, tool.State = 13, "old" }, func(tool *laterTool) { tool.VLANID = new(sqlstoretest.ID(9)) }, func(tool *laterTool) { tool.Code = sqlstoretest.ID(1) },
	} {
		require.Error(t, change(f))
	}

	have, err := d.dialect().Catalog(t.Context(), d.raw(t), later)
	require.NoError(t, err)
	migrations, err := d.dialect().Migrations(later, have)
	require.NoError(t, err)
	require.Empty(t, migrations)
	statements, err := d.dialect().Statements(later, have)
	require.NoError(t, err)
	require.Empty(t, statements)
	_, err = d.openSchema(t, earlier)
	require.ErrorContains(t, err, "version 100000", "a program of the earlier version")
}

// addedTool is a later version of earlierTool that adds only: a value, a larger bound, and columns.
type (
	addedState string
	addedTool  struct {
		records.Base
		Name       string     `json:"name" field:"required,unique,natural,max=100"`
		State      addedState `json:"state" field:"required"`
		Grade      addedState `json:"grade"`
		Size       int64      `json:"size" field:"min=1,max=20"`
		Weight     *int64     `json:"weight"`
		Amount     int64      `json:"amount"`
		Note       string     `json:"note" field:"required,max=100"`
		Code       string     `json:"code" field:"required,unique,max=100"`
		DeviceID   *string    `json:"device_id" field:"ref=devices:null"`
		LocationID *string    `json:"location_id" field:"ref=locations:null"`
		VLANID     *string    `json:"vlan_id" field:"max=36"`
		Colour     string     `json:"colour" field:"natural,max=20"`
		Length     *int64     `json:"length"`
	}
)

func (addedState) Values() []string { return []string{"new", "old", "lost", "sold"} }

// TestAdded: after a migration that only adds, the earlier program goes on, and starts again without a change of the
// tables. After one that it has to know, its calls and Ping say that it is older than the database.
func TestAdded(t *testing.T) {
	onBoth(t, checkAdded)
}

func checkAdded(t *testing.T, d *database) {
	definition := records.Definition{Name: "tools", Label: "Tool"}
	last := inventory.Schema().Migrations()[len(inventory.Schema().Migrations())-1].Version
	schema := func(tools records.Part, migrations ...records.Migration) *records.Schema {
		s, err := inventory.NewSchema(tools, records.Migrations(migrations...))
		require.NoError(t, err)
		return s
	}
	adds, drops := records.Migration{Version: 100_000, Oldest: last}, records.Migration{Version: 100_001, Oldest: 100_000}
	earlier, later := schema(records.Define[earlierTool](definition)), schema(records.Define[addedTool](definition), adds)
	open := func(schema *records.Schema) (*sqlstore.Store, error) {
		store, err := d.openPlain(t, schema)
		if err == nil {
			t.Cleanup(func() { _ = store.Close() })
		}
		return store, err
	}
	running, err := open(earlier)
	require.NoError(t, err)
	tool := func(n int) *earlierTool {
		return sqlstoretest.WithBase(n, &earlierTool{Name: sqlstoretest.ID(n), State: "new", Size: 2, Note: "n", Code: sqlstoretest.ID(n)})
	}
	require.NoError(t, sqlstoretest.Create(t, running, tool(1)))
	newer, err := open(later)
	require.NoError(t, err)
	sold := sqlstoretest.WithBase(2, &addedTool{Name: "sold", State: "sold", Size: 20, Note: "n", Code: "sold", Colour: "red"})
	require.NoError(t, sqlstoretest.Create(t, newer, sold))
	restarted, err := open(earlier)
	require.NoError(t, err)
	for i, store := range []*sqlstore.Store{running, restarted} {
		require.NoError(t, sqlstoretest.Create(t, store, tool(3+i)))
		got, err := records.Get[earlierTool](t.Context(), store, sold.ID)
		require.NoError(t, err)
		require.EqualValues(t, "sold", got.State)
		require.NoError(t, store.Ping(t.Context()))
	}
	have, err := d.dialect().Catalog(t.Context(), d.raw(t), later)
	require.NoError(t, err)
	statements, err := d.dialect().Statements(later, have)
	require.NoError(t, err)
	require.Empty(t, statements, "the earlier program has changed tables")

	_, err = open(schema(records.Define[addedTool](definition), adds, drops))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err = records.Get[earlierTool](t.Context(), running, sold.ID)
		return records.KindOf(err) == records.Unavailable
	}, time.Minute, 10*time.Millisecond)
	for _, err := range []error{err, running.Ping(t.Context()), sqlstoretest.Create(t, running, tool(5))} {
		require.Equal(t, records.Unavailable, records.KindOf(err))
		require.ErrorContains(t, err, "older than the database")
	}
	require.NoError(t, newer.Ping(t.Context()))
	require.NoError(t, sqlstoretest.Create(t, newer, sqlstoretest.WithBase(6, &addedTool{Name: "six", State: "new", Size: 2, Note: "n", Code: "six"})))
	_, err = open(earlier)
	require.ErrorContains(t, err, "version 100000")
	_, err = open(later)
	require.NoError(t, err)
}
