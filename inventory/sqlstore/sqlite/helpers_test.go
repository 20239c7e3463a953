package sqlite_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// names are the files of the migrations.
func names(t testing.TB, d sqlstore.Dialect) []string {
	t.Helper()
	all, err := fs.Glob(d.Migrations, "*.sql")
	require.NoError(t, err)
	return all
}

func readFile(d sqlstore.Dialect, name string) ([]byte, error) {
	return fs.ReadFile(d.Migrations, name)
}

func deviceID(n int) string { return sqlstoretest.ID(n) }

func makeDevices(n, m int) []inventory.Record { return sqlstoretest.Devices(n, m) }

func withBase[R inventory.Record](n int, rec R) R { return sqlstoretest.WithBase(n, rec) }

func create(t testing.TB, store inventory.Store, records ...inventory.Record) error {
	t.Helper()
	return sqlstoretest.Create(t, store, records...)
}
