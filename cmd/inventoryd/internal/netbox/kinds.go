package netbox

import (
	"slices"
	"strings"
)

const (
	addresses  = "ipam.ipaddress"
	interfaces = "dcim.interface"
	// terminations are the ends of cables.
	terminations = "dcim.cabletermination"
	// tags are the tags of objects.
	tags = "extras.taggeditem"
	// taggedVLANs is no kind of NetBox: its objects are made of the interfaces.
	taggedVLANs = "dcim.interface tagged_vlans"
)

// kind is a kind of object that becomes records.
type kind struct {
	model    string // such as dcim.site
	path     string // in the REST API; empty for none
	resource string
	end      string // the member of a cable that ends at such an object, without its side; empty for none
	texts    string // the members that are fields of the record as they are, or as field=member
	others   string // further members that fill reads

	// fill sets the other values of a row. It empties the row of an object that has no counterpart.
	fill func(x *Export, number int64, o, row object)
}

// kinds describes the objects that become records, in the order of references.
func kinds() []kind {
	const port, template = "name description type label", "name label type"
	return []kind{
		{"dcim.region", "dcim/regions", "locations", "", "name", "slug parent", (*Export).region},
		{"dcim.site", "dcim/sites", "locations", "", "name address=physical_address timezone=time_zone site_code=slug", "latitude longitude region", (*Export).site},
		{"dcim.location", "dcim/locations", "locations", "", "name", "slug site parent", (*Export).room},
		{"dcim.rack", "dcim/racks", "racks", "", "name serial_number=serial asset_tag description", "status u_height site location tenant", (*Export).rack},
		{"dcim.devicetype", "dcim/device-types", "device-types", "", "model part_number description", "manufacturer u_height is_full_depth", (*Export).deviceType},
		{
			"dcim.device", "dcim/devices", "devices", "", "serial_number=serial notes=comments rack_position=position",
			"name status face site location rack device_type role device_role platform tenant primary_ip primary_ip4 primary_ip6 tags", (*Export).device,
		},
		{"ipam.vlan", "ipam/vlans", "vlans", "", "name status description", "vid site", (*Export).vlan},
		{
			interfaces, "dcim/interfaces", "interfaces", "interface", "name description type mac_address",
			"mode mtu enabled speed device lag parent untagged_vlan tagged_vlans", (*Export).networkInterface,
		},
		{taggedVLANs, "", "tagged-vlans", "", "", "interface vlan", (*Export).taggedVLAN},
		{"dcim.rearport", "dcim/rear-ports", "rear-ports", "rear_port", port, "device positions", (*Export).rearPort},
		{"dcim.frontport", "dcim/front-ports", "front-ports", "front_port", port, "device rear_port rear_port_position", (*Export).frontPort},
		{"dcim.consoleport", "dcim/console-ports", "terminations", "termination", port, "device", termination("console")},
		{"dcim.consoleserverport", "dcim/console-server-ports", "terminations", "termination", port, "device", termination("console")},
		{"dcim.powerport", "dcim/power-ports", "terminations", "termination", port, "device", termination("power-port")},
		{"dcim.poweroutlet", "dcim/power-outlets", "terminations", "termination", port, "device", termination("power-outlet")},
		{"dcim.powerfeed", "dcim/power-feeds", "terminations", "termination", "type description", "name power_panel", (*Export).powerFeed},
		{
			"circuits.circuittermination", "circuits/circuit-terminations", "terminations", "termination",
			"label=xconnect_id description", "circuit term_side site", (*Export).circuitEnd,
		},
		{"dcim.cable", "dcim/cables", "cables", "", "type status label color description", "a_terminations b_terminations", (*Export).cable},
		{"ipam.vrf", "ipam/vrfs", "vrfs", "", "name rd description", "", func(*Export, int64, object, object) {}},
		{"ipam.prefix", "ipam/prefixes", "prefixes", "", "prefix status description", "vrf role site vlan", (*Export).prefix},
		{addresses, "ipam/ip-addresses", "addresses", "", "address status role dns_name description", "vrf assigned_object_id assigned_object", (*Export).address},
		// Devices have their own ports, and get none of their types.
		{"dcim.rearporttemplate", "dcim/rear-port-templates", "port-templates", "", template, "device_type module_type positions", portTemplate("rear-port")},
		{
			"dcim.frontporttemplate", "dcim/front-port-templates", "port-templates", "", template,
			"device_type module_type rear_port rear_port_position", portTemplate("front-port"),
		},
		{"dcim.interfacetemplate", "dcim/interface-templates", "port-templates", "", template, "device_type module_type", portTemplate("interface")},
	}
}

// read returns the members of objects that their rows have.
func (k *kind) read() []string {
	all := strings.Fields(k.texts + " " + k.others)
	for i, text := range all {
		all[i] = text[strings.IndexByte(text, '=')+1:]
	}
	return all
}

// details are the kinds whose values become fields of others, and their paths in the REST API.
var details = map[string]string{
	"dcim.manufacturer": "dcim/manufacturers", "dcim.devicerole": "dcim/device-roles", "dcim.platform": "dcim/platforms",
	"tenancy.tenant": "tenancy/tenants", "ipam.role": "ipam/roles", "extras.tag": "", terminations: "", tags: "",
}

// named are the kinds that have no counterpart, but whose names do in other records, and their paths.
var named = map[string]string{
	"dcim.sitegroup": "dcim/site-groups", "dcim.rackrole": "dcim/rack-roles", "dcim.virtualchassis": "dcim/virtual-chassis",
	"dcim.powerpanel": "dcim/power-panels", "ipam.vlangroup": "ipam/vlan-groups", "ipam.routetarget": "ipam/route-targets",
	"circuits.circuit": "circuits/circuits", "circuits.provider": "circuits/providers", "circuits.providernetwork": "circuits/provider-networks",
}

// counted are the paths of further kinds, which are counted.
var counted = map[string]string{
	"virtualization.virtualmachine": "virtualization/virtual-machines", "ipam.aggregate": "ipam/aggregates", "ipam.iprange": "ipam/ip-ranges",
}

// used reports whether the export keeps the objects of a kind.
func (x *Export) used(model string) bool {
	_, detail := details[model]
	_, name := named[model]
	return detail || name || x.kind(model) != nil
}

// kind returns the kind of objects that become records, nil for others.
func (x *Export) kind(model string) *kind {
	if i := slices.IndexFunc(x.kinds, func(k kind) bool { return k.model == model }); i >= 0 {
		return &x.kinds[i]
	}
	return nil
}

// values returns the values of the row of an object, nil for one without a counterpart.
func (x *Export) values(k kind, number int64, o object) object {
	row := object{}
	for text := range strings.FieldsSeq(k.texts) {
		field, member, renamed := strings.Cut(text, "=")
		if !renamed {
			member = field
		}
		row[field] = o.text(member)
	}
	if k.fill(x, number, o, row); len(row) == 0 {
		return nil
	}
	return row
}
