package cabling_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/feature/cabling"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// TestRights: everybody may trace, with the right to list what a trace shows.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, cabling.New(), map[string]featuretest.Rights{
		"GET /trace": {Who: "1+++"},
	})
}

// panel adds a patch panel with a rear port and as many front ports as it has positions, and returns
// the ids of these ports.
func panel(g *featuretest.API, name string, positions int) (rear string, fronts []string) {
	return panelOf(g, g.Create("/devices", featuretest.Device(name))["id"], name, positions)
}

func panelOf(g *featuretest.API, device any, name string, positions int) (rear string, fronts []string) {
	rear = g.Create("/rear-ports", object{"device_id": device, "name": name, "positions": positions})["id"].(string)
	for n := range positions {
		fronts = append(fronts, g.Create("/front-ports", object{
			"device_id": device, "name": fmt.Sprint(name, "/", n+1), "rear_port_id": rear, "rear_port_position": n + 1,
		})["id"].(string))
	}
	return rear, fronts
}

// connect adds a cable between two ports such as "interface" and an id.
func connect(c *httpxtest.Client, a, aID, b, bID string) *httpxtest.Response {
	return c.Send("POST", "/cables", object{"a_" + a + "_id": aID, "b_" + b + "_id": bID})
}

// TestPassThroughPorts: a front port leads to one position of a rear port of its device.
func TestPassThroughPorts(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		here, there := g.Create("/devices", featuretest.Device("pp1"))["id"].(string), g.Create("/devices", featuretest.Device("pp2"))["id"].(string)
		rear := featuretest.Read(t, c.Send("POST", "/rear-ports", object{"device_id": here, "name": "r1"}).Want(201))
		if rear["positions"] != 1.0 {
			t.Errorf("the positions are %v", rear["positions"])
		}
		front := object{"device_id": here, "name": "f1", "rear_port_id": rear["id"]}
		c.Send("POST", "/front-ports", featuretest.With(front, "rear_port_position", 2)).WantError(400, "rear_port_position 1")
		c.Send("POST", "/front-ports", featuretest.With(front, "device_id", there)).WantError(400, "rear_port_id device")
		c.Send("POST", "/front-ports", featuretest.With(front, "rear_port_id", featuretest.Unknown)).WantError(400, "rear_port_id rear-ports exist")
		made := featuretest.Read(t, c.Send("POST", "/front-ports", front).Want(201))
		c.Send("POST", "/front-ports", featuretest.With(front, "name", "f2")).WantError(409, "front position")
		featuretest.Patch(c, featuretest.Path("/rear-ports", rear), object{"positions": 4}, 200, "")
		featuretest.Patch(c, featuretest.Path("/front-ports", made), object{"rear_port_position": 3}, 200, "")
		featuretest.Patch(c, featuretest.Path("/rear-ports", rear), object{"positions": 2}, 400, "positions least 3")
		featuretest.Patch(c, featuretest.Path("/rear-ports", rear), object{"device_id": there}, 400, "device_id changed")
		c.Send("DELETE", featuretest.Path("/rear-ports", rear), nil).Want(200)
		if got := g.Along("rear_port/" + rear["id"].(string)); got != "delete front_port/"+made["id"].(string) {
			t.Errorf("what went along is %q", got)
		}
	}, cabling.New)
}

