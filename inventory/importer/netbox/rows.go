package netbox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The rows of objects. References are natural keys. A row of nil has no counterpart.

func (x *Export) region(_ int64, o object) object {
	return object{"name": o.text("name"), "kind": "region", "site_code": "region-" + o.text("slug"), "parent": x.regionKey(o["parent"])}
}

func (x *Export) regionKey(ref any) any {
	region := x.referenced("dcim.region", ref)
	if region == nil {
		return nil
	}
	return object{"site_code": "region-" + region.text("slug")}
}

func (x *Export) site(_ int64, o object) object {
	row := object{
		"name": o.text("name"), "address": o.text("physical_address"), "timezone": o.text("time_zone"), "site_code": o.text("slug"),
		"kind": "site", "parent": x.regionKey(o["region"]),
	}
	if lat, lon := o.decimal("latitude"), o.decimal("longitude"); lat != nil && lon != nil {
		row["lat"], row["lon"] = lat, lon
	}
	return row
}

// room returns the row of a location within a site.
func (x *Export) room(_ int64, o object) object {
	row := object{"name": o.text("name"), "kind": "room", "site_code": x.roomCode(o), "parent": x.siteOf(o)}
	if parent := x.referenced("dcim.location", o["parent"]); parent != nil {
		row["parent"] = object{"site_code": x.roomCode(parent)}
	}
	return row
}

// roomCode returns the site code of a location within a site, whose slug is unique within the site.
func (x *Export) roomCode(o object) string {
	return x.referenced("dcim.site", o["site"]).text("slug") + "/" + o.text("slug")
}

// siteOf returns the natural key of the site of an object, nil for none.
func (x *Export) siteOf(o object) any {
	site := x.referenced("dcim.site", o["site"])
	if site == nil {
		return nil
	}
	return object{"site_code": site.text("slug")}
}

// locationOf returns the natural key of where an object is: the location within its site, or the site.
func (x *Export) locationOf(o object) any {
	if room := x.referenced("dcim.location", o["location"]); room != nil {
		return object{"site_code": x.roomCode(room)}
	}
	return x.siteOf(o)
}

// rackStatus are the statuses that the inventory has under another name.
var rackStatus = map[string]string{"available": "active"}

func (x *Export) rack(_ int64, o object) object {
	status := o.text("status")
	return object{
		"name": o.text("name"), "location": x.locationOf(o), "height": o["u_height"], "status": cmp.Or(rackStatus[status], status),
		"tenant": x.tenant(o), "serial_number": o.text("serial"), "asset_tag": o.text("asset_tag"), "description": o.text("description"),
	}
}

func (x *Export) tenant(o object) string {
	return x.referenced("tenancy.tenant", o["tenant"]).text("name")
}

func (x *Export) deviceType(_ int64, o object) object {
	row := object{
		"manufacturer": x.referenced("dcim.manufacturer", o["manufacturer"]).text("name"), "model": o.text("model"),
		"part_number": o.text("part_number"), "description": o.text("description"),
	}
	if height := units(o.text("u_height")); height > 0 {
		row["height"] = height
	}
	return row
}

// typeKey returns the natural key of a device type, nil for none.
func (x *Export) typeKey(ref any) any {
	of := x.referenced("dcim.devicetype", ref)
	if of == nil {
		return nil
	}
	return object{"manufacturer": x.referenced("dcim.manufacturer", of["manufacturer"]).text("name"), "model": of.text("model")}
}

// portTemplate returns the fields that all port templates have, nil for those of module types.
func (x *Export) portTemplate(kind string, o object) object {
	of := x.typeKey(o["device_type"])
	if of == nil {
		return nil
	}
	return object{"device_type": of, "kind": kind, "name": o.text("name"), "label": o.text("label"), "type": o.text("type")}
}

func (x *Export) interfaceTemplate(_ int64, o object) object { return x.portTemplate("interface", o) }

func (x *Export) rearPortTemplate(_ int64, o object) object {
	row := x.portTemplate("rear-port", o)
	if row != nil {
		row["positions"] = o["positions"]
	}
	return row
}

