package httpapi_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestTransaction: bulk requests of several resources are one transaction, with the rights of each of them.
func TestTransaction(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		c := g.on(t, "root")
		d := g.create("/devices", device("sw1"))["id"]
		vlan := g.create("/vlans", object{"vlan_id": 10, "name": "data"})["id"]
		part := func(method, resource string, items ...any) object {
			return object{"method": method, "resource": resource, "items": items}
		}
		// A new port and its tagged VLAN, which names it by its natural key.
		made := []object{
			part("POST", "interfaces", with(port(d, "eth0"), "mode", "trunk")),
			part("POST", "tagged-vlans", object{"interface": object{"device": "sw1", "name": "eth0"}, "vlan_id": vlan}),
		}
		c.Send("POST", "/transaction?dry_run=true", made).Want(200)
		count := func(list string) int { return len(data(t, c.Send("GET", list, nil))) }
		if n := count("/interfaces"); n != 0 {
			t.Fatalf("a dry run has made %d interfaces", n)
		}
		for range 2 {
			c.Send("POST", "/transaction", made, "Idempotency-Key", "once").Want(201)
		}
		eth0, tagged := data(t, c.Send("GET", "/interfaces", nil))[0], data(t, c.Send("GET", "/tagged-vlans", nil))[0]

		// A trunk becomes an access port only without its tagged VLANs, and keeps them if it does not become one.
		change := part("PATCH", "interfaces", object{"id": eth0["id"], "mode": "access", "if_version": 1})
		c.Send("POST", "/transaction", []object{change, part("DELETE", "tagged-vlans", tagged["id"])}).WantError(400, "mode tagged VLANs")
		stale := part("PATCH", "interfaces", object{"id": eth0["id"], "mode": "access", "if_version": 9})
		c.Send("POST", "/transaction", []object{part("DELETE", "tagged-vlans", tagged["id"]), stale}).WantError(412, "changed")
		if n := count("/tagged-vlans"); n != 1 {
			t.Fatalf("a transaction that failed left %d tagged VLANs", n)
		}
		both := []object{part("DELETE", "tagged-vlans", tagged["id"]), change}
		g.on(t, "viewer").Send("POST", "/transaction", both).Want(403)
		c.Send("POST", "/transaction", both).Want(201)
		if n := count("/tagged-vlans"); n != 0 || read(t, c.Send("GET", path("/interfaces", eth0), nil))["mode"] != "access" {
			t.Errorf("a transaction left %d tagged VLANs", n)
		}

		for _, bad := range [][]object{
			{},
			make([]object, 11),
			{part("PUT", "interfaces", eth0)},
			{part("PATCH", "nothing", eth0)},
			{part("PATCH", "users", object{"id": eth0["id"]})},
			{{"method": "PATCH", "resource": "interfaces", "items": "x"}},
			{part("PATCH", "interfaces")},
			{part("POST", "audit-logs", object{})},
		} {
			c.Send("POST", "/transaction", bad).Want(400)
		}
	})
}
