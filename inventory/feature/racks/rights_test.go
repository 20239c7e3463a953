package racks_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/racks"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// TestRights: who may see racks and devices sees what is in a rack.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, racks.New()).Rights(racks.New(), map[string]featuretest.Rights{
		"GET /racks/{id}/elevation": {Who: "1+++"},
	})
}
