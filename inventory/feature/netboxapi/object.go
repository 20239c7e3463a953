package netboxapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// append appends the object of a record: with all of its members, or in the brief form that others have in them.
func (p *page) append(b []byte, rec records.Record, whole bool) []byte {
	path, display, brief, more := p.object(rec, whole)
	base := rec.Meta()
	b = p.members(append(b, '{'), "id", base.ID, "url", p.base+"/"+path+"/"+base.ID+"/", "display", display)
	b = p.members(b, brief...)
	if whole {
		b = p.members(p.members(b, more...), "custom_fields", p.custom(rec), "created", base.CreatedAt, "last_updated", base.UpdatedAt)
		if _, ok := rec.(*inventory.Device); !ok {
			b = append(b, `,"tags":[]`...)
		}
	}
	return append(b, '}')
}

// chosen returns an object of the page with the members that the request asks for.
func (p *page) chosen(object []byte) []byte {
	var all []any
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object // it is valid
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(p.without, name) && (p.only == nil || slices.Contains(p.only, name)) {
			all = append(all, name, raw(members[name]))
		}
	}
	return append(p.members([]byte{'{'}, all...), '}')
}

// custom returns the values of the custom fields of a record.
func (p *page) custom(rec records.Record) raw {
	if p.extra == nil {
		p.extra = []*records.Field{}
		if r, err := p.r.Inventory.Records().Schema().Of(rec); err == nil {
			p.extra = slices.DeleteFunc(r.Fields(), func(f *records.Field) bool { return !f.Extra })
		}
	}
	if len(p.extra) == 0 {
		return "{}"
	}
	b := []byte("{")
	for _, f := range p.extra {
		b = p.members(b, f.Name, raw(encode.Value(nil, f, f.Value(rec))))
	}
	return raw(append(b, '}'))
}

