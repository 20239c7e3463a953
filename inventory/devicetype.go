package inventory

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// DeviceType is a model of devices, and the ports that a new one has.
type DeviceType struct {
	records.Base
	Manufacturer string `json:"manufacturer" field:"required,max=100,search,index,alias=vendor|make"`
	Model        string `json:"model" field:"required,unique=manufacturer,max=100,search,natural,index,alias=device type|type|name"`
	PartNumber   string `json:"part_number" field:"max=100,search,alias=part no|part|sku"`
	Height       *int64 `json:"height" field:"min=1,max=100,alias=u height|units|u"` // rack units; default: 1
	Description  string `json:"description" field:"max=255,search"`
}

// Normalize sets the default height.
func (t *DeviceType) Normalize() {
	t.Height = cmp.Or(t.Height, new(int64(1)))
}

// maxPorts is the maximum number of ports of a device type.
const maxPorts = 512

// PortTemplate describes ports of new devices of a type. Its name may have one range, which makes a port
// for each number: Ethernet1/[1-48].
type PortTemplate struct {
	records.Base
	DeviceTypeID string   `json:"device_type_id" field:"required,ref=device-types:cascade"`
	Kind         PortType `json:"kind" field:"required,counted"`
	Name         string   `json:"name" field:"required,max=100,search,natural,index"`
	Label        string   `json:"label" field:"max=100"`            // of front ports and rear ports
	Type         string   `json:"type" field:"max=50"`              // of the ports
	Positions    *int64   `json:"positions" field:"min=1,max=1024"` // of a rear port
	// RearPort is the name of the rear port that a front port leads to, with a range of as many numbers,
	// or without one: then the positions count up from RearPortPosition.
	RearPort         string `json:"rear_port" field:"max=100"`
	RearPortPosition *int64 `json:"rear_port_position" field:"min=1,max=1024"`

	Key string `json:"-" field:"hidden,column=template_key,unique,max=200"` // of ports with one name, each kind has one
}

// Normalize sets the unique key.
func (p *PortTemplate) Normalize() {
	p.Key = p.DeviceTypeID + "/" + string(p.Kind) + "/" + p.Name
}

// ranges matches the range of a name.
var ranges = regexp.MustCompile(`\[(\d{1,6})-(\d{1,6})\]`)

// expand returns the names of a name with a range, the name itself without one. The error says what is
// wrong with the range.
func expand(name string) ([]string, error) {
	at := ranges.FindStringSubmatchIndex(name)
	if at == nil {
		return []string{name}, nil
	}
	if ranges.MatchString(name[at[1]:]) {
		return nil, records.BadFormat("a text with at most one range")
	}
	from, _ := strconv.Atoi(name[at[2]:at[3]]) // digits
	to, _ := strconv.Atoi(name[at[4]:at[5]])
	if from > to || to-from >= maxPorts {
		return nil, records.BadFormat(fmt.Sprintf("a text with a rising range of at most %d numbers, and not %s", maxPorts, name[at[0]:at[1]]))
	}
	var names []string
	for n := from; n <= to; n++ {
		names = append(names, name[:at[0]]+strconv.Itoa(n)+name[at[1]:])
	}
	return names, nil
}

// Names returns the names of the ports that the template makes, at most 512. The error says what is wrong with the range
// of its name.
func (p *PortTemplate) Names() ([]string, error) { return expand(p.Name) }

// misfits returns what does not fit the kind of the port, and ranges that do not fit.
func (p *PortTemplate) misfits() (wrong []records.FieldError) {
	add := func(field string, err error) { wrong = append(wrong, records.InField(field, err)) }
	names, err := expand(p.Name)
	if err != nil {
		add("name", err)
	}
	switch {
	case p.Kind == PortFront && p.RearPort == "":
		add("rear_port", records.Missing("a front port leads to a rear port"))
	case p.Kind != PortFront && p.RearPort != "":
		add("rear_port", records.NotAllowed("but for front ports"))
	}
	if rears, err := expand(p.RearPort); err != nil {
		add("rear_port", err)
	} else if len(rears) > 1 && len(rears) != len(names) {
		add("rear_port", records.Inconsistent(fmt.Sprintf("one name or as many as those of name, %d, and not %d", len(names), len(rears))))
	}
	if p.Kind == PortTermination {
		add("kind", records.NotOneOf("", string(PortInterface), string(PortFront), string(PortRear)))
	}
	if p.Positions != nil && p.Kind != PortRear {
		add("positions", records.NotAllowed("but for rear ports"))
	}
	if p.RearPortPosition != nil && p.Kind != PortFront {
		add("rear_port_position", records.NotAllowed("but for front ports"))
	}
	return wrong
}

