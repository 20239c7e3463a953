package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// TestBackup: a backup is complete, also while others write, has mode 0600, and never replaces
// a file.
func TestBackup(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "inventory.db"), "memory": sqlite.Memory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, file := open(t, path), filepath.Join(t.TempDir(), "it's a copy.db")
			require.NoError(t, create(t, store, makeDevices(0, 10)...))
			err := store.Change(t.Context(), func(tx records.Tx) error {
				if err := tx.Create(t.Context(), makeDevices(10, 11)...); err != nil || path == sqlite.Memory {
					return err
				}
				return store.Backup(t.Context(), file)
			})
			require.NoError(t, err)
			if path == sqlite.Memory {
				require.NoError(t, store.Backup(t.Context(), file))
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
			require.NoError(t, err)
			require.Equal(t, []string{file}, left)
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

			page, err := open(t, file).List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true})
			require.NoError(t, err)
			require.Len(t, page.Records, map[string]int{"file": 10, "memory": 11}[name])

			before, err := os.ReadFile(file)
			require.NoError(t, err)
			require.ErrorContains(t, store.Backup(t.Context(), file), "name a new file")
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, before, after)
			require.Error(t, store.Backup(t.Context(), filepath.Join(filepath.Dir(file), "none", "x.db")))
		})
	}
}
