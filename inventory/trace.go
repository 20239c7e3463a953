package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// MaxHops is the maximum number of hops of a [Path] in each direction from the port of the trace.
const MaxHops = 200

// The types of hops that are no ports.
const (
	HopCable = "cable"
	HopLink  = "link"
)

// Hop is a port, cable or link of a [Path].
type Hop struct {
	Type     string `json:"type"` // that of a port ([PortType]), or HopCable or HopLink
	ID       string `json:"id"`
	Name     string `json:"name"`                // of a port; the label of a cable; empty for a link
	Status   string `json:"status,omitempty"`    // of an interface, cable or link; empty for others
	DeviceID string `json:"device_id,omitempty"` // of a port; empty for a termination without a device
	Hostname string `json:"hostname,omitempty"`  // of the device
	Position int64  `json:"position,omitempty"`  // of a front port, at its rear port; 0 for others
}

// PathEnd says why a path ends.
type PathEnd string

// The ends of a path.
const (
	EndInterface   PathEnd = "interface"   // an interface
	EndTermination PathEnd = "termination" // a termination
	EndOpen        PathEnd = "open"        // the port has no cable
	EndLinks       PathEnd = "links"       // links do not tell: one of their interfaces has several, or a cable
	EndUnmapped    PathEnd = "unmapped"    // the rear port has no front port at the position
	EndSplit       PathEnd = "split"       // the rear port has several positions, and the path belongs to all of them
	EndShared      PathEnd = "shared"      // an end that is connected to all positions of a rear port
	EndLoop        PathEnd = "loop"        // the path returns to a cable that it has been at
	EndLimit       PathEnd = "limit"       // there are more than MaxHops hops
)

// Values returns all values.
func (PathEnd) Values() []string {
	return valueStrings(EndInterface, EndTermination, EndOpen, EndLinks, EndUnmapped, EndSplit, EndShared, EndLoop, EndLimit)
}

// Path is the path that a port belongs to, from one end to the other: a port, its cable, the port at
// the other end, and so on. A front port and the rear port that it leads to follow each other. The
// path of an interface or a termination begins with it.
type Path struct {
	Hops     []Hop      `json:"hops"`
	Start    int        `json:"start"`    // the index in Hops of the port whose path it is
	Ends     [2]PathEnd `json:"ends"`     // why the path begins and ends there
	Complete bool       `json:"complete"` // both ends are interfaces or terminations; the path of the other one is then the reverse
}

// Trace returns the path of a port, as far as the reader sees it (REFERENCE.md, 1.10). The error is of
// kind [records.NotFound] if the port does not exist. A path that changes meanwhile may be a mixture
// of before and after.
func Trace(ctx context.Context, from records.Reader, p Port) (*Path, error) {
	if err := records.CheckStore(from, new(Cable)); err != nil {
		return nil, err
	}
	t := &tracer{ctx: ctx, from: from, hostnames: map[string]string{}}
	at, err := t.port(p)
	if err != nil {
		return nil, err
	}
	forward, end := t.walk(at, nil)
	backward, begin := t.inward(at)
	if t.err != nil {
		return nil, t.err
	}
	slices.Reverse(backward)
	return &Path{
		Hops: slices.Concat(backward, []Hop{at.Hop}, forward), Start: len(backward), Ends: [2]PathEnd{begin, end},
		Complete: begin.complete() && end.complete(),
	}, nil
}

// complete reports whether a path is complete that ends so.
func (e PathEnd) complete() bool { return e == EndInterface || e == EndTermination }

// endAt returns the end of a path at a port that no path passes through.
func endAt(p Port) PathEnd {
	if p.Type == PortTermination {
		return EndTermination
	}
	return EndInterface
}

// tracer reads the ports of a path. After an error nothing is there for its methods, which ends the path.
type tracer struct {
	ctx       context.Context
	from      records.Reader
	err       error             // the first one
	hostnames map[string]string // by the id of the device
}

// tracePort is a port of a path.
type tracePort struct {
	Port
	Hop
	front *FrontPort // nil for others
	rear  *RearPort
}

// port reads a port.
func (t *tracer) port(p Port) (*tracePort, error) {
	rec, err := t.from.Get(t.ctx, resourceOfPort(t.from.Schema(), p.Type), p.ID)
	if err != nil {
		return nil, err
	}
	at := &tracePort{Port: p, Hop: Hop{Type: string(p.Type), ID: p.ID}}
	switch rec := rec.(type) {
	case *Interface:
		at.Name, at.Status, at.DeviceID = rec.Name, string(rec.Status), rec.DeviceID
	case *FrontPort:
		at.front, at.Name, at.DeviceID, at.Position = rec, rec.Name, rec.DeviceID, *rec.RearPortPosition
	case *RearPort:
		at.rear, at.Name, at.DeviceID = rec, rec.Name, rec.DeviceID
	case *Termination:
		at.Name, at.DeviceID = rec.Name, stringOf(rec.DeviceID)
		if rec.DeviceID == nil {
			return at, nil
		}
	}
	name, known := t.hostnames[at.DeviceID]
	if !known {
		d, err := records.Get[Device](t.ctx, t.from, at.DeviceID)
		if err != nil {
			return nil, err
		}
		name = d.Hostname
		t.hostnames[at.DeviceID] = name
	}
	at.Hostname = name
	return at, nil
}

