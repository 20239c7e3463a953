package inventory

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// RackStatus is the lifecycle status of a rack.
type RackStatus string

// The statuses of a rack.
const (
	RackActive     RackStatus = "active"
	RackPlanned    RackStatus = "planned"
	RackReserved   RackStatus = "reserved"
	RackDeprecated RackStatus = "deprecated"
)

// Values returns all values.
func (RackStatus) Values() []string {
	return valueStrings(RackActive, RackPlanned, RackReserved, RackDeprecated)
}

// RackFace is a face of a rack. Devices without one occupy both.
type RackFace string

// The faces of a rack.
const (
	RackFront RackFace = "front"
	RackBack  RackFace = "back"
)

// Values returns all values.
func (RackFace) Values() []string { return valueStrings(RackFront, RackBack) }

// Rack holds devices. Its units are numbered from 1, the lowest.
type Rack struct {
	records.Base
	Name         string     `json:"name" field:"required,unique=location_id?,max=100,search,natural,index,alias=rack|rack name"`
	LocationID   *string    `json:"location_id" field:"ref=locations:null,counted,alias=site|room|building"`
	Height       *int64     `json:"height" field:"min=1,max=100,alias=u height|units|u"` // units; default: 42
	Status       RackStatus `json:"status" field:"default=active,counted"`
	Tenant       string     `json:"tenant" field:"max=100,counted,alias=customer|owner"`
	SerialNumber string     `json:"serial_number" field:"max=100,search,alias=serial|s/n|sn"`
	AssetTag     string     `json:"asset_tag" field:"unique,max=100,search"`
	Description  string     `json:"description" field:"max=255,search,alias=comments|notes"`
}

const defaultRackHeight = 42

// Normalize sets the default height.
func (r *Rack) Normalize() {
	r.Height = cmp.Or(r.Height, new(int64(defaultRackHeight)))
}

// lockRack names what changes of the devices of a rack take turns with.
func lockRack(id string) string { return "devices of rack " + id }

// maxMounted bounds the devices of a rack that are compared.
const maxMounted = 1000

// ValidateIn checks that the devices of the rack still fit (records.TxValidator).
func (r *Rack) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	old, changed := before.(*Rack)
	if !changed || *r.Height >= *old.Height && equalIDs(r.LocationID, old.LocationID) {
		return nil
	}
	if err := records.Serialize(ctx, tx, lockRack(r.ID)); err != nil {
		return err
	}
	all, err := Mounted(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if len(all) > 0 && !equalIDs(r.LocationID, old.LocationID) {
		return refuse("rack", "location_id", records.InUse(fmt.Sprintf("the rack has %d devices: move these first", len(all))))
	}
	for _, d := range all {
		if _, last := d.Units(); last > *r.Height {
			return refuse("rack", "height", records.OutOfRange(last, nil, "a device occupies that unit"))
		}
	}
	return nil
}

// Mounted returns the devices of a rack that a reader shows, those without a unit included; at most 1,000.
func Mounted(ctx context.Context, from records.Reader, id string) (all []*Device, err error) {
	return records.Select[Device](ctx, from, &records.Query{Limit: maxMounted}, "rack_id", id)
}

// Units returns the first and the last unit of its rack that the device occupies, 0 and 0 for none.
func (d *Device) Units() (first, last int64) {
	if d.RackID == nil || d.RackUnit == nil {
		return 0, 0
	}
	return *d.RackUnit, *d.RackUnit + max(1, value(d.RackHeight)) - 1
}

// Patched clears the unit of a device that leaves its rack.
func (d *Device) Patched(p records.Patch) {
	_, rack := p["rack_id"]
	if _, unit := p["rack_unit"]; rack && !unit && d.RackID == nil {
		d.RackUnit = nil
	}
}

// moveToRack sets the location of a device that gets a rack to that of the rack, if it has none or one that the rack is within.
func (d *Device) moveToRack(ctx context.Context, tx records.Tx, old *Device) error {
	if d.RackID == nil || equalIDs(d.RackID, old.RackID) {
		return nil
	}
	rack, err := referred[Device, Rack](ctx, tx, "rack_id", *d.RackID)
	if err != nil {
		return err
	}
	for at := rack.LocationID; at != nil; {
		if d.LocationID == nil || *at == *d.LocationID {
			d.LocationID = rack.LocationID
			return nil
		}
		location, err := records.Get[Location](ctx, tx, *at)
		if err != nil {
			return err
		}
		at = location.ParentID
	}
	return nil
}

// ValidateIn checks the position of the device in its rack, and sets what follows from a device type
// (records.TxValidator).
func (d *Device) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	old, changed := before.(*Device)
	if !changed {
		old = &Device{}
	}
	if err := d.moveToRack(ctx, tx, old); err != nil {
		return err
	}
	if err := d.validateName(ctx, tx, old); err != nil {
		return err
	}
	if err := d.completeByType(ctx, tx, old); err != nil {
		return err
	}
	if d.RackUnit != nil && d.RackID == nil && (!changed || old.RackID != nil || old.RackUnit == nil) {
		return refuse("device", "rack_unit", records.NotAllowed("without rack_id"))
	}
	first, last := d.Units()
	if d.RackID == nil || changed && equalIDs(d.RackID, old.RackID) && equalIDs(d.LocationID, old.LocationID) && d.sameUnits(old) {
		return nil
	}
	if err := records.Serialize(ctx, tx, lockRack(*d.RackID)); err != nil {
		return err
	}
	rack, err := referred[Device, Rack](ctx, tx, "rack_id", *d.RackID)
	switch {
	case err != nil:
		return err
	case !equalIDs(rack.LocationID, d.LocationID):
		return refuse("device", "location_id", records.Inconsistent("that of the rack"))
	case last > *rack.Height:
		return refuse("device", "rack_unit", records.OutOfRange(1, *rack.Height-(last-first), fmt.Sprintf("the rack has %d units, and the device occupies %d", *rack.Height, last-first+1)))
	}
	if !changed {
		return nil // Accompany checks the units, when the others of the call are there
	}
	return d.checkFree(ctx, tx)
}

// Vacate takes the device out of its units (records.Occupant).
func (d *Device) Vacate() { d.RackUnit = nil }

// sameUnits reports whether another state of the device occupies the same units.
func (d *Device) sameUnits(old *Device) bool {
	first, last := d.Units()
	was, until := old.Units()
	return first == was && last == until && d.RackFace == old.RackFace
}

// checkFree returns an error of kind [records.Conflict] if another device has one of the units. ValidateIn has locked the
// rack.
func (d *Device) checkFree(ctx context.Context, tx records.Tx) error {
	first, last := d.Units()
	if first == 0 {
		return nil
	}
	rack, err := records.Get[Rack](ctx, tx, *d.RackID)
	if err != nil {
		return err
	}
	others, err := Mounted(ctx, tx, rack.ID)
	if err != nil {
		return err
	}
	for _, other := range others {
		from, to := other.Units()
		if other.ID == d.ID || from == 0 || last < from || to < first || d.RackFace != "" && other.RackFace != "" && d.RackFace != other.RackFace {
			continue
		}
		unit := max(first, from)
		return &records.Error{
			Kind: records.Conflict, Message: fmt.Sprintf("Unit %d of rack %s is occupied", unit, rack.Name), Holder: other,
			Code: "in_use", Fields: []records.FieldError{{Field: "rack_unit", Code: "in_use", Reason: fmt.Sprintf("unit %d is occupied", unit)}},
		}
	}
	return nil
}
