// Package cabling is the feature of cables: the path that a port belongs to (REFERENCE.md, 1.11).
package cabling

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// traceParameters are the parameters of a trace, of which a request has one.
var traceParameters = map[string]inventory.PortType{
	"interface_id": inventory.PortInterface, "front_port_id": inventory.PortFront, "rear_port_id": inventory.PortRear,
	"termination_id": inventory.PortTermination,
}

// traced are the resources that a trace shows, besides the hostnames of devices.
var traced = []string{"interfaces", "front-ports", "rear-ports", "terminations", "cables", "links"}

// New returns the feature.
func New() *feature.Feature {
	enum := func(values []string) *openapi.Schema {
		s := openapi.String("")
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
		return s
	}
	hop := openapi.Object("Hop",
		openapi.Required("type", enum(append(inventory.PortInterface.Values(), inventory.HopCable, inventory.HopLink))),
		openapi.Required("id", openapi.ID("")),
		openapi.Required("name", openapi.String("The name of a port, the label of a cable, or empty.")),
		openapi.Optional("status", openapi.String("The status of an interface, cable or link.")),
		openapi.Optional("device_id", openapi.ID("The device of a port.")),
		openapi.Optional("hostname", openapi.String("The hostname of that device.")),
		openapi.Optional("position", openapi.Integer("The position of a front port at its rear port.", 1)))
	end := enum(inventory.EndOpen.Values())
	end.Description = "Why the path ends there."
	var parameters []openapi.Parameter
	for _, name := range []string{"interface_id", "front_port_id", "rear_port_id", "termination_id"} {
		parameters = append(parameters, openapi.Parameter{Name: name, Schema: openapi.ID(""), Description: "The port; one of the four parameters is required."})
	}
	description := openapi.Operation{
		Method: http.MethodGet, Path: "/trace",
		ID: "trace", Tag: "cables", Summary: "Follow cables from a port through pass-through ports to the far end",
		Parameters: parameters,
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Trace",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("complete", openapi.Boolean("Whether both ends are interfaces or terminations.")),
			openapi.Required("start", openapi.Integer("The index of the requested port in hops.", 0)),
			openapi.Required("ends", openapi.Array(end, 2, 2)),
			openapi.Required("hops", openapi.Array(hop, 1, 2*inventory.MaxHops+1)))}},
		Errors: []int{http.StatusNotFound},
	}
	return &feature.Feature{
		Needs:      map[string]records.Record{"cables": &inventory.Cable{}},
		Operations: []feature.Operation{{Operation: description, Access: auth.Permission{Everyone: true}, Lists: traced, Handle: trace}},
		Pages:      pages(),
	}
}

// traceAnswer is the response to a trace.
type traceAnswer struct {
	Status string `json:"status"`
	*inventory.Path
}

// trace serves the path that a port belongs to.
func trace(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	p, err := tracedPort(r.Query)
	if err != nil {
		return nil, err
	}
	path, err := inventory.Trace(ctx, r.Inventory.Records(), p)
	if err != nil {
		return nil, err
	}
	return feature.OK(traceAnswer{"success", path}), nil
}

// tracedPort returns the port of the request.
func tracedPort(query url.Values) (p inventory.Port, err error) {
	const want = "exactly one of interface_id, front_port_id, rear_port_id and termination_id is required"
	for name, kind := range traceParameters {
		if !query.Has(name) {
			continue
		}
		id := query.Get(name)
		switch {
		case p.ID != "":
			return p, records.Refuse(name, records.NotAllowed("beside another port: "+want))
		case !records.ValidID(id):
			return p, records.Refuse(name, records.BadID())
		}
		p = inventory.Port{Type: kind, ID: strings.ToLower(id)}
	}
	if p.ID == "" {
		return p, records.Refuse("interface_id", records.Missing(want))
	}
	return p, nil
}
