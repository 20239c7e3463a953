package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// medium is a kind of cable.
type medium struct{ name, color string }

// media returns the cable for a speed, within a rack or not.
func media(mbps int64, near bool) medium {
	switch {
	case mbps <= gigabit:
		return medium{"cat6a", "grey"}
	case near:
		return medium{"dac", "black"}
	}
	return medium{"smf", "yellow"}
}

// medium returns the kind of the cables of a wire.
func (s *site) medium(w *wire) medium {
	return media(w.mbps, s.units[w.a].rack >= 0 && s.units[w.a].rack == s.units[w.b].rack)
}

// links writes the links that the devices of a site report.
func (n *network) links(ctx context.Context, s *site) {
	for i := range s.wires {
		w := &s.wires[i]
		n.link(ctx, &circuitPort{s.ends[i][0], &s.hosts[w.a]}, &circuitPort{s.ends[i][1], &s.hosts[w.b]}, s.medium(w).name)
	}
}

func (n *network) link(ctx context.Context, a, b *circuitPort, kind string) {
	l := &inventory.Link{AInterfaceID: a.ID, BInterfaceID: b.ID, Type: kind, Status: inventory.LinkDown, Discovery: "lldp"}
	if a.Status == inventory.LinkUp && b.Status == inventory.LinkUp {
		l.Status = inventory.LinkUp
	}
	switch {
	case n.rng.IntN(20) == 0:
		l.Discovery = "manual"
	case a.host.Vendor == "Cisco" && b.host.Vendor == "Cisco":
		l.Discovery = "cdp"
	}
	if a.host.LastSeen != nil && b.host.LastSeen != nil {
		if l.LastSeen = a.host.LastSeen; b.host.LastSeen.Before(*a.host.LastSeen) {
			l.LastSeen = b.host.LastSeen
		}
	}
	l.Normalize()
	created := a.host.CreatedAt
	if b.host.CreatedAt.After(created) {
		created = b.host.CreatedAt
	}
	n.add(ctx, l, created)
}

// plug is a port that a cable ends at.
type plug struct {
	kind inventory.PortType
	id   string
}

// cable writes a cable and its ends.
func (n *network) cable(ctx context.Context, s *site, a, b plug, m medium, metres float64, at time.Time) {
	s.cables++
	c := &inventory.Cable{
		Type: m.name, Color: m.color, Status: inventory.CableConnected, Length: &metres, Label: fmt.Sprintf("%s-%04d", strings.ToUpper(s.code), s.cables),
	}
	set := func(p plug, port, front, rear, termination **string) {
		switch p.kind {
		case inventory.PortInterface:
			*port = &p.id
		case inventory.PortFront:
			*front = &p.id
		case inventory.PortRear:
			*rear = &p.id
		case inventory.PortTermination:
			*termination = &p.id
		}
	}
	set(a, &c.AInterfaceID, &c.AFrontPortID, &c.ARearPortID, &c.ATerminationID)
	set(b, &c.BInterfaceID, &c.BFrontPortID, &c.BRearPortID, &c.BTerminationID)
	c.Normalize()
	n.add(ctx, c, at)
	for _, p := range []plug{a, b} {
		n.add(ctx, &inventory.CableEnd{CableID: c.ID, Port: string(p.kind) + "/" + p.id}, at)
	}
}

// cabling writes the patch panels and the cables of a site.
func (n *network) cabling(ctx context.Context, s *site) {
	rears, fronts := n.passThroughs(ctx, s)
	metres := func(most int) float64 { return float64(2+n.rng.IntN(2*most)) / 2 }
	for _, t := range s.trunks {
		at := s.hosts[s.panels[t.b.panel].unit].CreatedAt
		n.cable(ctx, s, plug{inventory.PortRear, rears[t.a]}, plug{inventory.PortRear, rears[t.b]}, medium{"mpo-12", "aqua"}, metres(60)+20, at)
	}
	for i := range s.wires {
		w := &s.wires[i]
		a, b := plug{inventory.PortInterface, s.ends[i][0].ID}, plug{inventory.PortInterface, s.ends[i][1].ID}
		m, at := s.medium(w), s.hosts[max(w.a, w.b)].CreatedAt
		switch {
		case w.through != nil:
			n.cable(ctx, s, a, plug{inventory.PortFront, fronts[w.through[0]]}, m, metres(3), at)
			n.cable(ctx, s, plug{inventory.PortFront, fronts[w.through[1]]}, b, m, metres(2), at)
		case m.name == "dac":
			n.cable(ctx, s, a, b, m, metres(2), at)
		default:
			n.cable(ctx, s, a, b, m, metres(40), at)
		}
	}
}

// passThroughs writes the ports of the patch panels of a site, and returns their ids.
func (n *network) passThroughs(ctx context.Context, s *site) (rears, fronts map[front]string) {
	rears, fronts = map[front]string{}, map[front]string{}
	for i, p := range s.panels {
		h := &s.hosts[p.unit]
		for rear := range p.rears {
			of := &inventory.RearPort{DeviceID: h.ID, Name: fmt.Sprint(rear + 1), Type: "mpo-12", Positions: new(int64(positions))}
			n.add(ctx, of, h.CreatedAt)
			rears[front{i, rear, 0}] = of.ID
			for at := range positions {
				f := &inventory.FrontPort{
					DeviceID: h.ID, Name: fmt.Sprint(rear*positions + at + 1), Type: "lc", RearPortID: of.ID, RearPortPosition: new(int64(at + 1)),
				}
				n.add(ctx, f, h.CreatedAt)
				fronts[front{i, rear, at}] = f.ID
			}
		}
	}
	return rears, fronts
}

// circuits writes the ends of circuits at the routers of a site, and the links to the sites before.
func (n *network) circuits(ctx context.Context, s *site) {
	for i := range n.wan {
		for end, at := range n.wan[i].ends {
			if at.site == s.index {
				n.circuitEnd(ctx, s, i, end)
			}
		}
		if n.ports[i][0] != nil && n.ports[i][1] != nil && n.wan[i].ends[1].site == s.index {
			n.link(ctx, n.ports[i][0], n.ports[i][1], "circuit")
		}
	}
}

func (n *network) circuitEnd(ctx context.Context, s *site, circuit, end int) {
	far := n.wan[circuit].ends[1-end]
	h := &s.hosts[n.wan[circuit].ends[end].router]
	city := n.Cities[far.site%len(n.Cities)]
	code := fmt.Sprintf("%s%d", city.Code, far.site/len(n.Cities)+1)
	p := n.port(h, h.below(tenGigabit, false), tenGigabit, fmt.Sprintf("to %s-%s-%02d", code, n.Roles[router].Short, far.router+1))
	p.Mode, p.IPAddress = "routed", linkIP(1<<16-1, circuit, end)
	n.addPort(ctx, h, p, true)
	n.ports[circuit][end] = &circuitPort{p, h}
	if !s.documented {
		return
	}
	t := &inventory.Termination{
		LocationID: &s.placeIDs[0], Kind: inventory.TerminationCircuit, Name: fmt.Sprintf("CID-%05d-%c", 1001+circuit, 'A'+end), Type: "lc",
		Description: "10 Gbps to " + city.Name,
	}
	t.Normalize()
	n.add(ctx, t, h.CreatedAt)
	n.cable(ctx, s, plug{inventory.PortInterface, p.ID}, plug{inventory.PortTermination, t.ID}, medium{"smf", "yellow"}, 15, h.CreatedAt)
}
