package httpapi_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// hostnames returns the hostnames of a list, or the names of records without one.
func hostnames(t *testing.T, recs []object) string {
	t.Helper()
	var all []string
	for _, rec := range recs {
		name := rec["hostname"]
		if name == nil {
			name = rec["name"]
		}
		all = append(all, fmt.Sprint(name))
	}
	return strings.Join(all, " ")
}

// TestBelow: a list has the records of a location and of those within it.
func TestBelow(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		c := g.on(t, "root")
		id := map[string]string{}
		for _, site := range []struct{ name, in, kind string }{
			{"europe", "", "region"}, {"vienna", "europe", "site"}, {"room-1", "vienna", "room"}, {"room-2", "vienna", "room"}, {"oslo", "europe", "site"}, {"asia", "", "region"},
		} {
			rec := object{"name": site.name, "kind": site.kind, "site_code": site.name}
			if site.in != "" {
				rec["parent"] = site.in
			}
			id[site.name] = g.create("/locations", rec)["id"].(string)
			g.create("/devices", object{"hostname": "of-" + site.name, "location_id": id[site.name]})
		}
		for query, want := range map[string]string{
			"/locations?sortby=name:asc&below=" + id["vienna"]:                      "room-1 room-2 vienna",
			"/locations?sortby=name:asc&kind=room&below=" + id["europe"]:            "room-1 room-2",
			"/devices?sortby=hostname:asc&below=" + id["europe"]:                    "of-europe of-oslo of-room-1 of-room-2 of-vienna",
			"/devices?sortby=hostname:asc&below=" + id["room-1"]:                    "of-room-1",
			"/devices?sortby=hostname:asc&location_id=" + id["vienna"]:              "of-vienna",
			"/devices?sortby=hostname:asc&below=" + id["oslo"] + "," + id["room-1"]: "of-oslo of-room-1",
			"/devices?hostname=of-room-2&limit=1&below=" + id["vienna"]:             "of-room-2",
			"/devices?below=018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f&fields=id":         "",
		} {
			if got := hostnames(t, data(t, c.Send("GET", query, nil))); got != want {
				t.Errorf("%s: %s, want %s", query, got, want)
			}
		}
		g.create("/devices", object{"hostname": "nowhere"})
		g.create("/devices", object{"hostname": "off", "status": "offline", "location_id": id["room-2"]})
		for where, want := range map[string]object{
			"":                               {"vienna": 4.0, "oslo": 1.0, "europe": 6.0, "asia": 1.0, "": 1.0},
			"&where=below=" + id["oslo"]:     {"vienna": 4.0, "oslo": 1.0, "europe": 6.0, "asia": 1.0, "": 1.0},
			"&where=status%3Doffline":        {"vienna": 1.0},
			"&where=hostname%3Dof-europe":    {"europe": 1.0},
			"&where=status%3Ddecommissioned": {},
		} {
			got := read(t, c.Send("GET", "/summary?resource=devices&by=status,below"+where, nil).Want(200))["by"].(object)["below"].(object)
			for name, at := range id {
				if n, ok := got[at]; ok {
					delete(got, at)
					got[name] = n
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the sites have %v, want %v", where, got, want)
			}
		}
		c.Send("GET", "/summary?resource=vrfs&by=below", nil).WantError(400, "by fields")
		c.Send("DELETE", "/devices", []any{data(t, c.Send("GET", "/devices?hostname=nowhere", nil))[0]["id"], data(t, c.Send("GET", "/devices?hostname=off", nil))[0]["id"]}).Want(200)
		c.Send("GET", "/devices?below=vienna", nil).WantError(400, "below id")
		patch(c, "/locations/"+id["europe"], object{"parent_id": id["room-1"]}, 400, "parent_id within")
		patch(c, "/locations/"+id["europe"], object{"parent_id": id["europe"]}, 400, "parent_id itself")
		patch(c, "/locations/"+id["asia"], object{"parent_id": id["room-2"]}, 200, "")
		if got := hostnames(t, data(t, c.Send("GET", "/devices?sortby=hostname:asc&below="+id["room-2"], nil))); got != "of-asia of-room-2" {
			t.Errorf("after the move: %s", got)
		}
		above := id["asia"]
		for n := 4; n < 16; n++ {
			above = g.create("/locations", object{"name": fmt.Sprint("deep-", n), "parent_id": above})["id"].(string)
		}
		g.create("/locations", object{"name": "deepest", "parent_id": above})
		c.Send("POST", "/locations", object{"name": "too deep", "parent": "deepest"}).WantError(400, "parent_id 15")
	})
}

