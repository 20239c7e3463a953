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
	parts := []string{"SELECT -1, '', (" + b.sum(of.countsOfAll()) + ")"}
	summary := &records.Summary{}
	for i, f := range fields {
		if !f.Counted {
			return nil, fmt.Errorf("the field %s of %s is not counted", f.Name, r.Name)
		}
		parts = append(parts, "SELECT * FROM (SELECT "+strconv.Itoa(i)+", value, CAST(sum(n) AS bigint) AS n FROM "+countsTable+
			" WHERE resource = '"+of.name+"' AND field = '"+f.Column+"' GROUP BY value HAVING sum(n) <> 0"+
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
