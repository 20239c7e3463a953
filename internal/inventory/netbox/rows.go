package netbox

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory"
)

// The values of fields. References are natural keys.

// maxCode bounds the length of a site code (inventory.Location).
const maxCode = 50

// siteCode is the column with the code of the location that an object of a kind is here.
func siteCode(model string) column {
	return column{"site_code", "", func(x *Export, n int64, o object) any {
		code := o.text("slug")
		switch model {
		case "dcim.region":
			code = "region-" + code
		case "dcim.location": // whose slug is unique within the site
			code = x.referenced("dcim.site", o["site"]).text("slug") + "/" + code
		}
		if len(code) > maxCode || o.text("slug") == "" {
			code = fmt.Sprintf("%s-%d", strings.ReplaceAll(model, ".", "-"), n)
		}
		return code
	}}
}

// coordinate is a column that needs the other coordinate.
func coordinate(field, member, other string) column {
	return column{field, member, func(_ *Export, _ int64, o object) any {
		if o.decimal(other) == nil {
			return nil
		}
		return o.decimal(member)
	}}
}

// place returns the natural key of where an object is: what it names by its kind, its location, or its site.
func (x *Export) place(_ int64, o object) any {
	for _, name := range []string{"scope", "termination"} {
		if id := o[name+"_id"]; number(id) != 0 {
			model := x.kindOf(o[name+"_type"])
			if k := x.kind(model); k != nil && k.resource == "locations" {
				return x.key(model, id)
			}
			return lost("refers to " + model)
		}
	}
	if number(o["provider_network"]) != 0 {
		return lost("refers to circuits.providernetwork")
	}
	return x.first(o, "location=dcim.location site=dcim.site")
}

// vlanPlace returns where a VLAN is: at its site, or where its group is.
func (x *Export) vlanPlace(n int64, o object) any {
	place := x.key("dcim.site", o["site"])
	if group := x.referenced(vlanGroups, o["group"]); place == nil && group != nil {
		place = x.place(0, group)
	}
	if x.crowded[n] {
		return lost("another VLAN there has the number")
	}
	return place
}

// height returns a number of rack units.
func (x *Export) height(_ int64, o object) any {
	n, ok := o.decimal("u_height").(float64)
	switch {
	case !ok:
		return nil
	case n != math.Trunc(n) || n < 1:
		return lost("no whole number of rack units")
	}
	return int64(n)
}

// typePart is a column with a part of the natural key of the device type.
func typePart(field, part string) column {
	return column{field, "device_type", func(x *Export, _ int64, o object) any { return x.typeOf(o)[part] }}
}

// typeOf returns the natural key of the device type of an object.
func (x *Export) typeOf(o object) object {
	key, _ := x.key("dcim.devicetype", o["device_type"]).(object)
	return key
}

// hostname returns the name of a device, or what NetBox shows for one without a name.
func (x *Export) hostname(number int64, o object) any {
	of := x.typeOf(o)
	return cmp.Or(o.text("name"), fmt.Sprintf("%v %v (%d)", of["manufacturer"], of["model"], number))
}

// deviceLocation returns the natural key of where a device is: one in a rack is where the rack is.
func (x *Export) deviceLocation(_ int64, device object) any {
	if rack := x.referenced("dcim.rack", device["rack"]); rack != nil {
		return x.place(0, rack)
	}
	return x.place(0, device)
}

// serial returns the serial number of a device. One that several devices have identifies none.
func (x *Export) serial(_ int64, o object) any {
	serial := strings.TrimSpace(o.text("serial"))
	switch {
	case serial == "":
		return ""
	case inventory.PlaceholderSerial(serial):
		return lost("a placeholder")
	case x.serials[serial] > 1:
		return lost("several devices have the same")
	}
	return serial
}

func (x *Export) primary(_ int64, o object) any {
	ip, _, _ := strings.Cut(x.referenced(addresses, cmp.Or(o["primary_ip4"], o["primary_ip6"])).text("address"), "/")
	return ip
}

// rackUnit returns the lowest unit that a device occupies. Racks here count from 1 at the bottom, in whole units.
func (x *Export) rackUnit(_ int64, o object) any {
	rack, of := x.referenced("dcim.rack", o["rack"]), x.referenced("dcim.devicetype", o["device_type"])
	position, ok := o.decimal("position").(float64)
	whole := func(n any) bool { f, ok := n.(float64); return !ok || f == math.Trunc(f) }
	switch down, _ := rack["desc_units"].(bool); {
	case !ok || rack == nil:
		return nil
	case down:
		return lost("the units of the rack count downwards")
	case cmp.Or(number(rack["starting_unit"]), 1) != 1:
		return lost("the units of the rack do not begin with 1")
	case !whole(position) || !whole(of.decimal("u_height")):
		return lost("half a rack unit")
	}
	return int64(position)
}

// heightOfUnit sets the height of a device that occupies units.
func heightOfUnit(x *Export, _ int64, o, row object) {
	if _, ok := row["rack_unit"].(int64); ok {
		n, _ := x.height(0, x.referenced("dcim.devicetype", o["device_type"])).(int64)
		row["rack_height"] = max(1, n)
	}
}

