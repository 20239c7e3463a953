package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Summarize returns the counts of fields (records.Summarizer). One statement reads them, so that
// all are of one state.
func (s *Store) Summarize(ctx context.Context, r *records.Resource, fields []*records.Field) (*records.Summary, error) {
	e := s.reading()
	of := e.table(r)
	b := &builder{shared: e.shared, table: of}
	return s.summarize(ctx, e, b, fields, b.sum(of.countsOfAll()), func(f *records.Field) string {
		return "value, CAST(sum(n) AS bigint) AS n FROM " + countsTable + " WHERE resource = '" + of.name + "' AND field = '" + f.Column +
			"' GROUP BY value HAVING sum(n) <> 0"
	})
}

// SummarizePlaces counts the values of fields in some places (records.PlaceSummarizer), in one
// statement too.
func (s *Store) SummarizePlaces(ctx context.Context, r *records.Resource, fields []*records.Field, only *records.Places) (*records.Summary, error) {
	e := s.reading()
	b := &builder{shared: e.shared, table: e.table(r)}
	q := &records.Query{Resource: r, Only: only}
	if err := e.choosePlaces(ctx, b, q); err != nil {
		return nil, s.failure(ctx, "summarize "+r.Name, err)
	}
	from := func() string { return " FROM " + b.ofPlaces(q) }
	return s.summarize(ctx, e, b, fields, "SELECT count(*)"+from(), func(f *records.Field) string {
		return "value, count(*) AS n FROM (SELECT " + countedText(f) + " AS value" + from() + ") AS records GROUP BY value"
	})
}

// summarize returns the summary of which total is a SELECT, and counts the SELECT of the values of a
// field and their numbers without its first word.
func (s *Store) summarize(ctx context.Context, e *executor, b *builder, fields []*records.Field, total string, counts func(f *records.Field) string) (*records.Summary, error) {
	r, summary := b.Resource, &records.Summary{}
	parts := []string{"SELECT -1, '', (" + total + ")"}
	for i, f := range fields {
		if !f.Counted {
			return nil, fmt.Errorf("the field %s of %s is not counted", f.Name, r.Name)
		}
		parts = append(parts, "SELECT * FROM (SELECT "+strconv.Itoa(i)+", "+counts(f)+
			" ORDER BY n DESC, value LIMIT "+strconv.Itoa(records.MaxSummaryValues)+") AS part"+strconv.Itoa(i))
		summary.Fields = append(summary.Fields, records.FieldSummary{Field: f})
	}
	err := e.each(ctx, 3, func(row []any) error {
		i, _ := row[0].(int64)
		value, _ := row[1].(string)
		n, _ := row[2].(int64)
		if i < 0 {
			summary.Total = n
			return nil
		}
		of := &summary.Fields[i]
		of.Values, of.Other = append(of.Values, records.ValueCount{Value: value, Count: n}), of.Other-n
		return nil
	}, strings.Join(parts, " UNION ALL "), b.args...)
	if err != nil {
		return nil, s.failure(ctx, "summarize "+r.Name, err)
	}
	for i := range summary.Fields {
		summary.Fields[i].Other += summary.Total
	}
	return summary, nil
}