// TestCables: a cable occupies two ports, and is deleted with either.
func TestCables(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		sw := g.Create("/devices", featuretest.Device("sw1"))["id"]
		_, id := g.Ports(sw, "a", "b", "c")
		rear, fronts := panel(g, "pp1", 2)
		first := featuretest.Read(t, c.Send("POST", "/cables", object{
			"b_interface_id": id["a"], "a_front_port_id": fronts[0], "type": "cat6a", "label": "A-17", "color": "blue", "length": 2.5,
		}).Want(201))
		if first["a_interface_id"] != id["a"] || first["b_front_port_id"] != fronts[0] || first["a_type"] != "interface" || first["b_type"] != "front-port" || first["status"] != "connected" {
			t.Errorf("the ends are not in the order of their ids: %v", first)
		}
		named := " already has a cable interface a of device sw1 front port pp1/1 of device pp1 " + first["id"].(string)
		connect(c, "interface", id["a"], "interface", id["b"]).WantError(409, "Interface a"+named)
		connect(c, "rear_port", rear, "front_port", fronts[0]).WantError(409, "Front port pp1/1"+named)
		second := featuretest.Read(t, connect(c, "interface", id["b"], "front_port", fronts[1]).Want(201))
		featuretest.Patch(c, featuretest.Path("/cables", second), object{"b_front_port_id": fronts[0]}, 409, "Front port pp1/1"+named)
		featuretest.Patch(c, featuretest.Path("/cables", second), object{"b_rear_port_id": rear}, 200, "") // instead of the front port
		featuretest.Patch(c, featuretest.Path("/cables", second), object{"b_rear_port_id": nil}, 400, "b_interface_id b_termination_id")
		c.Send("POST", "/cables", object{"a_interface_id": id["c"], "a_rear_port_id": rear}).WantError(400, "a_interface_id inconsistent")
		connect(c, "interface", id["c"], "interface", id["c"]).WantError(400, "b_interface_id other")
		connect(c, "interface", id["c"], "interface", featuretest.Unknown).WantError(400, "a_interface_id interfaces exist")
		c.Send("POST", "/cables", []object{
			{"a_interface_id": id["c"], "b_front_port_id": fronts[1]}, {"a_front_port_id": fronts[1], "b_interface_id": featuretest.Unknown},
		}).Want(400)
		spare, _ := panel(g, "pp2", 1)
		c.Send("POST", "/cables", []object{
			{"a_interface_id": id["c"], "b_front_port_id": fronts[1]}, {"a_front_port_id": fronts[1], "b_rear_port_id": spare},
		}).WantError(409, "item 1 pp1/2")
		if n := len(featuretest.Data(t, c.Send("GET", "/cables?label=A-17&b_type=front-port", nil))); n != 1 {
			t.Errorf("%d cables have the label", n)
		}
		c.Send("DELETE", "/front-ports/"+fronts[0], nil).Want(200)
		if got := g.Along("front_port/" + fronts[0]); got != "delete cable/"+first["id"].(string) {
			t.Errorf("what went along is %q", got)
		}
		connect(c, "interface", id["a"], "front_port", fronts[1]).Want(201) // both are free again
		a := c.Send("DELETE", "/devices/"+sw.(string)+"?dry_run=true", nil).Want(200)
		if !strings.Contains(a.Body.String(), "1 device, 2 cables and 3 interfaces") {
			t.Errorf("the preview is %s", a.Body)
		}
		c.Send("DELETE", "/devices/"+sw.(string), nil).Want(200)
		if n := len(featuretest.Data(t, c.Send("GET", "/cables", nil))); n != 0 {
			t.Errorf("%d cables are left", n)
		}
	}, cabling.New)
}

