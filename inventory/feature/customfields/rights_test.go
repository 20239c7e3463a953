package customfields_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/customfields"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// object is a JSON object.
type object = featuretest.Object

func features() []*feature.Feature { return []*feature.Feature{customfields.New()} }

// TestRights: admins delete custom fields.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, customfields.New()).Rights(customfields.New(), map[string]featuretest.Rights{
		"DELETE /custom-fields/{id}": {Who: "133+", Scope: "custom-fields:write"},
	})
}
