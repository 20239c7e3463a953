package netbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	addresses  = "ipam.ipaddress"
	interfaces = "dcim.interface"
	vlanGroups = "ipam.vlangroup"
	macs       = "dcim.macaddress"
	// contentTypes are the kinds that fixtures refer to by number.
	contentTypes = "contenttypes.contenttype"
	// terminations are the ends of cables.
	terminations = "dcim.cabletermination"
	// mappings are the positions of front ports (since 4.5), of which the REST API makes members of the ports.
	mappings, templateMappings = "dcim.portmapping", "dcim.porttemplatemapping"
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
	end      string   // the member of a cable that ends at such an object, without its side; empty for none
	texts    string   // the members that are fields of the record as they are, or as field=member
	columns  []column // the other fields

	// fill, if not nil, sets further values of a row. It empties the row of an object that has no counterpart.
	fill func(x *Export, number int64, o, row object)
}

// column is a field of a record. An object that has none of the members leaves the field as it is: another version of
// NetBox may have the value elsewhere. A column without members is in every row.
type column struct {
	field, members string
	value          func(x *Export, number int64, o object) any
}

// lost is the value of a field that the inventory can't have, and why.
type lost string

// kinds describes the objects that become records, in the order of references.
func kinds() []kind {
	const port, template = "name description type label", "name label type"
	tenant := named("tenant", "tenant", "tenancy.tenant")
	device := key("device", "device=dcim.device")
	place := column{"location", "site location scope scope_type scope_id termination termination_type termination_id provider_network", (*Export).place}
	manufacturer := named("manufacturer", "manufacturer", "dcim.manufacturer")
	vrf, vlan := key("vrf", "vrf=ipam.vrf"), key("vlan", "vlan=ipam.vlan")
	height := column{"height", "u_height", (*Export).height}
	positions := column{"positions", "positions", raw("positions")}
	position := column{"rear_port_position", "rear_port_position positions", raw("rear_port_position")}
	deviceType := key("device_type", "device_type=dcim.devicetype")
	of := func(kind string, more ...column) []column {
		return append(more, device, constant("kind", kind), constant("location", nil))
	}
	all := []kind{
		{"dcim.region", "dcim/regions", "locations", "", "name", []column{constant("kind", "region"), siteCode("dcim.region"), key("parent", "parent=dcim.region")}, nil},
		{"dcim.site", "dcim/sites", "locations", "", "name address=physical_address timezone=time_zone", []column{
			constant("kind", "site"), siteCode("dcim.site"), key("parent", "region=dcim.region"), coordinate("lat", "latitude", "longitude"), coordinate("lon", "longitude", "latitude"),
		}, nil},
		{"dcim.location", "dcim/locations", "locations", "", "name", []column{
			constant("kind", "room"), siteCode("dcim.location"), key("parent", "parent=dcim.location site=dcim.site"),
		}, nil},
		{"dcim.rack", "dcim/racks", "racks", "", "name serial_number=serial asset_tag description", []column{
			choice("status", "available=active"), place, height, tenant,
		}, nil},
		{"dcim.devicetype", "dcim/device-types", "device-types", "", "model part_number description", []column{manufacturer, height}, nil},
		{"dcim.device", "dcim/devices", "devices", "", "notes=comments rack_position=position", []column{
			{"hostname", "name", (*Export).hostname},
			{"location", "site location rack", (*Export).deviceLocation},
			{"serial_number", "serial", (*Export).serial},
			typePart("vendor", "manufacturer"), typePart("model", "model"), deviceType,
			named("os", "platform", "dcim.platform"), named("role", "role device_role", "dcim.devicerole"), tenant,
			{"ip", "primary_ip4 primary_ip6 primary_ip", (*Export).primary},
			choice("status", "planned=provisioning staged=provisioning failed=offline inventory=offline decommissioning=decommissioned"),
			{"tags", "", (*Export).tags},
			key("rack", "rack=dcim.rack"),
			{"rack_unit", "position", (*Export).rackUnit},
			{"rack_face", "face", (*Export).face},
		}, heightOfUnit},
		{"ipam.vlan", "ipam/vlans", "vlans", "", "name description", []column{
			choice("status", ""), {"vlan_id", "vid", raw("vid")}, {"location", "", (*Export).vlanPlace},
		}, nil},
		{interfaces, "dcim/interfaces", "interfaces", "interface", "name description type", []column{
			device, choice("mode", "tagged=trunk tagged-all=trunk-all"),
			{"mac_address", "mac_address primary_mac_address", (*Export).mac},
			{"mtu", "mtu", raw("mtu")},
			{"admin_status", "enabled", enabled},
			{"speed", "speed", speed},
			besides("lag"), besides("parent"),
			{"untagged_vlan", "untagged_vlan mode tagged_vlans", (*Export).untagged},
		}, nil},
		{taggedVLANs, "", "tagged-vlans", "", "", nil, (*Export).taggedVLAN},
		{"dcim.rearport", "dcim/rear-ports", "rear-ports", "rear_port", port, []column{device, positions}, nil},
		{"dcim.frontport", "dcim/front-ports", "front-ports", "front_port", port, []column{device, key("rear_port", "rear_port=dcim.rearport"), position}, need("rear_port")},
		{"dcim.consoleport", "dcim/console-ports", "terminations", "termination", port, of("console"), nil},
		{"dcim.consoleserverport", "dcim/console-server-ports", "terminations", "termination", port, of("console"), nil},
		{"dcim.powerport", "dcim/power-ports", "terminations", "termination", port, of("power-port"), nil},
		{"dcim.poweroutlet", "dcim/power-outlets", "terminations", "termination", port, of("power-outlet"), nil},
		{"dcim.powerfeed", "dcim/power-feeds", "terminations", "termination", "type description", []column{
			constant("device", nil), constant("kind", "power-feed"), {"location", "power_panel", (*Export).panelPlace}, {"name", "power_panel name", (*Export).feedName},
		}, nil},
		{"circuits.circuittermination", "circuits/circuit-terminations", "terminations", "termination", "label=xconnect_id description", []column{
			constant("device", nil), constant("kind", "circuit"), place, {"name", "circuit term_side", (*Export).circuitName},
		}, nil},
		{"dcim.cable", "dcim/cables", "cables", "", "type label color description", []column{
			choice("status", ""), {"length", "length length_unit _abs_length", metres},
		}, (*Export).cable},
		{"ipam.vrf", "ipam/vrfs", "vrfs", "", "name rd description", nil, nil},
		{"ipam.prefix", "ipam/prefixes", "prefixes", "", "prefix description", []column{choice("status", ""), vrf, named("role", "role", "ipam.role"), place, vlan}, nil},
		{addresses, "ipam/ip-addresses", "addresses", "", "address role dns_name description", []column{
			choice("status", ""), vrf, {"interface", "assigned_object assigned_object_type assigned_object_id", (*Export).assigned},
		}, nil},
		// Devices have their own ports, and get none of their types.
		{"dcim.rearporttemplate", "dcim/rear-port-templates", "port-templates", "", template, []column{deviceType, constant("kind", "rear-port"), positions}, need("device_type")},
		{"dcim.frontporttemplate", "dcim/front-port-templates", "port-templates", "", template, []column{
			deviceType, constant("kind", "front-port"), named("rear_port", "rear_port", "dcim.rearporttemplate"), position,
		}, need("device_type rear_port")},
		{"dcim.interfacetemplate", "dcim/interface-templates", "port-templates", "", template, []column{deviceType, constant("kind", "interface")}, need("device_type")},
	}
	for i, k := range all {
		for text := range strings.FieldsSeq(k.texts) {
			field, member, _ := strings.Cut(text, "=")
			member = cmp.Or(member, field)
			all[i].columns = append(all[i].columns, column{field, member, func(_ *Export, _ int64, o object) any { return o.text(member) }})
		}
	}
	return all
}

