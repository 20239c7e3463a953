// Package racks is the feature of racks: what occupies their units (REFERENCE.md, 1.14).
package racks

import (
	"context"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// New returns the feature.
func New() *feature.Feature {
	device := openapi.Object("RackDevice", openapi.Required("id", openapi.ID("")), openapi.Required("hostname", openapi.String("")))
	mounted := &openapi.Schema{Name: "RackFace", AnyOf: []*openapi.Schema{device, {Type: "null"}}}
	return &feature.Feature{
		Needs: map[string]records.Record{"racks": &inventory.Rack{}, "devices": &inventory.Device{}},
		Pages: pages(),
		Operations: []feature.Operation{{
			Operation: openapi.Operation{
				Method: http.MethodGet, Path: "/racks/{id}/elevation",
				ID: "showElevation", Tag: "racks", Summary: "Show what occupies the units of a rack, from the highest to the lowest",
				Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Elevation",
					openapi.Required("status", openapi.Const("success")),
					openapi.Required("free", openapi.Integer("The units that are free on both faces.", 0)),
					openapi.Required("units", openapi.Array(openapi.Object("RackUnit",
						openapi.Required("unit", openapi.Integer("", 1)), openapi.Required("front", mounted), openapi.Required("back", mounted)), 1, 100)))}},
			},
			Resource: "racks", Does: records.RouteGet, Lists: []string{"devices"}, Handle: elevation,
		}},
	}
}

// mountedDevice is a device in a rack, as responses have it.
type mountedDevice struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
}

// unitAnswer is a unit of a rack.
type unitAnswer struct {
	Unit  int64          `json:"unit"`
	Front *mountedDevice `json:"front"`
	Back  *mountedDevice `json:"back"`
}

// elevationAnswer is the response.
type elevationAnswer struct {
	Status string       `json:"status"`
	Free   int          `json:"free"`
	Units  []unitAnswer `json:"units"`
}

// elevation serves the units of a rack.
func elevation(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	from := r.Inventory.Records()
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	rack, err := records.Get[inventory.Rack](ctx, from, id)
	if err != nil {
		return nil, err
	}
	devices, err := inventory.Mounted(ctx, from, id)
	if err != nil {
		return nil, err
	}
	units := make([]unitAnswer, *rack.Height)
	for i := range units {
		units[i].Unit = *rack.Height - int64(i)
	}
	for _, d := range devices {
		first, last := d.Units()
		for n := max(first, 1); n <= min(last, *rack.Height); n++ {
			u, at := &units[*rack.Height-n], &mountedDevice{d.ID, d.Hostname}
			if d.RackFace != inventory.RackBack {
				u.Front = at
			}
			if d.RackFace != inventory.RackFront {
				u.Back = at
			}
		}
	}
	free := 0
	for _, u := range units {
		if u.Front == nil && u.Back == nil {
			free++
		}
	}
	return feature.OK(elevationAnswer{"success", free, units}), nil
}
