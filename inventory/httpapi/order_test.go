package httpapi_test

import (
	"fmt"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestSwap: the objects of a PATCH may swap unique values. If one may not have its value, the error has its index and both
// records, with ids and with natural keys.
func TestSwap(t *testing.T) { stores(t, scaletest.Unraced, swap) }

func swap(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	g.create("/locations", with(location("Vienna"), "site_code", "VIE"))
	one := g.create("/devices", with(device("one"), "serial_number", "S1"))
	two := g.create("/devices", with(device("two"), "serial_number", "S2"))
	three := g.create("/devices", with(device("three"), "serial_number", "S3"))
	for _, member := range []object{{}, {"location": "VIE"}} {
		merged := func(rec object, more object) object {
			item := object{"id": rec["id"]}
			for _, from := range []object{member, more} {
				for name, value := range from {
					item[name] = value
				}
			}
			return item
		}
		version := read(t, c.Send("GET", path("/devices", three), nil).Want(200))["version"]
		c.Send("PATCH", "/devices", []object{merged(one, object{"serial_number": "S2"}), merged(two, object{"serial_number": "S1"})}).Want(200)
		body := c.Send("PATCH", "/devices", []object{
			merged(one, object{"notes": "x"}), merged(two, object{"serial_number": "S3"}), merged(one, object{"notes": "y"}),
		}).WantError(409, "1 3 devices failed")
		if len(body.Items) != 1 || body.Items[0].Index != 1 || body.Items[0].ID != two["id"] || len(body.Items[0].Errors) == 0 || body.Items[0].Errors[0].Field != "serial_number" {
			t.Errorf("the items are %+v", body.Items)
		}
		c.Send("PATCH", path("/devices", two), merged(two, object{"serial_number": "S3"})).WantError(409,
			"Serial number already exists: device two ("+two["id"].(string)+") conflicts with device three ("+three["id"].(string)+")")
		c.Send("PATCH", "/devices", []object{merged(two, object{"serial_number": "S2"}), merged(one, object{"serial_number": "S1"})}).Want(200)
		now := read(t, c.Send("GET", path("/devices", three), nil).Want(200))
		if now["version"] != version || now["serial_number"] != "S3" {
			t.Errorf("a device that is not changed is %v", now)
		}
	}
	var ports [4]object
	for i := range ports {
		ports[i] = g.create("/interfaces", port(one["id"].(string), fmt.Sprint("eth", i)))
	}
	ends := func(n int) object {
		return object{"a_interface_id": ports[n]["id"], "b_interface_id": ports[n+1]["id"]}
	}
	low, high := g.create("/links", ends(0)), g.create("/links", ends(2))
	c.Send("PATCH", "/links", []object{with(ends(2), "id", low["id"]), with(ends(0), "id", high["id"])}).Want(200)
	if now := read(t, c.Send("GET", path("/links", low), nil).Want(200)); now["b_interface_id"] != ports[3]["id"] {
		t.Errorf("after a swap a link is %v", now)
	}
}
