package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// with returns the schema with one more migration, as in a later version of the program.
func with(t testing.TB, text string) *records.Schema {
	t.Helper()
	schema, err := inventory.NewSchema(records.Migrations(records.Migration{Version: 90_000, Statements: map[string][]string{"": {text}}}))
	require.NoError(t, err)
	return schema
}

// later opens a file as a later version of the program does.
func later(t testing.TB, path, text string) (*sqlstore.Store, error) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	store, err := sqlstore.New(t.Context(), db, db, sqlite.Dialect(), with(t, text), nil)
	if err != nil {
		require.NoError(t, db.Close())
	}
	return store, err
}

// TestLaterMigration: a database of an earlier version is migrated with its content, a failed
// migration changes nothing, and a database newer than the program is refused.
func TestLaterMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	first, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, create(t, first, makeDevices(0, 3)...))
	require.NoError(t, first.Close())

	_, err = later(t, path, "ALTER TABLE devices ADD COLUMN colour TEXT NOT NULL DEFAULT ''; ALTER TABLE nothing ADD COLUMN x TEXT;")
	require.ErrorContains(t, err, "nothing")
	require.NotContains(t, rows(t, raw(t, path), "SELECT name FROM pragma_table_info('devices')"), "colour", "half a migration")

	newer, err := later(t, path, "ALTER TABLE devices ADD COLUMN colour TEXT NOT NULL DEFAULT '';")
	require.NoError(t, err)
	page, err := newer.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true})
	require.NoError(t, err)
	require.Len(t, page.Records, 3)
	require.EqualValues(t, 3, page.Total)
	require.NoError(t, newer.Close())

	_, err = sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.ErrorContains(t, err, "version 90000 of the schema, and this program supports")
	require.ErrorContains(t, err, path)
}

// TestOpenBusy: opening a new file waits for another process that writes to it, although SQLite
// does not wait while it creates the write-ahead log.
func TestOpenBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	ended := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		_, err := db.ExecContext(t.Context(), "ROLLBACK") // a COMMIT would wait for readers
		ended <- errors.Join(err, db.Close())
	})
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{BusyTimeout: time.Minute})
	require.NoError(t, <-ended)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// TestOpenWhileUpgrading: opening a file waits longer than other statements do for a process that
// may be upgrading it.
func TestOpenWhileUpgrading(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	first, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	ended := make(chan error, 1)
	time.AfterFunc(500*time.Millisecond, func() {
		_, err := db.ExecContext(t.Context(), "ROLLBACK")
		ended <- errors.Join(err, db.Close())
	})
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{BusyTimeout: time.Millisecond})
	require.NoError(t, <-ended)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// TestOpenersAtOnce: several processes may start at the same time on a new database.
func TestOpenersAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			store, err := sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{BusyTimeout: time.Minute})
			if err == nil {
				err = errors.Join(create(t, store, makeDevices(i, i+1)...), store.Close())
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, []string{"4"}, rows(t, raw(t, path), "SELECT count(*) FROM devices"))
}
