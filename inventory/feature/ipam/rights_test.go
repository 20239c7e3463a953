package ipam_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/ipam"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// object is a JSON object.
type object = featuretest.Object

func features() []*feature.Feature { return []*feature.Feature{ipam.New()} }

// TestRights: who may create addresses and prefixes may ask for free ones.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, ipam.New()).Rights(ipam.New(), map[string]featuretest.Rights{
		"POST /prefixes/{id}/next-address": {Who: "133+", Scope: "addresses:write"},
		"POST /prefixes/{id}/next-prefix":  {Who: "133+", Scope: "prefixes:write"},
		"GET /prefixes/{id}/usage":         {Who: "1+++", Scope: "prefixes:read"},
	})
}
