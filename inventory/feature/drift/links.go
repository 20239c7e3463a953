package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
)

// neighbor is a difference with a neighbour that was heard, of which records are to be found.
type neighbor struct {
	*Difference
	own    *inventory.Interface // that heard it, nil if the inventory has none
	link   *inventory.Link      // that is expected, nil if unexpected
	heard  *discovery.Neighbor
	remote *inventory.Device
}

// compareNeighbors adds the differences of a table of neighbours, and returns those that need the records of a
// neighbour.
func (c *comparison) compareNeighbors(device *inventory.Device, t *Table) (heard []*neighbor) {
	own := map[string]*inventory.Interface{}
	var expected []discovery.Expected
	links, chassis := map[string]*inventory.Link{}, chassisOf(t.Neighbors)
	for _, i := range c.own[device.ID] {
		key := discovery.InterfaceKey(i.Name)
		if own[key] == nil {
			own[key] = i
		}
		for _, link := range c.links[i.ID] {
			remote := c.interfaces[otherEnd(link, i.ID)]
			if remote == nil || c.devices[remote.DeviceID] == nil {
				continue // deleted since
			}
			expected = append(expected, c.expect(link, i, remote, chassis[key]))
			links[link.ID] = link
		}
	}
	for _, d := range discovery.Compare(t.Neighbors, expected) {
		var link *inventory.Link
		i := own[discovery.InterfaceKey(d.Interface)]
		if d.Expected != nil {
			link = links[d.Expected.ID]
			if i == nil || otherEnd(link, i.ID) == "" {
				i = c.ownEnd(link, device.ID, d.Interface)
			}
		}
		if d.Kind == discovery.Missing && c.isDown(link) {
			continue // nothing is heard on it
		}
		found := &Difference{Type: d.Kind, Resource: "links", DeviceID: device.ID, Hostname: device.Hostname, Interface: d.Interface, Fields: d.Fields}
		if i != nil {
			found.Interface = i.Name
		}
		if found.Fields == nil {
			found.Fields = []string{}
		}
		if d.Expected != nil {
			found.Expected = map[string]any{"link_id": link.ID, "neighbor": d.Expected.Host, "port": d.Expected.Port}
		}
		c.found = append(c.found, found)
		if d.Kind == discovery.Missing {
			found.Change = &Change{Action: Delete, Resource: "links", RecordID: link.ID, Values: map[string]any{}, version: link.Version}
			continue
		}
		found.Observed = observed(d.Found)
		heard = append(heard, &neighbor{Difference: found, own: i, link: link, heard: d.Found})
	}
	return heard
}

// expect returns the neighbour that a link leads to. Of its MAC addresses it has those that were heard.
func (c *comparison) expect(link *inventory.Link, own, remote *inventory.Interface, heard []string) discovery.Expected {
	e := discovery.Expected{ID: link.ID, Interface: own.Name, Host: c.devices[remote.DeviceID].Hostname, Port: remote.Name, PortMAC: remote.MACAddress}
	for _, mac := range heard {
		if slices.ContainsFunc(c.byMAC[mac], func(i *inventory.Interface) bool { return i.DeviceID == remote.DeviceID }) {
			e.MACs = append(e.MACs, mac)
		}
	}
	return e
}

// chassisOf returns the MAC addresses of neighbours by the key of the interface that heard them.
func chassisOf(neighbors []discovery.Neighbor) map[string][]string {
	heard := map[string][]string{}
	for _, n := range neighbors {
		if mac, ok := discovery.MAC(n.ChassisID); ok {
			key := discovery.InterfaceKey(n.Interface)
			heard[key] = append(heard[key], mac)
		}
	}
	return heard
}

// otherEnd returns the interface at the other end of a link, empty if it has no end at the interface.
func otherEnd(link *inventory.Link, id string) string {
	switch id {
	case link.AInterfaceID:
		return link.BInterfaceID
	case link.BInterfaceID:
		return link.AInterfaceID
	}
	return ""
}

// ownEnd returns the interface of a device with a name at which a link ends.
func (c *comparison) ownEnd(link *inventory.Link, deviceID, name string) *inventory.Interface {
	for _, id := range []string{link.AInterfaceID, link.BInterfaceID} {
		if i := c.interfaces[id]; i != nil && i.DeviceID == deviceID && i.Name == name {
			return i
		}
	}
	return nil // unreachable: the link is expected there
}

// isDown reports whether nothing is heard on a link, because its status or one of its interfaces says so (as for
// the topology).
func (c *comparison) isDown(link *inventory.Link) bool {
	stops := link.Status.Stops()
	for _, id := range []string{link.AInterfaceID, link.BInterfaceID} {
		if i := c.interfaces[id]; i != nil {
			stops = stops || i.Status.Stops() || inventory.LinkStatus(i.AdminStatus).Stops() || inventory.LinkStatus(i.OperStatus).Stops()
		}
	}
	return stops
}