func (x *Export) frontPortTemplate(_ int64, o object) object {
	row := x.portTemplate("front-port", o)
	if row != nil {
		row["rear_port"], row["rear_port_position"] = x.referenced("dcim.rearporttemplate", o["rear_port"]).text("name"), o["rear_port_position"]
	}
	return row
}

// units returns a number of rack units, of which halves are rounded up.
func units(text string) int64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return int64(n + 0.5)
}

// deviceStatus are the statuses that the inventory has under another name.
var deviceStatus = map[string]string{
	"planned": "provisioning", "staged": "provisioning", "failed": "offline", "inventory": "offline", "decommissioning": "decommissioned",
}

func (x *Export) device(number int64, o object) object {
	of := x.referenced("dcim.devicetype", o["device_type"])
	status := o.text("status")
	row := object{
		"hostname": x.hostname(number, o), "location": x.deviceOf(number)["location"], "model": of.text("model"),
		"vendor": x.referenced("dcim.manufacturer", of["manufacturer"]).text("name"),
		"os":     x.referenced("dcim.platform", o["platform"]).text("name"),
		"role":   x.referenced("dcim.devicerole", cmp.Or(o["role"], o["device_role"])).text("name"),
		"status": cmp.Or(deviceStatus[status], status), "serial_number": o.text("serial"), "notes": o.text("comments"),
		"rack_position": o.text("position"), "tenant": x.tenant(o), "tags": x.tagsOf("dcim.device", number, o),
		"device_type": x.typeKey(o["device_type"]),
	}
	address := x.referenced(addresses, cmp.Or(o["primary_ip4"], o["primary_ip6"]))
	row["ip"], _, _ = strings.Cut(address.text("address"), "/")
	if rack := x.referenced("dcim.rack", o["rack"]); rack != nil {
		row["rack"] = object{"name": rack.text("name"), "location": x.locationOf(rack)}
		if unit := units(o.text("position")); unit > 0 {
			row["rack_unit"], row["rack_height"] = unit, max(1, units(of.text("u_height")))
		}
		if full, _ := of["is_full_depth"].(bool); !full {
			row["rack_face"] = strings.Replace(o.text("face"), "rear", "back", 1)
		}
	}
	return row
}

// hostname returns the name of a device, or what NetBox shows for one without a name.
func (x *Export) hostname(number int64, o object) string {
	of := x.referenced("dcim.devicetype", o["device_type"])
	vendor := x.referenced("dcim.manufacturer", of["manufacturer"])
	return cmp.Or(o.text("name"), fmt.Sprintf("%s %s (%d)", vendor.text("name"), of.text("model"), number))
}

// deviceOf returns the natural key of a device, nil for none. A device in a rack is where the rack is.
func (x *Export) deviceOf(number int64) object {
	device := x.objects["dcim.device"][number]
	if device == nil {
		return nil
	}
	location := x.locationOf(device)
	if rack := x.referenced("dcim.rack", device["rack"]); rack != nil {
		location = x.locationOf(rack)
	}
	return object{"hostname": x.hostname(number, device), "location": location}
}

// port returns the fields that all ports have.
func (x *Export) port(o object) object {
	row := object{"name": o.text("name"), "description": o.text("description"), "type": o.text("type"), "device": nil}
	if device := x.deviceOf(number(o["device"])); device != nil {
		row["device"] = device
	}
	return row
}

// interfaceModes are the modes that the inventory has under another name.
var interfaceModes = map[string]string{"tagged": "trunk", "tagged-all": "trunk-all"}

func (x *Export) networkInterface(_ int64, o object) object {
	row := x.port(o)
	mode := o.text("mode")
	row["mode"], row["mac_address"], row["mtu"] = cmp.Or(interfaceModes[mode], mode), o.text("mac_address"), o["mtu"]
	row["lag"], row["parent"], row["untagged_vlan"] = x.besides(o, "lag"), x.besides(o, "parent"), nil
	if slices.Contains([]string{"access", "tagged", "tagged-all"}, mode) { // others have no VLANs here
		row["untagged_vlan"] = x.vlanKey(o["untagged_vlan"])
	}
	if enabled, ok := o["enabled"].(bool); ok {
		row["admin_status"] = map[bool]string{true: "up", false: "down"}[enabled]
	}
	if kbps := number(o["speed"]); kbps > 0 {
		row["speed"] = strconv.FormatInt(kbps, 10) + "kbps"
	}
	return row
}

