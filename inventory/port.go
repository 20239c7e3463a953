package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// typeLAG is the type of interfaces that have members, which is compared without case.
const typeLAG = "lag"

// The modes of interfaces that have VLANs, as canonicalMode returns them. An interface may have any
// other mode, and then has no VLANs.
const (
	modeAccess   = "access"
	modeTrunk    = "trunk"
	modeTrunkAll = "trunk-all"
)

// maxParents is the maximum number of interfaces above a sub-interface.
const maxParents = 16

// canonicalMode returns the mode of an interface in lower case, with hyphens between words.
func canonicalMode(mode string) string {
	return strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(mode))
}

// TaggedVLAN is a VLAN that an interface with the mode trunk carries with tags. It is a record of its
// own, so that it is filtered by either side, and deleted with either.
type TaggedVLAN struct {
	records.Base
	InterfaceID string `json:"interface_id" field:"required,ref=interfaces:cascade"`
	VLANID      string `json:"vlan_id" field:"required,unique=interface_id,ref=vlans:cascade"`
}

// ValidateIn refuses a VLAN of an interface that is no trunk (records.TxValidator).
func (v *TaggedVLAN) ValidateIn(ctx context.Context, tx records.Tx, _ records.Record) error {
	if err := records.Serialize(ctx, tx, lockVLANs(v.InterfaceID)); err != nil {
		return err
	}
	i, err := records.Get[Interface](ctx, tx, v.InterfaceID)
	switch {
	case records.KindOf(err) == records.NotFound:
		return nil // the store says so
	case err != nil:
		return err
	case canonicalMode(i.Mode) != modeTrunk:
		return refuse("tagged VLAN", "interface_id", records.Inconsistent("an interface with the mode trunk"))
	}
	return nil
}

// lockVLANs and lockInterfaces name what transactions take turns with: changes of the mode and the
// tagged VLANs of an interface, and of the parents and LAGs of the interfaces of a device.
func lockVLANs(interfaceID string) string   { return "vlans of interface " + interfaceID }
func lockInterfaces(deviceID string) string { return "interfaces of device " + deviceID }

// refuse returns the error for a field that does not fit other records.
func refuse(noun, field string, err error) *records.Error {
	return records.InvalidFields(noun, []records.FieldError{records.InField(field, err)})
}

// refuseInterface is refuse for an interface.
func refuseInterface(field string, err error) *records.Error { return refuse("interface", field, err) }

// ValidateIn checks the parent, the LAG and the VLANs of the interface (records.TxValidator).
func (i *Interface) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	old, changed := before.(*Interface)
	if !changed {
		old = &Interface{}
	}
	if err := i.validateVLANs(ctx, tx, old); err != nil {
		return err
	}
	moved := changed && old.DeviceID != i.DeviceID
	was := changed && old.isLAG() && !i.isLAG()
	above := i.ParentID != nil && (moved || !equalIDs(i.ParentID, old.ParentID)) ||
		i.LAGID != nil && (moved || !equalIDs(i.LAGID, old.LAGID) || i.isLAG())
	if !moved && !was && !above {
		return nil
	}
	devices := []string{i.DeviceID}
	if moved {
		devices = append(devices, old.DeviceID)
	}
	slices.Sort(devices) // so that two transactions do not wait for each other
	for _, id := range devices {
		if err := records.Serialize(ctx, tx, lockInterfaces(id)); err != nil {
			return err
		}
	}
	if err := i.validateParent(ctx, tx); err != nil {
		return err
	}
	if err := i.validateLAG(ctx, tx); err != nil {
		return err
	}
	if moved || was {
		return i.validateBelow(ctx, tx, moved)
	}
	return nil
}

// isLAG reports whether other interfaces may be members of the interface.
func (i *Interface) isLAG() bool { return strings.EqualFold(i.Type, typeLAG) }

