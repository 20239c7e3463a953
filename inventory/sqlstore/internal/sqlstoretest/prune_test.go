package sqlstoretest_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// The checks of pruning hold for the store in memory too.

func TestPruneMemStore(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	sqlstoretest.CheckPrune(t, records.NewMemStore(inventory.Schema()), 4000)
}

func TestPruneLatestMemStore(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckPruneLatest(t, records.NewMemStore(inventory.Schema()))
}

func TestPruneAuditMemStore(t *testing.T) {
	t.Parallel()
	sqlstoretest.CheckPruneAudit(t, records.NewMemStore(inventory.Schema()))
}
