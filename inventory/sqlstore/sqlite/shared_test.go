package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

func TestCounts(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckCounts(t, open(t, filepath.Join(t.TempDir(), "inventory.db")), 3, 60)
}

func TestLatest(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckLatest(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}

func TestPrefetch(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckPrefetch(t, open(t, filepath.Join(t.TempDir(), "inventory.db")))
}