// ValidateIn checks the kind and the ranges, and bounds the ports of a type (records.TxValidator).
func (p *PortTemplate) ValidateIn(ctx context.Context, tx records.Tx, _ records.Record) error {
	if wrong := p.misfits(); len(wrong) > 0 {
		return records.InvalidFields("port template", wrong)
	}
	all, err := templates(ctx, tx, p.DeviceTypeID)
	if err != nil {
		return err
	}
	names, _ := expand(p.Name) // misfits has checked it
	ports := len(names)
	for _, other := range all {
		if other.ID != p.ID {
			names, _ := expand(other.Name)
			ports += len(names)
		}
	}
	if ports > maxPorts {
		return refuse("port template", "name", records.Wrong("too_many", "makes %d ports of the device type: at most %d are allowed", ports, maxPorts))
	}
	return nil
}

// templates returns the port templates of a device type, rear ports first.
func templates(ctx context.Context, tx records.Reader, id string) (all []*PortTemplate, err error) {
	all, err = records.Select[PortTemplate](ctx, tx, &records.Query{Limit: maxPorts + 1}, "device_type_id", id)
	rank := func(p *PortTemplate) int { return map[PortType]int{PortRear: -1}[p.Kind] }
	slices.SortStableFunc(all, func(a, b *PortTemplate) int { return rank(a) - rank(b) })
	return all, err
}

// completeByType sets the vendor, the model and the height of a device that gets a type.
func (d *Device) completeByType(ctx context.Context, tx records.Tx, old *Device) error {
	if d.DeviceTypeID == nil || equalIDs(d.DeviceTypeID, old.DeviceTypeID) {
		return nil
	}
	t, err := referred[Device, DeviceType](ctx, tx, "device_type_id", *d.DeviceTypeID)
	if err != nil {
		return err
	}
	d.Vendor, d.Model, d.RackHeight = cmp.Or(d.Vendor, t.Manufacturer), cmp.Or(d.Model, t.Model), cmp.Or(d.RackHeight, t.Height)
	return nil
}

// Accompany creates the ports of a new device with a type, and checks that the units of a rack are free
// now that the other devices of the call are there (records.Accompanied).
func (d *Device) Accompany(ctx context.Context, tx records.Tx, before, _ records.Record) ([]records.Companion, error) {
	if before != nil {
		return nil, nil
	}
	if err := d.checkFree(ctx, tx); err != nil || d.DeviceTypeID == nil {
		return nil, err
	}
	return d.newPorts(ctx, tx)
}

// newPorts returns the ports that the type of a new device has.
func (d *Device) newPorts(ctx context.Context, tx records.Tx) (changes []records.Companion, err error) {
	all, err := templates(ctx, tx, *d.DeviceTypeID)
	if err != nil {
		return nil, err
	}
	rears := map[string]*RearPort{}
	for _, p := range all {
		names, err := expand(p.Name)
		if err != nil {
			return nil, err
		}
		leads, err := expand(p.RearPort)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			switch p.Kind {
			case PortInterface:
				changes = append(changes, records.Companion{After: &Interface{DeviceID: d.ID, Name: name, Type: p.Type, Status: LinkUnknown}})
			case PortRear:
				rears[name] = &RearPort{DeviceID: d.ID, Name: name, Label: p.Label, Type: p.Type, Positions: p.Positions}
				changes = append(changes, records.Companion{After: rears[name]})
			case PortFront:
				front, rear := &FrontPort{DeviceID: d.ID, Name: name, Label: p.Label, Type: p.Type}, rears[leads[min(i, len(leads)-1)]]
				front.RearPortPosition = new(p.position(i, len(leads) > 1))
				if rear == nil || *front.RearPortPosition > max(1, value(rear.Positions)) {
					return nil, refuse("device", "device_type_id", records.Inconsistent(fmt.Sprintf("a type whose port templates fit: it has the front port %s, and no rear port %s with a position %d",
						name, leads[min(i, len(leads)-1)], *front.RearPortPosition)))
				}
				changes = append(changes, records.Companion{After: front, Prepare: func() { front.RearPortID = rear.ID }})
			}
		}
	}
	return changes, nil
}

// position returns the position of front port i at its rear port, of which each has its own or all one.
func (p *PortTemplate) position(i int, each bool) int64 {
	first := max(1, value(p.RearPortPosition))
	if each {
		return first
	}
	return first + int64(i)
}

// value returns a number, 0 for none.
func value(n *int64) int64 { return *cmp.Or(n, new(int64)) }
