package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// hosts writes the devices of a site.
func (n *network) hosts(ctx context.Context, s *site) {
	s.hosts = make([]host, len(s.units))
	for i := range s.units {
		h := &s.hosts[i]
		n.host(s, h, i)
		n.add(ctx, h.Device, n.created(n.made.Devices))
	}
}

// host makes device i of a site. The devices of a role at a site are of one model.
func (n *network) host(s *site, h *host, i int) {
	u := &s.units[i]
	r := &n.Roles[u.role]
	m := &r.Models[s.index%len(r.Models)]
	system := n.Systems[m.OS]
	typeID := n.types[m.Name]
	d := &inventory.Device{
		Hostname: fmt.Sprintf("%s-%s-%02d", s.code, r.Short, u.number), Model: m.Name, Vendor: m.Vendor, OS: m.OS, Role: r.Name,
		SerialNumber: m.Serial + n.serial(), LocationID: &s.placeIDs[u.place], DeviceTypeID: &typeID, Tags: tags(u.role),
		Status: inventory.DeviceActive,
	}
	if u.rack >= 0 {
		first, height := u.first, heights[u.role]
		d.RackID, d.RackUnit, d.RackHeight, d.RackFace = &s.rackIDs[u.rack], &first, &height, u.face
		d.RackPosition = fmt.Sprintf("%s-U%02d", s.racks[u.rack].name, first)
	}
	*h = host{Device: d, unit: u, role: r, model: m, system: system, works: true}
	if u.role == panel {
		return
	}
	d.IP, d.OSVersion = deviceIP(254*s.block+i), pick(n, system.Versions)
	n.state(h)
}

// tags returns the tags of devices of a role.
func tags(role int) []string {
	switch role {
	case router, firewall, core:
		return []string{"core", "monitored", "production"}
	case server, balancer, leaf:
		return []string{"data-centre", "production"}
	case panel:
		return []string{}
	}
	return []string{"production"}
}

// state sets the status of a device, and when it was seen last. The core of the network works.
func (n *network) state(h *host) {
	d, ago := h.Device, n.rng.Int64N(int64(10*time.Minute))
	if h.unit.role >= server {
		switch n.rng.IntN(200) {
		case 0, 1:
			d.Status, ago = inventory.DeviceOffline, int64(time.Hour)+n.rng.Int64N(int64(3*24*time.Hour))
		case 2, 3:
			d.Status, d.Notes = inventory.DeviceMaintenance, "Maintenance window: software upgrade and power supply check."
		case 4:
			d.Status = inventory.DeviceProvisioning
		case 5:
			d.Status, ago = inventory.DeviceDecommissioned, int64(30*24*time.Hour)+n.rng.Int64N(int64(365*24*time.Hour))
		case 6: // it works, but has not been seen lately
			ago = int64(2*24*time.Hour) + n.rng.Int64N(int64(12*24*time.Hour))
		}
	}
	h.works = d.Status == inventory.DeviceActive || d.Status == inventory.DeviceMaintenance
	if d.Status == inventory.DeviceProvisioning {
		return
	}
	seen := n.Now.Add(-time.Duration(ago)).Truncate(time.Microsecond)
	if created := n.created(n.made.Devices); seen.Before(created) {
		seen = created
	}
	d.LastSeen = &seen
}

// serial returns a serial number that is unique in the network: the factor and 36 have no
// common divisor, so multiplying permutes the numbers below 36^8.
func (n *network) serial() string {
	const numbers = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
	number := (uint64(n.made.Devices)*1_000_003_349 + n.Seed%numbers) % numbers
	digits := strings.ToUpper(strconv.FormatUint(number, 36))
	return strings.Repeat("0", 8-len(digits)) + digits
}

// interfaces writes the interfaces of a site: those for management, the link aggregation groups, and both ends
// of each wire.
func (n *network) interfaces(ctx context.Context, s *site) {
	for i := range s.hosts {
		h := &s.hosts[i]
		if managed(h.unit.role) {
			p := n.port(h, managementPort(h.model, &h.system), gigabit, "management")
			p.Mode, p.IPAddress = "routed", h.IP+"/24"
			n.addPort(ctx, h, p, h.works)
			n.address(ctx, h, p)
		}
		if h.unit.lag {
			n.group(ctx, s, h)
		}
	}
	s.ends = make([][2]*inventory.Interface, len(s.wires))
	for i := range s.wires {
		n.wire(ctx, s, i)
	}
}

