package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

var update = flag.Bool("update", false, "write the database of the newest schema, if it is missing")

// TestUpgrade opens a database of each earlier schema, as programs of that time left it, and
// requires that its records are unchanged and that its tables are those of a new one. -update writes the file of the
// newest schema if it is missing; the schema before a migration that moves data needs one. An existing file is never
// written again, or it would prove nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	file := func(version int64) string {
		return filepath.Join("testdata", fmt.Sprintf("schema-%05d.db.gz", version))
	}
	all := inventory.Schema().Migrations()
	newest := file(all[len(all)-1].Version)
	if _, err := os.Stat(newest); os.IsNotExist(err) && *update {
		leave(t, newest)
	}
	for i, m := range all[1:] {
		if m.Statements != nil {
			require.FileExists(t, file(all[i].Version), "go test ./inventory/sqlstore/sqlite -run TestUpgrade -update writes it, without migration %d", m.Version)
		}
	}
	files, err := filepath.Glob("testdata/schema-*.db.gz")
	require.NoError(t, err)
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
	created := filepath.Join(t.TempDir(), "created.db")
	open(t, created)
	want, have := definitions(t, created), definitions(t, path)
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(have)))
	for name := range want {
		left := func(line string) bool { return name == "users" && strings.HasPrefix(line, "reset_password ") } // of versions in between
		require.Equal(t, want[name], slices.DeleteFunc(have[name], left), name)
	}

	sqlstoretest.CheckUpgraded(t, open(t, path))
}
