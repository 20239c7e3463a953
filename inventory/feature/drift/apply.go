package drift

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Apply makes the changes of differences, in the transaction of [records.Engine.Together], in which [Compare] has
// found them. Differences without a change are ignored. may is called before the first change of each kind and
// returns an error to refuse it; nil allows all. The error is of kind [records.Conflict] if one of the records
// has changed since.
func Apply(ctx context.Context, in *records.Engine, by records.Caller, chosen []*Difference, may func(r *records.Resource, does records.Routes) error) error {
	if in == nil {
		return errors.New("drift.Apply: the engine is nil")
	}
	schema := in.Store().Schema()
	links, interfaces := records.Of[inventory.Link](schema), records.Of[inventory.Interface](schema)
	ofLinks, ofInterfaces := planLinks(chosen), map[string][]*Difference{}
	for _, d := range chosen {
		if d.Change != nil && d.Change.Resource == "interfaces" {
			ofInterfaces[d.Change.Action] = append(ofInterfaces[d.Change.Action], d)
		}
	}
	for _, part := range []struct {
		r      *records.Resource
		action string
		of     map[string][]*Difference
	}{
		{links, Delete, ofLinks},
		{links, Update, ofLinks},
		{links, Create, ofLinks},
		{interfaces, Update, ofInterfaces},
		{interfaces, Create, ofInterfaces},
		{interfaces, Delete, ofInterfaces}, // with the links that are left
	} {
		if len(part.of[part.action]) == 0 {
			continue
		}
		if may != nil {
			does := map[string]records.Routes{Create: records.RouteCreate, Update: records.RouteChangeMany, Delete: records.RouteDeleteMany}[part.action]
			if err := may(part.r, does); err != nil {
				return err
			}
		}
		for some := range slices.Chunk(part.of[part.action], records.MaxItems) {
			if err := run(ctx, in, by, part.r, part.action, some); err != nil {
				return named(err, part.r, some)
			}
		}
	}
	return nil
}

// planLinks returns the changes of links by action. Both ends of a link may report the same difference, which makes one
// change. An expected link is created, or the first link that differs from it is changed; all others are deleted.
func planLinks(chosen []*Difference) map[string][]*Difference {
	plan := map[string][]*Difference{}
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
			plan[Update] = append(plan[Update], d)
		}
	})
	add := func(d *Difference) {
		if ends := d.Change.ends; !wanted[ends] {
			wanted[ends] = true
			plan[Create] = append(plan[Create], d)
		}
	}
	each(Update, add) // of a link that becomes another one
	each(Create, add)
	remove := func(d *Difference) {
		if id := d.Change.RecordID; !becomes[id] && !gone[id] {
			gone[id] = true
			plan[Delete] = append(plan[Delete], d)
		}
	}
	each(Update, remove) // another link becomes what this one should
	each(Delete, remove)
	return plan
}

// run performs an action on the records of differences.
func run(ctx context.Context, in *records.Engine, by records.Caller, r *records.Resource, action string, differences []*Difference) error {
	var recs []records.Record
	var edits []records.Edit
	for _, d := range differences {
		var patch records.Patch
		doc, err := json.Marshal(d.Change.Values)
		if err == nil {
			err = json.Unmarshal(doc, &patch)
		}
		if err != nil {
			return err
		}
		if action == Create {
			rec, err := d.Change.record(r, patch)
			if err != nil {
				return err
			}
			recs = append(recs, rec)
			continue
		}
		edits = append(edits, records.Edit{ID: d.Change.RecordID, Apply: func(rec records.Record) error {
			link, isLink := rec.(*inventory.Link)
			switch {
			case rec.Meta().Version != d.Change.version:
				return changed(r)
			case action == Delete:
				return nil
			case isLink:
				link.AInterfaceID, link.BInterfaceID = d.Change.ends[0], d.Change.ends[1]
				return nil
			}
			return r.Patch(patch)(rec)
		}})
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

// record returns the new record of a change.
func (c *Change) record(r *records.Resource, values records.Patch) (records.Record, error) {
	if c.Resource == "links" {
		return &inventory.Link{AInterfaceID: c.ends[0], BInterfaceID: c.ends[1], Discovery: c.protocol}, nil
	}
	delete(values, "device")
	i := &inventory.Interface{}
	err := r.Patch(values)(i)
	i.DeviceID = c.deviceID
	return i, err
}

func changed(r *records.Resource) *records.Error {
	return &records.Error{Kind: records.Conflict, Message: r.Label + " has changed since it was compared: compare again"}
}

// named names the differences of failed items by their ids.
func named(err error, r *records.Resource, differences []*Difference) error {
	e, ok := errors.AsType[*records.Error](err)
	if !ok {
		return err
	}
	if e.Kind == records.NotFound {
		return changed(r)
	}
	all := *e
	if len(differences) == 1 {
		all.Message = "Difference " + differences[0].ID + ": " + e.Message
	}
	all.Items = slices.Clone(e.Items)
	for i := range all.Items {
		if index := all.Items[i].Index; index < len(differences) {
			all.Items[i].ID = differences[index].ID
		}
	}
	return &all
}
