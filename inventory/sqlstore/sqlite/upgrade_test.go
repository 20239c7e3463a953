package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

var update = flag.Bool("update", false, "write the database of the newest schema, if it is missing")

// TestUpgrade opens a database of each earlier schema, as programs of that time left it, and
// requires that its records are unchanged. -update writes the file of the newest schema if it is
// missing. An existing file is never written again, or it would prove nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	all := names(t)
	number, _, _ := strings.Cut(filepath.Base(all[len(all)-1]), "_")
	newest := filepath.Join("testdata", "schema-"+number+".db.gz")
	if _, err := os.Stat(newest); os.IsNotExist(err) && *update {
		leave(t, newest)
	}
	require.FileExists(t, newest, "go test ./inventory/sqlstore/sqlite -run TestUpgrade -update writes it")
	files, err := filepath.Glob("testdata/schema-*.db.gz")
	require.NoError(t, err)
	require.Len(t, files, len(all), "one for each migration")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inventory.db")
			unpack(t, file, path)
			checkUpgraded(t, path)
		})
	}
}

// TestUpgradeBesideOthers: a connection that has read the old schema uses the new one.
func TestUpgradeBesideOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	unpack(t, filepath.Join("testdata", "schema-00001.db.gz"), path)
	db := raw(t, path)
	const change = "UPDATE locations SET city = ''"
	_, err := db.ExecContext(t.Context(), change)
	require.Error(t, err)
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), change)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// leave writes a database with the records of upgrades, as this program does.
func leave(t *testing.T, file string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	for _, rec := range sqlstoretest.UpgradeRecords() {
		require.NoError(t, create(t, store, rec))
	}
	require.NoError(t, store.Close())
	small := path + ".small"
	require.NoError(t, sqlite.Backup(t.Context(), path, small))
	data, err := os.ReadFile(small)
	require.NoError(t, err)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, packed.Bytes(), 0o644))
}

func unpack(t *testing.T, file, path string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// checkUpgraded opens the file twice, as the second time there is nothing to migrate.
func checkUpgraded(t *testing.T, path string) {
	t.Helper()
	for range 2 {
		store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
		require.NoError(t, err)
		sqlstoretest.CheckUpgradeRecords(t, store)
		require.NoError(t, store.Close())
	}
	require.Equal(t, []string{"ok"}, rows(t, raw(t, path), "PRAGMA integrity_check"))
	require.Empty(t, rows(t, raw(t, path), `SELECT "table" FROM pragma_foreign_key_check`))

	sqlstoretest.CheckUpgraded(t, open(t, path))
}
