package openapi

import (
	"encoding/json"
	"slices"

	"github.com/ashlar-go/ashlar/internal/errcode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Schema is the part of JSON Schema (2020-12) that the document uses, by the names of its
// keywords. The zero Schema allows every value.
type Schema struct {
	// Name makes the schema a component of the document, to which all uses refer. It may have
	// letters, digits, ".", "_" and "-".
	Name string `json:"-"`

	Description string     `json:"description,omitempty"`
	Type        any        `json:"type,omitempty"` // "object", or []string{"string", "null"}
	Format      string     `json:"format,omitempty"`
	Enum        []any      `json:"enum,omitempty"`
	Const       any        `json:"const,omitempty"`
	Pattern     string     `json:"pattern,omitempty"` // with the same meaning in ECMA 262 and RE2
	MinLength   int        `json:"minLength,omitempty"`
	MaxLength   int        `json:"maxLength,omitempty"`
	Minimum     *float64   `json:"minimum,omitempty"`
	Maximum     *float64   `json:"maximum,omitempty"`
	Items       *Schema    `json:"items,omitempty"`
	MinItems    int        `json:"minItems,omitempty"`
	MaxItems    int        `json:"maxItems,omitempty"`
	UniqueItems bool       `json:"uniqueItems,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	// AdditionalProperties is a *Schema, false to refuse other properties, or nil to allow
	// them.
	AdditionalProperties any       `json:"additionalProperties,omitempty"`
	OneOf                []*Schema `json:"oneOf,omitempty"`
	AnyOf                []*Schema `json:"anyOf,omitempty"`
	AllOf                []*Schema `json:"allOf,omitempty"`
	Default              any       `json:"default,omitempty"`
	Examples             []any     `json:"examples,omitempty"`
	ReadOnly             bool      `json:"readOnly,omitempty"`
	WriteOnly            bool      `json:"writeOnly,omitempty"`
}

// component is a schema that is encoded in full, whether it has a name or not.
type component Schema

// MarshalJSON encodes the schema, or a reference to its component if it has a name.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Name != "" {
		return json.Marshal(reference{Ref: "#/components/schemas/" + s.Name})
	}
	return json.Marshal((*component)(s))
}

// parts returns the schemas that the schema contains.
func (s *Schema) parts() []*Schema {
	all := slices.Concat(s.OneOf, s.AnyOf, s.AllOf)
	if s.Items != nil {
		all = append(all, s.Items)
	}
	if more, ok := s.AdditionalProperties.(*Schema); ok {
		all = append(all, more)
	}
	for _, p := range s.Properties {
		all = append(all, p.Schema)
	}
	return all
}

// Properties are those of an object, in the order in which pages show them.
type Properties []Property

// Property is one of an object.
type Property struct {
	Name     string
	Schema   *Schema
	Required bool
}

// MarshalJSON encodes the properties as an object in their order.
func (ps Properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, p := range ps {
		name, _ := json.Marshal(p.Name) // a string always encodes
		schema, err := json.Marshal(p.Schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), schema...)
	}
	return append(b, '}'), nil
}

// Required returns a property that is always present.
func Required(name string, s *Schema) Property { return Property{name, s, true} }

// Optional returns a property that may be absent.
func Optional(name string, s *Schema) Property { return Property{name, s, false} }

// Object returns an object with these properties, and any others. It is a component unless
// the name is empty.
func Object(name string, properties ...Property) *Schema {
	s := &Schema{Name: name, Type: "object", Properties: properties}
	for _, p := range properties {
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

// Request returns an [Object] that allows no other properties.
func Request(name string, properties ...Property) *Schema {
	s := Object(name, properties...)
	s.AdditionalProperties = false
	return s
}

// OneOf returns a schema for exactly one of several. It needs a name, and so do those of them
// that are objects or arrays, because generators name their types after them.
func OneOf(name string, of ...*Schema) *Schema { return &Schema{Name: name, OneOf: of} }

// Named returns the schema as a component with a name.
func (s *Schema) Named(name string) *Schema {
	named := *s
	named.Name = name
	return &named
}

// Array returns an array of least to most elements.
func Array(of *Schema, least, most int) *Schema {
	return &Schema{Type: "array", Items: of, MinItems: least, MaxItems: most}
}

// String returns a string.
func String(description string) *Schema {
	return &Schema{Description: description, Type: "string"}
}

// BoundedString returns a string of least to most characters.
func BoundedString(least, most int) *Schema {
	return &Schema{Type: "string", MinLength: least, MaxLength: most}
}

// Const returns a single string.
func Const(value string) *Schema { return &Schema{Type: "string", Const: value} }

// Integer returns a whole number of 64 bits, not less than least.
func Integer(description string, least float64) *Schema {
	return &Schema{Description: description, Type: "integer", Format: "int64", Minimum: &least}
}

// Boolean returns true or false.
func Boolean(description string) *Schema {
	return &Schema{Description: description, Type: "boolean"}
}

// ID returns the id of a record.
func ID(description string) *Schema {
	return &Schema{
		Description: description, Type: "string", Format: "uuid",
		Pattern: "^" + uuidPattern + "$", Examples: []any{exampleID},
	}
}

// Confirmation returns the body of a response that confirms a change. With further
// properties it needs a name.
func Confirmation(name string, more ...Property) *Schema {
	if len(more) == 0 {
		name = "Confirmation"
	}
	return Object(name, append([]Property{
		Required("status", Const("success")),
		Required("message", String("What was done.")),
	}, more...)...)
}

// errorBody is the body of every error (REFERENCE.md, 2.2).
func errorBody() *Schema {
	return Object("Error", append([]Property{
		Required("status", Const("error")),
		Required("code", codeOf(errcode.Errors())),
		Required("message", String("What is wrong.")),
	}, errorDetails()...)...)
}

// codeOf returns the codes of errors, of which the reference has the meanings.
func codeOf(codes []string) *Schema {
	return &Schema{Type: "string", Description: "A short name for programs.", Enum: enum(codes)}
}

// errorDetails are the properties that an error may have.
func errorDetails() []Property {
	fields := Array(Object("FieldError",
		Required("field", String(`The path of the field, such as "location_id" or "tags[2]"; the name of a parameter; or "body".`)),
		Required("code", codeOf(errcode.Fields())),
		Required("reason", String("What is wrong with it, or what is expected."))), 0, 0)
	items := Array(Object("ItemError",
		Required("index", Integer("The position of the item in the request, from 0.", 0)),
		Optional("id", String("The id of its record, if it has one.")),
		Required("code", codeOf(errcode.Errors())),
		Required("message", String("What is wrong.")),
		Optional("errors", fields)), 0, records.MaxItems)
	return []Property{
		Optional("request_id", String("The id of the request, as in X-Request-ID.")),
		Optional("errors", fields),
		Optional("items", items),
	}
}

// Time returns the schema of a time.
func Time(description string) *Schema {
	return &Schema{Type: "string", Format: "date-time", Description: description}
}

// OptionalTime returns the schema of a time, or null.
func OptionalTime(description string) *Schema {
	return &Schema{Type: []string{"string", "null"}, Format: "date-time", Description: description}
}
