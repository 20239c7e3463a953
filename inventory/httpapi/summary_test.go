package httpapi_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestSummary checks that counts follow changes, deletions and references that become null.
func TestSummary(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		viewer, root := g.as("viewer"), g.as("root")
		site := g.create("/locations", location("Berlin"))
		first := g.create("/devices", with(device("a"), "location_id", site["id"]))
		g.create("/devices", with(device("b"), "status", "offline", "role", "core"))
		third := g.create("/devices", with(device("c"), "status", "offline"))
		want := func(query string, total float64, by object) {
			t.Helper()
			got := read(t, viewer.Send("GET", "/summary?resource="+query, nil).Want(200))
			expected := object{"status": "success", "resource": got["resource"], "total": total, "by": by}
			if !reflect.DeepEqual(got, expected) {
				t.Errorf("%s: %v, want %v", query, got, expected)
			}
		}
		want("devices&by=status", 3, object{"status": object{"active": 1.0, "offline": 2.0}})
		want("devices&by=role,location_id", 3, object{
			"role": object{"": 2.0, "core": 1.0}, "location_id": object{"": 2.0, site["id"].(string): 1.0},
		})
		want("interfaces&by=mtu", 0, object{"mtu": object{}})
		root.Send("PATCH", path("/devices", first), object{"status": "offline"}).Want(200)
		root.Send("DELETE", path("/devices", third), nil).Want(200)
		root.Send("DELETE", path("/locations", site), nil).Want(200)
		want("devices&by=location_id,status", 2, object{"location_id": object{"": 2.0}, "status": object{"offline": 2.0}})

		for query, message := range map[string]string{
			"":                              "resource addresses devices",
			"resource=devices":              "by few model os",
			"resource=devices&by=hostname":  "by fields devices",
			"resource=devices&by=os,os":     "repeated by os",
			"resource=secrets&by=name":      "resource one",
			"resource=devices&by=os&page=1": "page unknown",
			"resource=devices&by=model,vendor,os,os_version,status,role,location_id,tenant,tags,rack_id,device_type_id": "by too_many 10",
		} {
			viewer.Send("GET", "/summary?"+query, nil).WantError(400, message)
		}
		viewer.Send("GET", "/summary?resource=users&by=role", nil).WantError(403, "")
		viewer.Send("GET", "/summary?resource=audit-logs&by=action", nil).WantError(403, "")
		root.Send("GET", "/summary?resource=audit-logs&by=action", nil).Want(200)
		g.as("").Send("GET", "/summary?resource=devices&by=os", nil).WantError(401, "")
	})
}

// TestSummaryIsBounded checks that a summary has the 1,000 most frequent values only.
func TestSummaryIsBounded(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		var recs []records.Record
		v := records.New(g.store, nil)
		for n := range 1003 {
			d := &inventory.Device{Hostname: fmt.Sprint("host-", n), IP: "192.0.2.1", Vendor: "x", OS: "x", Status: "active", Model: fmt.Sprintf("m%04d", n)}
			if n == 1002 {
				d.Model = "m1001" // two devices: the first
			}
			ok(t, v.Init(d))
			recs = append(recs, d)
		}
		for chunk := range slices.Chunk(recs, 50) { // the race detector makes SQLite slow
			ok(t, g.store.Change(context.Background(), func(tx records.Tx) error { return tx.Create(context.Background(), chunk...) }))
		}
		got := read(t, g.as("viewer").Send("GET", "/summary?resource=devices&by=model,os", nil).Want(200))
		models := got["by"].(object)["model"].(object)
		if len(models) != 1000 || models["m1001"] != 2.0 || models["m0998"] != 1.0 || !reflect.DeepEqual(got["other"], object{"model": 2.0}) {
			t.Errorf("%d models, m1001 %v, other %v", len(models), models["m1001"], got["other"])
		}
	})
}
