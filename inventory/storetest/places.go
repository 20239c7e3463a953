package storetest

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// within returns the records that belong to some places.
func (m *model) within(only *records.Places, recs []records.Record) []records.Record {
	return slices.DeleteFunc(recs, func(rec records.Record) bool { return only != nil && !m.belongs(only, rec) })
}

// belongs reports whether a record belongs to some places: all references that say so lead to them.
func (m *model) belongs(only *records.Places, rec records.Record) bool {
	r, any := resourceOf(rec), false
	if !r.Placed() {
		return rec.Meta().ID == only.Own
	}
	if r.IsPlace() {
		return slices.Contains(only.IDs, rec.Meta().ID)
	}
	for _, name := range r.Within {
		field, _ := r.Field(name)
		if id, ok := field.Value(rec).(string); ok {
			if any = m.belongs(only, m.records[id]); !any {
				return false
			}
		}
	}
	return any
}

// places returns the ids of all places.
func (f *fixture) places() (ids []string) {
	for _, r := range f.resources {
		for _, rec := range f.model.of(r) {
			if r.IsPlace() {
				ids = append(ids, rec.Meta().ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// checkGrants lists the records of different places, of all resources and in every way.
func checkGrants(f *fixture) {
	locations := f.places()
	for _, r := range f.some(stored) {
		own := ""
		if !r.Placed() {
			own = f.any(r).Meta().ID
		}
		for _, n := range []int{0, 1, 2, 5, len(locations)} {
			only := records.NewPlaces(slices.Clone(locations[:n]), own)
			if n == 5 {
				only.IDs = append(only.IDs, "00000000-0000-7000-8000-00000000dead") // a location that was deleted
			}
			f.agrees(&records.Query{Resource: r, Only: only, Count: true})
			f.agrees(&records.Query{Resource: r, Only: only, Count: true, Limit: 2, Offset: 1})
			f.agrees((&records.Query{Resource: r, Only: only, Count: true}).Where("id", f.any(r).Meta().ID))
			for range 10 {
				q := f.query(r)
				q.Only = only
				f.agrees(q)
			}
			if lister, ok := f.store.(records.LatestLister); ok && r.Latest != nil {
				q := &records.Query{Resource: r, Only: only, Count: true, Limit: 3}
				got, err := lister.ListLatest(f.ctx, q)
				f.expect("list the latest "+show(q), got, err, q.Select(f.model.within(only, r.SelectLatest(f.model.of(r)))))
			}
			must("read in a transaction", f.store.Change(f.ctx, func(tx records.Tx) error {
				f.lists(tx, f.model, &records.Query{Resource: r, Only: only, Count: true, Limit: 2})
				return nil
			}))
		}
	}
}