// group writes the link aggregation group of the uplinks of a device, with its VLANs.
func (n *network) group(ctx context.Context, s *site, h *host) {
	p := n.port(h, h.system.LAG+"1", 2*tenGigabit, "uplinks")
	p.Type = "lag"
	if h.unit.role == access {
		p.Mode, p.UntaggedVLANID = "trunk", s.vlan(managementVLAN)
	}
	n.addPort(ctx, h, p, h.works)
	h.lag = p
	if h.unit.role != access {
		return
	}
	for _, vlan := range taggedVLANs(len(s.vlans)) {
		n.add(ctx, &inventory.TaggedVLAN{InterfaceID: p.ID, VLANID: s.vlans[vlan]}, h.CreatedAt)
	}
}

// wire writes the interfaces of a wire.
func (n *network) wire(ctx context.Context, s *site, i int) {
	w := &s.wires[i]
	a, b := &s.hosts[w.a], &s.hosts[w.b]
	works := a.works && b.works && n.rng.IntN(150) > 0
	near := n.port(a, a.below(w.mbps, a.role == b.role), w.mbps, "to "+b.Hostname)
	far := n.port(b, b.above(w.mbps), w.mbps, "to "+a.Hostname)
	switch {
	case b.unit.role == accessPoint:
		near.Mode, near.UntaggedVLANID = "access", s.vlan(managementVLAN)
	case b.unit.role == server:
		near.Mode, near.UntaggedVLANID = "access", s.vlan(serverVLAN)
	case a.unit.role <= firewall:
		near.Mode, far.Mode = "routed", "routed"
		near.IPAddress, far.IPAddress = linkIP(s.index, i, 0), linkIP(s.index, i, 1)
	default:
		near.Mode = "trunk-all"
		if b.lag == nil {
			far.Mode = "trunk-all"
		}
	}
	if b.lag != nil {
		far.LAGID = &b.lag.ID
	}
	if w.mbps > gigabit {
		jumbo := int64(9216)
		near.MTU, far.MTU = &jumbo, &jumbo
	}
	n.addPort(ctx, a, near, works)
	n.addPort(ctx, b, far, works)
	if b.uplink == nil {
		b.uplink = far
	}
	if a.uplink == nil {
		a.uplink = near
	}
	s.ends[i] = [2]*inventory.Interface{near, far}
}

// below returns the name of the next port away from the core, and above that of the next one towards it:
// switches have their uplinks behind the other ports.
func (h *host) below(mbps int64, peer bool) string {
	if peer {
		return h.above(mbps)
	}
	h.down++
	number := h.down
	if number > h.role.Ports { // behind the uplinks
		number += 16
	}
	return h.portName(mbps, number)
}

func (h *host) above(mbps int64) string {
	switch h.unit.role {
	case core, distribution, leaf, access:
		h.up++
		return h.portName(mbps, h.role.Ports+h.up)
	}
	return h.below(mbps, false)
}

func (h *host) portName(mbps, number int64) string {
	return h.system.portPrefix(mbps) + strconv.FormatInt(number-1+h.system.First, 10)
}

// port returns a new interface.
func (n *network) port(h *host, name string, mbps int64, description string) *inventory.Interface {
	mtu := int64(1500)
	h.ports++
	index := h.ports
	p := &inventory.Interface{
		DeviceID: h.ID, Name: name, Description: description, Type: "copper", MTU: &mtu,
		Speed: records.FormatSpeed(mbps), SpeedMbps: &mbps, IfIndex: &index,
	}
	if mbps >= tenGigabit {
		p.Type = "fiber"
	}
	return p
}

// addPort writes an interface. The ports of devices that do not work are disabled.
func (n *network) addPort(ctx context.Context, h *host, p *inventory.Interface, works bool) {
	p.Status, p.AdminStatus, p.OperStatus = inventory.LinkDown, inventory.LinkUp, inventory.OperDown
	switch {
	case !h.works:
		p.Status, p.AdminStatus = inventory.LinkAdminDown, inventory.LinkDown
	case works:
		p.Status, p.OperStatus = inventory.LinkUp, inventory.OperUp
	}
	p.MACAddress = mac(n.made.Interfaces)
	n.add(ctx, p, h.CreatedAt)
}

// mac returns a locally administered address.
func mac(i int) string {
	return fmt.Sprintf("02:a5:%02x:%02x:%02x:%02x", i>>24&255, i>>16&255, i>>8&255, i&255)
}
