package metrics_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/metrics"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// object is a JSON object.
type object = featuretest.Object

func features() []*feature.Feature { return []*feature.Feature{metrics.New()} }

// TestRights: everybody sees metrics.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, metrics.New()).Rights(metrics.New(), map[string]featuretest.Rights{
		"GET /metrics":                     {Who: "1+++", Scope: "metrics:read"},
		"GET /metrics/{id}":                {Who: "1+++", Scope: "metrics:read"},
		"GET /metrics/device/{id}":         {Who: "1+++", Scope: "metrics:read"},
		"GET /metrics/device/{id}/history": {Who: "1+++", Scope: "metrics:read"},
	})
}
