package drift

import (
	"net/netip"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/inventory"
)

// compareInterfaces adds the differences of a table of interfaces.
func (c *comparison) compareInterfaces(device *inventory.Device, found []discovery.Port) {
	expected := make([]discovery.Port, len(c.own[device.ID]))
	for n, i := range c.own[device.ID] {
		expected[n] = portOf(i)
	}
	for _, d := range discovery.CompareInterfaces(found, expected) {
		diff := &Difference{
			Type: d.Kind, Resource: "interfaces", DeviceID: device.ID, Hostname: device.Hostname, Interface: d.Name, Fields: d.Fields,
			Change: &Change{Resource: "interfaces", Values: map[string]any{}},
		}
		if diff.Fields == nil {
			diff.Fields = []string{}
		}
		if d.Found != nil {
			diff.Observed = valuesOf(d.Found)
		}
		switch change := diff.Change; {
		case d.Expected == nil:
			change.Action, change.deviceID = Create, device.ID
			change.Values = valuesOf(d.Found)
			change.Values["device"] = deviceKey(device)
			if state, ok := change.Values["state"]; ok {
				delete(change.Values, "state")
				change.Values["status"] = state
			}
		default:
			diff.Expected = valuesOf(d.Expected)
			known := c.interfaces[d.Expected.ID]
			change.Action, change.RecordID, change.version = Delete, known.ID, known.Version
			if d.Kind == discovery.Different {
				change.Action = Update
				change.Values = corrections(known, d.Found, d.Fields)
			}
		}
		c.found = append(c.found, diff)
	}
}

// portOf returns what a table should have of an interface. Its state is oper_status, or status without one.
func portOf(i *inventory.Interface) discovery.Port {
	p := discovery.Port{ID: i.ID, Name: i.Name, Description: i.Description, MAC: i.MACAddress, Address: addressOf(i).Addr()}
	if i.MTU != nil {
		p.MTU = *i.MTU
	}
	status := string(i.Status)
	if i.OperStatus != "" {
		status = string(i.OperStatus)
	}
	switch inventory.LinkStatus(status) {
	case inventory.LinkUp:
		p.State = "up"
	case inventory.LinkDown, inventory.LinkAdminDown, inventory.LinkNotPresent, inventory.LinkLowerLayerDown:
		p.State = "down"
	}
	return p
}

// addressOf returns the address of an interface with its prefix length, or that of a host.
func addressOf(i *inventory.Interface) netip.Prefix {
	if p, err := netip.ParsePrefix(i.IPAddress); err == nil {
		return p
	}
	addr, err := netip.ParseAddr(i.IPAddress)
	if err != nil {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr, addr.BitLen())
}

// valuesOf returns what is known of an interface.
func valuesOf(p *discovery.Port) map[string]any {
	values := map[string]any{"name": p.Name}
	for name, value := range map[string]string{"description": p.Description, "mac_address": p.MAC, "state": p.State} {
		if value != "" {
			values[name] = value
		}
	}
	if p.Address.IsValid() {
		values["ip_address"] = p.Address.String()
	}
	if p.MTU != 0 {
		values["mtu"] = p.MTU
	}
	return values
}

// corrections returns the new values of the fields that differ. An address in the same network keeps its prefix
// length, which tables do not have.
func corrections(i *inventory.Interface, found *discovery.Port, fields []string) map[string]any {
	values, observed := map[string]any{}, valuesOf(found)
	for _, name := range fields {
		switch {
		case name == "ip_address" && addressOf(i).Contains(found.Address) && i.IPAddress != addressOf(i).Addr().String():
			values[name] = netip.PrefixFrom(found.Address, addressOf(i).Bits()).String()
		case name != "state":
			values[name] = observed[name]
		case i.OperStatus != "":
			values["oper_status"] = found.State
		default:
			values["status"] = found.State
		}
	}
	return values
}
