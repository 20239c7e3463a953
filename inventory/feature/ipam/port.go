package ipam

import (
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxOffered is the number of prefixes that are offered for an address of an interface.
const maxOffered = 20

// offer is the data of the page to choose the prefix of a new address of an interface.
type offer struct {
	Port, PortID string
	Crumbs       []site.Link
	All          []*prefix
}

// newAddress leads to the form of a new address of an interface: the next free one of the prefix of its VLAN. Of several
// prefixes it offers the choice.
func newAddress(q *site.Request) error {
	port, _, err := q.One("interfaces", q.R.PathValue("id"))
	if err != nil {
		return err
	}
	all, err := prefixesFor(q, port)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return q.Redirect("/r/addresses/new?interface_id=" + port.ID())
	case len(all) == 1:
		return q.Redirect("/prefixes/" + all[0].ID + "/next-address?interface_id=" + port.ID())
	}
	labels, err := q.Labels("interfaces", []string{port.ID()})
	if err != nil {
		return err
	}
	name := labels[port.ID()]
	return q.Page("ipam-offer.html", "New address of "+name, &offer{
		Port: name, PortID: port.ID(), Crumbs: []site.Link{{Label: "Interfaces", URL: q.ListURL("interfaces")}, {Label: name, URL: q.RecordURL("interfaces", port.ID())}}, All: all,
	})
}

// prefixesFor returns the prefixes of the untagged VLAN of an interface, or else of its tagged VLANs, or else of the location of
// its device and those around that.
func prefixesFor(q *site.Request, port site.Record) ([]*prefix, error) {
	find := func(field string, values []string) ([]*prefix, error) {
		if len(values) == 0 || values[0] == "" {
			return nil, nil
		}
		all, _, err := list(q, url.Values{field + "__in": {strings.Join(values, ",")}, "status": {"active"}})
		return all[:min(len(all), maxOffered)], err
	}
	vlans := []string{port.Text("untagged_vlan_id")}
	if vlans[0] == "" && q.MaySee("tagged-vlans") {
		page, err := q.Some("tagged-vlans", records.MaxLimit, url.Values{"interface_id": {port.ID()}})
		if err != nil {
			return nil, err
		}
		vlans = nil
		for _, rec := range page.Data {
			vlans = append(vlans, rec.Text("vlan_id"))
		}
	}
	all, err := find("vlan_id", vlans)
	if err == nil && len(all) == 0 && q.MaySee("devices") {
		var device site.Record
		if device, _, err = q.One("devices", port.Text("device_id")); err != nil {
			return nil, err
		}
		places, err := q.Around(device.Text("location_id"))
		if err != nil {
			return nil, err
		}
		if all, err = find("location_id", places); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return all, describe(q, all)
}
