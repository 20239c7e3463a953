package sqlstore

import (
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// places is the condition that records of a resource belong to some places (records.Query.Only).
func (b *builder) places(only *records.Places, r *records.Resource) string {
	switch {
	case !r.Placed() && only.Own == "" || r.Placed() && len(only.IDs) == 0:
		return never
	case !r.Placed():
		return "id = " + b.arg(only.Own)
	}
	ids := make([]any, len(only.IDs))
	for i, id := range only.IDs {
		ids[i] = id
	}
	var all, present []string
	optional := true
	for _, name := range r.Within {
		f, _ := r.Field(name)
		condition := b.placesBehind(f, only, ids)
		if !f.Required && name != "id" {
			present = append(present, f.Column+" IS NOT NULL")
			if len(r.Within) > 1 {
				condition = "(" + f.Column + isNull + " OR " + condition + ")"
			}
		} else {
			optional = false
		}
		all = append(all, condition)
	}
	if optional && len(present) > 1 {
		all = append(all, "("+strings.Join(present, " OR ")+")")
	}
	return strings.Join(all, " AND ")
}

// placesBehind is the condition that a field is a place, or refers to a record that belongs to some.
func (b *builder) placesBehind(f *records.Field, only *records.Places, ids []any) string {
	if f.Ref == nil || f.Ref.Resource().IsPlace() {
		return b.anyOf(f.Column, ids)
	}
	to := f.Ref.Resource()
	return f.Column + " IN (SELECT id FROM " + to.Table() + where([]string{b.places(only, to)}) + ")"
}