// next is port for a port that another record has led to: nil if it has just been deleted.
func (t *tracer) next(p Port) *tracePort {
	at, err := t.port(p)
	if records.KindOf(err) != records.NotFound {
		t.err = cmp.Or(t.err, err)
	}
	return at
}

// cable returns the cable that a port has, or nil.
func (t *tracer) cable(p Port) *Cable {
	cable, err := cableOf(t.ctx, t.from, p)
	t.err = cmp.Or(t.err, err)
	return cable
}

// inward returns the part of a path that does not begin with the cable of the port: after a
// pass-through port, on its other side.
func (t *tracer) inward(at *tracePort) ([]Hop, PathEnd) {
	if at.front == nil && at.rear == nil {
		return nil, endAt(at.Port)
	}
	next, positions, end := t.pass(at, nil)
	if end != "" {
		return nil, end
	}
	hops, end := t.walk(next, positions)
	return append([]Hop{next.Hop}, hops...), end
}

// pass returns the port on the other side of a pass-through port, and the positions of the rear ports
// that the path has to leave again, the last one last. A rear port with one position needs none.
func (t *tracer) pass(at *tracePort, positions []int64) (*tracePort, []int64, PathEnd) {
	if at.front != nil {
		rear := t.next(Port{PortRear, at.front.RearPortID})
		if rear == nil {
			return nil, nil, EndOpen
		}
		if *rear.rear.Positions > 1 {
			positions = append(slices.Clip(positions), at.Position)
		}
		return rear, positions, ""
	}
	position := int64(1)
	if *at.rear.Positions > 1 {
		if len(positions) == 0 {
			return nil, nil, EndSplit
		}
		last := len(positions) - 1
		position, positions = positions[last], positions[:last]
	}
	found, err := records.First[FrontPort](t.ctx, t.from, "rear_port_id", at.Port.ID, "rear_port_position", position)
	t.err = cmp.Or(t.err, err)
	if found == nil {
		return nil, nil, EndUnmapped
	}
	front := t.next(Port{PortFront, found.ID})
	if front == nil {
		return nil, nil, EndUnmapped
	}
	return front, positions, ""
}

// walk returns the hops after a port, beginning with its cable.
func (t *tracer) walk(at *tracePort, positions []int64) (hops []Hop, end PathEnd) {
	seen := map[string]bool{}
	for {
		state := at.key() + fmt.Sprint(positions)
		if seen[state] {
			return hops, EndLoop
		}
		seen[state] = true
		if len(hops) > MaxHops-3 {
			return hops, EndLimit
		}
		cable := t.cable(at.Port)
		switch {
		case cable == nil && at.Port.Type == PortInterface:
			return t.link(at)
		case cable == nil:
			return hops, EndOpen
		}
		a, b := cable.Ends()
		if a == at.Port {
			a = b
		}
		next := t.next(a)
		if next == nil {
			return hops, EndOpen
		}
		hops = append(hops, Hop{Type: HopCable, ID: cable.ID, Name: cable.Label, Status: string(cable.Status)}, next.Hop)
		if a.Type.isEnd() {
			if len(positions) > 0 {
				return hops, EndShared
			}
			return hops, endAt(a)
		}
		if at, positions, end = t.pass(next, positions); end != "" {
			return hops, end
		}
		hops = append(hops, at.Hop)
	}
}

// link returns the link of an interface without a cable, and the interface at its other end. A link
// counts as a cable if neither interface has a cable or another link, so that both have one path.
func (t *tracer) link(at *tracePort) (hops []Hop, end PathEnd) {
	link := t.onlyLink(at.Port.ID)
	switch {
	case link == nil:
		return nil, EndOpen
	case link.ID == "":
		return nil, EndLinks
	}
	p := Port{PortInterface, link.AInterfaceID}
	if p.ID == at.Port.ID {
		p.ID = link.BInterfaceID
	}
	if back := t.onlyLink(p.ID); t.cable(p) != nil || back == nil || back.ID != link.ID {
		return nil, EndLinks
	}
	next := t.next(p)
	if next == nil {
		return nil, EndOpen
	}
	return []Hop{{Type: HopLink, ID: link.ID, Status: string(link.Status)}, next.Hop}, EndInterface
}

// onlyLink returns the link of an interface, nil if it has none, and an empty one if it has several.
func (t *tracer) onlyLink(id string) *Link {
	var found []*Link
	for _, field := range []string{"a_interface_id", "b_interface_id"} {
		links, err := records.Select[Link](t.ctx, t.from, &records.Query{Limit: 2}, field, id)
		t.err = cmp.Or(t.err, err)
		found = append(found, links...)
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	return &Link{}
}
