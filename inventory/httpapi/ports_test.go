package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// ports adds interfaces of a device and returns their paths and ids.
func ports(g *harness, device any, names ...string) (paths, ids map[string]string) {
	paths, ids = map[string]string{}, map[string]string{}
	for _, name := range names {
		rec := g.create("/interfaces", port(device, name))
		ids[name] = rec["id"].(string)
		paths[name] = path("/interfaces", rec)
	}
	return paths, ids
}

// patch changes a record and requires a status, and a message for an error.
func patch(c *httpxtest.Client, path string, change object, status int, message string) {
	a := c.Send("PATCH", path, change)
	if status == 200 {
		a.Want(200)
		return
	}
	a.WantError(status, message)
}

// along returns the entries of the audit log with a cause.
func (g *harness) along(cause string) string {
	var all []string
	for _, e := range g.entries() {
		if e.Cause == cause {
			all = append(all, e.Action+" "+e.ResourceType+"/"+e.ResourceID)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestInterfaceTree: parents and LAGs are interfaces of the same device, without cycles.
func TestInterfaceTree(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		c := g.on(t, "root")
		here, there := g.create("/devices", device("sw1"))["id"], g.create("/devices", device("sw2"))["id"]
		at, id := ports(g, here, "a", "b", "c", "lag1", "lag2")
		_, elsewhere := ports(g, there, "a")
		patch(c, at["a"], object{"parent_id": id["a"]}, 400, "parent_id itself")
		patch(c, at["a"], object{"parent_id": elsewhere["a"]}, 400, "parent_id device")
		patch(c, at["a"], object{"parent_id": unknown}, 400, "parent_id interfaces exist")
		patch(c, at["a"], object{"parent_id": id["b"]}, 200, "")
		patch(c, at["b"], object{"parent_id": id["c"]}, 200, "")
		patch(c, at["c"], object{"parent_id": id["a"]}, 400, "parent_id below")
		c.Send("PATCH", "/interfaces", []object{{"id": id["lag1"], "parent_id": id["lag2"]}, {"id": id["lag2"], "parent_id": id["lag1"]}}).
			WantError(400, "parent_id inconsistent")

		patch(c, at["a"], object{"lag_id": id["lag1"]}, 400, "lag_id type")
		patch(c, at["lag1"], object{"type": "LAG"}, 200, "")
		patch(c, at["lag2"], object{"type": "lag"}, 200, "")
		patch(c, at["lag2"], object{"lag_id": id["lag1"]}, 400, "lag_id not_allowed")
		patch(c, at["a"], object{"lag_id": id["lag1"], "mtu": 9000}, 200, "")
		patch(c, at["lag1"], object{"type": "fiber"}, 400, "type lag 1")
		patch(c, at["lag1"], object{"device_id": there}, 400, "device_id changed 1")
		patch(c, at["a"], object{"device_id": there}, 400, "parent_id device")
		if got := values(data(t, c.Send("GET", "/interfaces?lag_id="+id["lag1"], nil)), "name"); got != "a" {
			t.Errorf("the members are %q", got)
		}
		c.Send("DELETE", at["lag1"], nil).Want(200)
		c.Send("DELETE", at["b"], nil).Want(200)
		if rec := read(t, c.Send("GET", at["a"], nil)); rec["lag_id"] != nil || rec["parent_id"] != nil {
			t.Errorf("the member of a deleted LAG is %v", rec)
		}
		if got := g.along("interface/" + id["b"]); got != "update interface/"+id["a"] {
			t.Errorf("what went along is %q", got)
		}
		patch(c, at["a"], object{"parent_id": id["c"]}, 200, "")
		c.Send("DELETE", "/devices/"+here.(string), nil).Want(200)
		c.Send("GET", "/interfaces?device_id="+here.(string), nil).Want(200)
	})
}

// TestVLANMembership: interfaces have an untagged VLAN and, as trunks, tagged ones.
func TestVLANMembership(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		c := g.on(t, "root")
		here := g.create("/devices", device("sw1"))["id"]
		at, id := ports(g, here, "a", "b")
		vlan := func(n int, name string) string {
			return g.create("/vlans", object{"vlan_id": n, "name": name})["id"].(string)
		}
		users, voice := vlan(10, "users"), vlan(20, "voice")
		patch(c, at["a"], object{"untagged_vlan_id": users}, 400, "untagged_vlan_id trunk-all")
		patch(c, at["a"], object{"untagged_vlan_id": users, "mode": "access"}, 200, "")
		tagged := object{"interface_id": id["a"], "vlan_id": voice}
		c.Send("POST", "/tagged-vlans", tagged).WantError(400, "interface_id trunk")
		patch(c, at["a"], object{"mode": "Trunk"}, 200, "")
		made := read(t, c.Send("POST", "/tagged-vlans", tagged).Want(201))
		c.Send("POST", "/tagged-vlans", tagged).WantError(409, "tagged VLAN")
		c.Send("POST", "/tagged-vlans", with(tagged, "interface_id", unknown)).WantError(400, "interface_id refers to")
		g.on(t, "editor").Send("POST", "/tagged-vlans", tagged).Want(403)
		for _, filter := range []string{"interface_id=" + id["a"], "vlan_id=" + voice} {
			if n := len(data(t, c.Send("GET", "/tagged-vlans?"+filter, nil))); n != 1 {
				t.Errorf("%s: %d tagged VLANs", filter, n)
			}
		}
		if n := len(data(t, c.Send("GET", "/interfaces?untagged_vlan_id="+users, nil))); n != 1 {
			t.Errorf("%d interfaces have the untagged VLAN", n)
		}
		patch(c, at["a"], object{"mode": "trunk all"}, 400, "mode in_use 1")
		c.Send("DELETE", "/vlans/"+voice, nil).Want(200)
		if got := g.along("vlan/" + voice); got != "delete tagged_vlan/"+made["id"].(string) {
			t.Errorf("what went along is %q", got)
		}
		patch(c, at["a"], object{"mode": "trunk all"}, 200, "")
		c.Send("DELETE", "/vlans/"+users, nil).Want(200)
		if rec := read(t, c.Send("GET", at["a"], nil)); rec["untagged_vlan_id"] != nil || rec["mode"] != "trunk all" {
			t.Errorf("the interface is %v", rec)
		}
		if doc := c.Send("GET", "/openapi.json", nil).Want(200).Body.String(); !strings.Contains(doc, `"/tagged-vlans/{id}"`) || !strings.Contains(doc, `"lag_id__isnull"`) {
			t.Error("the document lacks tagged VLANs or LAGs")
		}
	})
}