// object returns the path of the list of a record, its name, and the members of its object: those of the brief form, and if
// it is wanted whole those besides.
func (p *page) object(rec records.Record, whole bool) (path, display string, brief, more []any) {
	switch v := rec.(type) {
	case *inventory.Device:
		brief = []any{"name", v.Hostname, "description", ""}
		if whole {
			more = p.device(v)
		}
		return "dcim/devices", v.Hostname, brief, more
	case *inventory.Location:
		kind, site, parent, region := p.place(v)
		brief = []any{"name", v.Name, "slug", slugOf(v), "description", ""}
		switch {
		case whole && kind == "site":
			more = []any{
				"status", choice("active", nil), "region", p.maybe(region), "group", null, "tenant", null, "facility", "", "time_zone", orNull(v.Timezone), "physical_address", v.Address,
				"shipping_address", "", "latitude", v.Lat, "longitude", v.Lon, "comments", "", "asns", raw("[]"), "prefix_count", p.prefixes[v.ID],
			}
		case whole && kind == "region":
			more = []any{"parent", p.maybe(region), "comments", ""}
		case whole:
			more = []any{"site", p.maybe(site), "parent", p.maybe(parent), "status", choice("active", nil), "tenant", null, "facility", "", "comments", ""}
		}
		return "dcim/" + kind + "s", v.Name, brief, more
	case *inventory.Rack:
		site, location := p.at(v.LocationID)
		brief = []any{"name", v.Name, "description", v.Description}
		more = []any{
			"facility_id", null, "site", site, "location", location, "group", null, "tenant", p.text("tenancy/tenants", v.Tenant), "status", choice(string(v.Status), nil), "role", null, "serial", v.SerialNumber,
			"asset_tag", orNull(v.AssetTag), "rack_type", null, "form_factor", null, "width", raw(`{"value":19,"label":"19 inches"}`), "u_height", *cmp.Or(v.Height, new(int64(42))),
			"starting_unit", 1, "desc_units", false, "comments", "",
		}
		return "dcim/racks", v.Name, brief, more
	case *inventory.DeviceType:
		brief = []any{"manufacturer", p.text("dcim/manufacturers", v.Manufacturer), "model", v.Model, "slug", slug(v.Model), "description", v.Description}
		more = []any{
			"default_platform", null, "part_number", v.PartNumber, "u_height", float64(*cmp.Or(v.Height, new(int64(1)))), "exclude_from_utilization", false, "is_full_depth", true,
			"subdevice_role", null, "airflow", null, "weight", null, "weight_unit", null, "front_image", null, "rear_image", null, "comments", "",
		}
		return "dcim/device-types", v.Model, brief, more
	case *inventory.Interface:
		brief = []any{"device", p.ref(&v.DeviceID), "name", v.Name, "description", v.Description}
		if whole {
			more = p.port(v)
		}
		return "dcim/interfaces", v.Name, brief, more
	case *inventory.FrontPort:
		return "dcim/front-ports", v.Name, []any{"device", p.ref(&v.DeviceID), "name", v.Name}, nil
	case *inventory.RearPort:
		return "dcim/rear-ports", v.Name, []any{"device", p.ref(&v.DeviceID), "name", v.Name}, nil
	case *inventory.Termination:
		return p.termination(v), v.Name, []any{"device", p.ref(v.DeviceID), "name", v.Name}, nil
	case *inventory.Cable:
		a := p.ends(v.AInterfaceID, v.AFrontPortID, v.ARearPortID, v.ATerminationID)
		b := p.ends(v.BInterfaceID, v.BFrontPortID, v.BRearPortID, v.BTerminationID)
		brief = []any{"label", v.Label, "description", v.Description}
		more = []any{
			"type", orNull(v.Type), "a_terminations", a, "b_terminations", b, "status", choice(string(v.Status), nil), "profile", null, "tenant", null, "color", v.Color, "length", v.Length,
			"length_unit", raw(`{"value":"m","label":"Meters"}`), "comments", "",
		}
		if v.Length == nil {
			more[len(more)-3] = null
		}
		return "dcim/cables", cmp.Or(v.Label, v.ID), brief, more
	case *inventory.VLAN:
		brief = []any{"vid", v.VLANID, "name", v.Name, "description", v.Description}
		if whole {
			site, _ := p.at(v.LocationID)
			more = []any{"site", site, "group", null, "tenant", null, "status", choice(string(v.Status), nil), "role", null, "qinq_role", null, "qinq_svlan", null, "comments", "", "l2vpn_termination", null}
		}
		return "ipam/vlans", fmt.Sprintf("%s (%d)", v.Name, v.VLANID), brief, more
	case *inventory.VRF:
		more = []any{"tenant", null, "enforce_unique", true, "import_targets", raw("[]"), "export_targets", raw("[]"), "comments", ""}
		return "ipam/vrfs", v.Name, []any{"name", v.Name, "rd", orNull(v.RD), "description", v.Description}, more
	case *inventory.Prefix:
		_, family := withLength(v.Prefix)
		brief = []any{"family", family, "prefix", v.Prefix, "description", v.Description}
		if whole {
			var scopeType, scopeID any = null, null
			scope := p.ref(v.LocationID)
			if l, ok := p.known[inventoryID(v.LocationID)].(*inventory.Location); ok {
				kind, _, _, _ := p.place(l)
				scopeType, scopeID = "dcim."+kind, l.ID
			}
			more = []any{
				"vrf", p.ref(v.VRFID), "scope_type", scopeType, "scope_id", scopeID, "scope", scope, "tenant", null, "vlan", p.ref(v.VLANID), "status", choice(string(v.Status), nil),
				"role", p.text("ipam/roles", v.Role), "is_pool", false, "mark_utilized", false, "comments", "",
			}
		}
		return "ipam/prefixes", v.Prefix, brief, more
	case *inventory.Address:
		address, family := withLength(v.Address)
		brief = []any{"family", family, "address", address, "description", v.Description}
		if whole {
			var kind, id any = null, null
			if v.InterfaceID != nil && p.known[*v.InterfaceID] != nil {
				kind, id = "dcim.interface", *v.InterfaceID
			}
			more = []any{
				"vrf", p.ref(v.VRFID), "tenant", null, "status", choice(string(v.Status), nil), "role", choice(string(v.Role), nil), "assigned_object_type", kind, "assigned_object_id", id,
				"assigned_object", p.ref(v.InterfaceID), "nat_inside", null, "nat_outside", raw("[]"), "dns_name", v.DNSName, "comments", "",
			}
		}
		return "ipam/ip-addresses", address, brief, more
	case *text:
		brief = []any{"name", v.name, "slug", v.slug, "description", ""}
		if v.path == "extras/tags" {
			brief = append(brief, "color", "9e9e9e")
		}
		more = []any{"color", "9e9e9e", "parent", null, "group", null, "manufacturer", null, "vm_role", false, "config_template", null, "comments", ""}
		return v.path, v.name, brief, more
	}
	return "", "", nil, nil
}