// face returns the face of a rack that a device occupies, "" for both.
func (x *Export) face(_ int64, o object) any {
	of := x.referenced("dcim.devicetype", o["device_type"])
	if full, _ := of["is_full_depth"].(bool); full || x.referenced("dcim.rack", o["rack"]) == nil {
		return ""
	}
	return strings.Replace(o.text("face"), "rear", "back", 1)
}

// mac returns the address of an interface, since 4.2 that of an object of its own.
func (x *Export) mac(_ int64, o object) any {
	return cmp.Or(o.text("mac_address"), x.referenced(macs, o["primary_mac_address"]).text("mac_address"))
}

func enabled(_ *Export, _ int64, o object) any {
	return map[bool]string{true: "up", false: "down"}[o["enabled"] == true]
}

func speed(_ *Export, _ int64, o object) any {
	if kbps := number(o["speed"]); kbps > 0 {
		return strconv.FormatInt(kbps, 10) + "kbps"
	}
	return ""
}

// besides is a column with the natural key of another interface of the same device. In NetBox the LAG of an
// interface may be that of another device of its virtual chassis.
func besides(member string) column {
	return column{member, member, func(x *Export, _ int64, o object) any {
		other := x.referenced(interfaces, o[member])
		switch {
		case other == nil:
			return nil
		case number(other["device"]) != number(o["device"]):
			return lost("is an interface of another device")
		}
		return x.key(interfaces, o[member])
	}}
}

// untagged returns the natural key of the untagged VLAN. NetBox keeps those of interfaces with another mode.
func (x *Export) untagged(_ int64, o object) any {
	vlan := x.key("ipam.vlan", o["untagged_vlan"])
	if vlan != nil && !slices.Contains([]string{"access", "tagged", "tagged-all"}, o.text("mode")) {
		return lost("the interface has no mode with VLANs")
	}
	return vlan
}

// taggedVLAN fills the row of a VLAN of a trunk. NetBox keeps those of interfaces with another mode.
func (x *Export) taggedVLAN(_ int64, o, row object) {
	if vlan, ok := x.key("ipam.vlan", o["vlan"]).(object); ok && x.referenced(interfaces, o["interface"]).text("mode") == "tagged" {
		row["interface"], row["vlan"] = x.key(interfaces, o["interface"]), vlan
	}
}

func (x *Export) tags(number int64, o object) any { return x.tagsOf("dcim.device", number, o) }

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

// panelPlace returns where a power feed is: at the location of its panel.
func (x *Export) panelPlace(_ int64, o object) any {
	return x.place(0, x.referenced("dcim.powerpanel", o["power_panel"]))
}

func (x *Export) feedName(_ int64, o object) any {
	return strings.TrimSpace(x.referenced("dcim.powerpanel", o["power_panel"]).text("name") + " " + o.text("name"))
}

// circuitName returns the name of an end of a circuit: its provider, number and side.
func (x *Export) circuitName(_ int64, o object) any {
	circuit := x.referenced("circuits.circuit", o["circuit"])
	provider := x.referenced("circuits.provider", circuit["provider"])
	name := strings.TrimSpace(provider.text("name") + " " + circuit.text("cid") + " " + o.text("term_side"))
	if utf8.RuneCountInString(name) > maxLabel {
		return fmt.Sprintf("circuit %d %s", number(o["circuit"]), o.text("term_side"))
	}
	return name
}

// lengthUnits are the units of lengths, in metres.
var lengthUnits = map[string]float64{"km": 1000, "m": 1, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "in": 0.0254}

// metres returns the length of a cable, which fixtures have in metres too.
func metres(_ *Export, _ int64, o object) any {
	length, ok := o.decimal("length").(float64)
	unit := lengthUnits[o.text("length_unit")]
	switch {
	case o.decimal("_abs_length") != nil:
		return o.decimal("_abs_length")
	case ok && unit == 0:
		return lost("without a known unit")
	case ok:
		return math.Round(length*unit*10000) / 10000 // as NetBox does
	}
	return nil
}

// cable fills the row of a cable with one end on each side that has a counterpart here.
func (x *Export) cable(number int64, o, row object) {
	both := x.ends[number]
	if len(both) != 2 || both[0].side == both[1].side {
		clear(row)
		return
	}
	for _, end := range both {
		key, k := x.key(end.model, ref(end.port)), x.kind(end.model)
		if key == nil || k.end == "" {
			clear(row)
			return
		}
		row[strings.ToLower(end.side)+"_"+k.end] = key
	}
}

// assigned returns the natural key of the interface of an address.
func (x *Export) assigned(_ int64, o object) any {
	model := x.kindOf(o["assigned_object_type"])
	switch {
	case model == "" || number(o["assigned_object_id"]) == 0:
		return nil
	case model != interfaces:
		return lost("belongs to " + model)
	}
	return x.key(interfaces, o["assigned_object_id"])
}

// kindOf returns the kind that a member names: dcim.interface, a list of the two parts, or the number of a content type.
func (x *Export) kindOf(v any) string {
	if parts, ok := v.([]any); ok && len(parts) == 2 {
		return fmt.Sprint(parts[0], ".", parts[1])
	}
	if of := x.referenced(contentTypes, v); of != nil {
		return of.text("app_label") + "." + of.text("model")
	}
	kind, _ := v.(string)
	return kind
}
