package racks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/racks"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

type object = featuretest.Object

// TestRights: who may see racks and devices sees what is in a rack.
func TestRights(t *testing.T) {
	featuretest.CheckRights(t, racks.New(), map[string]featuretest.Rights{
		"GET /racks/{id}/elevation": {Who: "1+++"},
	})
}

// TestRacks: devices occupy units of racks, each of them once.
func TestRacks(t *testing.T) {
	featuretest.OnStores(t, func(t *testing.T, g *featuretest.API) {
		c := g.As("root")
		site := g.Create("/locations", object{"name": "vienna"})["id"]
		rack := featuretest.Read(t, c.Send("POST", "/racks", object{"name": "R1", "location_id": site, "height": 10}).Want(201))
		if other := g.Create("/racks", object{"name": "R2"}); other["height"] != 42.0 {
			t.Errorf("the height is %v", other["height"])
		}
		in := func(hostname string, unit, height any, face string) object {
			return object{"hostname": hostname, "location_id": site, "rack": object{"name": "R1", "location": "vienna"}, "rack_unit": unit, "rack_height": height, "rack_face": face}
		}
		sw1 := g.Create("/devices", in("sw1", 4, 2, "front"))
		c.Send("POST", "/devices", in("sw2", 5, 1, "front")).WantError(409, "5 R1 sw1")
		c.Send("POST", "/devices", in("sw2", 3, 2, "")).WantError(409, "4 R1 sw1")
		back := g.Create("/devices", in("back", 5, 1, "back"))
		c.Send("POST", "/devices", in("sw2", 10, 2, "")).WantError(400, "rack_unit 9 10 2")
		c.Send("POST", "/devices", in("sw2", nil, nil, "")).Want(201) // without a unit
		elsewhere := g.Create("/locations", object{"name": "graz"})["id"]
		c.Send("POST", "/devices", featuretest.With(in("sw3", 1, 1, ""), "location_id", elsewhere)).WantError(400, "location_id rack")
		c.Send("POST", "/devices", object{"hostname": "sw3", "rack_unit": 1}).WantError(400, "rack_unit not_allowed rack_id")
		c.Send("POST", "/devices", []object{in("a", 1, 1, ""), in("b", 2, 1, ""), in("c", 2, 1, "")}).WantError(409, "2 R1 occupied")
		featuretest.Patch(c, featuretest.Path("/devices", sw1), object{"rack_unit": 5}, 200, "") // units 5 and 6, front
		featuretest.Patch(c, featuretest.Path("/devices", sw1), object{"rack_face": ""}, 409, "5 R1 back")
		featuretest.Patch(c, featuretest.Path("/devices", sw1), object{"location_id": nil}, 400, "location_id rack")
		featuretest.Patch(c, featuretest.Path("/racks", rack), object{"height": 5}, 400, "height 6")
		featuretest.Patch(c, featuretest.Path("/racks", rack), object{"location_id": nil}, 400, "location_id changed 3")
		e := featuretest.Read(t, c.Send("GET", featuretest.Path("/racks", rack)+"/elevation", nil).Want(200))
		unit := e["units"].([]any)[5].(map[string]any)
		if len(e["units"].([]any)) != 10 || e["free"] != 8.0 || unit["unit"] != 5.0 || unit["front"].(map[string]any)["hostname"] != "sw1" || unit["back"].(map[string]any)["id"] != back["id"] {
			t.Errorf("the elevation is %v", e)
		}
		featuretest.Patch(c, featuretest.Path("/devices", sw1), object{"rack_id": nil}, 200, "")
		if d := featuretest.Read(t, c.Send("GET", featuretest.Path("/devices", sw1), nil)); d["rack_unit"] != nil {
			t.Errorf("outside of a rack the unit is %v", d["rack_unit"])
		}
		c.Send("DELETE", featuretest.Path("/racks", rack), nil).Want(200)

		// A row of a spreadsheet has a site and the name of a rack, which is in a room of it.
		for _, name := range []string{"linz", "salzburg"} {
			room := g.Create("/locations", object{"name": name + " room", "parent_id": g.Create("/locations", object{"name": name, "kind": "site"})["id"]})["id"]
			g.Create("/racks", object{"name": "A1", "location_id": room})
			d := g.Create("/devices", object{"hostname": name + "-sw", "location": object{"name": name}, "rack": object{"name": "A1"}, "rack_unit": 3})
			require.Equal(t, room, d["location_id"])
			require.Equal(t, room, g.Create("/devices", object{"hostname": name + "-b", "rack_id": d["rack_id"]})["location_id"], "without a location")
		}
		c.Send("POST", "/devices", object{"hostname": "sw", "rack": object{"name": "A1"}}).WantError(422, "rack several")
		c.Send("POST", "/devices", object{"hostname": "sw", "location": object{"name": "graz"}, "rack": object{"name": "A1"}}).WantError(422, "rack several")

		// Of many placements at the same time each unit gets one device.
		v, full := records.New(g.Store, nil), g.Create("/racks", object{"name": "full", "height": 20})["id"].(string)
		var group sync.WaitGroup
		for n := range 60 {
			group.Go(func() {
				d := &inventory.Device{Hostname: fmt.Sprint("m", n), RackID: &full, RackUnit: new(int64(1 + n%20))}
				if err := v.Create(context.Background(), records.Caller{}, d); err != nil && records.KindOf(err) != records.Conflict {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if e := featuretest.Read(t, c.Send("GET", "/racks/"+full+"/elevation", nil)); e["free"] != 0.0 || len(featuretest.Data(t, c.Send("GET", "/devices?limit=100&rack_id="+full, nil))) != 20 {
			t.Errorf("the elevation is %v", e)
		}
	}, racks.New)
}
