package events_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/feature/events"
	"github.com/ashlar-go/ashlar/inventory/featuretest"
)

// TestRights: who may change events acknowledges them.
func TestRights(t *testing.T) {
	t.Parallel()
	featuretest.New(t, nil, events.New()).Rights(events.New(), map[string]featuretest.Rights{
		"PATCH /events/{id}": {Who: "133+", Scope: "events:write"},
		"PATCH /events":      {Who: "133+", Scope: "events:write"},
	})
}
