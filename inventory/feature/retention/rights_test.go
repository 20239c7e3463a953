package retention_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/retention"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// object is a JSON object.
type object = featuretest.Object

func features() []*feature.Feature { return []*feature.Feature{retention.New()} }

// TestRights: admins prune.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, retention.New()).Rights(retention.New(), map[string]featuretest.Rights{
		"POST /retention": {Who: "133+"},
	})
}
