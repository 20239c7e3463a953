package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// tracePath is the path of traces.
const tracePath = "/trace"

// traceParameters are the parameters of a trace, of which a request has one.
var traceParameters = map[string]inventory.PortType{
	"interface_id": inventory.PortInterface, "front_port_id": inventory.PortFront, "rear_port_id": inventory.PortRear,
	"termination_id": inventory.PortTermination,
}

// traced are the resources that a trace shows, besides the hostnames of devices.
var traced = []string{"interfaces", "front-ports", "rear-ports", "terminations", "cables", "links"}

// trace serves the path that a port belongs to (REFERENCE.md, 1.10).
func trace() operation {
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
	return operation{openapi.Operation{
		ID: "trace", Tag: "cables", Summary: "Follow cables from a port through pass-through ports to the far end",
		Parameters: parameters,
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Trace",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("complete", openapi.Boolean("Whether both ends are interfaces or terminations.")),
			openapi.Required("start", openapi.Integer("The index of the requested port in hops.", 0)),
			openapi.Required("ends", openapi.Array(end, 2, 2)),
			openapi.Required("hops", openapi.Array(hop, 1, 2*inventory.MaxHops+1)))}},
		Errors: []int{http.StatusNotFound},
	}, (*call).trace}
}

func (c *call) trace() error {
	if err := c.checkTraced(); err != nil {
		return err
	}
	p, err := c.tracedPort()
	if err != nil {
		return err
	}
	path, err := inventory.Trace(c.r.Context(), c.store, p)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"status":"success","complete":`...)
		b = append(strconv.AppendBool(b, path.Complete), `,"start":`...)
		b = append(strconv.AppendInt(b, int64(path.Start), 10), `,"ends":["`...)
		b = append(append(b, path.Ends[0]...), `","`...)
		b = append(append(b, path.Ends[1]...), `"],"hops":[`...)
		for i, hop := range path.Hops {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendHop(b, &hop)
		}
		return append(b, "]}"...)
	})
	return nil
}

// checkTraced refuses senders who may not list all that a trace shows.
func (c *call) checkTraced() error {
	for _, rt := range c.routes {
		if rt.does != records.RouteList || !slices.Contains(traced, rt.resource.Name) || rt.path != "/"+rt.resource.Name {
			continue
		}
		r := c.current(rt.resource)
		if err := c.permit(r, records.RouteList, c.allows(rt.access, "", r, records.RouteList)); err != nil {
			return err
		}
	}
	return nil
}

// tracedPort returns the port of the request.
func (c *call) tracedPort() (p inventory.Port, err error) {
	const want = "exactly one of interface_id, front_port_id, rear_port_id and termination_id is required"
	for name, kind := range traceParameters {
		if !c.query.Has(name) {
			continue
		}
		id := c.query.Get(name)
		switch {
		case p.ID != "":
			return p, badField(name, fmt.Sprintf("is one port too many: %s", want))
		case !records.ValidID(id):
			return p, badField(name, "must be a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
		}
		p = inventory.Port{Type: kind, ID: strings.ToLower(id)}
	}
	if p.ID == "" {
		return p, badField("interface_id", "is missing: "+want)
	}
	return p, nil
}

// appendHop appends a hop of a path.
func appendHop(b []byte, hop *inventory.Hop) []byte {
	b = append(b, `{"type":"`...)
	b = append(append(b, hop.Type...), `","id":"`...)
	b = append(append(b, hop.ID...), `","name":`...)
	b = appendString(b, hop.Name)
	if hop.Status != "" {
		b = appendString(append(b, `,"status":`...), hop.Status)
	}
	if hop.DeviceID != "" {
		b = append(append(b, `,"device_id":"`...), hop.DeviceID...)
		b = appendString(append(b, `","hostname":`...), hop.Hostname)
	}
	if hop.Position > 0 {
		b = strconv.AppendInt(append(b, `,"position":`...), hop.Position, 10)
	}
	return append(b, '}')
}
