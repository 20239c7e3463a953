package inventory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// PortType is the type of a port that a cable ends at.
type PortType string

// The types of ports.
const (
	PortInterface   PortType = "interface"
	PortFront       PortType = "front-port"
	PortRear        PortType = "rear-port"
	PortTermination PortType = "termination"
)

// Values returns all values.
func (PortType) Values() []string {
	return valueStrings(PortInterface, PortFront, PortRear, PortTermination)
}

// isEnd reports whether paths end at ports of the type.
func (t PortType) isEnd() bool { return t == PortInterface || t == PortTermination }

// CableStatus is the lifecycle status of a cable.
type CableStatus string

// The statuses of a cable.
const (
	CableConnected       CableStatus = "connected"
	CablePlanned         CableStatus = "planned"
	CableDecommissioning CableStatus = "decommissioning"
)

// Values returns all values.
func (CableStatus) Values() []string {
	return valueStrings(CableConnected, CablePlanned, CableDecommissioning)
}

// Cable connects two ports, each of which has at most one cable. It has no direction: the end with the
// lower id is always A. Each side has exactly one reference. A cable between two interfaces has a
// [Link] (REFERENCE.md, 1.10).
type Cable struct {
	records.Base
	AInterfaceID   *string     `json:"a_interface_id" field:"ref=interfaces:cascade"`
	AFrontPortID   *string     `json:"a_front_port_id" field:"ref=front-ports:cascade"`
	ARearPortID    *string     `json:"a_rear_port_id" field:"ref=rear-ports:cascade"`
	ATerminationID *string     `json:"a_termination_id" field:"ref=terminations:cascade"`
	BInterfaceID   *string     `json:"b_interface_id" field:"ref=interfaces:cascade"`
	BFrontPortID   *string     `json:"b_front_port_id" field:"ref=front-ports:cascade"`
	BRearPortID    *string     `json:"b_rear_port_id" field:"ref=rear-ports:cascade"`
	BTerminationID *string     `json:"b_termination_id" field:"ref=terminations:cascade"`
	AType          PortType    `json:"a_type" field:"readonly,open"`
	BType          PortType    `json:"b_type" field:"readonly,open"`
	Type           string      `json:"type" field:"max=50,counted"` // such as cat6a or smf
	Status         CableStatus `json:"status" field:"default=connected,counted"`
	Label          string      `json:"label" field:"max=100,search,natural,index"`
	Color          string      `json:"color" field:"max=50,counted,alias=colour"`
	Length         *float64    `json:"length" field:"min=0,max=100000000"` // metres
	Description    string      `json:"description" field:"max=255,search"`
}

// Port identifies a port.
type Port struct {
	Type PortType
	ID   string
}

// key returns the port in [CableEnd.Port].
func (p Port) key() string { return string(p.Type) + "/" + p.ID }

// cableRef is a reference of a cable to a port.
type cableRef struct {
	field string
	port  PortType
	id    **string
}

// sides returns the references of both sides.
func (c *Cable) sides() [2][]cableRef {
	return [2][]cableRef{
		{{"a_interface_id", PortInterface, &c.AInterfaceID}, {"a_front_port_id", PortFront, &c.AFrontPortID}, {"a_rear_port_id", PortRear, &c.ARearPortID}, {"a_termination_id", PortTermination, &c.ATerminationID}},
		{{"b_interface_id", PortInterface, &c.BInterfaceID}, {"b_front_port_id", PortFront, &c.BFrontPortID}, {"b_rear_port_id", PortRear, &c.BRearPortID}, {"b_termination_id", PortTermination, &c.BTerminationID}},
	}
}

// cableEnd is a port of a cable, and the field that refers to it.
type cableEnd struct {
	Port
	field string
}

// Ends returns the two ports. A port without an id is missing.
func (c *Cable) Ends() (a, b Port) {
	ends := c.ends()
	return ends[0].Port, ends[1].Port
}

// cableKeys returns the natural keys of cables: a reference of each side.
func cableKeys() (keys [][]string) {
	sides := new(Cable).sides()
	for _, a := range sides[0] {
		for _, b := range sides[1] {
			keys = append(keys, []string{a.field, b.field})
		}
	}
	return keys
}

func (c *Cable) ends() (ends [2]cableEnd) {
	for n, side := range c.sides() {
		for _, ref := range side {
			if *ref.id != nil && ends[n].ID == "" {
				ends[n] = cableEnd{Port{ref.port, **ref.id}, ref.field}
			}
		}
	}
	return ends
}

// Normalize puts the ends in order, and sets their types.
func (c *Cable) Normalize() {
	if a, b := c.Ends(); b.ID < a.ID && b.ID != "" {
		sides := c.sides()
		for i, ref := range sides[0] {
			*ref.id, *sides[1][i].id = *sides[1][i].id, *ref.id
		}
	}
	a, b := c.Ends()
	c.AType, c.BType = a.Type, b.Type
}

