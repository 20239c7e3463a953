package imports_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/imports"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// TestRights: everybody may import, with the rights to what the rows need.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, imports.New()).Rights(imports.New(), map[string]featuretest.Rights{
		"POST /import": {Who: "1+++"},
	})
}
