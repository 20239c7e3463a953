package sqlstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// TestUpgradeHostnames: an upgrade keeps devices whose hostnames are equal but for case, and lists them: the first has the
// name, and the other one is changed like any device.
func TestUpgradeHostnames(t *testing.T) { onBoth(t, upgradeHostnames) }

func upgradeHostnames(t *testing.T, d *database) {
	store, err := d.openPlain(t, inventory.Schema())
	require.NoError(t, err)
	site := sqlstoretest.ID(1)
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(1, &inventory.Location{Name: "Vienna"})))
	for i, hostname := range []string{"sw1", "second", "third", "Elsewhere", "elsewhere"} {
		device := &inventory.Device{Hostname: hostname, Status: "active", LocationID: &site}
		if hostname == "Elsewhere" {
			device.LocationID = nil
		}
		require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(10+i, device)))
	}
	require.NoError(t, store.Close())
	d.leaveHostnames(t)
	// As a program of that time has left them.
	for id, hostname := range map[int]string{11: "SW1", 12: "Sw1"} {
		d.execute(t, "UPDATE devices SET hostname = '"+hostname+"', hostname__key = '' WHERE id = '"+sqlstoretest.ID(id)+"'")
	}

	key := func(schema *records.Schema) (*sqlstore.Store, string) {
		t.Helper()
		store, err := d.openPlain(t, schema)
		require.NoError(t, err)
		var log bytes.Buffer
		require.NoError(t, inventory.KeyHostnames(t.Context(), store, slog.New(slog.NewTextHandler(&log, nil))))
		return store, log.String()
	}
	for range 2 {
		store, log := key(inventory.Schema())
		for id, hostname := range map[int]string{10: "sw1", 11: "SW1", 12: "Sw1", 13: "Elsewhere", 14: "elsewhere"} {
			device, err := records.Get[inventory.Device](t.Context(), store, sqlstoretest.ID(id))
			require.NoError(t, err)
			require.Equal(t, hostname, device.Hostname)
			require.EqualValues(t, 1, device.Version)
		}
		require.Equal(t, 2, strings.Count(log, "\n"), log)
		for _, want := range []string{"hostname=SW1 id=" + sqlstoretest.ID(11), "hostname=Sw1 id=" + sqlstoretest.ID(12), "other_id=" + sqlstoretest.ID(10)} {
			require.Contains(t, log, want)
		}
		require.NoError(t, store.Close())
	}

	store, _ = key(inventory.Schema())
	v, devices := records.New(store, nil), records.Of[inventory.Device](store.Schema())
	change := func(id int, apply func(d *inventory.Device)) error {
		_, err := v.Update(t.Context(), records.Caller{}, devices, records.Edit{ID: sqlstoretest.ID(id), Apply: func(rec records.Record) error {
			apply(rec.(*inventory.Device))
			return nil
		}})
		return err
	}
	taken := func(err error) { t.Helper(); require.Equal(t, records.Conflict, records.KindOf(err), "%v", err) }
	for id := 10; id < 13; id++ {
		require.NoError(t, change(id, func(d *inventory.Device) { d.Status = "offline" }))
	}
	taken(v.Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: "SW1", LocationID: &site}))
	taken(v.Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: "ELSEWHERE"}))
	taken(change(11, func(d *inventory.Device) { d.Hostname = "sW1" }))
	require.NoError(t, v.Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: "SW1", LocationID: &site, Tenant: "red"}))
	require.NoError(t, change(11, func(d *inventory.Device) { d.Hostname = "sw2" }))
	require.NoError(t, v.Delete(t.Context(), records.Caller{}, devices, records.Edit{ID: sqlstoretest.ID(10)}))
	require.NoError(t, store.Close())
	store, log := key(inventory.Schema())
	require.Empty(t, log)
	taken(records.New(store, nil).Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: "sw1", LocationID: &site}))
	require.NoError(t, store.Close())

	// An option allows names that differ in case only, and no equal ones; without it again, they stay.
	sensitive, err := inventory.NewSchema(inventory.CaseSensitiveHostnames())
	require.NoError(t, err)
	store, _ = key(sensitive)
	v = records.New(store, nil)
	require.NoError(t, v.Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: "sw1", LocationID: &site}, &inventory.Device{Hostname: "SW1", LocationID: &site}))
	for _, hostname := range []string{"sw1", "Sw1", "SW1"} {
		taken(v.Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: hostname, LocationID: &site}))
	}
	require.NoError(t, store.Close())
	store, log = key(inventory.Schema())
	require.Equal(t, 2, strings.Count(log, "\n"), log)
	for _, rd := range []string{"1:1", "1:2", ""} {
		require.NoError(t, records.New(store, nil).Create(t.Context(), records.Caller{}, &inventory.VRF{Name: "prod", RD: rd}))
	}
	taken(records.New(store, nil).Create(t.Context(), records.Caller{}, &inventory.VRF{Name: "prod"}))
	require.NoError(t, store.Close())
}

// leaveHostnames makes the database one of version 8.
func (d *database) leaveHostnames(t *testing.T) {
	t.Helper()
	for _, text := range []string{
		"DROP INDEX devices_location_id_hostname_key_key", "DROP INDEX devices_hostname_key_without_location_id_key", "ALTER TABLE devices DROP COLUMN hostname_key",
		"CREATE UNIQUE INDEX devices_location_id_hostname_key ON devices (location_id, hostname) WHERE location_id IS NOT NULL",
		"CREATE UNIQUE INDEX devices_hostname_without_location_id_key ON devices (hostname) WHERE location_id IS NULL",
		"DROP INDEX vrfs_rd_name_key", "DROP INDEX vrfs_name_without_rd_key", "CREATE UNIQUE INDEX vrfs_name_key ON vrfs (name)",
		"DELETE FROM ashlar_inventory_versions WHERE version = 9",
	} {
		d.execute(t, text)
	}
}
