package ipam

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxOffered is the number of prefixes that are offered for an address of an interface.
const maxOffered = 20

// offer is the data of the page to choose the prefix of a new address of an interface.
type offer struct {
	Port   string
	PortID string
	Crumbs []site.Link
	All    []*prefix
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
		query := q.R.URL.Query()
		query.Set("interface_id", port.ID())
		q.R.URL.RawQuery = query.Encode()
		return nextForm(q, all[0].ID, "address")
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

// prefixesFor returns the prefixes of the untagged VLAN of an interface, or else of its tagged VLANs, or else of its location
// and those around it.
func prefixesFor(q *site.Request, port site.Record) ([]*prefix, error) {
	active := url.Values{"status": {"active"}}
	find := func(field string, values []string) ([]*prefix, error) {
		values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
		if len(values) == 0 {
			return nil, nil
		}
		query := url.Values{field + "__in": {strings.Join(values, ",")}}
		maps.Copy(query, active)
		all, _, err := list(q, query)
		if all = all[:min(len(all), maxOffered)]; err != nil {
			return nil, err
		}
		return all, describe(q, all)
	}
	all, err := find("vlan_id", []string{port.Text("untagged_vlan_id")})
	if err != nil || len(all) > 0 {
		return all, err
	}
	var tagged []string
	if q.MaySee("tagged-vlans") {
		page, err := q.Some("tagged-vlans", 100, url.Values{"interface_id": {port.ID()}})
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Data {
			tagged = append(tagged, rec.Text("vlan_id"))
		}
	}
	if all, err = find("vlan_id", tagged); err != nil || len(all) > 0 {
		return all, err
	}
	device, _, err := q.One("devices", port.Text("device_id"))
	if err != nil {
		return nil, err
	}
	places, err := q.Around(device.Text("location_id"))
	if err != nil {
		return nil, err
	}
	return find("location_id", places)
}
