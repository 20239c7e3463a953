package netbox

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The rows of objects. References are natural keys.

func (x *Export) region(_ int64, o, row object) {
	row["kind"], row["site_code"], row["parent"] = "region", "region-"+o.text("slug"), x.regionKey(o["parent"])
}

// keyOf returns what key returns for the object that a field refers to, nil for none.
func (x *Export) keyOf(model string, ref any, key func(o object) any) any {
	if o := x.referenced(model, ref); o != nil {
		return key(o)
	}
	return nil
}

func (x *Export) regionKey(ref any) any {
	return x.keyOf("dcim.region", ref, func(o object) any { return object{"site_code": "region-" + o.text("slug")} })
}

func (x *Export) site(_ int64, o, row object) {
	row["kind"], row["parent"] = "site", x.regionKey(o["region"])
	if lat, lon := o.decimal("latitude"), o.decimal("longitude"); lat != nil && lon != nil {
		row["lat"], row["lon"] = lat, lon
	}
}

// room fills the row of a location within a site.
func (x *Export) room(_ int64, o, row object) {
	row["kind"], row["site_code"], row["parent"] = "room", x.roomCode(o), x.siteOf(o)
	if parent := x.referenced("dcim.location", o["parent"]); parent != nil {
		row["parent"] = object{"site_code": x.roomCode(parent)}
	}
}

// roomCode returns the site code of a location within a site, whose slug is unique within the site.
func (x *Export) roomCode(o object) string {
	return x.referenced("dcim.site", o["site"]).text("slug") + "/" + o.text("slug")
}

