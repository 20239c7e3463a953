package sqlstoretest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// KeyedDatabase is a database whose keys of existing records (records.Field.OrderKey) are tested.
type KeyedDatabase struct {
	DB      *sql.DB // beside the stores
	Dialect sqlstore.Dialect
	Open    func() (*sqlstore.Store, error) // with the schema of the inventory
}

// CheckKeys requires that a database gets the keys that it lacks when it is opened: one of an
// earlier version, by several processes at once, one whose upgrade was interrupted, and one to
// which an earlier version has added records. The database must be empty.
func (k *KeyedDatabase) CheckKeys(t *testing.T) {
	t.Helper()
	const number = 2500 // several batches
	k.Fill(t, number)
	k.RemoveKeys(t)
	errs := make([]error, 3)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			store, err := k.Open()
			if err == nil {
				err = store.Close()
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	k.Check(t, number)

	k.dropIndexes(t)
	k.execute(t, "UPDATE devices SET hostname__key = '' WHERE id > '"+ID(number/3)+"'") // killed while it filled them
	k.execute(t, "UPDATE devices SET ip__key = '' WHERE id > '"+ID(number/2)+"'")
	k.Check(t, number)
	k.dropIndexes(t) // killed before they were indexed
	k.Check(t, number)
	k.execute(t, "UPDATE devices SET hostname__key = '', ip__key = '' WHERE id > '"+ID(number-10)+"'") // by a program without keys
	k.Check(t, number)
}

// keyedDevices returns devices whose order is not that of their ids.
func keyedDevices(number int) (all []records.Record) {
	for i, rec := range Devices(0, number) {
		d := rec.(*inventory.Device)
		d.Hostname = fmt.Sprintf("Host-%d", i*7%number)
		if i%5 == 0 {
			d.IP = ""
		}
		all = append(all, d)
	}
	return all
}

// Fill creates so many devices in a database that has none.
func (k *KeyedDatabase) Fill(t *testing.T, number int) {
	t.Helper()
	store, err := k.Open()
	require.NoError(t, err)
	require.NoError(t, Create(t, store, keyedDevices(number)...))
	require.NoError(t, store.Close())
}

// RemoveKeys makes the database one of an earlier version, which has no columns with keys.
func (k *KeyedDatabase) RemoveKeys(t *testing.T) {
	t.Helper()
	k.dropIndexes(t)
	for _, r := range inventory.Schema().StoredResources() {
		for _, f := range r.Fields() {
			if f.Keyed() {
				k.execute(t, "ALTER TABLE "+r.Table()+" DROP COLUMN "+sqlstore.KeyColumn(f))
			}
		}
	}
}

func (k *KeyedDatabase) dropIndexes(t *testing.T) {
	t.Helper()
	for _, name := range k.indexes(t) {
		// The index of a shared field contains the keys of others.
		if strings.Contains(name, "__key_") || strings.HasPrefix(name, "interfaces_description_") {
			k.execute(t, "DROP INDEX "+name)
		}
	}
}

func (k *KeyedDatabase) execute(t *testing.T, text string) {
	t.Helper()
	_, err := k.DB.ExecContext(t.Context(), text)
	require.NoError(t, err, text)
}

func (k *KeyedDatabase) indexes(t *testing.T) []string {
	t.Helper()
	return k.names(t, "WITH found (name, condition) AS ("+k.Dialect.DDL.Indexes+") SELECT name FROM found")
}

// names returns the rows of a statement with one column.
func (k *KeyedDatabase) names(t *testing.T, text string) (all []string) {
	t.Helper()
	rows, err := k.DB.QueryContext(t.Context(), text)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		all = append(all, name)
	}
	require.NoError(t, rows.Err())
	return all
}

// Check opens the database, which has keyedDevices, and compares lists that use the keys with those of
// records.Query.Select.
func (k *KeyedDatabase) Check(t *testing.T, number int) {
	t.Helper()
	store, err := k.Open()
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
	require.Empty(t, k.names(t, "SELECT id FROM devices WHERE hostname__key = '' OR (ip <> '') <> (ip__key <> '')"))
	require.Len(t, slices.DeleteFunc(k.indexes(t), func(name string) bool { return !strings.HasPrefix(name, "devices_ip_") }), 1)
}
