package lists

import (
	"slices"
	"strings"

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

// alternatives returns the references of which a record has one, such as those to the kinds of ports at the A end of a
// cable. It is the field itself if there are no others.
func alternatives(r *records.Resource, f *records.Field) (all []*records.Field) {
	end, _, _ := strings.Cut(f.Name, "_")
	for _, other := range r.Fields() {
		if other == f || (end == "a" || end == "b") && f.Ref != nil && !f.Required && other.Ref != nil && !other.Required && strings.HasPrefix(other.Name, end+"_") {
			all = append(all, other)
		}
	}
	return all
}

// labelOf returns the head of a column: "A end" for one with several references.
func labelOf(r *records.Resource, f *records.Field) string {
	if len(alternatives(r, f)) > 1 {
		return strings.ToUpper(f.Name[:1]) + " end"
	}
	return site.FieldLabel(f)
}

// read returns the fields that the columns show.
func (v *view) read() (fields []*records.Field) {
	for _, f := range v.columns {
		fields = append(fields, alternatives(v.resource, f)...)
	}
	return fields
}

// present returns the field of a column that a record has.
func (v *view) present(f *records.Field, rec site.Record) *records.Field {
	for _, other := range alternatives(v.resource, f) {
		if rec.Text(other.Name) != "" {
			return other
		}
	}
	return f
}