func equalIDs(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// validateVLANs checks that the mode fits the VLANs.
func (i *Interface) validateVLANs(ctx context.Context, tx records.Tx, old *Interface) error {
	mode := canonicalMode(i.Mode)
	if i.UntaggedVLANID != nil && !slices.Contains([]string{modeAccess, modeTrunk, modeTrunkAll}, mode) {
		return refuseInterface("untagged_vlan_id", records.NotAllowed("without the mode access, trunk or trunk-all"))
	}
	if canonicalMode(old.Mode) != modeTrunk || mode == modeTrunk {
		return nil
	}
	if err := records.Serialize(ctx, tx, lockVLANs(i.ID)); err != nil {
		return err
	}
	n, err := records.Count(ctx, tx, &records.Query{Resource: records.Of[TaggedVLAN](tx.Schema())}, "interface_id", i.ID)
	if n > 0 {
		return refuseInterface("mode", records.InUse(fmt.Sprintf("the interface has %d tagged VLANs: delete these first", n)))
	}
	return err
}

// referred returns the record that a field of an O refers to. The error for one that does not exist names the
// field.
func referred[O, T any, P interface {
	*T
	records.Record
}](ctx context.Context, tx records.Tx, field, id string) (P, error) {
	rec, err := records.Get[T, P](ctx, tx, id)
	if records.KindOf(err) == records.NotFound {
		r := records.Of[O](tx.Schema())
		f, _ := r.Field(field)
		return nil, records.Dangling(r, f)
	}
	return rec, err
}

// sameDevice returns another interface of the same device.
func (i *Interface) sameDevice(ctx context.Context, tx records.Tx, field, id string) (*Interface, error) {
	other, err := referred[Interface, Interface](ctx, tx, field, id)
	switch {
	case err != nil:
		return nil, err
	case other.DeviceID != i.DeviceID:
		return nil, refuseInterface(field, records.Inconsistent("an interface of the same device"))
	case other.ID == i.ID:
		return nil, refuseInterface(field, records.Inconsistent("another interface"))
	}
	return other, nil
}

// validateParent checks the interfaces above the interface.
func (i *Interface) validateParent(ctx context.Context, tx records.Tx) error {
	const field = "parent_id"
	next := i.ParentID
	for range maxParents {
		if next == nil {
			return nil
		}
		if *next == i.ID {
			return refuseInterface(field, records.Inconsistent("another interface than itself and those below it"))
		}
		parent, err := i.sameDevice(ctx, tx, field, *next)
		if err != nil {
			return err
		}
		next = parent.ParentID
	}
	if next == nil {
		return nil
	}
	return refuseInterface(field, records.TooMany(maxParents-1, "interfaces above it"))
}

// validateLAG checks the LAG of the interface. A LAG is no member of another one, so there are no
// cycles.
func (i *Interface) validateLAG(ctx context.Context, tx records.Tx) error {
	const field = "lag_id"
	switch {
	case i.LAGID == nil:
		return nil
	case i.isLAG():
		return refuseInterface(field, records.NotAllowed("in an interface with the type lag"))
	}
	lag, err := i.sameDevice(ctx, tx, field, *i.LAGID)
	if err == nil && !lag.isLAG() {
		err = refuseInterface(field, records.Inconsistent("an interface with the type lag"))
	}
	return err
}

// validateBelow refuses a change that the interfaces below the interface do not fit.
func (i *Interface) validateBelow(ctx context.Context, tx records.Tx, moved bool) error {
	count := func(field string) (int64, error) {
		return records.Count(ctx, tx, &records.Query{Resource: records.Of[Interface](tx.Schema())}, field, i.ID)
	}
	members, err := count("lag_id")
	switch {
	case err != nil:
		return err
	case !moved && members > 0:
		return refuseInterface("type", records.InUse(fmt.Sprintf("the interface has %d members: clear their lag_id first", members)))
	case !moved:
		return nil
	}
	below, err := count("parent_id")
	if err == nil && members+below > 0 {
		err = refuseInterface("device_id", records.InUse(fmt.Sprintf("%d interfaces have this one as their parent or LAG: clear these first", members+below)))
	}
	return err
}

// RearPort is the rear of a pass-through port, such as of a patch panel. It has a position for each
// front port that it may lead to.
type RearPort struct {
	records.Base
	DeviceID    string `json:"device_id" field:"required,ref=devices:cascade,alias=hostname|panel|device name"`
	Name        string `json:"name" field:"required,unique=device_id,max=100,search,natural,index,alias=port|port name"`
	Label       string `json:"label" field:"max=100,search"`
	Type        string `json:"type" field:"max=50,counted"` // such as lc, mpo or 8p8c
	Positions   *int64 `json:"positions" field:"min=1,max=1024"`
	Description string `json:"description" field:"max=255,search"`
}

// Normalize sets the default of positions, which is 1.
func (p *RearPort) Normalize() {
	p.Positions = cmp.Or(p.Positions, new(int64(1)))
}

// lockRearPort names what changes of a rear port and of its front ports take turns with.
func lockRearPort(id string) string { return "front ports of " + id }

// ValidateIn refuses a change that the front ports do not fit (records.TxValidator).
func (p *RearPort) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	old, ok := before.(*RearPort)
	if !ok || old.DeviceID == p.DeviceID && *p.Positions >= *old.Positions {
		return nil
	}
	if err := records.Serialize(ctx, tx, lockRearPort(p.ID)); err != nil {
		return err
	}
	last, _ := records.Of[FrontPort](tx.Schema()).Field("rear_port_position")
	fronts, err := records.Select[FrontPort](ctx, tx, &records.Query{Limit: 1, Sort: []records.SortKey{{Field: last, Desc: true}}}, "rear_port_id", p.ID)
	if err != nil || len(fronts) == 0 {
		return err
	}
	switch most := value(fronts[0].RearPortPosition); {
	case old.DeviceID != p.DeviceID:
		return refuse("rear port", "device_id", records.InUse("front ports lead to the rear port: delete these first"))
	case *p.Positions < most:
		return refuse("rear port", "positions", records.OutOfRange(most, nil, "a front port has that position"))
	}
	return nil
}

