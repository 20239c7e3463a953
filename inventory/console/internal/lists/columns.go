package lists

import (
	"cmp"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxDefault is the number of columns that a list has that nobody has chosen.
const maxDefault = 7

// defaultColumns returns the columns of a list that nobody has chosen: what names the records first, then
// states, then other fields that say much about a record, and as many as have room.
func defaultColumns(q *site.Request, r *records.Resource) (columns []*records.Field) {
	for _, name := range r.Show.Columns {
		if f, ok := r.Field(name); ok && visible(f) {
			columns = append(columns, f)
		}
	}
	if len(columns) > 0 {
		for _, f := range r.Fields() {
			if f.Extra && visible(f) && len(columns) <= maxDefault {
				columns = append(columns, f)
			}
		}
		return columns
	}
	fields := r.Fields()
	rank := func(f *records.Field) int { return columnRank(q, r, f) }
	fields = slices.DeleteFunc(fields, func(f *records.Field) bool { return !visible(f) || rank(f) == noRank })
	position := map[*records.Field]int{}
	for i, f := range fields {
		position[f] = i
	}
	slices.SortStableFunc(fields, func(a, b *records.Field) int { return rank(a) - rank(b) })
	fields = fields[:min(len(fields), maxDefault)]
	// Those that name the record and its states come first, the others in the order of the schema.
	slices.SortStableFunc(fields, func(a, b *records.Field) int {
		return cmp.Or(min(rank(a), rankOther)-min(rank(b), rankOther), position[a]-position[b])
	})
	return fields
}

// The ranks of columns, the most useful first.
const (
	rankName = iota
	rankState
	rankOther
	rankKey
	rankReference
	rankCounted
	rankSearched
	rankPlain
	noRank
)

func columnRank(q *site.Request, r *records.Resource, f *records.Field) int {
	switch {
	case f == nameField(r):
		return rankName
	case site.IsBase(f), f.Kind == records.Object, f.Format == "text":
		return noRank
	case q.Cell(f, nil, nil).Kind == "badge":
		return rankState
	case f.Required, slices.ContainsFunc(r.Keys, func(key []string) bool { return slices.Contains(key, f.Name) }):
		return rankKey
	case f.Ref != nil:
		return rankReference
	case f.Counted, f.Index:
		return rankCounted
	case f.Search:
		return rankSearched
	}
	return rankPlain
}

// visible reports whether lists show the field.
func visible(f *records.Field) bool { return f.Name != "" && !f.Hidden && !f.WriteOnly }

// nameField returns the field that is the link to the record: what names it, or the time of a log entry or
// a measurement. It is nil for other records without a name.
func nameField(r *records.Resource) *records.Field {
	if f := site.LabelField(r); f != nil {
		return f
	}
	if r.Latest != nil {
		f, _ := r.Field(r.Latest.At)
		return f
	}
	if r.Unaudited || r.Prunable {
		f, _ := r.Field("created_at")
		return f
	}
	return nil
}
