package sqlstore

import (
	"context"
	"fmt"
	"slices"
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
	return s.summarize(ctx, e, b, fields, "", b.sum(of.countsOfAll()), func(_ int, f *records.Field) string {
		return "value, CAST(sum(n) AS bigint) AS n FROM " + s.own.counts + " WHERE resource = '" + of.name + "' AND field = '" + f.Column +
			"' GROUP BY value HAVING sum(n) <> 0"
	})
}

// SummarizePlaces counts the values of fields in some places (records.PlaceSummarizer), in one
// statement too, which reads the records once.
func (s *Store) SummarizePlaces(ctx context.Context, r *records.Resource, fields []*records.Field, only *records.Places) (*records.Summary, error) {
	e := s.reading()
	b := &builder{shared: e.shared, table: e.table(r)}
	if place := b.countedPlace(fields, only); place != nil {
		total := "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM " + b.countsOfPlaces(place.Column, only)
		return s.summarize(ctx, e, b, fields, "", total, func(_ int, f *records.Field) string { return b.countsWithin(f, place, only) })
	}
	q := &records.Query{Resource: r, Only: only}
	if err := e.choosePlaces(ctx, b, q); err != nil {
		return nil, s.failure(ctx, "summarize "+r.Name, err)
	}
	selected, names := []string{"1 AS one"}, []string{"one"}
	for i, f := range fields {
		name := "value" + strconv.Itoa(i)
		selected, names = append(selected, countedText(f)+" AS "+name), append(names, name)
	}
	with := "WITH placed AS MATERIALIZED (SELECT " + strings.Join(selected, ", ") + " FROM " + b.ofPlaces(q) + "), combined AS MATERIALIZED (" +
		"SELECT *, count(*) AS number FROM placed GROUP BY " + strings.Join(names, ", ") + ") "
	return s.summarize(ctx, e, b, fields, with, "SELECT CAST(coalesce(sum(number), 0) AS bigint) FROM combined", func(i int, _ *records.Field) string {
		value := "value" + strconv.Itoa(i)
		return value + " AS value, CAST(sum(number) AS bigint) AS n FROM combined GROUP BY " + value
	})
}

// countedPlace returns the field with the place of the records if the store counts the records of each place by
// each of some fields, or nil.
func (t *table) countedPlace(fields []*records.Field, only *records.Places) *records.Field {
	if len(t.Within) != 1 || len(only.IDs) == 0 {
		return nil
	}
	place := t.fieldOf(t.Within[0])
	if !isPlace(place) || !place.Counted || slices.ContainsFunc(fields, func(f *records.Field) bool { return f != place && t.pairOf(f, place) == nil }) {
		return nil
	}
	return place
}

// pairOf returns two fields whose pairs of values are counted, or nil.
func (t *table) pairOf(f, g *records.Field) *facetPair {
	i := slices.IndexFunc(t.pairs, func(p facetPair) bool {
		return p.a.Column == f.Column && p.b.Column == g.Column || p.a.Column == g.Column && p.b.Column == f.Column
	})
	if i < 0 {
		return nil
	}
	return &t.pairs[i]
}

// countsOfPlaces follows FROM to read the counts of some places, by the column of the place.
func (b *builder) countsOfPlaces(column string, only *records.Places) string {
	return b.own.counts + " WHERE resource = '" + b.name + "' AND field = '" + column + "' AND value" + b.inPlaces(only)
}

// countsWithin is a SELECT of the values of a field and how many records of some places have them, from the counts,
// without its first word: it looks up the pairs of all values and these places.
func (b *builder) countsWithin(f, place *records.Field, only *records.Places) string {
	if f == place {
		return "value, CAST(sum(n) AS bigint) AS n FROM " + b.countsOfPlaces(place.Column, only) + " GROUP BY value HAVING sum(n) <> 0"
	}
	pair, key := b.pairOf(f, place), pairText("known.value", "places.value")
	if pair.a.Column == place.Column {
		key = pairText("places.value", "known.value")
	}
	return "known.value AS value, CAST(sum(pairs.n) AS bigint) AS n FROM (SELECT DISTINCT value FROM " + b.own.counts + " WHERE resource = '" + b.name +
		"' AND field = '" + f.Column + "') AS known CROSS JOIN (SELECT DISTINCT value FROM " + b.countsOfPlaces(place.Column, only) +
		") AS places CROSS JOIN " + b.own.counts + " AS pairs WHERE pairs.resource = '" + b.name + "' AND pairs.field = '" + pair.field +
		"' AND pairs.value = " + key + " GROUP BY known.value HAVING sum(pairs.n) <> 0"
}

// summarize returns the summary of which total is a SELECT, and counts the SELECT of the values of a
// field and their numbers without its first word. with precedes the statement.
func (s *Store) summarize(ctx context.Context, e *executor, b *builder, fields []*records.Field, with, total string, counts func(i int, f *records.Field) string) (*records.Summary, error) {
	r, summary := b.Resource, &records.Summary{}
	parts := []string{"SELECT -1, '', (" + total + ")"}
	for i, f := range fields {
		if !f.Counted {
			return nil, fmt.Errorf("the field %s of %s is not counted", f.Name, r.Name)
		}
		parts = append(parts, "SELECT * FROM (SELECT "+strconv.Itoa(i)+", "+counts(i, f)+
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
	}, with+strings.Join(parts, " UNION ALL "), b.args...)
	if err != nil {
		return nil, s.failure(ctx, "summarize "+r.Name, err)
	}
	for i := range summary.Fields {
		summary.Fields[i].Other += summary.Total
	}
	return summary, nil
}