// TestDeviceTypes: a new device has the ports of its type.
func TestDeviceTypes(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		c := g.on(t, "root")
		kind := g.create("/device-types", object{"manufacturer": "Arista", "model": "7050", "height": 2})
		template := func(more object) object {
			more["device_type"] = object{"manufacturer": "Arista", "model": "7050"}
			return more
		}
		for _, p := range []object{
			{"kind": "interface", "name": "Ethernet1/[1-48]", "type": "sfp"},
			{"kind": "front-port", "name": "Port [1-4]", "rear_port": "Rear"},
			{"kind": "rear-port", "name": "Rear", "positions": 4},
			{"kind": "front-port", "name": "F[1-2]", "rear_port": "R[7-8]"},
			{"kind": "rear-port", "name": "R[7-8]"},
		} {
			g.create("/port-templates", template(p))
		}
		for _, bad := range []struct {
			template object
			message  string
		}{
			{object{"kind": "interface", "name": "Ethernet1/[1-48]"}, ""},
			{object{"kind": "interface", "name": "x[5-2]"}, "name bad_format [5-2]"},
			{object{"kind": "interface", "name": "x[1-2]/[1-2]"}, "name bad_format one range"},
			{object{"kind": "interface", "name": "x[1-500]"}, "name 557 512"},
			{object{"kind": "front-port", "name": "x"}, "rear_port empty"},
			{object{"kind": "front-port", "name": "x[1-3]", "rear_port": "y[1-2]"}, "rear_port 2 name 3"},
			{object{"kind": "interface", "name": "x", "positions": 2}, "positions rear"},
		} {
			if bad.message == "" {
				c.Send("POST", "/port-templates", template(bad.template)).WantError(409, "template exists")
				continue
			}
			c.Send("POST", "/port-templates", template(bad.template)).WantError(400, bad.message)
		}
		sw := g.create("/devices", object{"hostname": "sw1", "device_type_id": kind["id"], "model": "7050-X"})
		if sw["vendor"] != "Arista" || sw["model"] != "7050-X" || sw["rack_height"] != 2.0 {
			t.Errorf("the device is %v", sw)
		}
		names := hostnames(t, data(t, c.Send("GET", "/interfaces?limit=100&device_id="+sw["id"].(string), nil)))
		if !strings.HasPrefix(names, "Ethernet1/1 Ethernet1/2 ") || !strings.HasSuffix(names, " Ethernet1/48") {
			t.Errorf("the interfaces are %s", names)
		}
		for _, front := range data(t, c.Send("GET", "/front-ports?sortby=name:asc&device_id="+sw["id"].(string), nil)) {
			rear := read(t, c.Send("GET", "/rear-ports/"+front["rear_port_id"].(string), nil))
			got := fmt.Sprint(front["name"], " ", rear["name"], " ", front["rear_port_position"])
			if !strings.Contains("F1 R7 1, F2 R8 1, Port 1 Rear 1, Port 2 Rear 2, Port 3 Rear 3, Port 4 Rear 4", got) {
				t.Errorf("the front port leads to %s", got)
			}
		}
		if n := len(strings.Split(g.along("device/"+sw["id"].(string)), " create ")); n != 48+4+1+2+2 {
			t.Errorf("%d records went along", n)
		}
		g.create("/port-templates", template(object{"kind": "front-port", "name": "lost", "rear_port": "none"}))
		c.Send("POST", "/devices", object{"hostname": "sw2", "device_type_id": kind["id"]}).WantError(400, "device_type_id lost none 1")
		c.Send("POST", "/devices", object{"hostname": "sw2", "device_type_id": unknown}).WantError(400, "device_type_id device-types exist")
		c.Send("DELETE", path("/device-types", kind), nil).Want(200)
	})
}
