package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Project reads columns of the records of a query with one statement (records.Projector).
func (s *Store) Project(ctx context.Context, q *records.Query, columns []records.Column, row func(values []string) error) error {
	e := s.reading()
	b := &builder{shared: e.shared, table: e.table(q.Resource)}
	if err := e.choosePlaces(ctx, b, q); err != nil {
		return s.failure(ctx, "read columns of "+q.Resource.Name, err)
	}
	text := b.project(q, columns)
	values := make([]string, len(columns))
	err := e.each(ctx, len(columns), func(stored []any) error {
		for i, v := range stored {
			values[i] = textOf(v)
		}
		return row(values)
	}, text, b.args...)
	return s.failure(ctx, "read columns of "+q.Resource.Name, err)
}

// project is a SELECT of columns. Each reference is a join.
func (b *builder) project(q *records.Query, columns []records.Column) string {
	selected := make([]string, len(columns))
	joined := map[string]string{} // the alias of a reference, by its column
	joins := ""
	for i, c := range columns {
		alias := "found"
		if c.Through != nil {
			through := c.Through.Column
			if joined[through] == "" {
				joined[through] = fmt.Sprintf("through%d", len(joined)+1)
				joins += " LEFT JOIN " + b.fieldOf(c.Through.Name).Ref.Resource().Table() + " AS " + joined[through] + " ON " + joined[through] + ".id = found." + through
			}
			alias = joined[through]
		}
		selected[i] = alias + "." + c.Field.Column
	}
	return "SELECT " + strings.Join(selected, ", ") + " FROM (SELECT * FROM " + b.ofPlaces(q) + ") AS found" + joins
}
