package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// Patterns of texts, in the part of the syntax that ECMA 262 (with the flag u, as JSON
// Schema wants it) and RE2 have in common. A line has no control characters, and
// a character that is no blank.
const (
	uuidPattern = `^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`
	linePattern = `\P{Cc}*[^\p{Cc}\p{Z}]\P{Cc}*`
	textPattern = `[\P{Cc}\n\r\t]*[^\p{Cc}\p{Z}][\P{Cc}\n\r\t]*`
)

const exampleID = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"

// form is what a document tells of a format of texts.
type form struct {
	pattern, example, description string
}

// formOf is what the texts of a field look like. Patterns allow all that the inventory
// shows; where it takes more than one way to write a value, they have the one that is kept.
func formOf(f *inventory.Field) form {
	switch f.Format {
	case "uuid":
		return form{strings.Trim(uuidPattern, "^$"), exampleID, "A UUID."}
	case "ip":
		return form{`[0-9A-Fa-f:.]{2,45}`, "192.0.2.1", "An IP address, without a prefix length."}
	case "cidr":
		return form{`[0-9A-Fa-f:.]{2,45}/[0-9]{1,3}`, "192.0.2.0/24", "A network, with no bits behind its prefix."}
	case "interface-ip":
		return form{`[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?`, "192.0.2.1/24", "An IP address, with or without a prefix length."}
	case "mac":
		return form{`([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}`, "00:1a:2b:3c:4d:5e", "A MAC address of six octets, kept in lower case."}
	case "speed":
		return form{`[0-9]{1,10}(\.[0-9]{1,9})?[MGT]bps`, "10Gbps", "Agrees with speed_mbps; either follows from the other."}
	case "timezone":
		return form{`[A-Za-z0-9_+-]([A-Za-z0-9_+/-]*[A-Za-z0-9_+-])?`, "Europe/Berlin", "The name of a time zone."}
	case "email":
		return form{`[^\p{Cc}\p{Z}]+@[^\p{Cc}\p{Z}]+`, "jane@example.org", "A mail address, kept in lower case."}
	case "text":
		return form{textPattern, strings.ReplaceAll(f.Name, "_", " "), "Any number of lines."}
	}
	return form{linePattern, strings.ReplaceAll(f.Name, "_", " "), ""}
}

// value is what a field is in a record.
func value(r *inventory.Resource, f *inventory.Field) *Schema {
	s := kindOf(f)
	s.ReadOnly, s.WriteOnly = f.ReadOnly, f.WriteOnly
	if f.Default != "" {
		s.Default = f.Default
	}
	if f.Nullable || f.Kind == inventory.Object {
		s.Type = append(s.Type, "null")
	}
	s.Description = strings.Join(append(sentences(r, f), s.Description), " ")
	s.Description = strings.TrimSpace(s.Description)
	return s
}

// kindOf is what the kind of a field says.
func kindOf(f *inventory.Field) *Schema {
	switch f.Kind {
	case inventory.Int:
		return &Schema{Type: Types{"integer"}, Format: "int64", Minimum: f.Min, Maximum: f.Max}
	case inventory.Float:
		return &Schema{Type: Types{"number"}, Format: "double", Minimum: f.Min, Maximum: f.Max}
	case inventory.Bool:
		return Boolean("")
	case inventory.Time:
		return Timestamp("")
	case inventory.List:
		line := &Schema{Type: Types{"string"}, Pattern: "^" + linePattern + "$", MaxLength: ptr(inventory.MaxElement), Examples: []any{"text"}}
		return &Schema{Type: Types{"array"}, Items: line, MaxItems: whole(f.Max), UniqueItems: true}
	case inventory.Object:
		// What a field may be. An empty schema would say the same, but some tools take it for
		// anything but null.
		value := &Schema{Type: Types{"string", "number", "boolean", "array", "null"}, Items: String("")}
		change := Object("", Must("before", value), Must("after", value))
		return &Schema{Type: Types{"object"}, Additional: change}
	}
	return text(f)
}

// text is a field of that kind. One that may have no value may be an empty text, unless it
// is null then.
func text(f *inventory.Field) *Schema {
	s := &Schema{Type: Types{"string"}, MaxLength: whole(f.Max)}
	optional := !f.Required && !f.Nullable && f.Default == ""
	switch {
	case f.WriteOnly:
		if f.Min != nil {
			s.MinLength = int(*f.Min)
		}
		return s
	case f.Enum != nil:
		s.Enum, s.MaxLength = values(f, optional), nil
		return s
	}
	is := formOf(f)
	s.Description, s.Examples = is.description, []any{is.example}
	if optional {
		s.Pattern = "^(" + is.pattern + ")?$"
		return s // without a format, which an empty text does not have
	}
	s.Pattern, s.MinLength = "^"+is.pattern+"$", 1
	if f.Format == "uuid" || f.Format == "email" {
		s.Format = f.Format
	}
	return s
}

// values are those of an enumeration.
func values(f *inventory.Field, optional bool) []any {
	var all []any
	for _, v := range f.Enum {
		all = append(all, v)
	}
	if optional {
		all = append(all, "")
	}
	if f.Nullable {
		all = append(all, nil)
	}
	return all
}

// sentences are what a description says of a field that has no keyword of its own.
func sentences(r *inventory.Resource, f *inventory.Field) []string {
	var all []string
	if f.ReadOnly {
		all = append(all, "Set by the inventory.")
	}
	if f.AdminOnly {
		all = append(all, "Set by an admin only.")
	}
	for _, u := range r.Uniques() {
		switch i := slices.Index(u.Fields, f.Name); {
		case i >= 0 && len(u.Fields) == 1:
			all = append(all, "No two records have the same.")
		case i == len(u.Fields)-1:
			all = append(all, "No two records have the same together with "+strings.Join(u.Fields[:i], ", ")+".")
		}
	}
	if f.Ref != nil {
		then := "Becomes null when that is deleted."
		if f.Ref.Cascade {
			then = "The record is deleted with it."
		}
		all = append(all, fmt.Sprintf("The id of a record of %s. %s", f.Ref.To, then))
	}
	return all
}

func ptr[T any](v T) *T { return &v }

// whole is a bound as a whole number.
func whole(bound *float64) *int {
	if bound == nil {
		return nil
	}
	return ptr(int(*bound))
}
