package metrics_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/metrics"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

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
