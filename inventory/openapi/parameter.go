package openapi

import (
	"fmt"
	"math"

	"github.com/ashlar-go/ashlar/inventory"
)

// Parameter is one of a query, or a header.
type Parameter struct {
	Name string
	// In is "query", "header" or "path". Default: "query".
	In          string
	Description string
	Required    bool
	Schema      *Schema // required

	commas bool // the elements of an array stand in one value
	empty  bool // may be there without a value
}

// DryRun asks for what would happen, and for nothing to be changed.
func DryRun() Parameter {
	return Parameter{Name: "dry_run", Schema: Boolean(""), Description: "Do everything but keep it: the answer is the one that the request would have."}
}

// IdempotencyKey lets a request be sent again without being done again.
func IdempotencyKey() Parameter {
	return Parameter{
		Name: "Idempotency-Key", In: "header", Schema: Bounded("", 1, 255),
		Description: "A text of the client's own. The same request with the same key is done once, and answered the same.",
	}
}

// IfMatch is for changes of a version that one has seen.
func IfMatch() Parameter {
	return Parameter{
		Name: "If-Match", In: "header", Schema: String(""),
		Description: "The ETag of the version to change. If there is a later one, nothing is changed.",
	}
}

// IfNoneMatch saves a transfer.
func IfNoneMatch() Parameter {
	return Parameter{
		Name: "If-None-Match", In: "header", Schema: String(""),
		Description: "The ETag of what the client has. If that is the latest, it is not sent again.",
	}
}

// listParameters are those of a list: its pages, its order, and every filter.
func listParameters(r *inventory.Resource) []Parameter {
	all := []Parameter{
		{Name: "page", Schema: from1(1), Description: "Which page, from 1. Not together with cursor."},
		{Name: "limit", Schema: from1(inventory.DefaultLimit), Description: fmt.Sprintf("How many records a page has. More than %d count as %d.", inventory.MaxLimit, inventory.MaxLimit)},
		{Name: "cursor", Schema: String(""), empty: true, Description: "Empty: begin. Else meta.next_cursor of the page before, with the same sortby."},
		{Name: "count", Schema: Boolean(""), Description: "false: do without the total, which is quicker."},
		{Name: "sortby", Schema: sortKeys(r), Description: "A field and asc or desc. More than once, in the order in which they count."},
		{Name: "fields", Schema: fieldNames(r), commas: true, Description: "The fields that are wanted of each record, with commas between them."},
		{Name: "q", Schema: words(), Description: "Is part of one of the texts that are searched, whatever the case of its letters."},
	}
	for _, p := range r.Parameters() {
		all = append(all, filter(p))
	}
	return all
}

// from1 is a whole number that a query bounds.
func from1(byDefault int64) *Schema {
	s := Integer("", 1)
	s.Maximum, s.Default = ptr(float64(math.MaxInt32)), byDefault
	return s
}

func sortKeys(r *inventory.Resource) *Schema {
	var keys []any
	for _, f := range r.Fields() {
		if f.Sortable() {
			keys = append(keys, f.Name+":asc", f.Name+":desc")
		}
	}
	s := Array(&Schema{Type: Types{"string"}, Enum: keys}, 16)
	s.UniqueItems = true
	return s
}

func fieldNames(r *inventory.Resource) *Schema {
	var names []any
	for _, f := range r.Fields() {
		if shown(f) {
			names = append(names, f.Name)
		}
	}
	s := Array(&Schema{Type: Types{"string"}, Enum: names}, len(names))
	s.MinItems, s.UniqueItems = 1, true
	return s
}

// The bounds of filters.
const (
	maxWords  = 500 // bytes
	maxValues = 100 // of __in
)

func words() *Schema {
	s := Bounded("", 1, maxWords)
	s.Pattern = `^\P{Cc}+$`
	return s
}

// filter is a condition on a field.
func filter(p inventory.Parameter) Parameter {
	out := Parameter{Name: p.Name, Schema: operand(p.Field)}
	switch p.Op {
	case inventory.Eq:
		out.Description = "Is this."
		if p.Field.Kind == inventory.List {
			out.Schema = &Schema{Type: Types{"array"}, Items: words()}
			out.Description = "Has this element. More than once: has all of them."
		}
	case inventory.Ne:
		out.Description = "Is not this, or has no value."
	case inventory.Contains:
		out.Schema, out.Description = words(), "Has this as a part, whatever the case of its letters."
	case inventory.StartsWith:
		out.Schema, out.Description = words(), "Begins with this, whatever the case of its letters."
	case inventory.In:
		out.Schema, out.commas = Array(operand(p.Field), maxValues), true
		out.Schema.MinItems = 1
		out.Description = "Is one of these, with commas between them."
	case inventory.Gt:
		out.Description = "Is more, or later."
	case inventory.Gte:
		out.Description = "Is this, or more, or later."
	case inventory.Lt:
		out.Description = "Is less, or earlier."
	case inventory.Lte:
		out.Description = "Is this, or less, or earlier."
	case inventory.IsNull:
		out.Schema, out.Description = Boolean(""), "true: has no value. false: has one."
	}
	return out
}

// operand is what a field is compared with. Bounds do not count: nothing is above them.
func operand(f *inventory.Field) *Schema {
	switch {
	case f.Kind != inventory.Text:
		s := kindOf(f)
		s.Minimum, s.Maximum = nil, nil
		return s
	case f.Enum != nil:
		return &Schema{Type: Types{"string"}, Enum: values(&inventory.Field{Enum: f.Enum}, false)}
	case f.Format == "line" || f.Format == "text":
		return Bounded("", 1, maxWords)
	}
	is := formOf(f)
	return &Schema{Type: Types{"string"}, Pattern: "^" + is.pattern + "$", MaxLength: ptr(maxWords), Examples: []any{is.example}}
}
