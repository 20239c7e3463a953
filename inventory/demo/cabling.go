package demo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// positions is the number of fibre pairs of an MPO-12 connector, at a rear port.
const positions = 6

// connect writes the interfaces of a connection, its link and its cables: a is nearer to the core. Through are
// the ids of the front ports that the cables pass, empty for one cable.
func (s *site) connect(a, b *host, mbps int64, through [2]string) {
	works := a.works && b.works && s.rng.IntN(150) > 0
	upper := &inventory.Interface{Name: a.next(mbps), Description: "to " + b.Hostname}
	lower := &inventory.Interface{Name: b.next(mbps), Description: "to " + a.Hostname}
	switch {
	case b.kind == accessPoint:
		upper.Mode, upper.UntaggedVLANID = "access", s.vlans["management"]
	case b.kind == server:
		upper.Mode, upper.UntaggedVLANID = "access", cmp.Or(s.vlans["servers"], s.vlans["management"])
	case a.kind <= firewall:
		upper.Mode, lower.Mode = "routed", "routed"
		upper.IPAddress, lower.IPAddress = linkIP(s.index, s.links, 0), linkIP(s.index, s.links, 1)
	case b.lag == nil:
		upper.Mode, lower.Mode = "trunk-all", "trunk-all"
	default:
		upper.Mode = "trunk-all"
	}
	if b.lag != nil {
		lower.LAGID = &b.lag.ID
	}
	s.links++
	s.port(a, upper, mbps, works)
	s.port(b, lower, mbps, works)
	medium := medium{"smf", "yellow", 40}
	switch {
	case mbps <= gigabit:
		medium.kind, medium.color = "cat6a", "grey"
	case a.RackID == b.RackID:
		medium.kind, medium.color, medium.metres = "dac", "black", 2
	}
	s.link(a, b, upper, lower, medium.kind)
	if through[0] == "" {
		s.cable(a, medium, &inventory.Cable{AInterfaceID: &upper.ID, BInterfaceID: &lower.ID})
		return
	}
	medium.metres = 3
	s.cable(a, medium, &inventory.Cable{AInterfaceID: &upper.ID, BFrontPortID: &through[0]})
	s.cable(b, medium, &inventory.Cable{AInterfaceID: &lower.ID, BFrontPortID: &through[1]})
}

// link writes the link that devices report.
func (n *network) link(a, b *host, from, to *inventory.Interface, kind string) {
	l := &inventory.Link{AInterfaceID: from.ID, BInterfaceID: to.ID, Type: kind, Status: inventory.LinkUp, Discovery: "lldp"}
	if from.Status != inventory.LinkUp || to.Status != inventory.LinkUp {
		l.Status = inventory.LinkDown
	}
	if a.LastSeen != nil {
		l.LastSeen = b.LastSeen
	}
	n.add(l, b.CreatedAt)
}

// medium is a kind of cable.
type medium struct {
	kind, color string
	metres      int // at most
}

// cable writes a cable at a host, and its ends, if those of the site are recorded.
func (s *site) cable(at *host, m medium, c *inventory.Cable) {
	if s.index >= documentedSites {
		return
	}
	s.cables++
	c.Type, c.Color, c.Length, c.Status = m.kind, m.color, new(float64(2+s.rng.IntN(2*m.metres))/2), inventory.CableConnected
	c.Label = fmt.Sprintf("%s-%04d", strings.ToUpper(s.code), s.cables)
	s.add(c, at.CreatedAt)
	a, b := c.Ends()
	for _, p := range []inventory.Port{a, b} {
		s.add(&inventory.CableEnd{CableID: c.ID, Port: string(p.Type) + "/" + p.ID}, at.CreatedAt)
	}
}

// trunk connects two patch panels with a cable of six fibre pairs, and returns the ids of the front ports of
// each pair at the two panels.
func (s *site) trunk(a, b *host) [][2]string {
	through := make([][2]string, positions)
	var rears [2]*string
	for end, h := range []*host{a, b} {
		rear := &inventory.RearPort{DeviceID: h.ID, Name: strconv.Itoa(h.rears + 1), Type: "mpo-12", Positions: new(int64(positions))}
		s.add(rear, h.CreatedAt)
		rears[end] = &rear.ID
		for i := range positions {
			f := &inventory.FrontPort{
				DeviceID: h.ID, Name: strconv.Itoa(h.rears*positions + i + 1), Type: "lc", RearPortID: rear.ID, RearPortPosition: new(int64(i + 1)),
			}
			s.add(f, h.CreatedAt)
			through[i][end] = f.ID
		}
		h.rears++
	}
	s.cable(b, medium{"mpo-12", "aqua", 60}, &inventory.Cable{ARearPortID: rears[0], BRearPortID: rears[1]})
	return through
}

// circuit writes a circuit of a provider between routers of two sites, with its ends if the cables there are
// recorded.
func (n *network) circuit(a, b *host) {
	var ports [2]*inventory.Interface
	for end, h := range []*host{a, b} {
		s, other := h.site, []*host{b, a}[end]
		ports[end] = &inventory.Interface{Name: h.next(tenGigabit), Description: "to " + other.Hostname, Mode: "routed", IPAddress: linkIP(1<<16-1, n.wan, end)}
		s.port(h, ports[end], tenGigabit, true)
		if s.index >= documentedSites {
			continue
		}
		t := &inventory.Termination{
			LocationID: &s.root.ID, Kind: inventory.TerminationCircuit, Name: fmt.Sprintf("CID-%05d-%c", 1001+n.wan, 'A'+end), Type: "lc",
			Description: "10 Gbps to " + other.site.root.Name,
		}
		s.add(t, h.CreatedAt)
		s.cable(h, medium{"smf", "yellow", 15}, &inventory.Cable{AInterfaceID: &ports[end].ID, BTerminationID: &t.ID})
	}
	n.wan++
	n.link(a, b, ports[0], ports[1], "circuit")
}
