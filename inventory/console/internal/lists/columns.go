package lists

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxDefault is the number of columns that a list has that nobody has chosen.
const maxDefault = 7

// defaultColumns returns the columns of a list that nobody has chosen: those of the resource, or those of short lists, and
// fields that were added, as many as have room.
func defaultColumns(r *records.Resource) (columns []*records.Field) {
	names := r.Show.Columns
	if len(names) == 0 {
		names = site.Columns(r, "")
	}
	for _, name := range names {
		if f, ok := r.Field(name); ok && visible(f) {
			columns = append(columns, f)
		}
	}
	for _, f := range r.Fields() {
		if f.Extra && visible(f) && !slices.Contains(columns, f) && len(columns) <= maxDefault {
			columns = append(columns, f)
		}
	}
	return columns
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
