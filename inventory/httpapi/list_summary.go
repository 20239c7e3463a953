package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxSummaryFields is the maximum number of fields of one summary.
const maxSummaryFields = 5

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
				Description: fmt.Sprintf("Up to %d fields with few values, such as status, separated by commas.", maxSummaryFields),
			},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Summary",
			openapi.Required("status", openapi.Const("success")), openapi.Required("resource", openapi.String("")),
			openapi.Required("total", openapi.Integer("The number of records.", 0)),
			openapi.Required("by", byField), openapi.Optional("other", counts))}},
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
	var s *records.Summary
	if _, ok := c.store.(records.Summarizer); ok {
		s, err = records.Summarize(c.r.Context(), c.store, r, fields)
	} else {
		err = c.api.heavy.run(c.r.Context(), c.heavyCaller(), func(ctx context.Context) error {
			s, err = records.Summarize(ctx, c.store, r, fields)
			return err
		})
	}
	if err == nil {
		err = c.noteRead(r)
	}
	if err != nil {
		return nil, err
	}
	return &feature.Response{Append: func(b []byte) []byte { return appendSummary(b, r, s) }}, nil
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
		if !ok || !f.Counted || !f.Scalar() {
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

// countedFields names the fields that a summary of the resource may have.
func countedFields(r *records.Resource) string {
	var names []string
	for _, f := range r.Fields() {
		if f.Counted && f.Scalar() {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return "it has none"
	}
	return strings.Join(names, ", ")
}

// appendSummary appends a summary, the values that most records have first.
func appendSummary(b []byte, r *records.Resource, s *records.Summary) []byte {
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
