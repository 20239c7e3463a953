package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// belowParameter lists the records of a location and of those within it (REFERENCE.md, 1.13).
const belowParameter = "below"

// locationField returns the field by which records are at a location, nil for none: the id of locations, and
// the first reference to one. A field with the name of the parameter takes precedence.
func locationField(r *records.Resource) *records.Field {
	if _, taken := r.Field(belowParameter); taken {
		return nil
	}
	if _, ok := r.New().(*inventory.Location); ok {
		f, _ := r.Field("id")
		return f
	}
	i := slices.IndexFunc(r.Fields(), func(f *records.Field) bool {
		if f.Ref == nil || f.Name == "" {
			return false
		}
		_, ok := f.Ref.Resource().New().(*inventory.Location)
		return ok
	})
	if i < 0 {
		return nil
	}
	return r.Fields()[i]
}

// placing adds the parameter to a list.
func (op *operation) placing() {
	r := op.doc.List
	if r == nil {
		r = op.doc.Filters
	}
	if r == nil || locationField(r) == nil {
		return
	}
	op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
		Name: belowParameter, Schema: openapi.ID(""),
		Description: fmt.Sprintf("At this location, or at one within it. There may be up to %d of them.", inventory.MaxBelow),
	})
}

// below adds the condition of the parameter to a query.
func (c *call) below(q *records.Query, query url.Values) error {
	f := locationField(q.Resource)
	values := query[belowParameter]
	if f == nil || len(values) == 0 {
		return nil
	}
	if len(values) > 1 || !records.ValidID(values[0]) {
		return badField(belowParameter, "must be the id of one location")
	}
	ids, more, err := inventory.Below(c.r.Context(), c.store, values[0])
	if err != nil {
		return err
	}
	if more {
		return badField(belowParameter, fmt.Sprintf("has more than %d locations: choose one of them", inventory.MaxBelow))
	}
	in := records.Filter{Field: f, Op: records.In, Value: make([]any, 0, len(ids))}
	for _, id := range ids {
		in.Value = append(in.Value.([]any), id)
	}
	q.Filters = append(q.Filters, in)
	return nil
}

// elevation serves the units of a rack.
func elevation(r *records.Resource) operation {
	device := openapi.Object("RackDevice", openapi.Required("id", openapi.ID("")), openapi.Required("hostname", openapi.String("")))
	mounted := &openapi.Schema{Name: "RackFace", AnyOf: []*openapi.Schema{device, {Type: "null"}}}
	return operation{openapi.Operation{
		ID: "showElevation", Tag: r.Name, Summary: "Show what occupies the units of a rack, from the highest to the lowest",
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Elevation",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("free", openapi.Integer("The units that are free on both faces.", 0)),
			openapi.Required("units", openapi.Array(openapi.Object("RackUnit",
				openapi.Required("unit", openapi.Integer("", 1)), openapi.Required("front", mounted), openapi.Required("back", mounted)), 1, 100)))}},
	}, (*call).elevation}
}

// rackDevice is a device in a rack, as responses have it.
type rackDevice struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
}

// rackUnit is a unit of a rack.
type rackUnit struct {
	Unit  int64       `json:"unit"`
	Front *rackDevice `json:"front"`
	Back  *rackDevice `json:"back"`
}

func (c *call) elevation() error {
	if err := c.mayUse(records.Of[inventory.Device](c.store.Schema()), records.RouteList); err != nil {
		return err
	}
	id, err := c.id()
	if err != nil {
		return err
	}
	rack, err := records.Get[inventory.Rack](c.r.Context(), c.store, id)
	if err != nil {
		return err
	}
	devices, err := inventory.Mounted(c.r.Context(), c.store, id)
	if err != nil {
		return err
	}
	units := make([]rackUnit, *rack.Height)
	for i := range units {
		units[i].Unit = *rack.Height - int64(i)
	}
	for _, d := range devices {
		first, last := d.Units()
		for n := max(first, 1); n <= min(last, *rack.Height); n++ {
			u, at := &units[*rack.Height-n], &rackDevice{d.ID, d.Hostname}
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
	return httpx.WriteJSON(c.w, http.StatusOK, struct {
		Status string     `json:"status"`
		Free   int        `json:"free"`
		Units  []rackUnit `json:"units"`
	}{"success", free, units})
}
