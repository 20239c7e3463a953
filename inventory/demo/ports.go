package demo

import (
	"context"

	"github.com/ashlar-go/ashlar/inventory"
)

// interfaces gives each host the port of its link, most a port to manage it by, and some
// another: two each on the average.
func (n *network) interfaces(ctx context.Context, p *part, size int) error {
	p.cables = make([]bool, size/2)
	for i := range p.cables {
		p.cables[i] = n.rng.IntN(33) > 0
	}
	more := 0
	for i := range p.hosts {
		switch {
		case i%2 == 1:
			more = -more
		case i == size-1:
			more = 0
		default:
			more = n.rng.IntN(2)
		}
		peer := p.peer(i)
		uplink := n.uplink(p, i, peer)
		p.hosts[i].uplink = uplink
		ports := []*inventory.Interface{uplink, n.management(&p.hosts[i]), n.access(&p.hosts[i], *uplink.IfIndex)}
		for _, port := range ports[:2+more] {
			port.MACAddress = mac(n.made.Interfaces)
			if err := n.add(ctx, port, p.hosts[i].CreatedAt); err != nil {
				return err
			}
			n.made.Interfaces++
		}
	}
	return nil
}

// peer is the other end of the link of a host: one of the other half. It is nil for the
// one that is left over.
func (p *part) peer(i int) *host {
	half := len(p.hosts) / 2
	switch {
	case i < half:
		return &p.hosts[i+half]
	case i < 2*half:
		return &p.hosts[i-half]
	}
	return nil
}

// uplink is the port of a link, of the speed that the end further out has.
func (n *network) uplink(p *part, i int, peer *host) *inventory.Interface {
	h, half := &p.hosts[i], len(p.hosts)/2
	outer := h
	if i < half {
		outer = peer
	}
	mbps := outer.role.uplink
	number := int64(1 + i%48)
	port := newPort(h, portName(h.model, mbps, number), mbps, 500+number)
	port.Description, port.Mode, port.MTU = "not connected", "trunk", number64(9216)
	if peer == nil {
		port.set(false, h.works)
		return port.Interface
	}
	port.Description = "to " + peer.Hostname
	port.set(h.works && peer.works && p.cables[i%half], h.works)
	if inner := p.hosts[i%half].role; inner == &roles[0] || inner == &roles[1] {
		port.Mode, port.IPAddress = "routed", linkIP(p.site.index, n.made.Links+i%half, i/half)
	}
	return port.Interface
}

// management is the port that a device is managed by, with its address.
func (n *network) management(h *host) *inventory.Interface {
	port := newPort(h, managementName(h.model), 1000, 1)
	port.Description, port.Mode, port.MTU, port.IPAddress = "management", "routed", number64(1500), h.IP+"/24"
	port.set(h.works, h.works)
	return port.Interface
}

// access is a port for somebody's machine, behind the one of the link.
func (n *network) access(h *host, uplink int64) *inventory.Interface {
	number := uplink - 500 + 1
	port := newPort(h, portName(h.model, 1000, number), 1000, 500+number)
	port.Description, port.Mode, port.MTU = "outlet "+decimal(number), "access", number64(1500)
	port.set(h.works && n.rng.IntN(4) > 0, h.works && n.rng.IntN(8) > 0)
	return port.Interface
}

// port is an interface that is being made.
type port struct{ *inventory.Interface }

func newPort(h *host, name string, mbps, ifIndex int64) port {
	medium := "copper"
	if mbps >= 10_000 {
		medium = "fiber"
	}
	return port{&inventory.Interface{
		DeviceID: h.ID, Name: name, Type: medium,
		Speed: inventory.FormatSpeed(mbps), SpeedMbps: &mbps, IfIndex: &ifIndex,
	}}
}

// set says what a port does, in the three words for it.
func (p port) set(works, wanted bool) {
	switch {
	case !wanted:
		p.Status, p.AdminStatus, p.OperStatus = inventory.LinkAdminDown, inventory.LinkDown, inventory.OperDown
	case works:
		p.Status, p.AdminStatus, p.OperStatus = inventory.LinkUp, inventory.LinkUp, inventory.OperUp
	default:
		p.Status, p.AdminStatus, p.OperStatus = inventory.LinkDown, inventory.LinkUp, inventory.OperDown
	}
}

func number64(n int64) *int64 { return &n }

// links joins each host of the first half to one of the second.
func (n *network) links(ctx context.Context, p *part, size int) error {
	for i := range size / 2 {
		a, b := &p.hosts[i], &p.hosts[i+size/2]
		link := &inventory.Link{
			AInterfaceID: min(a.uplink.ID, b.uplink.ID), BInterfaceID: max(a.uplink.ID, b.uplink.ID),
			Type: a.uplink.Type, Status: inventory.LinkDown, Discovery: "lldp",
		}
		if a.uplink.Status == inventory.LinkUp && b.uplink.Status == inventory.LinkUp {
			link.Status = inventory.LinkUp
		}
		switch {
		case n.rng.IntN(20) == 0:
			link.Discovery = "manual"
		case a.Vendor == "Cisco" && b.Vendor == "Cisco":
			link.Discovery = "cdp"
		}
		link.LastSeen = earlier(a.LastSeen, b.LastSeen)
		if err := n.add(ctx, link, b.CreatedAt); err != nil {
			return err
		}
		n.made.Links++
	}
	return nil
}