// device returns the members of a device.
func (p *page) device(d *inventory.Device) []any {
	site, location := p.at(d.LocationID)
	deviceType := p.ref(d.DeviceTypeID)
	if d.DeviceTypeID == nil && (d.Model != "" || d.Vendor != "") {
		key := [2]string{"dcim/device-types/" + d.Vendor, d.Model}
		if p.texts[key] == "" {
			p.texts[key] = raw(p.append(nil, newType(d), false))
		}
		deviceType = p.texts[key]
	}
	primary, primary4, primary6 := null, null, null
	if a := p.has[d.ID].primary; a != nil {
		if primary = raw(p.append(nil, a, false)); strings.Contains(a.Address, ":") {
			primary6 = primary
		} else {
			primary4 = primary
		}
	}
	var position any
	if d.RackUnit != nil {
		position = float64(*d.RackUnit)
	}
	return []any{
		"device_type", deviceType, "role", p.text("dcim/device-roles", d.Role), "tenant", p.text("tenancy/tenants", d.Tenant), "platform", p.text("dcim/platforms", d.OS), "serial", d.SerialNumber,
		"asset_tag", null, "site", site, "location", location, "rack", p.ref(d.RackID), "position", position, "face", choice(string(d.RackFace), faces), "latitude", null, "longitude", null,
		"parent_device", null, "status", choice(string(d.Status), deviceStatus), "airflow", null, "primary_ip", primary, "primary_ip4", primary4, "primary_ip6", primary6, "oob_ip", null,
		"cluster", null, "virtual_chassis", null, "vc_position", null, "vc_priority", null, "comments", d.Notes, "config_template", null, "config_context", raw("{}"),
		"local_context_data", null, "tags", p.tags(d.Tags),
	}
}

// port returns the members of an interface.
func (p *page) port(i *inventory.Interface) []any {
	has := p.has[i.ID]
	var speed, mac any = null, null
	if i.SpeedMbps != nil {
		speed = *i.SpeedMbps * 1000
	}
	if i.MACAddress != "" {
		mac = strings.ToUpper(i.MACAddress)
	}
	cable, end := null, any(null)
	if has.cable != nil {
		cable, end = p.refTo(has.cable), "A"
		if inventoryID(has.cable.BInterfaceID) == i.ID {
			end = "B"
		}
	}
	vlans := []byte("[")
	for n, id := range has.vlans {
		if n > 0 {
			vlans = append(vlans, ',')
		}
		vlans = append(vlans, p.ref(&id)...)
	}
	enabled := i.AdminStatus != inventory.LinkDown && !(i.AdminStatus == "" && i.Status == inventory.LinkDown)
	return []any{
		"vdcs", raw("[]"), "module", null, "label", "", "type", choice(cmp.Or(i.Type, "other"), nil), "enabled", enabled, "parent", p.ref(i.ParentID), "bridge", null, "lag", p.ref(i.LAGID), "mtu", i.MTU,
		"mac_address", mac, "primary_mac_address", null, "mac_addresses", raw("[]"), "speed", speed, "duplex", null, "wwn", null, "mgmt_only", false, "mode", choice(i.Mode, modes),
		"untagged_vlan", p.ref(i.UntaggedVLANID), "tagged_vlans", raw(append(vlans, ']')), "qinq_svlan", null, "mark_connected", false, "cable", cable, "cable_end", end, "link_peers", raw("[]"),
		"vrf", null, "l2vpn_termination", null, "connected_endpoints", null, "connected_endpoints_type", null, "connected_endpoints_reachable", null,
		"count_ipaddresses", has.addresses, "count_fhrp_groups", 0, "_occupied", has.cable != nil,
	}
}

