package openapi

import (
	"fmt"
	"math"
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

// listParameters returns those of a list: its pages and its order, then each field, and last
// the operators of all fields as one parameter.
func listParameters(r *records.Resource) []Parameter {
	var sortKeys []any
	for _, f := range r.Fields() {
		if f.Sortable() {
			sortKeys = append(sortKeys, f.Name+":asc", f.Name+":desc")
		}
	}
	sortby := Array(&Schema{Type: "string", Enum: sortKeys}, 0, records.MaxSortKeys)
	sortby.UniqueItems = true
	all := []Parameter{
		{Name: "page", Schema: positive(1), Description: "The number of the page, from 1. Not together with cursor."},
		{Name: "limit", Schema: positive(records.DefaultLimit), Description: fmt.Sprintf("The number of records in a page. More than %d count as %d.", records.MaxLimit, records.MaxLimit)},
		{Name: "sortby", Schema: sortby, Description: "A field and asc or desc. May be repeated; fields apply in the order given."},
		search(),
		Fields(r),
		{
			Name: "count", Schema: &Schema{Type: "string", Enum: []any{"exact", "estimated", "none", "true", "false"}},
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
	var names []any
	for _, f := range r.Fields() {
		if isShown(f) {
			names = append(names, f.Name)
		}
	}
	fields := Array(&Schema{Type: "string", Enum: names}, 1, len(names))
	fields.UniqueItems = true
	return commaSeparated(Parameter{Name: "fields", Schema: fields, Description: "The fields to return, separated by commas."})
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

// filters returns the parameters for the value of each field, and one for the operators of all
// of them: an object whose properties are the query parameters, which is the meaning of the
// style form with explode.
func filters(r *records.Resource) []Parameter {
	var all []Parameter
	var operators []Property
	names := map[*records.Field][]string{}
	for _, p := range r.Parameters() {
		if p.Op == records.Eq || p.Op == records.AnyWithin {
			all = append(all, filter(r, p))
			continue
		}
		operators = append(operators, operator(r, p))
		names[p.Field] = append(names[p.Field], p.Name)
	}
	for i := range all {
		if f, _ := r.Field(all[i].Name); len(names[f]) > 0 {
			all[i].Description += " Further conditions are in " + filterName + ": " + strings.Join(names[f], ", ") + "."
		}
	}
	if len(operators) == 0 {
		return all
	}
	return append(all, Parameter{
		Name: filterName, Style: "form", Explode: new(true), Schema: Object(Name(r)+"Filter", operators...),
		Example: map[string]any{}, // or pages would send a made-up value of every property
		Description: "Conditions with an operator. Each property is a query parameter of its own, such as " +
			operators[0].Name + "; there is no parameter named " + filterName + ".",
	})
}

// filterName is the name of the parameter with the operators, which is not sent.
const filterName = "filter"

// operator returns a condition as a property of the parameter with the operators. Its value is
// never an array, because the style form does not define how nested arrays are sent.
func operator(r *records.Resource, p records.Parameter) Property {
	out := filter(r, p)
	s := *out.Schema
	if s.Items != nil {
		s = Schema{Type: "string", Examples: []any{separated(s.Items)}}
	}
	s.Description = out.Description
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
	out := Parameter{Name: p.Name, Schema: operand(p.Field), Description: map[records.Op]string{
		records.Eq:         "Equal to this value.",
		records.Ne:         "Not equal to this value, or without a value.",
		records.Contains:   "Contains this string, ignoring ASCII case.",
		records.StartsWith: "Starts with this string, ignoring ASCII case.",
		records.In:         "Equal to one of these values, separated by commas.",
		records.Gt:         "Greater or later than this value.",
		records.Gte:        "Greater or later than this value, or equal to it.",
		records.Lt:         "Less or earlier than this value.",
		records.Lte:        "Less or earlier than this value, or equal to it.",
		records.IsNull:     "true: without a value. false: with a value.",
		records.Covers:     "Contains this address or network.",
		records.Within:     "An address in this network, whatever its own prefix length.",
		records.AnyWithin:  "One of the addresses is in this network, whatever its own prefix length: " + addresses(r) + ".",
	}[p.Op]}
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
	case p.Op == records.IsNull:
		out.Schema = Boolean("")
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
