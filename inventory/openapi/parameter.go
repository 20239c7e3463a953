package openapi

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Parameter describes a parameter of a query or a path, or a request header.
type Parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"` // "query", "header" or "path"; default: "query"
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	// AllowEmptyValue allows the parameter without a value.
	AllowEmptyValue bool    `json:"allowEmptyValue,omitempty"`
	Style           string  `json:"style,omitempty"`
	Explode         *bool   `json:"explode,omitempty"`
	Schema          *Schema `json:"schema"`
	Example         any     `json:"example,omitempty"`
}

// DryRun returns the parameter that requests the response without the change.
func DryRun() Parameter {
	return Parameter{Name: "dry_run", Schema: Boolean(""), Description: "true: validate and respond as usual, but change nothing."}
}

// IdempotencyKey returns the header that makes a repeated request safe.
func IdempotencyKey() Parameter {
	return header("Idempotency-Key", BoundedString(1, 255), "A unique string chosen by the client. "+
		"A repeated request with the same key gets the first response and is not executed again.")
}

// IfMatch returns the header that makes a change conditional.
func IfMatch() Parameter {
	return header("If-Match", String(""), "The ETag of the version to change. The request fails if the record has another version.")
}

// IfNoneMatch returns the header that avoids a repeated transfer.
func IfNoneMatch() Parameter {
	return header("If-None-Match", String(""), "The ETag of the version that the client has. If that is the current one, it is not sent again.")
}

func header(name string, s *Schema, description string) Parameter {
	return Parameter{Name: name, In: "header", Schema: s, Description: description}
}

// pathParameters returns the parameters of a path.
func pathParameters(path string) []Parameter {
	var all []Parameter
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			p := Parameter{Name: strings.TrimSuffix(name, "}"), In: "path", Required: true, Schema: BoundedString(1, 500)}
			if p.Name == "id" {
				p.Schema = ID("")
			}
			all = append(all, p)
		}
	}
	return all
}

// The bounds of filters.
const (
	maxFilterLength = 500 // bytes
	maxFilterValues = 100 // of __in
)

// listParameters returns those of a list: its pages and its order, and last the conditions on fields.
func listParameters(r *records.Resource) []Parameter {
	var sortable []string
	for _, f := range r.Fields() {
		if f.Sortable() {
			sortable = append(sortable, f.Name)
		}
	}
	sortby := Array(oneOf(sortable, ":(asc|desc)"), 0, records.MaxSortKeys)
	sortby.UniqueItems = true
	all := []Parameter{
		{Name: "page", Schema: positive(1), Description: "The number of the page, from 1. Not together with cursor."},
		{Name: "limit", Schema: positive(records.DefaultLimit), Description: fmt.Sprintf("The number of records in a page. More than %d count as %d.", records.MaxLimit, records.MaxLimit)},
		{Name: "sortby", Schema: sortby, Description: "A field and asc or desc, such as " + sortable[0] + ":asc. May be repeated; fields apply in the order given. Fields: " + strings.Join(sortable, ", ") + "."},
		search(),
		Fields(r),
		{
			Name: "count", Schema: &Schema{Name: "CountMode", Type: "string", Enum: []any{"exact", "estimated", "none", "true", "false"}},
			Description: fmt.Sprintf("exact or true, the default: count all records. estimated: count up to %d records, or %d of those that have their location through other records for a user with locations, unless the total is known. none or false: omit the totals.", records.MaxEstimate, records.MaxPlacedEstimate),
		},
		{Name: "cursor", Schema: String(""), AllowEmptyValue: true, Description: "Empty to start, then meta.next_cursor of the previous page, with the same sortby."},
	}
	return append(all, filters(r)...)
}

// search returns the parameter of the search.
func search() Parameter {
	return Parameter{Name: "q", Schema: searchString(), Description: "Matches records with this string in one of the searched fields, ignoring ASCII case."}
}

// Fields returns the parameter with the fields to return.
func Fields(r *records.Resource) Parameter {
	var names []string
	for _, f := range r.Fields() {
		if isShown(f) {
			names = append(names, f.Name)
		}
	}
	fields := Array(oneOf(names, ""), 1, 0) // one that is named twice is sent once
	return commaSeparated(Parameter{Name: "fields", Schema: fields, Description: "The fields to return, separated by commas: some of " + strings.Join(names, ", ") + "."})
}

// oneOf returns a string that is one of several names, with an end in the form of a pattern. Generators make types of
// enumerations, which would be most of a client.
func oneOf(names []string, end string) *Schema {
	return &Schema{Type: "string", Pattern: "^(" + strings.Join(names, "|") + ")" + end + "$", Examples: []any{names[0] + strings.ReplaceAll(end, "(asc|desc)", "asc")}}
}

// positive returns a whole number from 1.
func positive(byDefault int64) *Schema {
	s := Integer("", 1)
	s.Maximum, s.Default = new(float64(math.MaxInt32)), byDefault
	return s
}

// commaSeparated makes an array one value with commas between its elements.
func commaSeparated(p Parameter) Parameter {
	p.Style, p.Explode = "form", new(bool)
	return p
}