// TestCablesAndLinks: a cable between two interfaces has a link, whichever of them is changed. Links
// without a cable are what they were before cables: an interface may have several.
func TestCablesAndLinks(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("editor")
		_, id := g.Ports(g.Create("/devices", featuretest.Device("sw1"))["id"], "a", "b", "c", "d")
		links := func() []object { return featuretest.Data(t, c.Send("GET", "/links", nil)) }
		cable := featuretest.Read(t, c.Send("POST", "/cables", object{"a_interface_id": id["a"], "b_interface_id": id["b"], "type": "dac"}).Want(201))
		link := links()[0]
		if link["a_interface_id"] != id["a"] || link["b_interface_id"] != id["b"] || link["type"] != "dac" || link["status"] != "up" {
			t.Errorf("the link is %v", link)
		}
		if got := g.Along("cable/" + cable["id"].(string)); got != "create link/"+link["id"].(string) {
			t.Errorf("what went along is %q", got)
		}
		featuretest.Patch(c, featuretest.Path("/links", link), object{"b_interface_id": id["c"], "type": "fiber"}, 200, "")
		if now := featuretest.Read(t, c.Send("GET", featuretest.Path("/cables", cable), nil)); now["b_interface_id"] != id["c"] || now["type"] != "fiber" || now["version"] != 2.0 {
			t.Errorf("the cable is %v", now)
		}
		featuretest.Patch(c, featuretest.Path("/cables", cable), object{"b_interface_id": id["d"]}, 200, "")
		if now := links(); len(now) != 1 || now[0]["id"] != link["id"] || now[0]["b_interface_id"] != id["d"] {
			t.Errorf("the links are %v", now)
		}
		c.Send("DELETE", featuretest.Path("/links", link), nil).Want(200)
		if got := g.Along("link/" + link["id"].(string)); !strings.HasPrefix(got, "delete cable/"+cable["id"].(string)) {
			t.Errorf("what went along is %q", got)
		}
		c.Send("GET", featuretest.Path("/cables", cable), nil).Want(404)

		alone := g.Create("/links", object{"a_interface_id": id["a"], "b_interface_id": id["b"], "discovery": "lldp"})
		g.Create("/links", object{"a_interface_id": id["a"], "b_interface_id": id["c"]})
		if n := len(featuretest.Data(t, c.Send("GET", "/cables", nil))); n != 0 {
			t.Errorf("links have %d cables", n)
		}
		cable = featuretest.Read(t, connect(c, "interface", id["b"], "interface", id["a"]).Want(201)) // adopts the link
		if now := links(); len(now) != 2 || now[0]["discovery"] != "lldp" {
			t.Errorf("the links are %v", now)
		}
		g.Create("/links", object{"a_interface_id": id["a"], "b_interface_id": id["d"]})
		other := featuretest.Read(t, connect(c, "interface", id["c"], "interface", id["d"]).Want(201))
		for _, moved := range links() {
			if moved["b_interface_id"] == id["b"] {
				featuretest.Patch(c, featuretest.Path("/links", moved), object{"b_interface_id": id["c"]}, 409, "")
			}
			if moved["b_interface_id"] == id["d"] && moved["a_interface_id"] == id["c"] {
				featuretest.Patch(c, featuretest.Path("/links", moved), object{"a_interface_id": id["b"]}, 409, "Interface b cable "+cable["id"].(string))
			}
		}
		c.Send("DELETE", featuretest.Path("/cables", cable), nil).Want(200)
		c.Send("GET", featuretest.Path("/links", alone), nil).Want(404)
		c.Send("DELETE", "/cables?dry_run=true", []any{other["id"]}).Want(200)
		a := c.Send("DELETE", featuretest.Path("/cables", other)+"?dry_run=true", nil).Want(200)
		if !strings.Contains(a.Body.String(), "1 cable and 1 link") {
			t.Errorf("the preview is %s", a.Body)
		}
		rear, _ := panel(g, "pp1", 1)
		featuretest.Patch(c, featuretest.Path("/cables", other), object{"a_rear_port_id": rear}, 200, "")
		if n := len(links()); n != 2 {
			t.Errorf("there are %d links", n)
		}
	}, cabling.New)
}

// sites has interfaces of devices at two locations; remote is at the second one.
type sites struct{ device, foreign, port, other, remote object }

// twoSites fills an API, and limits the editor to the first location.
func twoSites(g *featuretest.API) *sites {
	s := &sites{}
	here, there := g.Create("/locations", featuretest.Location("here")), g.Create("/locations", featuretest.Location("there"))
	s.device = g.Create("/devices", featuretest.With(featuretest.Device("core-1"), "location_id", here["id"]))
	s.foreign = g.Create("/devices", featuretest.With(featuretest.Device("core-2"), "location_id", there["id"]))
	s.port, s.other = g.Create("/interfaces", featuretest.Port(s.device["id"], "eth0")), g.Create("/interfaces", featuretest.Port(s.device["id"], "eth1"))
	s.remote = g.Create("/interfaces", featuretest.Port(s.foreign["id"], "eth0"))
	g.As("root").Send("PATCH", "/users/"+g.Users["editor"].ID, object{"location_ids": []any{here["id"]}}).Want(200)
	return s
}

// TestCableElsewhere: an error says that a port has a cable to elsewhere, but not which.
func TestCableElsewhere(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil, cabling.New())
	s := twoSites(g)
	hidden := g.Create("/cables", object{"a_interface_id": s.port["id"], "b_interface_id": s.remote["id"], "label": "secret"})
	c := g.As("editor")
	a := connect(c, "interface", s.port["id"].(string), "interface", s.other["id"].(string))
	a.WantError(409, "eth0 cable")
	if strings.Contains(a.Body.String(), "secret") || strings.Contains(a.Body.String(), hidden["id"].(string)) {
		t.Errorf("the error shows the cable: %s", a.Body)
	}
	c.Send("GET", featuretest.Path("/cables", hidden), nil).Want(404)
	connect(c, "interface", s.other["id"].(string), "interface", s.remote["id"].(string)).WantError(400, "interface_id interfaces exist")
}
