package httpapi

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// belowParameter lists the records of a location and of those within it (REFERENCE.md, 1.13).
const belowParameter = "below"

// locationField returns the field by which records are at a location, nil for none: the id of locations, and
// the first reference to one. A field with the name of the parameter takes precedence.
func locationField(r *records.Resource) *records.Field {
	if _, taken := r.Field(belowParameter); taken {
		return nil
	}
	if _, ok := r.New().(*inventory.Location); ok {
		f, _ := r.Field("id")
		return f
	}
	i := slices.IndexFunc(r.Fields(), func(f *records.Field) bool {
		if f.Ref == nil || f.Name == "" {
			return false
		}
		_, ok := f.Ref.Resource().New().(*inventory.Location)
		return ok
	})
	if i < 0 {
		return nil
	}
	return r.Fields()[i]
}

// placing adds the parameter to a list.
func (op *operation) placing() {
	r := op.doc.List
	if r == nil {
		r = op.doc.Filters
	}
	if r == nil || locationField(r) == nil {
		return
	}
	op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
		Name: belowParameter, Schema: openapi.ID(""),
		Description: fmt.Sprintf("At this location, or at one within it. There may be up to %d of them.", inventory.MaxBelow),
	})
}

// below adds the condition of the parameter to a query.
func (c *call) below(q *records.Query, query url.Values) error {
	f := locationField(q.Resource)
	values := query[belowParameter]
	if f == nil || len(values) == 0 {
		return nil
	}
	if len(values) > 1 || !records.ValidID(values[0]) {
		return badField(belowParameter, "must be the id of one location")
	}
	ids, more, err := inventory.Below(c.r.Context(), c.store, values[0])
	if err != nil {
		return err
	}
	if more {
		return badField(belowParameter, fmt.Sprintf("has more than %d locations: choose one of them", inventory.MaxBelow))
	}
	in := records.Filter{Field: f, Op: records.In, Value: make([]any, 0, len(ids))}
	for _, id := range ids {
		in.Value = append(in.Value.([]any), id)
	}
	q.Filters = append(q.Filters, in)
	return nil
}