// ends returns an end of a cable.
func (p *page) ends(port, front, rear, termination *string) raw {
	kind, id := "dcim.interface", port
	switch {
	case front != nil:
		kind, id = "dcim.frontport", front
	case rear != nil:
		kind, id = "dcim.rearport", rear
	case termination != nil:
		kind, id = "dcim.consoleport", termination
		if t, ok := p.known[*termination].(*inventory.Termination); ok {
			kind = strings.TrimSuffix(strings.ReplaceAll(strings.Replace(p.termination(t), "/", ".", 1), "-", ""), "s")
		}
	}
	if p.ref(id) == null {
		return "[]"
	}
	return raw(append(p.members([]byte("[{"), "object_type", kind, "object_id", *id, "object", p.ref(id)), "}]"...))
}

// termination returns the list in which NetBox has a termination.
func (p *page) termination(t *inventory.Termination) string {
	paths := map[inventory.TerminationKind]string{
		inventory.TerminationPower: "dcim/power-ports", inventory.TerminationOutlet: "dcim/power-outlets", inventory.TerminationFeed: "dcim/power-feeds", inventory.TerminationCircuit: "circuits/circuit-terminations",
	}
	return cmp.Or(paths[t.Kind], "dcim/console-ports")
}

// at returns the objects of the site and location of something.
func (p *page) at(id *string) (site, location raw) {
	l, ok := p.known[inventoryID(id)].(*inventory.Location)
	if !ok {
		return null, null
	}
	kind, at, _, _ := p.place(l)
	if location = null; kind == "location" {
		location = p.refTo(l)
	}
	return p.maybe(at), location
}

// maybe returns the object of a location, null for none.
func (p *page) maybe(l *inventory.Location) raw {
	if l == nil {
		return null
	}
	return p.refTo(l)
}

// place returns what a location is in NetBox (region, site or location), the site that it is or is in, and the location
// and the region that it is directly within.
func (p *page) place(l *inventory.Location) (kind string, site, parent, region *inventory.Location) {
	above := func(l *inventory.Location) *inventory.Location {
		up, _ := p.known[inventoryID(l.ParentID)].(*inventory.Location)
		return up
	}
	isSite := func(l *inventory.Location) bool {
		up := above(l)
		return l.Kind == inventory.LocationSite || l.Kind != inventory.LocationRegion && (up == nil || up.Kind == inventory.LocationRegion)
	}
	up := above(l)
	if up != nil && up.Kind == inventory.LocationRegion {
		region = up
	}
	switch {
	case l.Kind == inventory.LocationRegion:
		return "region", nil, nil, region
	case isSite(l):
		return "site", l, nil, region
	}
	if !isSite(up) {
		parent = up
	}
	for steps := 0; site == nil && up != nil && steps < inventory.MaxBelow; steps++ {
		if isSite(up) {
			site = up
		}
		up = above(up)
	}
	return "location", site, parent, nil
}

// slugOf returns the slug of a location: its code without what the import of NetBox puts before it, or else its name.
func slugOf(l *inventory.Location) string {
	code := strings.TrimPrefix(l.SiteCode, "region-")
	return slug(cmp.Or(code[strings.LastIndexByte(code, '/')+1:], l.Name))
}

// slug returns a text in lower case, with hyphens in place of all but letters, digits and underscores.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return !(c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9') })
	return cmp.Or(strings.Join(words, "-"), strconv.QuoteToASCII(s))
}

// idOf returns the id of a record.
func idOf[R records.Record](rec R) string { return rec.Meta().ID }

// inventoryID returns an id, empty for none.
func inventoryID(id *string) string { return *cmp.Or(id, new("")) }

// orNull returns a text, null for an empty one.
func orNull(s string) any {
	if s == "" {
		return null
	}
	return s
}
