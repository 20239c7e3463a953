package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

func TestCounts(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	sqlstoretest.CheckCounts(t, open(t, filepath.Join(t.TempDir(), "inventory.db")), 3, sqlstoretest.Scaled(60))
}

func TestLatest(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckLatest(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestUniqueHostnames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	sqlstoretest.CheckUniqueHostnames(t, func(schema *records.Schema) (records.Store, error) {
		store, err := sqlite.Open(t.Context(), path, schema, nil)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, store.Close()) })
		}
		return store, err
	})
}

func TestPrefetch(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckPrefetch(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestLatestOfMany(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckLatestOfMany(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestLists(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	sqlstoretest.CheckLists(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckSearch(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestPairs(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	sqlstoretest.CheckPairs(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	sqlstoretest.CheckRemembered(t, open(t, path), open(t, path))
}

func TestRememberedAudit(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	path := filepath.Join(t.TempDir(), "inventory.db")
	sqlstoretest.CheckRememberedAudit(t, open(t, path), open(t, path), func(text string) {
		_, err := raw(t, path).ExecContext(t.Context(), text)
		require.NoError(t, err)
	})
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	sqlstoretest.CheckEstimates(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
	sqlstoretest.CheckPlacedEstimates(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestPrune(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	size := 20_000
	if testing.Short() {
		size = 4_000
	}
	sqlstoretest.CheckPrune(t, open(t, filepath.Join(t.TempDir(), "inventory.db")), size)
}

func TestPruneKilled(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckPruneKilled(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestPruneLatest(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckPruneLatest(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestPruneAudit(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	sqlstoretest.CheckPruneAudit(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

// TestCables: processes that share a database respect each other's ports and cables.
func TestCables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	sqlstoretest.CheckCables(t, [2]records.Store{open(t, path), open(t, path)})
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	path := filepath.Join(t.TempDir(), "inventory.db")
	sqlstoretest.CheckAddresses(t, [2]records.Store{open(t, path), open(t, path)})
}