// besides returns the natural key of another interface of the same device, nil for none. In NetBox the LAG of
// an interface may be that of another device of its virtual chassis.
func (x *Export) besides(o object, member string) any {
	if other := x.referenced(interfaces, o[member]); other == nil || number(other["device"]) != number(o["device"]) {
		return nil
	}
	return x.portKey(interfaces, number(o[member]))
}

// taggedVLAN returns the row of a VLAN of a trunk. NetBox keeps those of interfaces with another mode.
func (x *Export) taggedVLAN(_ int64, o object) object {
	of := o["interface"].(int64)
	vlan := x.vlanKey(o["vlan"])
	if vlan == nil || x.objects[interfaces][of].text("mode") != "tagged" {
		return nil
	}
	return object{"interface": x.portKey(interfaces, of), "vlan": vlan}
}

// tagsOf returns the tags of an object: in fixtures they are objects of their own, in the REST API a list.
func (x *Export) tagsOf(model string, number int64, o object) []string {
	names := []string{}
	add := func(tag object) {
		if name := tag.text("name"); name != "" {
			names = append(names, name)
		}
	}
	for _, tag := range x.tagged[tagged{model, number}] {
		add(x.objects["extras.tag"][tag])
	}
	of, _ := o["tags"].([]any)
	for _, tag := range of {
		values, _ := tag.(map[string]any)
		add(values)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (x *Export) rearPort(_ int64, o object) object {
	row := x.port(o)
	row["label"], row["positions"] = o.text("label"), o["positions"]
	return row
}

func (x *Export) frontPort(_ int64, o object) object {
	row := x.port(o)
	row["label"], row["rear_port_position"] = o.text("label"), o["rear_port_position"]
	row["rear_port"] = x.portKey("dcim.rearport", number(o["rear_port"]))
	return row
}

// portKey returns the natural key of a port, nil for none.
func (x *Export) portKey(model string, number int64) any {
	o := x.objects[model][number]
	if o == nil {
		return nil
	}
	row := x.port(o)
	return object{"device": row["device"], "name": row["name"]}
}

// terminationOf returns the row of a console or power port of a device.
func (x *Export) terminationOf(kind string, o object) object {
	row := x.port(o)
	row["kind"], row["label"], row["location"] = kind, o.text("label"), nil
	return row
}

func (x *Export) consolePort(_ int64, o object) object { return x.terminationOf("console", o) }
func (x *Export) powerPort(_ int64, o object) object   { return x.terminationOf("power-port", o) }
func (x *Export) powerOutlet(_ int64, o object) object { return x.terminationOf("power-outlet", o) }

// powerFeed returns the row of a feed of a power panel, which is at the location of the panel.
func (x *Export) powerFeed(_ int64, o object) object {
	panel := x.referenced("dcim.powerpanel", o["power_panel"])
	return object{
		"device": nil, "kind": "power-feed", "name": strings.TrimSpace(panel.text("name") + " " + o.text("name")), "location": x.locationOf(panel),
		"type": o.text("type"), "description": o.text("description"),
	}
}

// circuitEnd returns the row of an end of a circuit: its provider, number and side are its name.
func (x *Export) circuitEnd(_ int64, o object) object {
	circuit := x.referenced("circuits.circuit", o["circuit"])
	provider := x.referenced("circuits.provider", circuit["provider"])
	return object{
		"device": nil, "kind": "circuit", "name": strings.TrimSpace(provider.text("name") + " " + circuit.text("cid") + " " + o.text("term_side")),
		"label": o.text("xconnect_id"), "location": x.siteOf(o), "description": o.text("description"),
	}
}

// end is a kind of object that a cable ends at: the member of the cable that refers to it, and its natural key.
type end struct {
	member string
	key    func(x *Export, model string, number int64) any
}

// ends are the kinds of objects that cables have here.
var ends = map[string]end{
	"dcim.interface": {"interface", (*Export).portKey}, "dcim.frontport": {"front_port", (*Export).portKey}, "dcim.rearport": {"rear_port", (*Export).portKey},
	"dcim.consoleport": {"termination", (*Export).terminationKey}, "dcim.consoleserverport": {"termination", (*Export).terminationKey},
	"dcim.powerport": {"termination", (*Export).terminationKey}, "dcim.poweroutlet": {"termination", (*Export).terminationKey},
	"dcim.powerfeed": {"termination", (*Export).terminationKey}, "circuits.circuittermination": {"termination", (*Export).terminationKey},
}

// terminationKey returns the natural key of a termination, nil for none.
func (x *Export) terminationKey(model string, number int64) any {
	o := x.objects[model][number]
	if o == nil {
		return nil
	}
	var row object
	switch model {
	case "dcim.powerport":
		row = x.powerPort(number, o)
	case "dcim.poweroutlet":
		row = x.powerOutlet(number, o)
	case "dcim.powerfeed":
		row = x.powerFeed(number, o)
	case "circuits.circuittermination":
		row = x.circuitEnd(number, o)
	default:
		row = x.consolePort(number, o)
	}
	return object{"device": row["device"], "kind": row["kind"], "name": row["name"]}
}

// cable returns the row of a cable with one end on each side that has a counterpart here.
func (x *Export) cable(number int64, o object) object {
	both := x.ends[number]
	if len(both) != 2 || both[0].side == both[1].side {
		return nil
	}
	row := object{
		"type": o.text("type"), "status": o.text("status"), "label": o.text("label"), "color": o.text("color"), "description": o.text("description"),
	}
	if metres := o.decimal("_abs_length"); metres != nil {
		row["length"] = metres
	}
	slices.SortFunc(both, func(a, b cableEnd) int { return strings.Compare(a.side, b.side) })
	for i, side := range []string{"a_", "b_"} {
		at, ok := ends[both[i].model]
		if !ok {
			return nil
		}
		key := at.key(x, both[i].model, both[i].port)
		if key == nil {
			return nil
		}
		row[side+at.member] = key
	}
	return row
}

func (x *Export) vlan(_ int64, o object) object {
	return object{
		"vlan_id": o["vid"], "name": o.text("name"), "description": o.text("description"), "status": o.text("status"), "location": x.siteOf(o),
	}
}

func (x *Export) vrf(_ int64, o object) object {
	return object{"name": o.text("name"), "rd": o.text("rd"), "description": o.text("description")}
}

// vrfOf returns the natural key of the VRF of an object, nil for none.
func (x *Export) vrfOf(o object) any {
	if vrf := x.referenced("ipam.vrf", o["vrf"]); vrf != nil {
		return vrf.text("name")
	}
	return nil
}

func (x *Export) prefix(_ int64, o object) object {
	return object{
		"prefix": o.text("prefix"), "vrf": x.vrfOf(o), "status": o.text("status"), "description": o.text("description"),
		"role": x.referenced("ipam.role", o["role"]).text("name"), "location": x.siteOf(o), "vlan": x.vlanKey(o["vlan"]),
	}
}

// vlanKey returns the natural key of a VLAN, nil for none.
func (x *Export) vlanKey(ref any) any {
	vlan := x.referenced("ipam.vlan", ref)
	if vlan == nil {
		return nil
	}
	return object{"vlan_id": vlan["vid"], "location": x.siteOf(vlan)}
}

func (x *Export) address(_ int64, o object) object {
	row := object{
		"address": o.text("address"), "vrf": x.vrfOf(o), "status": o.text("status"), "role": o.text("role"),
		"dns_name": o.text("dns_name"), "description": o.text("description"), "interface": nil,
	}
	if kindOf(o["assigned_object_type"]) == interfaces {
		row["interface"] = x.portKey(interfaces, number(o["assigned_object_id"]))
	}
	return row
}

// kindOf returns the kind that a field names: dcim.interface, or a list of the two parts.
func kindOf(v any) string {
	if parts, ok := v.([]any); ok && len(parts) == 2 {
		return fmt.Sprint(parts[0], ".", parts[1])
	}
	kind, _ := v.(string)
	return kind
}
