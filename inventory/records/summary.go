package records

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// MaxSummaryValues is the maximum number of values of one field in a [Summary].
const MaxSummaryValues = 1000

// Summary is the number of records of a resource, and of those with each value of some fields.
type Summary struct {
	Total  int64
	Fields []FieldSummary
}

// FieldSummary is the number of records with each value of a field.
type FieldSummary struct {
	Field *Field
	// Values are the MaxSummaryValues values that most records have, in descending order of
	// their numbers.
	Values []ValueCount
	Other  int64 // the number of records with other values
}

// ValueCount is the number of records with a value.
type ValueCount struct {
	Value string // numbers and booleans as in JSON; empty for no value
	Count int64
}

// Summarizer is implemented by a [Store] that keeps the counts of fields ([Field].Counted).
type Summarizer interface {
	// Summarize returns the summary of a resource by fields, all of which are counted.
	Summarize(ctx context.Context, r *Resource, fields []*Field) (*Summary, error)
}

// PlaceSummarizer is implemented by a [Store] that counts the values of fields in some places.
type PlaceSummarizer interface {
	// SummarizePlaces returns the summary of the records of a resource that belong to some places, by
	// fields, all of which are counted.
	SummarizePlaces(ctx context.Context, r *Resource, fields []*Field, only *Places) (*Summary, error)
}

// Summarize returns the summary of a resource by fields, all of which are counted. With a reader
// that is no [Summarizer], or for [Limited] no [PlaceSummarizer], it reads all records.
func Summarize(ctx context.Context, from Reader, r *Resource, fields []*Field) (*Summary, error) {
	if i := slices.IndexFunc(fields, func(f *Field) bool { return !f.Counted }); i >= 0 {
		return nil, fmt.Errorf("the field %s of %s is not counted", fields[i].Name, r.Name)
	}
	if store, ok := from.(Summarizer); ok {
		return store.Summarize(ctx, r, fields)
	}
	if l, ok := from.(unlimiter); ok {
		all, only := l.unlimited()
		if store, ok := all.(PlaceSummarizer); ok {
			return store.SummarizePlaces(ctx, r, fields, only)
		}
	}
	page, err := from.List(ctx, &Query{Resource: r})
	if err != nil {
		return nil, err
	}
	s := &Summary{Total: int64(len(page.Records))}
	for _, f := range fields {
		s.Fields = append(s.Fields, CountValues(f, page.Records))
	}
	return s, nil
}

// CountValues counts records by the values of a field. Those of a list are its elements.
func CountValues(f *Field, recs []Record) FieldSummary {
	counts := map[string]int64{}
	for _, rec := range recs {
		switch v := f.Value(rec).(type) {
		case []string:
			for _, e := range v {
				counts[e]++
			}
		case nil:
			counts[""]++
		default:
			counts[fmt.Sprint(v)]++
		}
	}
	s := summarize(f, int64(len(recs)), counts)
	if f.Kind == List {
		s.Other = 0
	}
	return s
}

// summarize returns the summary of a field.
func summarize(f *Field, total int64, counts map[string]int64) FieldSummary {
	var all []ValueCount
	for value, n := range counts {
		all = append(all, ValueCount{value, n})
	}
	slices.SortFunc(all, func(a, b ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	s := FieldSummary{Field: f, Values: all[:min(len(all), MaxSummaryValues)], Other: total}
	for _, v := range s.Values {
		s.Other -= v.Count
	}
	return s
}
