package hosts_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/hosts"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// TestRights: who may list devices may use each document.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, hosts.New()).Rights(hosts.New(), map[string]featuretest.Rights{
		"GET /sd/prometheus": {Who: "1+++", Scope: "devices:read"},
		"GET /sd/ansible":    {Who: "1+++", Scope: "devices:read"},
		"GET /sd/hosts":      {Who: "1+++", Scope: "devices:read"},
		"GET /sd/zone":       {Who: "1+++", Scope: "devices:read"},
		"GET /sd/ssh":        {Who: "1+++", Scope: "devices:read"},
	})
}