// read returns the members of objects that their rows have.
func (k *kind) read() []string {
	var all []string
	for _, c := range k.columns {
		all = append(all, strings.Fields(cmp.Or(c.members, c.field))...)
	}
	return append(all, strings.Fields(others[k.model])...)
}

// others are further members that rows are made of.
var others = map[string]string{
	"dcim.cable":      "a_terminations b_terminations termination_a termination_a_type termination_a_id termination_b termination_b_type termination_b_id",
	"dcim.devicetype": "is_full_depth",
	"ipam.vlan":       "site",
	taggedVLANs:       "interface vlan",
}

// raw returns the function for a member as it is.
func raw(member string) func(*Export, int64, object) any {
	return func(_ *Export, _ int64, o object) any { return o[member] }
}

// constant is a column whose value does not depend on the object.
func constant(field string, value any) column {
	return column{field, "", func(*Export, int64, object) any { return value }}
}

// key is a column with the natural key of the object that the first of some members refers to: member=kind.
func key(field, members string) column {
	var names []string
	for member := range strings.FieldsSeq(members) {
		names = append(names, member[:strings.IndexByte(member, '=')])
	}
	return column{field, strings.Join(names, " "), func(x *Export, _ int64, o object) any { return x.first(o, members) }}
}

// first returns the natural key of the object that the first of some members refers to, nil for none.
func (x *Export) first(o object, members string) any {
	for member := range strings.FieldsSeq(members) {
		name, model, _ := strings.Cut(member, "=")
		if key := x.key(model, o[name]); key != nil {
			return key
		}
	}
	return nil
}

// key returns the natural key of the record that the object of a reference becomes, nil for none.
func (x *Export) key(model string, ref any) any {
	k, o, n := x.kind(model), x.referenced(model, ref), number(ref)
	switch {
	case o == nil || k == nil || model == "dcim.frontport" && x.key("dcim.rearport", o["rear_port"]) == nil:
		return nil
	case x.equal[model][n]:
		return lost("refers to an object that is not imported")
	}
	key := x.fields(k, n, o, identities[k.resource])
	for field, value := range key {
		if _, ok := value.(lost); ok {
			key[field] = nil
		}
	}
	return key
}

