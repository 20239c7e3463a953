package cabling

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxPorts bounds the ports of a device that the tabs of its page read.
const maxPorts = 500

// State is the operational status of an interface, or else its status.
func (r portRow) State() string {
	if inventory.LinkStatus(r.Rec.Text("admin_status")).Stops() {
		return string(inventory.LinkAdminDown)
	}
	return cmp.Or(r.Rec.Text("oper_status"), r.Rec.Text("status"), string(inventory.OperUnknown))
}

// Tone is the meaning of the state of the port, for its colour.
func (r portRow) Tone() string {
	if _, ok := r.Rec["oper_status"]; !ok {
		return "info"
	}
	return ui.Tone(r.State())
}

// Number is the number at the end of the name of the port.
func (r portRow) Number() string {
	name := r.Rec.Text("name")
	return cmp.Or(name[len(strings.TrimRight(name, "0123456789")):], site.Clip(name, 2))
}

// Says says in words what the square of the port shows.
func (r portRow) Says() string {
	text := r.Rec.Text("name")
	if _, ok := r.Rec["oper_status"]; ok {
		text += ", " + r.State()
	}
	for _, c := range r.Far {
		text += ", to " + strings.TrimSpace(c.Far.Device+" "+c.Far.Name)
	}
	return text
}

// group is the number of ports beside and above each other on a faceplate.
const group = 12

// plate returns the ports of a faceplate in groups: those that the type of the device has, or all that have a socket.
func plate(p *site.Part, resource string, rows []portRow) ([][]portRow, error) {
	var names []string
	if kind := p.Rec.Text("device_type_id"); kind != "" && p.MaySee("port-templates") {
		found, err := p.Some("port-templates", records.MaxLimit, url.Values{"device_type_id": {kind}, "kind": {strings.TrimSuffix(resource, "s")}})
		if err != nil {
			return nil, err
		}
		for _, rec := range found.Data {
			made, _ := (&inventory.PortTemplate{Name: rec.Text("name")}).Names() // it has been checked
			names = append(names, made...)
		}
	}
	typed := func(r portRow) bool { return slices.Contains(names, r.Rec.Text("name")) }
	if !slices.ContainsFunc(rows, typed) {
		typed = func(r portRow) bool { return resource != "interfaces" || !virtual(r.Rec) }
	}
	var shown []portRow
	for _, r := range rows {
		if typed(r) {
			shown = append(shown, r)
		}
	}
	return slices.Collect(slices.Chunk(shown, group)), nil
}

// loadAddresses lists the interfaces of a device that have addresses or VLANs.
func loadAddresses(p *site.Part) error {
	recs, err := p.All("interfaces", url.Values{"device_id": {p.Rec.ID()}, "sortby": {"name:asc"}}, maxPorts)
	if err != nil {
		return err
	}
	var rows []portRow
	for part := range slices.Chunk(recs, records.MaxLimit) {
		ids := site.IDs(part)
		vlans, err := vlansOf(p.Request, part, ids)
		if err != nil {
			return err
		}
		addresses, err := addressesOf(p.Request, part, ids)
		if err != nil {
			return err
		}
		for _, rec := range part {
			row := portRow{Rec: rec, URL: p.RecordURL("interfaces", rec.ID()), VLANs: vlans[rec.ID()], Addresses: addresses[rec.ID()]}
			if len(row.VLANs) > 0 || len(row.Addresses) > 0 {
				rows = append(rows, row)
			}
		}
	}
	if rows != nil {
		p.Data = rows
	}
	return nil
}

// loadCables lists the ports of a device, of any kind, that have a cable or link.
func loadCables(p *site.Part) error {
	var rows []portRow
	for _, resource := range portResources {
		if !p.MaySee(resource) {
			continue
		}
		recs, err := p.All(resource, url.Values{"device_id": {p.Rec.ID()}, "sortby": {"name:asc"}}, maxPorts)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(recs, records.MaxLimit) {
			far, err := connections(p.Request, resource, site.IDs(part))
			if err != nil {
				return err
			}
			for _, rec := range part {
				if len(far[rec.ID()]) > 0 {
					rows = append(rows, portRow{Rec: rec, URL: p.RecordURL(resource, rec.ID()), Far: far[rec.ID()]})
				}
			}
		}
	}
	if rows != nil {
		p.Data = rows
	}
	return nil
}