func searchString() *Schema {
	s := BoundedString(1, maxFilterLength)
	s.Pattern = "^" + notControl + "+$"
	return s
}

// filters returns the parameters for the elements of lists, and one for all other conditions on fields: an object whose
// properties are the query parameters, which is the meaning of the style form with explode. Those named in without are
// left out.
func filters(r *records.Resource, without ...Parameter) []Parameter {
	var all []Parameter
	var conditions []Property
	name := Name(r) + "Filter"
	for _, p := range r.Parameters() {
		switch {
		case slices.ContainsFunc(without, func(own Parameter) bool { return own.Name == p.Name }):
			name = "" // it is another one
		case p.Op == records.Eq && p.Field.Kind == records.List: // the style form does not define how nested arrays are sent
			all = append(all, filter(r, p))
		default:
			conditions = append(conditions, condition(r, p))
		}
	}
	if len(conditions) == 0 {
		return all
	}
	return append(all, Parameter{
		Name: filterName, Style: "form", Explode: new(true), Schema: Object(name, conditions...),
		Example: map[string]any{}, // or pages would send a made-up value of every property
		Description: "Conditions on fields. Each property is a query parameter of its own, such as " +
			conditions[0].Name + "; there is no parameter named " + filterName + ". " + operators,
	})
}

// operators describes the conditions.
const operators = "The name of a field: equal to this value. Ends of names: __ne: not equal to it, or without a value; " +
	"__in: equal to one of these values, separated by commas, those with commas in double quotes; __contains, __startswith: contains the string, or starts with it, ignoring ASCII case; " +
	"__gt, __gte, __lt, __lte: greater or later, or less or earlier, or equal, of times also relative to now: -30d (units m, h, d and w), today, yesterday; __isnull: true without a value, false with one; " +
	"__covers: contains this address or network; __within: an address in this network, whatever its own prefix length."

// filterName is the name of the parameter with the conditions, which is not sent.
const filterName = "filter"

// condition returns a condition on a field as a property.
func condition(r *records.Resource, p records.Parameter) Property {
	out := filter(r, p)
	s := *out.Schema
	switch {
	case s.Items != nil:
		s = Schema{Type: "string", Examples: []any{separated(s.Items)}}
	case p.Op != records.Eq && s.Enum != nil: // the type of the equality is enough
		s = *oneOf(p.Field.Enum, "")
	}
	if p.Op == records.AnyWithin {
		s.Description = out.Description
	}
	return Optional(p.Name, &s)
}

// separated returns values of a schema, separated by commas.
func separated(s *Schema) string {
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return strings.Join(values, ",")
	case len(s.Examples) > 0:
		return fmt.Sprint(s.Examples[0])
	case s.Type == "string":
		return "one,two"
	}
	return "1,2"
}

// filter returns the parameter of a condition on a field.
func filter(r *records.Resource, p records.Parameter) Parameter {
	out := Parameter{Name: p.Name, Schema: operand(p.Field)}
	switch {
	case p.Field.Kind == records.List:
		out.Schema = &Schema{Type: "array", Items: searchString()}
		out.Description = "Contains this element. May be repeated; all must be contained."
	case p.Op == records.Contains || p.Op == records.StartsWith:
		out.Schema = searchString()
	case p.Op == records.In:
		out.Schema = Array(out.Schema, 1, maxFilterValues)
		return commaSeparated(out)
	case p.Op == records.Within || p.Op == records.AnyWithin || p.Op == records.Covers:
		out.Schema = &Schema{Type: "string", Pattern: `^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$`, MaxLength: maxFilterLength, Examples: []any{"192.0.2.0/24"}}
		if p.Op == records.AnyWithin {
			out.Description = "One of the addresses is in this network, whatever its own prefix length: " + addresses(r) + "."
		}
	case p.Op == records.IsNull:
		out.Schema = Boolean("")
	case p.Op != records.Eq && p.Op != records.Ne && (p.Field.Kind == records.Time || p.Field.Format == "date"):
		relative := &Schema{Name: "RelativeTime", Type: "string", Pattern: "^(-[0-9]{1,4}[mhdw]|today|yesterday)$", MaxLength: maxFilterLength, Examples: []any{"-30d"}}
		out.Schema = &Schema{AnyOf: []*Schema{operand(p.Field), relative}, Examples: relative.Examples}
		if p.Field.Kind == records.Time {
			out.Schema.Name = "TimeBound"
		}
	}
	return out
}

// addresses returns the names of the fields with addresses.
func addresses(r *records.Resource) string {
	var names []string
	for _, f := range r.Addresses() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// operand returns the schema of the value that a field is compared with. The bounds of a
// number do not apply: a value beyond them just matches nothing.
func operand(f *records.Field) *Schema {
	switch {
	case f.Kind != records.Text:
		s := kind(f)
		s.Minimum, s.Maximum = nil, nil
		return s
	case f.Enum != nil:
		return &Schema{Type: "string", Enum: enum(f.Enum)}
	case f.Format == "line" || f.Format == "text":
		return BoundedString(1, maxFilterLength)
	}
	is := formatOf(f)
	return &Schema{Type: "string", Pattern: "^" + is.pattern + "$", MaxLength: maxFilterLength, Examples: []any{is.example}}
}