// Patched clears the references of a side for which a patch has another one.
func (c *Cable) Patched(p records.Patch) {
	for _, side := range c.sides() {
		sets := func(ref cableRef) bool {
			doc, ok := p[ref.field]
			return ok && string(bytes.TrimSpace(doc)) != "null"
		}
		if !slices.ContainsFunc(side, sets) {
			continue
		}
		for _, ref := range side {
			if _, ok := p[ref.field]; !ok {
				*ref.id = nil
			}
		}
	}
}

// ValidateIn requires one port on each side (records.TxValidator).
func (c *Cable) ValidateIn(context.Context, records.Tx, records.Record) error {
	var wrong []records.FieldError
	for _, side := range c.sides() {
		n := 0
		for _, ref := range side {
			if *ref.id != nil {
				n++
			}
		}
		if n != 1 {
			wrong = append(wrong, records.InField(side[0].field, records.Inconsistent(fmt.Sprintf("set, or else %s, %s or %s: exactly one of them", side[1].field, side[2].field, side[3].field))))
		}
	}
	if ends := c.ends(); len(wrong) == 0 && ends[0].Port == ends[1].Port {
		wrong = append(wrong, records.InField(ends[1].field, records.Inconsistent("another port than the other end")))
	}
	if len(wrong) == 0 {
		return nil
	}
	return records.InvalidFields("cable", wrong)
}

// CableEnd says which cable a port has. Its key keeps a port from having two. The inventory maintains
// one for each end of a cable.
type CableEnd struct {
	records.Base
	CableID string `json:"cable_id" field:"required,ref=cables:cascade"`
	Port    string `json:"port" field:"required,unique,max=100"`
}

// Vacate leaves the port (records.Occupant).
func (e *CableEnd) Vacate() { e.Port = "~" + e.ID }

// Accompany keeps the ends and the link of the cable in step (records.Accompanied).
func (c *Cable) Accompany(ctx context.Context, tx records.Tx, before, after records.Record) ([]records.Companion, error) {
	old, _ := before.(*Cable)
	now, _ := after.(*Cable)
	ends, err := endChanges(ctx, tx, old, now)
	if err != nil {
		return nil, err
	}
	link, err := linkChange(ctx, tx, old, now)
	return append(ends, link...), err
}

// endChanges returns the changes of the ends of a cable. A deletion needs none. The error is of kind
// [records.Conflict] if another cable has one of the ports.
func endChanges(ctx context.Context, tx records.Tx, old, now *Cable) (changes []records.Companion, err error) {
	if now == nil {
		return nil, nil
	}
	is := now.ends()
	if old != nil && old.ends() == is {
		return nil, nil
	}
	var has []*CableEnd
	if old != nil {
		if has, err = records.Select[CableEnd](ctx, tx, &records.Query{Limit: 10}, "cable_id", now.ID); err != nil {
			return nil, err
		}
	}
	for _, end := range has {
		if end.Port != is[0].key() && end.Port != is[1].key() {
			changes = append(changes, records.Companion{Before: end})
		}
	}
	for _, e := range is { // in the order of their ids, so that two transactions do not wait for each other
		if slices.ContainsFunc(has, func(end *CableEnd) bool { return end.Port == e.key() }) {
			continue
		}
		if err := records.Serialize(ctx, tx, lockPort(e.Port)); err != nil {
			return nil, err
		}
		end, err := records.First[CableEnd](ctx, tx, "port", e.key())
		if err != nil {
			return nil, err
		}
		if end != nil {
			r := resourceOfPort(tx.Schema(), e.Type)
			name, _ := r.Field("name")
			port, err := tx.Get(ctx, r, e.ID)
			if err != nil {
				return nil, err
			}
			return nil, &records.Error{
				Kind: records.Conflict, Message: fmt.Sprintf("%s %v already has a cable", r.Label, name.Value(port)), Holder: end,
				Code: "in_use", Fields: []records.FieldError{{Field: e.field, Code: "in_use", Reason: "already has a cable"}},
			}
		}
		changes = append(changes, records.Companion{After: &CableEnd{CableID: now.ID, Port: e.key()}})
	}
	return changes, nil
}

// lockPort names what changes of the cables and links of a port take turns with.
func lockPort(p Port) string { return "cable of " + p.key() }

// cableOf returns the cable that a port has, nil if it has none.
func cableOf(ctx context.Context, from records.Reader, p Port) (*Cable, error) {
	end, err := records.First[CableEnd](ctx, from, "port", p.key())
	if err != nil || end == nil {
		return nil, err
	}
	cable, err := records.Get[Cable](ctx, from, end.CableID)
	if records.KindOf(err) == records.NotFound { // it has just been deleted
		return nil, nil
	}
	return cable, err
}

// resourceOfPort returns the resource of the ports of a type.
func resourceOfPort(schema *records.Schema, t PortType) *records.Resource {
	switch t {
	case PortFront:
		return records.Of[FrontPort](schema)
	case PortRear:
		return records.Of[RearPort](schema)
	case PortTermination:
		return records.Of[Termination](schema)
	}
	return records.Of[Interface](schema)
}

// linked returns the interfaces that the cable connects directly, in order, and whether it does.
func (c *Cable) linked() (a, b string, ok bool) {
	if c == nil || c.AInterfaceID == nil || c.BInterfaceID == nil {
		return "", "", false
	}
	return *c.AInterfaceID, *c.BInterfaceID, true
}

