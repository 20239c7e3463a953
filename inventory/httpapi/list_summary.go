package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxSummaryFields is the maximum number of fields of one summary.
const maxSummaryFields = 10

const (
	maxFacet        = 500 // records that are counted where a store does not keep the counts
	maxFacetFilters = 2   // with more filters, fields are counted with their own, because each would read records again
)

// summary serves the number of records by the values of counted fields (REFERENCE.md, 2.9).
func summary() operation {
	counts := &openapi.Schema{Type: "object", AdditionalProperties: openapi.Integer("", 0)}
	byField := &openapi.Schema{Type: "object", AdditionalProperties: counts}
	return operation{openapi.Operation{
		ID: "summarize", Tag: "system", Summary: "Count the records of a resource by the values of fields",
		Parameters: []openapi.Parameter{
			{Name: "resource", Required: true, Schema: openapi.String(""), Description: "The name of a resource, such as devices."},
			{
				Name: "by", Required: true, Schema: openapi.String(""),
				Description: fmt.Sprintf("Up to %d fields with few values, such as status, lists and references, separated by commas. below counts sites, with what is within them.", maxSummaryFields),
			},
			{
				Name: "where", Schema: openapi.String(""),
				Description: fmt.Sprintf("The parameters of a list, such as status=active&q=core: count the records that match, for each field without the filters of that field. More than %d are not all counted.", maxFacet),
			},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Summary",
			openapi.Required("status", openapi.Const("success")), openapi.Required("resource", openapi.String("")),
			openapi.Required("total", openapi.Integer("The number of records.", 0)),
			openapi.Required("by", byField), openapi.Optional("other", counts),
			openapi.Optional("at_least", openapi.Array(openapi.String("A field of which not all records that match are counted."), 1, maxSummaryFields)))}},
	}, (*call).summary}
}

func (c *call) summary() (*feature.Response, error) {
	r, err := c.summarized()
	if err != nil {
		return nil, err
	}
	fields, err := summaryFields(r, c.query.Get("by"))
	if err != nil {
		return nil, err
	}
	where, err := url.ParseQuery(c.query.Get("where"))
	if err != nil {
		return nil, badField("where", records.BadFormat("the parameters of a list, such as status=active"))
	}
	q, err := records.ParseQuery(r, where, belowParameter)
	if err == nil {
		err = c.below(q, where)
	}
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(fields), func(f *records.Field) bool { // of which the store keeps the counts
		return !f.Counted || q.Text != "" || slices.ContainsFunc(q.Filters, func(of records.Filter) bool { return of.Field != f })
	})
	var s *records.Summary
	if _, ok := c.store.(records.Summarizer); ok {
		s, err = records.Summarize(c.r.Context(), c.store, r, kept)
	} else {
		err = c.api.heavy.run(c.r.Context(), c.heavyCaller(), func(ctx context.Context) error {
			s, err = records.Summarize(ctx, c.store, r, kept)
			return err
		})
	}
	var bounded []string
	if err == nil && (len(kept) < len(fields) || len(q.Filters) > 0) {
		bounded, err = c.countFirst(q, fields, s)
	}
	if err == nil && slices.Contains(strings.Split(c.query.Get("by"), ","), belowParameter) {
		bounded, err = c.rollUp(s, locationField(r), bounded)
	}
	if err == nil {
		err = c.noteRead(r)
	}
	if err != nil {
		return nil, err
	}
	return &feature.Response{Append: func(b []byte) []byte { return appendSummary(b, r, s, bounded) }}, nil
}