// observed returns what a device has said about itself.
func observed(n *discovery.Neighbor) map[string]any {
	all := map[string]any{"neighbor": n.Name}
	for name, value := range map[string]string{"port": n.Port, "port_description": n.PortDescription, "chassis_id": n.ChassisID, "address": n.Address} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// explain finds the records of neighbours that were heard, and adds the changes to their differences.
func (c *comparison) explain(ctx context.Context, heard []*neighbor) error {
	names := make([]string, len(heard))
	for i, n := range heard {
		names[i] = n.heard.Name
	}
	named, err := c.readNamed(ctx, names)
	if err != nil {
		return err
	}
	ports := map[string]map[string]*inventory.Interface{} // by device and key
	for _, n := range heard {
		n.remote, n.Reason = c.deviceOf(n.heard, named[discovery.HostLabel(n.heard.Name)])
		if n.remote == nil {
			continue
		}
		if ports[n.remote.ID] == nil {
			ports[n.remote.ID] = map[string]*inventory.Interface{}
		}
		for _, name := range n.heard.PortNames() {
			ports[n.remote.ID][discovery.InterfaceKey(name)] = nil
		}
	}
	if err := c.readPorts(ctx, ports); err != nil {
		return err
	}
	for _, n := range heard {
		c.propose(n, ports)
	}
	return nil
}

// deviceOf returns the device that a neighbour is, by its name or else by the MAC address of its chassis, or why
// it is none of the inventory.
func (c *comparison) deviceOf(n *discovery.Neighbor, named []*inventory.Device) (device *inventory.Device, reason string) {
	owners := map[string]bool{}
	if mac, ok := discovery.MAC(n.ChassisID); ok {
		for _, i := range c.byMAC[mac] {
			owners[i.DeviceID] = true
		}
	}
	var same, owned []*inventory.Device
	for _, d := range named {
		if !discovery.SameHost(d.Hostname, n.Name) {
			continue
		}
		same = append(same, d)
		if owners[d.ID] {
			owned = append(owned, d)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], ""
	case len(owned) == 1:
		return owned[0], ""
	case len(same) > 1:
		return nil, fmt.Sprintf("%d devices have the name %q: give an interface of the right one the MAC address of its chassis", len(same), shorten(n.Name))
	case len(owners) == 1:
		for id := range owners {
			device = c.devices[id]
		}
	}
	if device == nil {
		reason = "the neighbor is no device of the inventory"
	}
	return device, reason
}

// propose adds the change that removes a difference, or why there is none.
func (c *comparison) propose(n *neighbor, ports map[string]map[string]*inventory.Interface) {
	if n.remote == nil {
		return
	}
	remote := c.portOf(n.heard, n.remote.ID, ports[n.remote.ID])
	switch {
	case remote == nil:
		n.Reason = fmt.Sprintf("the device %s has no interface %q in the inventory", shorten(n.remote.Hostname), shorten(n.heard.Port))
		return
	case n.own == nil:
		n.Reason = "the inventory has no such interface of the device: create it first, such as by a table of interfaces"
		return
	case remote.ID == n.own.ID:
		n.Reason = "the interface hears itself"
		return
	}
	change := &Change{Action: Create, Resource: "links", ends: pair{min(n.own.ID, remote.ID), max(n.own.ID, remote.ID)}, protocol: n.heard.Protocol}
	end := keyOf(n.remote, remote.Name)
	if n.link == nil {
		change.Values = map[string]any{"a_interface": keyOf(c.devices[n.DeviceID], n.own.Name), "b_interface": end}
		if change.protocol != "" {
			change.Values["discovery"] = change.protocol
		}
	} else {
		change.Action, change.RecordID, change.version = Update, n.link.ID, n.link.Version
		name := "b_interface"
		if n.link.BInterfaceID == n.own.ID {
			name = "a_interface"
		}
		change.Values = map[string]any{name: end}
	}
	n.Change = change
}

// portOf returns the interface of a device that a neighbour has named, or the only one with the MAC address that
// it has sent, nil if there is none.
func (c *comparison) portOf(n *discovery.Neighbor, deviceID string, ports map[string]*inventory.Interface) *inventory.Interface {
	if mac, ok := discovery.MAC(n.Port); ok {
		owned := slices.DeleteFunc(slices.Clone(c.byMAC[mac]), func(i *inventory.Interface) bool { return i.DeviceID != deviceID })
		if len(owned) == 1 {
			return owned[0]
		}
	}
	for _, name := range n.PortNames() {
		if i := ports[discovery.InterfaceKey(name)]; i != nil {
			return i
		}
	}
	return nil
}

// keyOf returns the natural key of an interface, which fits no other one.
func keyOf(device *inventory.Device, name string) map[string]any {
	return map[string]any{"device": deviceKey(device), "name": name}
}

func deviceKey(device *inventory.Device) map[string]any {
	key := map[string]any{"hostname": device.Hostname, "location": nil}
	if device.LocationID != nil {
		key["location"] = map[string]any{"id": *device.LocationID}
	}
	return key
}

// shorten makes a name from a table fit for a message.
func shorten(name string) string { return printable.Truncate(name, 64) }