// linkChange returns the change of the link of a cable: it exists while the cable is between two
// interfaces. A link that exists already becomes that of the cable.
func linkChange(ctx context.Context, tx records.Tx, old, now *Cable) (changes []records.Companion, err error) {
	var was, is *Link
	if a, b, linked := old.linked(); linked {
		was, err = records.First[Link](ctx, tx, "a_interface_id", a, "b_interface_id", b)
		if err == nil && was != nil {
			var other *Cable // which has got both ports in the same transaction
			if other, err = cableOf(ctx, tx, Port{PortInterface, a}); other != nil && other.ID != old.ID {
				if x, y, _ := other.linked(); x == a && y == b {
					was = nil
				}
			}
		}
	}
	x, y, links := now.linked()
	if links && err == nil {
		is, err = records.First[Link](ctx, tx, "a_interface_id", x, "b_interface_id", y)
	}
	if err != nil {
		return nil, err
	}
	if links && was != nil && (is == nil || is.ID == was.ID) {
		if is != nil && was.Type == now.Type {
			return nil, nil
		}
		after := records.Clone(was)
		after.AInterfaceID, after.BInterfaceID, after.Type = x, y, now.Type
		return []records.Companion{{Before: was, After: after}}, nil
	}
	if was != nil {
		changes = append(changes, records.Companion{Before: was})
	}
	if links && is == nil {
		link := &Link{AInterfaceID: x, BInterfaceID: y, Type: now.Type, Status: LinkUp}
		if now.Status != CableConnected {
			link.Status = LinkDown
		}
		changes = append(changes, records.Companion{After: link})
	}
	return changes, nil
}

// Accompany keeps the cable of a link in step, if it has one (records.Accompanied).
func (l *Link) Accompany(ctx context.Context, tx records.Tx, before, after records.Record) ([]records.Companion, error) {
	old, ok := before.(*Link)
	now, _ := after.(*Link)
	if !ok || now != nil && now.AInterfaceID == old.AInterfaceID && now.BInterfaceID == old.BInterfaceID && now.Type == old.Type {
		return nil, nil // a new link has no cable, or is that of a new cable
	}
	if err := records.Serialize(ctx, tx, lockPort(Port{PortInterface, old.AInterfaceID})); err != nil {
		return nil, err
	}
	cable, err := cableOf(ctx, tx, Port{PortInterface, old.AInterfaceID})
	if err != nil || cable == nil {
		return nil, err
	}
	if a, b, ok := cable.linked(); !ok || a != old.AInterfaceID || b != old.BInterfaceID {
		return nil, nil
	}
	if now == nil {
		return []records.Companion{{Before: cable}}, nil
	}
	moved := records.Clone(cable)
	moved.AInterfaceID, moved.BInterfaceID, moved.Type = new(now.AInterfaceID), new(now.BInterfaceID), now.Type
	ends, err := endChanges(ctx, tx, cable, moved)
	return append([]records.Companion{{Before: cable, After: moved}}, ends...), err
}

// TerminationKind says what a termination is.
type TerminationKind string

// The kinds of terminations.
const (
	TerminationConsole TerminationKind = "console"
	TerminationPower   TerminationKind = "power-port"   // a device takes power from it
	TerminationOutlet  TerminationKind = "power-outlet" // a device gives power to it
	TerminationFeed    TerminationKind = "power-feed"   // the power of a location
	TerminationCircuit TerminationKind = "circuit"      // an end of a provider's circuit
	TerminationOther   TerminationKind = "other"
)

// Values returns all values.
func (TerminationKind) Values() []string {
	return valueStrings(TerminationConsole, TerminationPower, TerminationOutlet, TerminationFeed, TerminationCircuit, TerminationOther)
}

// Termination is an end of cables that is neither an interface nor a pass-through port: a console or power
// port of a device, or the end of a circuit at a location.
type Termination struct {
	records.Base
	DeviceID    *string         `json:"device_id" field:"ref=devices:cascade"`
	LocationID  *string         `json:"location_id" field:"ref=locations:null"` // where one without a device is
	Kind        TerminationKind `json:"kind" field:"default=other,counted"`
	Name        string          `json:"name" field:"required,max=100,search,natural,index"`
	Label       string          `json:"label" field:"max=100,search"`
	Type        string          `json:"type" field:"max=50,counted"` // of the connector, such as rj-45 or iec-60320-c14
	Description string          `json:"description" field:"max=255,search"`

	Key string `json:"-" field:"hidden,column=termination_key,unique,max=200"` // of the terminations of a device with one name, each kind has one
}

// Normalize sets the unique key.
func (t *Termination) Normalize() {
	t.Key = stringOf(t.DeviceID) + "/" + string(t.Kind) + "/" + t.Name
}

// ValidateIn refuses a location beside a device, which has its own (records.TxValidator).
func (t *Termination) ValidateIn(context.Context, records.Tx, records.Record) error {
	if t.DeviceID != nil && t.LocationID != nil {
		return refuse("termination", "location_id", records.NotAllowed("beside device_id: the termination is where the device is"))
	}
	return nil
}
