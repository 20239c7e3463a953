package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
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

// TestKeys: a database gets the keys that it lacks (records.Field.OrderKey) when it is opened: one of an
// earlier version, by several processes at once, one whose upgrade was interrupted, and one to
// which an earlier version has added records.
func TestKeys(t *testing.T) {
	scaletest.Unraced(t)
	onBoth(t, checkKeys)
}

func checkKeys(t *testing.T, d *database) {
	const number = 2500 // several batches
	d.fillKeyed(t, number)
	d.removeKeys(t)
	errs := make([]error, 3)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			store, err := d.openPlain(t, inventory.Schema())
			if err == nil {
				err = store.Close()
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	d.checkKeyed(t, number)

	d.dropIndexes(t)
	d.execute(t, "UPDATE devices SET hostname__key = '' WHERE id > '"+sqlstoretest.ID(number/3)+"'") // killed while it filled them
	d.execute(t, "UPDATE devices SET ip__key = '' WHERE id > '"+sqlstoretest.ID(number/2)+"'")
	d.checkKeyed(t, number)
	d.dropIndexes(t) // killed before they were indexed
	d.checkKeyed(t, number)
	d.execute(t, "UPDATE devices SET hostname__key = '', ip__key = '' WHERE id > '"+sqlstoretest.ID(number-10)+"'") // by a program without keys
	d.checkKeyed(t, number)
}

// keyedDevices returns devices whose order is not that of their ids.
func keyedDevices(number int) (all []records.Record) {
	for i, rec := range sqlstoretest.Devices(0, number) {
		d := rec.(*inventory.Device)
		d.Hostname = fmt.Sprintf("Host-%d", i*7%number)
		if i%5 == 0 {
			d.IP = ""
		}
		all = append(all, d)
	}
	return all
}

// fillKeyed creates so many devices in a database that has none.
func (d *database) fillKeyed(t *testing.T, number int) {
	t.Helper()
	store, err := d.openPlain(t, inventory.Schema())
	require.NoError(t, err)
	require.NoError(t, sqlstoretest.Create(t, store, keyedDevices(number)...))
	require.NoError(t, store.Close())
}

// removeKeys makes the database one of an earlier version, which has no columns with keys.
func (d *database) removeKeys(t *testing.T) {
	t.Helper()
	d.dropIndexes(t)
	for _, r := range inventory.Schema().StoredResources() {
		for _, f := range r.Fields() {
			if f.Keyed() {
				d.execute(t, "ALTER TABLE "+r.Table()+" DROP COLUMN "+sqlstore.KeyColumn(f))
			}
		}
	}
}

func (d *database) dropIndexes(t *testing.T) {
	t.Helper()
	for _, name := range d.indexes(t) {
		// The index of a shared field contains the keys of others.
		if strings.Contains(name, "__key_") || strings.HasPrefix(name, "interfaces_description_") {
			d.execute(t, "DROP INDEX "+name)
		}
	}
}

func (d *database) execute(t *testing.T, text string) {
	t.Helper()
	_, err := d.raw(t).ExecContext(t.Context(), text)
	require.NoError(t, err, text)
}

func (d *database) indexes(t *testing.T) []string {
	t.Helper()
	return rows(t, d.raw(t), "WITH found (of, name, condition) AS ("+strings.NewReplacer("{schema}", "current_schema()", "{prefix}", "''").Replace(d.dialect().DDL.Indexes)+") SELECT name FROM found")
}

// checkKeyed opens the database, which has keyedDevices, and compares lists that use the keys with those of
// records.Query.Select.
func (d *database) checkKeyed(t *testing.T, number int) {
	t.Helper()
	store, err := d.openPlain(t, inventory.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	r := records.Of[inventory.Device](store.Schema())
	for _, query := range []string{
		"sortby=hostname:asc", "sortby=hostname:desc", "sortby=ip:asc", "within=10.0.1.0/28&sortby=ip:desc", "hostname=Host-2", "hostname__in=Host-9,Host-10", "ip=10.0.0.1",
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		q, err := records.ParseQuery(r, values)
		require.NoError(t, err)
		want := q.Select(keyedDevices(number))
		require.NotEmpty(t, want.Records, query)
		page, err := store.List(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, want.Total, page.Total, query)
		for i, rec := range want.Records {
			require.Equal(t, rec.Meta().ID, page.Records[i].Meta().ID, query)
		}
	}
	require.Empty(t, rows(t, d.raw(t), "SELECT id FROM devices WHERE hostname__key = '' OR (ip <> '') <> (ip__key <> '')"))
	require.Len(t, slices.DeleteFunc(d.indexes(t), func(name string) bool { return !strings.HasPrefix(name, "devices_ip_") }), 1)
}

// filling is the variable with the file whose keys this binary fills when a test runs it.
const filling = "ASHLAR_TEST_FILL_UNTIL_KILLED"

// fillUntilKilled upgrades a database without keys. It prints a line when the first keys are visible.
func fillUntilKilled(path string) error {
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return err
	}
	go func() {
		for {
			var n int
			// The column may not exist yet.
			if err := db.QueryRow("SELECT count(*) FROM devices WHERE hostname__key <> ''").Scan(&n); err == nil && n > 0 {
				fmt.Println("done")
				return
			}
		}
	}()
	if _, err = sqlite.Open(context.Background(), path, inventory.Schema(), nil); err == nil {
		select {}
	}
	return err
}

// TestKilledKeys: the next process completes the keys that one has filled in part when it was
// killed.
func TestKilledKeys(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	if testing.Short() {
		t.Skip("TestKeys has keys that a process has not filled to the end")
	}
	const number = 20_000
	d := newSQLite(t)
	d.fillKeyed(t, number)
	d.removeKeys(t)
	killAfter(t, filling, d.address, 1)
	d.checkKeyed(t, number)
}