// named is a column with the name of the object of a kind that the first of some members refers to.
func named(field, members, model string) column {
	return column{field, members, func(x *Export, _ int64, o object) any {
		for member := range strings.FieldsSeq(members) {
			if of := x.referenced(model, o[member]); of != nil {
				return of.text("name")
			}
		}
		return ""
	}}
}

// choice is a column with a value of NetBox, some of which the inventory has under another name.
func choice(member, names string) column {
	return column{member, member, func(_ *Export, _ int64, o object) any {
		value := o.text(member)
		for name := range strings.FieldsSeq(names) {
			if from, to, _ := strings.Cut(name, "="); from == value {
				return to
			}
		}
		return value
	}}
}

// need returns the function that empties rows without some values.
func need(fields string) func(x *Export, _ int64, _, row object) {
	return func(_ *Export, _ int64, _, row object) {
		for field := range strings.FieldsSeq(fields) {
			if row[field] == nil || row[field] == "" {
				clear(row)
				return
			}
		}
	}
}

// details are the kinds whose values become fields of others, and their paths in the REST API.
var details = map[string]string{
	"dcim.manufacturer": "dcim/manufacturers", "dcim.devicerole": "dcim/device-roles", "dcim.platform": "dcim/platforms",
	"tenancy.tenant": "tenancy/tenants", "ipam.role": "ipam/roles", "extras.tag": "", terminations: "", tags: "",
	macs: "dcim/mac-addresses", mappings: "", templateMappings: "", contentTypes: "",
}

// namedKinds are the kinds that have no counterpart, but whose names do in other records, and their paths.
var namedKinds = map[string]string{
	vlanGroups: "ipam/vlan-groups", "dcim.sitegroup": "dcim/site-groups", "dcim.rackrole": "dcim/rack-roles", "dcim.virtualchassis": "dcim/virtual-chassis",
	"dcim.powerpanel": "dcim/power-panels", "ipam.routetarget": "ipam/route-targets", "virtualization.cluster": "virtualization/clusters",
	"circuits.circuit": "circuits/circuits", "circuits.provider": "circuits/providers", "circuits.providernetwork": "circuits/provider-networks",
}

// kind returns the kind of objects that become records, nil for others.
func (x *Export) kind(model string) *kind {
	if i := slices.IndexFunc(x.kinds, func(k kind) bool { return k.model == model }); i >= 0 {
		return &x.kinds[i]
	}
	return nil
}

// values returns the values of the row of an object, nil for one without a counterpart, and which members have values
// that the inventory can't have.
func (x *Export) values(k kind, number int64, o object) (row object, losses []string) {
	if x.equal[k.model][number] {
		return nil, nil
	}
	row = x.fields(&k, number, o, nil)
	if k.fill != nil {
		k.fill(x, number, o, row)
	}
	if len(row) == 0 {
		return nil, nil
	}
	r, _ := x.schema.Named(k.resource)
	for name, value := range row {
		why, isLost := value.(lost)
		f, ok := r.Field(name)
		switch {
		case isLost && ok && f.Kind == records.Text:
			row[name] = ""
		case isLost:
			row[name] = nil
		case ok:
			if why = misfit(f, value); why != "" {
				delete(row, name)
			}
		}
		if why != "" {
			losses = append(losses, fmt.Sprintf("%s %s: %s", k.model, name, why))
		}
	}
	return row, losses
}

// fields returns fields of the row of an object, all of them if only is nil. Names end with what tells them apart.
func (x *Export) fields(k *kind, number int64, o object, only []string) object {
	row := object{}
	for _, c := range k.columns {
		has := func(member string) bool { _, ok := o[member]; return ok }
		members := strings.Fields(c.members)
		if (only == nil || slices.Contains(only, c.field)) && (len(members) == 0 || slices.ContainsFunc(members, has)) {
			row[c.field] = c.value(x, number, o)
		}
	}
	if suffix := x.suffix[k.model+strconv.FormatInt(number, 10)]; suffix != "" {
		name := identities[k.resource][0]
		row[name] = fmt.Sprint(row[name], suffix)
	}
	return row
}

// misfit returns why a field can't have a value, "" if it can or if the row has to be rejected for it.
func misfit(f *records.Field, value any) lost {
	switch v := value.(type) {
	case string:
		switch {
		case v == "" || f.Required:
		case len(f.Enum) > 0 && !f.Open && !slices.Contains(f.Enum, v):
			return lost("the inventory has no " + v)
		case f.Max != nil && float64(utf8.RuneCountInString(v)) > *f.Max:
			return lost(fmt.Sprintf("more than %v characters", *f.Max))
		}
	case json.Number, int64:
		n, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
		if f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max {
			return "is too small or too large"
		}
	}
	return ""
}
