package openapi

import "github.com/ashlar-go/ashlar/inventory"

// Schema says what a JSON value must be: the part of JSON Schema (2020-12) that the
// document has a use for, by the names of its keywords. The zero Schema allows everything.
type Schema struct {
	// Name makes the schema a component of the document: it stands there once, under this
	// name, and everything else refers to it. Letters, digits, ".", "_" and "-".
	Name string

	Description string
	Type        Types
	Format      string
	Enum        []any
	Const       any
	Pattern     string // what ECMA 262 and RE2 read in the same way
	MinLength   int
	MaxLength   *int
	Minimum     *float64
	Maximum     *float64
	Items       *Schema
	MinItems    int
	MaxItems    *int
	UniqueItems bool
	Properties  []Property
	// Additional is what other properties must be. Nil: anything, unless Closed.
	Additional *Schema
	Closed     bool // allows no other properties
	OneOf      []*Schema
	Default    any
	Examples   []any
	ReadOnly   bool
	WriteOnly  bool
}

// MarshalJSON is the schema, or a reference to it if it has a name.
func (s *Schema) MarshalJSON() ([]byte, error) { return appendJSON(nil, s) }

// body is the schema itself.
func (s *Schema) body() ordered {
	required := s.required()
	return ordered{}.
		with("description", s.Description, s.Description != "").
		with("type", s.Type, len(s.Type) > 0).
		with("format", s.Format, s.Format != "").
		with("enum", s.Enum, len(s.Enum) > 0).
		with("const", s.Const, s.Const != nil).
		with("pattern", s.Pattern, s.Pattern != "").
		with("minLength", s.MinLength, s.MinLength > 0).
		with("maxLength", s.MaxLength, s.MaxLength != nil).
		with("minimum", s.Minimum, s.Minimum != nil).
		with("maximum", s.Maximum, s.Maximum != nil).
		with("items", s.Items, s.Items != nil).
		with("minItems", s.MinItems, s.MinItems > 0).
		with("maxItems", s.MaxItems, s.MaxItems != nil).
		with("uniqueItems", true, s.UniqueItems).
		with("properties", s.Properties, len(s.Properties) > 0).
		with("required", required, len(required) > 0).
		with("additionalProperties", false, s.Closed).
		with("additionalProperties", s.Additional, s.Additional != nil && !s.Closed).
		with("oneOf", s.OneOf, len(s.OneOf) > 0).
		with("default", s.Default, s.Default != nil).
		with("examples", s.Examples, len(s.Examples) > 0).
		with("readOnly", true, s.ReadOnly).
		with("writeOnly", true, s.WriteOnly)
}

// required are the names of the properties that must be there.
func (s *Schema) required() []string {
	var names []string
	for _, p := range s.Properties {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	return names
}

// parts are the schemas that a schema is made of.
func (s *Schema) parts() []*Schema {
	all := append([]*Schema{s.Items, s.Additional}, s.OneOf...)
	for _, p := range s.Properties {
		all = append(all, p.Schema)
	}
	return all
}

// Types are the types that a value may have: "string", "integer", "number", "boolean",
// "array", "object", "null".
type Types []string

// Property is one of an object.
type Property struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Must is a property that is always there.
func Must(name string, s *Schema) Property { return Property{name, s, true} }

// May is a property that may be missing.
func May(name string, s *Schema) Property { return Property{name, s, false} }

// Object is an object with these properties. With a name, which may be empty, it is
// a component. Others are allowed: for a request body, set Closed.
func Object(name string, properties ...Property) *Schema {
	return &Schema{Name: name, Type: Types{"object"}, Properties: properties}
}

// Request is an [Object] that allows no other properties.
func Request(name string, properties ...Property) *Schema {
	s := Object(name, properties...)
	s.Closed = true
	return s
}

// OneOf is exactly one of several.
func OneOf(of ...*Schema) *Schema { return &Schema{OneOf: of} }

// Array is an array of up to so many elements.
func Array(of *Schema, most int) *Schema {
	return &Schema{Type: Types{"array"}, Items: of, MaxItems: &most}
}

// Items is an array of what one call may have several of: up to [inventory.MaxItems].
func Items(of *Schema) *Schema { return Array(of, inventory.MaxItems) }

// String is a text.
func String(description string) *Schema {
	return &Schema{Description: description, Type: Types{"string"}}
}

// Bounded is a text with so many characters.
func Bounded(description string, least, most int) *Schema {
	s := String(description)
	s.MinLength, s.MaxLength = least, &most
	return s
}

// Const is one text only.
func Const(text string) *Schema { return &Schema{Type: Types{"string"}, Const: text} }

// Integer is a whole number of 64 bits that is not below a least one.
func Integer(description string, least int64) *Schema {
	bound := float64(least)
	return &Schema{Description: description, Type: Types{"integer"}, Format: "int64", Minimum: &bound}
}

// Boolean is true or false.
func Boolean(description string) *Schema {
	return &Schema{Description: description, Type: Types{"boolean"}}
}

// ID is the id of a record.
func ID(description string) *Schema {
	s := String(description)
	s.Format, s.Pattern, s.Examples = "uuid", uuidPattern, []any{exampleID}
	return s
}

// Timestamp is a point in time.
func Timestamp(description string) *Schema {
	s := String(description)
	s.Format, s.Examples = "date-time", []any{"2026-01-31T12:00:00Z"}
	return s
}
