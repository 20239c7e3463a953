package cabling_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/cabling"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// object is a JSON object.
type object = featuretest.Object

func features() []*feature.Feature { return []*feature.Feature{cabling.New()} }

// TestRights: everybody may trace, with the right to list what a trace shows.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, cabling.New()).Rights(cabling.New(), map[string]featuretest.Rights{
		"GET /trace": {Who: "1+++"},
	})
}
