package drift

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// step is a change of one record, for a difference.
type step struct {
	*Difference
	values map[string]any // of an interface
	ends   pair           // of a link
}

// plan is the steps of an application by action, those of links and of interfaces.
type plan struct{ links, interfaces map[string][]step }

// Apply makes the changes of differences, in the transaction of [records.Engine.Together], in which [Compare] has
// found them. Differences without a change are ignored. may is called before the first change of each kind and
// returns an error to refuse it; nil allows all. The error is of kind [records.Conflict] if one of the records
// has changed since.
func Apply(ctx context.Context, in *records.Engine, by records.Caller, chosen []*Difference, may func(r *records.Resource, does records.Routes) error) error {
	p := planOf(chosen)
	schema := in.Store().Schema()
	links, interfaces := records.Of[inventory.Link](schema), records.Of[inventory.Interface](schema)
	for _, part := range []struct {
		r      *records.Resource
		action string
		steps  []step
	}{
		{links, Delete, p.links[Delete]},
		{links, Update, p.links[Update]},
		{links, Create, p.links[Create]},
		{interfaces, Update, p.interfaces[Update]},
		{interfaces, Create, p.interfaces[Create]},
		{interfaces, Delete, p.interfaces[Delete]}, // with the links that are left
	} {
		if len(part.steps) == 0 {
			continue
		}
		if may != nil {
			does := map[string]records.Routes{Create: records.RouteCreate, Update: records.RouteChangeMany, Delete: records.RouteDeleteMany}[part.action]
			if err := may(part.r, does); err != nil {
				return err
			}
		}
		for steps := range slices.Chunk(part.steps, records.MaxItems) {
			if err := run(ctx, in, by, part.r, part.action, steps); err != nil {
				return named(err, part.r, steps)
			}
		}
	}
	return nil
}

// planOf joins the changes of differences. One link may be in several, as it has two ends: a link that shall be
// there is created, or the first link that shall become it is changed; one that becomes no other is deleted.
func planOf(chosen []*Difference) *plan {
	p := &plan{map[string][]step{}, map[string][]step{}}
	becomes, wanted, gone := map[string]bool{}, map[pair]bool{}, map[string]bool{}
	each := func(action string, do func(d *Difference)) {
		for _, d := range chosen {
			if d.Change != nil && d.Change.Resource == "links" && d.Change.Action == action {
				do(d)
			}
		}
	}
	each(Update, func(d *Difference) {
		if ends := d.Change.ends; !becomes[d.Change.RecordID] && !wanted[ends] {
			becomes[d.Change.RecordID], wanted[ends] = true, true
			p.links[Update] = append(p.links[Update], step{Difference: d, ends: ends})
		}
	})
	add := func(d *Difference) {
		if ends := d.Change.ends; !wanted[ends] {
			wanted[ends] = true
			p.links[Create] = append(p.links[Create], step{Difference: d, ends: ends})
		}
	}
	each(Update, add) // of a link that becomes another one
	each(Create, add)
	remove := func(d *Difference) {
		if id := d.Change.RecordID; !becomes[id] && !gone[id] {
			gone[id] = true
			p.links[Delete] = append(p.links[Delete], step{Difference: d})
		}
	}
	each(Update, remove) // another link becomes what this one should
	each(Delete, remove)
	for _, d := range chosen {
		if d.Change != nil && d.Change.Resource == "interfaces" {
			p.interfaces[d.Change.Action] = append(p.interfaces[d.Change.Action], step{Difference: d, values: d.Change.Values})
		}
	}
	return p
}

// run makes the changes of steps with one action.
func run(ctx context.Context, in *records.Engine, by records.Caller, r *records.Resource, action string, steps []step) error {
	var recs []records.Record
	var edits []records.Edit
	for _, s := range steps {
		if action == Create {
			rec, err := s.record(r)
			if err != nil {
				return err
			}
			recs = append(recs, rec)
			continue
		}
		apply, err := s.edit(r)
		if err != nil {
			return err
		}
		edits = append(edits, records.Edit{ID: s.Change.RecordID, Apply: apply})
	}
	switch action {
	case Create:
		return in.Create(ctx, by, recs...)
	case Update:
		_, err := in.Update(ctx, by, r, edits...)
		return err
	}
	return in.Delete(ctx, by, r, edits...)
}

// record returns the new record of a step.
func (s *step) record(r *records.Resource) (records.Record, error) {
	if s.Change.Resource == "links" {
		return &inventory.Link{AInterfaceID: s.ends[0], BInterfaceID: s.ends[1], Discovery: s.Change.protocol}, nil
	}
	values, err := patchOf(s.values)
	if err != nil {
		return nil, err
	}
	delete(values, "device")
	i := &inventory.Interface{}
	err = r.Patch(values)(i)
	i.DeviceID = s.Change.deviceID
	return i, err
}

// edit returns what a step does to its record. It refuses one that has changed since the comparison.
func (s *step) edit(r *records.Resource) (func(records.Record) error, error) {
	values, err := patchOf(s.values)
	patch := r.Patch(values)
	return func(rec records.Record) error {
		seen := int64(0)
		if s.Change.link != nil {
			seen = s.Change.link.Version
		} else if s.Change.port != nil {
			seen = s.Change.port.Version
		}
		if rec.Meta().Version != seen {
			return changed(r)
		}
		if link, ok := rec.(*inventory.Link); ok && s.ends != (pair{}) {
			link.AInterfaceID, link.BInterfaceID = s.ends[0], s.ends[1]
			return nil
		}
		return patch(rec)
	}, err
}

func changed(r *records.Resource) *records.Error {
	return &records.Error{Kind: records.Conflict, Message: r.Label + " has changed since it was compared: compare again"}
}

// patchOf returns values as a patch, empty for none.
func patchOf(values map[string]any) (records.Patch, error) {
	p := records.Patch{}
	for name, value := range values {
		doc, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		p[name] = doc
	}
	return p, nil
}

// named names the differences of failed items by their ids.
func named(err error, r *records.Resource, steps []step) error {
	e, ok := errors.AsType[*records.Error](err)
	if !ok {
		return err
	}
	if e.Kind == records.NotFound {
		return changed(r)
	}
	all := *e
	if len(steps) == 1 {
		all.Message = "Difference " + steps[0].ID + ": " + e.Message
	}
	all.Items = slices.Clone(e.Items)
	for i := range all.Items {
		if index := all.Items[i].Index; index < len(steps) {
			all.Items[i].ID = steps[index].ID
		}
	}
	return &all
}
