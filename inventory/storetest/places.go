package storetest

import (
	"slices"
	"strings"

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

// checkProjections reads columns of all resources, and of the records behind references, and compares
// them with those of the model.
func checkProjections(f *fixture) {
	places := f.places()
	for _, r := range f.some(stored) {
		names := columnsOf(r, "")
		for _, name := range r.Within {
			if field, _ := r.Field(name); field.Ref != nil {
				names = append(names, columnsOf(field.Ref.Resource(), name+".")...)
			}
		}
		columns, err := records.Columns(r, names...)
		must("name columns of "+r.Name, err)
		for i := range 6 {
			q := f.query(r)
			q.Only = nil
			if i%2 == 1 {
				q.Only = records.NewPlaces(places[:min(i, len(places))], "")
			}
			var got, want []string
			must("read columns of "+r.Name, records.Project(f.ctx, f.store, q, names, func(values []string) error {
				got = append(got, strings.Join(values, "|"))
				return nil
			}))
			for _, rec := range f.model.within(q.Only, f.model.of(r)) {
				if q.Matches(rec) {
					want = append(want, strings.Join(f.model.values(rec, columns), "|"))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				fail("the columns %s of %s are %q, want %q", strings.Join(names, ", "), show(q), got, want)
			}
		}
	}
}

// columnsOf returns the names of some text columns of a resource.
func columnsOf(r *records.Resource, prefix string) (names []string) {
	for _, field := range r.Fields() {
		if field.Kind == records.Text && field.Name != "" && field.Column != "" && len(names) < 4 {
			names = append(names, prefix+field.Name)
		}
	}
	return names
}

// values returns the values of columns.
func (m *model) values(rec records.Record, columns []records.Column) (values []string) {
	for _, c := range columns {
		source := rec
		if c.Through != nil {
			id, _ := c.Through.Value(rec).(string)
			source = m.records[id]
		}
		text := ""
		if source != nil {
			text, _ = c.Field.Value(source).(string)
		}
		values = append(values, text)
	}
	return values
}
