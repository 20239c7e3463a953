package sqlite_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// names are the files of the migrations.
func names(t testing.TB) []string {
	t.Helper()
	all, err := fs.Glob(inventory.Schema().MigrationFiles(), "sqlite/*.sql")
	require.NoError(t, err)
	return all
}

func deviceID(n int) string { return sqlstoretest.ID(n) }

func makeDevices(n, m int) []records.Record { return sqlstoretest.Devices(n, m) }

func withBase[R records.Record](n int, rec R) R { return sqlstoretest.WithBase(n, rec) }

func create(t testing.TB, store records.Store, recs ...records.Record) error {
	t.Helper()
	return sqlstoretest.Create(t, store, recs...)
}
