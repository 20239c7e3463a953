package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Projector is implemented by a [Store] that can read single values of many records, and of what these
// refer to, faster than whole records.
type Projector interface {
	// Project does what the function [Project] does, with columns that [Columns] has returned.
	Project(ctx context.Context, q *Query, columns []Column, row func(values []string) error) error
}

// Column is a text field of a record, or of another one that it refers to.
type Column struct {
	Through *Field // the reference; nil for the record itself
	Field   *Field
}

// Columns returns the columns with some names: that of a field, as in "status", or those of a reference
// and of a field of its record, as in "device_id.hostname". The fields must be text, and the reference one
// by which the records belong to places ([Definition].Within), so that who may see a record may see
// these values. The error names the column that is not like this.
func Columns(r *Resource, names ...string) ([]Column, error) {
	columns := make([]Column, len(names))
	for i, name := range names {
		of, field := r, name
		if through, behind, ok := strings.Cut(name, "."); ok {
			f := r.byName[through]
			if f == nil || f.Ref == nil || !slices.Contains(r.Within, through) {
				return nil, fmt.Errorf("%s: %q does not name a reference by which records belong to places", r.Name, through)
			}
			columns[i].Through, of, field = f, f.Ref.resource, behind
		}
		f := of.byName[field]
		if f == nil || f.Kind != Text || f.Column == "" {
			return nil, fmt.Errorf("%s: %q is no text field of %s", r.Name, field, of.Name)
		}
		columns[i].Field = f
	}
	return columns, nil
}

// Project calls row with the values of the columns for each record of a query, in any order, until it
// returns an error. A value that is missing is empty. The next row overwrites the values. Of the query
// it uses Resource, Filters, Text and Only. The names are those of [Columns]. With a reader that is no
// [Projector] it reads the records.
func Project(ctx context.Context, from Reader, q *Query, names []string, row func(values []string) error) error {
	r, ok := from.Schema().Named(q.Resource.Name)
	if !ok {
		return fmt.Errorf("the store has no %s", q.Resource.Name)
	}
	columns, err := Columns(r, names...)
	if err != nil {
		return err
	}
	of := &Query{Resource: r, Filters: q.Filters, Text: q.Text, Only: q.Only}
	if l, ok := from.(unlimiter); ok {
		from, of.Only = l.unlimited()
	}
	if store, ok := from.(Projector); ok {
		return store.Project(ctx, of, columns, row)
	}
	page, err := from.List(ctx, of)
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	for _, rec := range page.Records {
		for i, c := range columns {
			source := rec
			if c.Through != nil {
				if source, err = target(ctx, from, c.Through, rec); err != nil {
					return err
				}
			}
			values[i] = ""
			if source != nil {
				values[i], _ = c.Field.Value(source).(string)
			}
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return nil
}

// target returns the record that a reference refers to, or nil.
func target(ctx context.Context, from Reader, through *Field, rec Record) (Record, error) {
	id, ok := through.Value(rec).(string)
	if !ok || id == "" {
		return nil, nil
	}
	found, err := from.Get(ctx, through.Ref.resource, id)
	if KindOf(err) == NotFound {
		return nil, nil
	}
	return found, err
}
