package retention_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/retention"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

type object = featuretest.Object

// TestRights: admins prune.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, retention.New(), map[string]featuretest.Rights{
		"POST /retention": {Who: "133+"},
	})
}

// TestRetention prunes events and the audit log by number, previews it, and reads what was said
// about it.
func TestRetention(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		root := g.As("root")
		var recs []records.Record
		for n := range 20 {
			recs = append(recs, &inventory.Event{Severity: "info", Type: "t", Message: fmt.Sprint(n)})
		}
		require.NoError(t, records.New(g.Store, nil).Create(context.Background(), records.Caller{}, recs...))
		prune := func(query string, body object, want object) {
			t.Helper()
			got := featuretest.Read(t, root.Send("POST", "/retention"+query, body).Want(200))
			for name, value := range want {
				if got[name] != value {
					t.Errorf("%v: %v, want %v", body, got, want)
				}
			}
		}
		total := func(path string, want float64) {
			t.Helper()
			if got := featuretest.Read(t, root.Send("GET", path, nil).Want(200))["meta"].(object)["total_count"]; got != want {
				t.Errorf("%s: %v records, want %v", path, got, want)
			}
		}
		events := object{"resource": "events", "max_age": "24h", "max_records": 5}
		prune("?dry_run=true", events, object{"status": "dry_run", "message": "Would delete 15 events", "deleted": 15.0})
		total("/events", 20)
		prune("", events, object{"status": "success", "pruned": 15.0, "more": false})
		prune("", events, object{"pruned": 0.0, "more": false})
		total("/events", 5)
		total("/events?severity=info", 5)
		total("/audit-logs?action=prune", 1)
		entry := featuretest.Read(t, root.Send("GET", "/audit-logs?action=prune", nil).Want(200))["data"].([]any)[0].(object)
		changes := fmt.Sprint(entry["actor"], entry["resource_type"], entry["changes"].(object)["pruned"], entry["changes"].(object)["max_age"])
		if changes != "rooteventmap[after:15 before:<nil>] map[after:24h0m0s before:<nil>]" {
			t.Error(changes)
		}
		prune("", object{"resource": "audit-logs", "max_records": 3}, object{"more": false})
		total("/audit-logs", 3)
		_, err := records.VerifyAudit(context.Background(), g.Store, nil)
		require.NoError(t, err)

		for _, c := range []struct {
			body    object
			message string
		}{
			{object{"resource": "devices", "max_records": 1}, "resource audit-logs"},
			{object{"resource": "events"}, "max_age"},
			{object{"resource": "events", "max_age": "1s"}, "max_age least 1m"},
			{object{"resource": "events", "max_age": "a year"}, "max_age duration"},
			{object{"resource": "events", "max_records": 0}, "max_records least 1"},
		} {
			root.Send("POST", "/retention", c.body).WantError(400, c.message)
		}
		g.As("viewer").Send("POST", "/retention", events).WantError(403, "")
	}, retention.New)
}