// FrontPort is the front of a pass-through port: it leads to a position of a rear port of the same
// device.
type FrontPort struct {
	records.Base
	DeviceID         string `json:"device_id" field:"required,ref=devices:cascade,alias=hostname|panel|device name"`
	Name             string `json:"name" field:"required,unique=device_id,max=100,search,natural,index,alias=port|port name"`
	Label            string `json:"label" field:"max=100,search"`
	Type             string `json:"type" field:"max=50,counted"`
	RearPortID       string `json:"rear_port_id" field:"required,ref=rear-ports:cascade"`
	RearPortPosition *int64 `json:"rear_port_position" field:"unique=rear_port_id,min=1,max=1024"`
	Description      string `json:"description" field:"max=255,search"`
}

// Normalize sets the default of the position, which is 1.
func (p *FrontPort) Normalize() {
	p.RearPortPosition = cmp.Or(p.RearPortPosition, new(int64(1)))
}

// ValidateIn checks the rear port (records.TxValidator).
func (p *FrontPort) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	if old, ok := before.(*FrontPort); ok && old.DeviceID == p.DeviceID && old.RearPortID == p.RearPortID && value(old.RearPortPosition) == *p.RearPortPosition {
		return nil
	}
	if err := records.Serialize(ctx, tx, lockRearPort(p.RearPortID)); err != nil {
		return err
	}
	rear, err := referred[FrontPort, RearPort](ctx, tx, "rear_port_id", p.RearPortID)
	switch {
	case err != nil:
		return err
	case rear.DeviceID != p.DeviceID:
		return refuse("front port", "rear_port_id", records.Inconsistent("a rear port of the same device"))
	case *p.RearPortPosition > *rear.Positions:
		return refuse("front port", "rear_port_position", records.OutOfRange(1, *rear.Positions, "the rear port has no more positions"))
	}
	return nil
}