// siteOf returns the natural key of the site of an object, nil for none.
func (x *Export) siteOf(o object) any {
	return x.keyOf("dcim.site", o["site"], func(site object) any { return object{"site_code": site.text("slug")} })
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

func (x *Export) rack(_ int64, o, row object) {
	status := o.text("status")
	row["status"], row["location"], row["height"], row["tenant"] = cmp.Or(rackStatus[status], status), x.locationOf(o), o["u_height"], x.tenant(o)
}

func (x *Export) tenant(o object) string {
	return x.referenced("tenancy.tenant", o["tenant"]).text("name")
}

func (x *Export) deviceType(_ int64, o, row object) {
	row["manufacturer"] = x.referenced("dcim.manufacturer", o["manufacturer"]).text("name")
	if height := units(o.text("u_height")); height > 0 {
		row["height"] = height
	}
}

// typeKey returns the natural key of a device type, nil for none.
func (x *Export) typeKey(ref any) any {
	return x.keyOf("dcim.devicetype", ref, func(o object) any {
		return object{"manufacturer": x.referenced("dcim.manufacturer", o["manufacturer"]).text("name"), "model": o.text("model")}
	})
}

// portTemplate returns the function that fills the row of a port template. Those of module types have no counterpart.
func portTemplate(kind string) func(x *Export, _ int64, o, row object) {
	return func(x *Export, _ int64, o, row object) {
		row["device_type"], row["kind"] = x.typeKey(o["device_type"]), kind
		switch {
		case row["device_type"] == nil:
			clear(row)
		case kind == "rear-port":
			row["positions"] = o["positions"]
		case kind == "front-port":
			row["rear_port"], row["rear_port_position"] = x.referenced("dcim.rearporttemplate", o["rear_port"]).text("name"), o["rear_port_position"]
		}
	}
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

func (x *Export) device(number int64, o, row object) {
	of, status := x.referenced("dcim.devicetype", o["device_type"]), o.text("status")
	row["hostname"], row["location"], row["model"] = x.hostname(number, o), x.deviceLocation(o), of.text("model")
	row["vendor"] = x.referenced("dcim.manufacturer", of["manufacturer"]).text("name")
	row["os"] = x.referenced("dcim.platform", o["platform"]).text("name")
	row["role"] = x.referenced("dcim.devicerole", cmp.Or(o["role"], o["device_role"])).text("name")
	row["status"], row["tenant"] = cmp.Or(deviceStatus[status], status), x.tenant(o)
	row["tags"], row["device_type"] = x.tagsOf("dcim.device", number, o), x.typeKey(o["device_type"])
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
}

// hostname returns the name of a device, or what NetBox shows for one without a name.
func (x *Export) hostname(number int64, o object) string {
	of := x.referenced("dcim.devicetype", o["device_type"])
	vendor := x.referenced("dcim.manufacturer", of["manufacturer"])
	return cmp.Or(o.text("name"), fmt.Sprintf("%s %s (%d)", vendor.text("name"), of.text("model"), number))
}

// deviceLocation returns the natural key of where a device is: one in a rack is where the rack is.
func (x *Export) deviceLocation(device object) any {
	if rack := x.referenced("dcim.rack", device["rack"]); rack != nil {
		return x.locationOf(rack)
	}
	return x.locationOf(device)
}

// deviceOf returns the natural key of the device of an object, nil for none.
func (x *Export) deviceOf(o object) any {
	id := number(o["device"])
	device := x.objects["dcim.device"][id]
	if device == nil {
		return nil
	}
	return object{"hostname": x.hostname(id, device), "location": x.deviceLocation(device)}
}

// interfaceModes are the modes that the inventory has under another name.
var interfaceModes = map[string]string{"tagged": "trunk", "tagged-all": "trunk-all"}

func (x *Export) networkInterface(_ int64, o, row object) {
	mode := o.text("mode")
	row["device"], row["mode"], row["mtu"] = x.deviceOf(o), cmp.Or(interfaceModes[mode], mode), o["mtu"]
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
}

// besides returns the natural key of another interface of the same device, nil for none. In NetBox the LAG of
// an interface may be that of another device of its virtual chassis.
func (x *Export) besides(o object, member string) any {
	if other := x.referenced(interfaces, o[member]); other == nil || number(other["device"]) != number(o["device"]) {
		return nil
	}
	return x.key(interfaces, number(o[member]))
}

// taggedVLAN fills the row of a VLAN of a trunk. NetBox keeps those of interfaces with another mode.
func (x *Export) taggedVLAN(_ int64, o, row object) {
	of := o["interface"].(int64)
	if vlan := x.vlanKey(o["vlan"]); vlan != nil && x.objects[interfaces][of].text("mode") == "tagged" {
		row["interface"], row["vlan"] = x.key(interfaces, of), vlan
	}
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

func (x *Export) rearPort(_ int64, o, row object) {
	row["device"], row["positions"] = x.deviceOf(o), o["positions"]
}

func (x *Export) frontPort(_ int64, o, row object) {
	row["device"], row["rear_port_position"] = x.deviceOf(o), o["rear_port_position"]
	row["rear_port"] = x.key("dcim.rearport", number(o["rear_port"]))
}

// key returns the natural key of a port or a termination, nil for none.
func (x *Export) key(model string, number int64) any {
	o := x.objects[model][number]
	switch k := x.kind(model); {
	case o == nil || k == nil || k.end == "":
		return nil
	case k.end == "termination":
		row := x.values(*k, number, o)
		return object{"device": row["device"], "kind": row["kind"], "name": row["name"]}
	}
	return object{"device": x.deviceOf(o), "name": o.text("name")}
}

// termination returns the function that fills the row of a console or power port of a device.
func termination(kind string) func(x *Export, _ int64, o, row object) {
	return func(x *Export, _ int64, o, row object) {
		row["device"], row["kind"], row["location"] = x.deviceOf(o), kind, nil
	}
}

// powerFeed fills the row of a feed of a power panel, which is at the location of the panel.
func (x *Export) powerFeed(_ int64, o, row object) {
	panel := x.referenced("dcim.powerpanel", o["power_panel"])
	row["device"], row["kind"], row["location"] = nil, "power-feed", x.locationOf(panel)
	row["name"] = strings.TrimSpace(panel.text("name") + " " + o.text("name"))
}

// circuitEnd fills the row of an end of a circuit: its provider, number and side are its name.
func (x *Export) circuitEnd(_ int64, o, row object) {
	circuit := x.referenced("circuits.circuit", o["circuit"])
	provider := x.referenced("circuits.provider", circuit["provider"])
	row["device"], row["kind"], row["location"] = nil, "circuit", x.siteOf(o)
	row["name"] = strings.TrimSpace(provider.text("name") + " " + circuit.text("cid") + " " + o.text("term_side"))
}

// cable fills the row of a cable with one end on each side that has a counterpart here.
func (x *Export) cable(number int64, o, row object) {
	both := x.ends[number]
	if len(both) != 2 || both[0].side == both[1].side {
		clear(row)
		return
	}
	if metres := o.decimal("_abs_length"); metres != nil {
		row["length"] = metres
	}
	for _, end := range both {
		key := x.key(end.model, end.port)
		if key == nil {
			clear(row)
			return
		}
		row[strings.ToLower(end.side)+"_"+x.kind(end.model).end] = key
	}
}

// vrfOf returns the natural key of the VRF of an object, nil for none.
func (x *Export) vrfOf(o object) any {
	return x.keyOf("ipam.vrf", o["vrf"], func(vrf object) any { return vrf.text("name") })
}

func (x *Export) vlan(_ int64, o, row object) {
	row["vlan_id"], row["location"] = o["vid"], x.siteOf(o)
}

func (x *Export) prefix(_ int64, o, row object) {
	row["vrf"], row["location"], row["vlan"] = x.vrfOf(o), x.siteOf(o), x.vlanKey(o["vlan"])
	row["role"] = x.referenced("ipam.role", o["role"]).text("name")
}

// vlanKey returns the natural key of a VLAN, nil for none.
func (x *Export) vlanKey(ref any) any {
	return x.keyOf("ipam.vlan", ref, func(o object) any { return object{"vlan_id": o["vid"], "location": x.siteOf(o)} })
}

func (x *Export) address(_ int64, o, row object) {
	row["vrf"], row["interface"] = x.vrfOf(o), nil
	if kindOf(o["assigned_object_type"]) == interfaces {
		row["interface"] = x.key(interfaces, number(o["assigned_object_id"]))
	}
}

// kindOf returns the kind that a field names: dcim.interface, or a list of the two parts.
func kindOf(v any) string {
	if parts, ok := v.([]any); ok && len(parts) == 2 {
		return fmt.Sprint(parts[0], ".", parts[1])
	}
	kind, _ := v.(string)
	return kind
}