// rollUp makes the counts of locations those of the parameter below: of the sites that the records are at or within, and of the
// topmost location of those at no site.
func (c *call) rollUp(s *records.Summary, at *records.Field, bounded []string) ([]string, error) {
	by := &s.Fields[slices.IndexFunc(s.Fields, func(of records.FieldSummary) bool { return of.Field == at })]
	var level []any
	for _, v := range by.Values {
		if v.Value != "" {
			level = append(level, v.Value)
		}
	}
	known := map[string]*inventory.Location{}
	for len(level) > 0 {
		q := &records.Query{Resource: records.Of[inventory.Location](c.schema), Limit: int64(len(level))}
		page, err := c.store.List(c.r.Context(), q.Where("id", records.Condition{Op: records.In, Value: level}))
		if err != nil {
			return nil, err
		}
		level = nil
		for _, rec := range page.Records {
			l := rec.(*inventory.Location)
			if known[l.ID] = l; l.ParentID != nil && known[*l.ParentID] == nil && !slices.Contains(level, any(*l.ParentID)) {
				level = append(level, *l.ParentID)
			}
		}
	}
	sites, tops, without := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for _, v := range by.Values {
		top, found := v.Value, false
		for l := known[top]; l != nil; {
			if top = l.ID; l.Kind == inventory.LocationSite {
				sites[top], found = sites[top]+v.Count, true
			}
			if l.ParentID == nil {
				break
			}
			l = known[*l.ParentID]
		}
		tops[top] += v.Count
		without[top] = without[top] || !found
	}
	for id := range without {
		if without[id] {
			sites[id] = tops[id]
		}
	}
	renamed, more := *at, by.Other > 0
	renamed.Name = belowParameter
	*by = records.FieldSummary{Field: &renamed}
	for id, n := range sites {
		by.Values = append(by.Values, records.ValueCount{Value: id, Count: n})
	}
	slices.SortFunc(by.Values, func(a, b records.ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	if i := slices.Index(bounded, at.Name); i >= 0 {
		bounded[i] = belowParameter
	} else if more {
		bounded = append(bounded, belowParameter)
	}
	return bounded, nil
}

// countFirst adds the counts of the fields that a summary lacks: of the first records that match a query without its
// filters of the field. It returns the fields of which there are more. The total becomes that of the query.
func (c *call) countFirst(q *records.Query, fields []*records.Field, s *records.Summary) (bounded []string, err error) {
	first := func(without *records.Field) (*records.Page, error) {
		of := &records.Query{Resource: q.Resource, Text: q.Text, Limit: maxFacet}
		for _, f := range q.Filters {
			if f.Field != without {
				of.Filters = append(of.Filters, f)
			}
		}
		return c.read(of, of.Heavy(), c.store.List)
	}
	all, err := first(nil)
	if err != nil {
		return nil, err
	}
	if len(q.Filters) > 0 || q.Text != "" {
		s.Total = int64(len(all.Records))
	}
	for _, f := range fields {
		if slices.ContainsFunc(s.Fields, func(of records.FieldSummary) bool { return of.Field == f }) {
			continue
		}
		page := all
		if len(q.Filters) <= maxFacetFilters && slices.ContainsFunc(q.Filters, func(of records.Filter) bool { return of.Field == f }) {
			if page, err = first(f); err != nil {
				return nil, err
			}
		}
		if page.More {
			bounded = append(bounded, f.Name)
		}
		s.Fields = append(s.Fields, records.CountValues(f, page.Records))
	}
	return bounded, nil
}

// summarized returns the resource of the parameter, if the sender may list its records.
func (c *call) summarized() (*records.Resource, error) {
	var names []string
	for _, rt := range c.api.routes {
		if rt.does != records.RouteList || rt.path != "/"+rt.resource.Name {
			continue
		}
		if rt.resource.Name == c.query.Get("resource") {
			return c.listable(&rt)
		}
		names = append(names, rt.resource.Name)
	}
	slices.Sort(names)
	return nil, badField("resource", records.NotOneOf("", names...))
}

// listable returns the resource of the route of a list, if the sender may list its records.
func (c *call) listable(rt *route) (*records.Resource, error) {
	r := c.current(rt.resource)
	err := c.permit(r, records.RouteList, c.allows(rt.access, "", r, records.RouteList))
	if err == nil {
		err = c.checkReader(r)
	}
	return r, err
}

// summaryFields returns the fields of the parameter by.
func summaryFields(r *records.Resource, by string) ([]*records.Field, error) {
	var fields []*records.Field
	for name := range strings.SplitSeq(by, ",") {
		f, ok := r.Field(name)
		if name == belowParameter && locationField(r) != nil {
			f, ok = locationField(r), true
		}
		if !ok || !summarizable(f) {
			return nil, badField("by", records.BadFormat("fields of "+r.Name+" with few values, separated by commas: "+countedFields(r)))
		}
		if slices.Contains(fields, f) {
			return nil, badField("by", fmt.Errorf("has the field %s, which %w", name, records.Repeated()))
		}
		fields = append(fields, f)
	}
	if len(fields) > maxSummaryFields {
		return nil, badField("by", records.TooMany(maxSummaryFields, "fields"))
	}
	return fields, nil
}

// summarizable reports whether a summary may have the field.
func summarizable(f *records.Field) bool {
	return f.Scalar() && (f.Counted || f.Ref != nil && !f.Ref.Cascade) || f.Kind == records.List && !f.Hidden && !f.WriteOnly
}

// countedFields names the fields that a summary of the resource may have.
func countedFields(r *records.Resource) string {
	var names []string
	for _, f := range r.Fields() {
		if summarizable(f) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "it has none"
	}
	return strings.Join(names, ", ")
}

// appendSummary appends a summary, the values that most records have first.
func appendSummary(b []byte, r *records.Resource, s *records.Summary, bounded []string) []byte {
	b = append(b, `{"status":"success","resource":`...)
	b = encode.String(b, r.Name)
	b = append(b, `,"total":`...)
	b = strconv.AppendInt(b, s.Total, 10)
	b = append(b, `,"by":{`...)
	var other []records.ValueCount
	for i, by := range s.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode.String(b, by.Field.Name)
		b = append(b, ':')
		b = appendCounts(b, by.Values)
		if by.Other > 0 {
			other = append(other, records.ValueCount{Value: by.Field.Name, Count: by.Other})
		}
	}
	b = append(b, '}')
	if len(other) > 0 {
		b = append(b, `,"other":`...)
		b = appendCounts(b, other)
	}
	for i, name := range bounded {
		b = append(b, []string{`,"at_least":[`, ","}[min(i, 1)]...)
		b = encode.String(b, name)
	}
	if len(bounded) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendCounts(b []byte, counts []records.ValueCount) []byte {
	b = append(b, '{')
	for i, v := range counts {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode.String(b, v.Value)
		b = append(b, ':')
		b = strconv.AppendInt(b, v.Count, 10)
	}
	return append(b, '}')
}
