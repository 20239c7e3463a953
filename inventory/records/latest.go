package records

import (
	"fmt"
	"maps"
	"slices"
)

// checkLatest checks the fields of Definition.Latest.
func (r *Resource) checkLatest() error {
	if r.Latest == nil {
		return nil
	}
	per, at := r.byName[r.Latest.Per], r.byName[r.Latest.At]
	switch {
	case per == nil || !per.Required || per.Ref == nil || !per.Ref.Cascade:
		return fmt.Errorf("%s has the latest record per %q: use a required reference with :cascade", r.Name, r.Latest.Per)
	case at == nil || at.Kind != Time:
		return fmt.Errorf("%s has the latest record at %q: use a time", r.Name, r.Latest.At)
	}
	for _, name := range r.Latest.Sorted {
		if f := r.byName[name]; f == nil || !f.Sortable() || f.Extra {
			return fmt.Errorf("%s sorts its latest records by %q: use a sortable field of the struct", r.Name, name)
		}
	}
	return nil
}

// SelectLatest returns the latest of some records ([Definition].Latest), in any order. It serves
// stores in memory and defines what the other stores must keep.
func (r *Resource) SelectLatest(all []Record) []Record {
	per, at := r.byName[r.Latest.Per], r.byName[r.Latest.At]
	q := &Query{Resource: r, Sort: []SortKey{{Field: at}}}
	latest := map[any]Record{}
	for _, rec := range all {
		value := per.Value(rec)
		if old := latest[value]; old == nil || q.Compare(q.PlaceOf(old), q.PlaceOf(rec)) < 0 {
			latest[value] = rec
		}
	}
	return slices.Collect(maps.Values(latest))
}

// HeavyLatest is Heavy for a list of the latest records: stores know how many there are, and index
// them by Latest.Sorted and the id.
func (q *Query) HeavyLatest() bool {
	if q.Text != "" || q.Offset > maxLightOffset {
		return true
	}
	if slices.ContainsFunc(q.Filters, func(c Filter) bool { return c.Field.Name == q.Resource.Latest.Per && c.Op == Eq }) {
		return false // there is one
	}
	switch {
	case len(q.Filters) > 0 || len(q.Sort) == 0 || q.Only != nil:
		return true
	case !slices.Contains(q.Resource.Latest.Sorted, q.Sort[0].Field.Name) || len(q.Sort) > 1 && q.Sort[1].Field.Column != "id":
		return true
	}
	return q.Sort[0].Desc != q.Sort[len(q.Sort)-1].Desc
}
