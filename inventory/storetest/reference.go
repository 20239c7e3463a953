package storetest

import (
	"errors"
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
)

func referenceCases() []Case {
	return []Case{
		{"reference/what goes too", "what a record belongs to takes it along, and what it mentions does not (reference 1.4)", checkCascades, false},
		{"reference/within a transaction", "a deletion that is undone has undone nothing else", checkCascadeUndone, false},
		{"reference/change of its own", "who holds a record from before must learn that it has changed", checkReleased, false},
		{"reference/keys without their part", "a VLAN whose location is gone is no other one's twin", checkReleasedKeys, false},
		{"reference/many", "a place may have any number of devices", checkManyReleased, false},
		{"reference/nothing is left", "a device may come back with the same names", checkNothingLeft, false},
	}
}

// outcome is what remains of records when one of them is deleted.
type outcome struct {
	left, gone []inventory.Record
	released   map[inventory.Record]bool // those of left that have lost a reference
}

// without works out what deleting a record comes to.
func without(all []inventory.Record, gone inventory.Record) *outcome {
	o := &outcome{left: slices.Clone(all), released: map[inventory.Record]bool{}}
	o.drop(gone.Meta().ID)
	return o
}

func (o *outcome) drop(id string) {
	i := slices.IndexFunc(o.left, func(rec inventory.Record) bool { return rec.Meta().ID == id })
	if i < 0 {
		return // already, by another way
	}
	o.gone = append(o.gone, o.left[i])
	o.left = slices.Delete(o.left, i, i+1)
	for _, rec := range slices.Clone(o.left) {
		for _, f := range inventory.ResourceOf(rec).Fields() {
			if f.Ref == nil || f.Value(rec) != id {
				continue
			}
			if f.Ref.Cascade {
				o.drop(rec.Meta().ID)
				break
			}
			f.Set(rec, nil)
			o.released[rec] = true
		}
	}
}

// cameTrue demands that the store has what is left, and nothing else.
func (p *probe) cameTrue(o *outcome) {
	p.hasNot(o.gone...)
	for _, rec := range o.left {
		if o.released[rec] {
			p.isReleased(rec)
		}
	}
	for _, r := range inventory.StoredResources() {
		of := func(rec inventory.Record) bool { return inventory.ResourceOf(rec) != r }
		p.holds(r, slices.DeleteFunc(slices.Clone(o.left), of)...)
	}
}

// isReleased demands that a record has a version that is not the one of before, and takes
// it over, with the time of the change, which is what the store's clock says, or the one
// of before.
func (p *probe) isReleased(rec inventory.Record) {
	was, is := rec.Meta(), p.get(rec).Meta()
	if is.Version <= was.Version {
		fail("%s, which has lost a reference, is version %d; want one after %d", names([]inventory.Record{rec}), is.Version, was.Version)
	}
	was.Version, was.UpdatedAt = is.Version, is.UpdatedAt
}

// mentioned reports whether records may refer to those of a resource.
func mentioned(r *inventory.Resource) bool {
	return slices.ContainsFunc(inventory.StoredResources(), func(from *inventory.Resource) bool {
		return slices.ContainsFunc(from.Fields(), func(f *inventory.Field) bool { return f.Ref != nil && f.Ref.To == r.Name() })
	})
}

func checkCascades(p *probe) {
	for _, r := range inventory.StoredResources() {
		if !mentioned(r) {
			continue
		}
		all := p.world()
		o := without(all, all[slices.Index(inventory.StoredResources(), r)*generation])
		p.remove(o.gone[0])
		p.cameTrue(o)
		p.empty()
	}
}

func checkCascadeUndone(p *probe) {
	all := p.world()
	for _, r := range inventory.StoredResources() {
		o := without(p.worldAgain(), full(r, 1))
		err := p.store.Change(p.ctx, func(tx inventory.Tx) error {
			if err := tx.Delete(p.ctx, r, id(r, 1), 1); err != nil {
				return err
			}
			for _, rec := range o.gone {
				of := inventory.ResourceOf(rec)
				_, err := tx.Get(p.ctx, of, rec.Meta().ID)
				refused("get what has gone too", err, inventory.Absent(of))
				refused("delete what has gone too", tx.Delete(p.ctx, of, rec.Meta().ID, 1), inventory.Absent(of))
			}
			return errOwn
		})
		if !errors.Is(err, errOwn) {
			fail("the error of a transaction is %w; want its own", err)
		}
		p.has(all...)
	}
}

// worldAgain is what the store has, but not the same records.
func (*probe) worldAgain() (all []inventory.Record) {
	for _, r := range inventory.StoredResources() {
		all = append(all, generationOf(r)...)
	}
	return all
}

func checkReleased(p *probe) {
	all := p.world()
	location := full(inventory.Of[inventory.Location](), 1)
	o := without(all, location)
	p.remove(location)
	if len(o.released) == 0 {
		fail("the suite has nothing that refers to a location")
	}
	for rec := range o.released {
		r := inventory.ResourceOf(rec)
		refused("update from before", p.tryUpdate(again(inventory.Clone(rec), 2), 1), inventory.Outdated(r))
		refused("delete from before", p.tryRemove(rec, 1), inventory.Outdated(r))
		now := p.get(rec)
		p.update(again(now, now.Meta().Version+1))
		p.has(now)
	}
}

func checkReleasedKeys(p *probe) {
	p.world()
	vlans, locations := inventory.Of[inventory.VLAN](), inventory.Of[inventory.Location]()
	for n := 1; n <= generation; n++ {
		v := full(vlans, n).(*inventory.VLAN)
		v.VLANID = 100
		p.update(again(v, 2))
	}
	for n := 1; n <= generation; n++ {
		p.remove(full(locations, n))
	}
	for _, rec := range p.list(&inventory.Query{Resource: vlans}).Records {
		v := rec.(*inventory.VLAN)
		if v.VLANID != 100 || v.LocationID != nil {
			fail("%s is %d at %v; want 100 and nowhere", names([]inventory.Record{v}), v.VLANID, v.LocationID)
		}
	}
}

func checkManyReleased(p *probe) {
	const many = 120
	location, r := full(inventory.Of[inventory.Location](), 1), inventory.Of[inventory.Device]()
	p.create(location)
	var all []inventory.Record
	for n := range many {
		d := full(r, n).(*inventory.Device)
		at := location.Meta().ID
		d.LocationID = &at
		all = append(all, d)
	}
	p.create(all...)
	o := without(append(all, location), location)
	p.remove(location)
	p.cameTrue(o)
}

func checkNothingLeft(p *probe) {
	p.world()
	devices := inventory.Of[inventory.Device]()
	for n := 1; n <= generation; n++ {
		p.remove(full(devices, n))
	}
	for _, of := range []*inventory.Resource{devices, inventory.Of[inventory.Interface](), inventory.Of[inventory.Link](), inventory.Of[inventory.Metric]()} {
		p.holds(of)
		p.create(generationOf(of)...)
		p.holds(of, generationOf(of)...)
	}
}
