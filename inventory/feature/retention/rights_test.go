package retention_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/retention"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// TestRights: admins prune.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, retention.New()).Rights(retention.New(), map[string]featuretest.Rights{
		"POST /retention": {Who: "133+"},
	})
}
