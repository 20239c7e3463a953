package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Name returns the name of the schema of a record: "Device", "AuditLog".
func Name(r *records.Resource) string {
	var name strings.Builder
	for word := range strings.FieldsSeq(r.Label) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// camel returns the name of a field as part of one of a schema: "RackFace".
func camel(field string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(field, "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// Record returns the schema of a record in a response: every field, null where it has no
// value.
func Record(r *records.Resource) *Schema {
	return Object(Name(r), properties(r, isShown, func(*records.Field) bool { return true })...)
}

// PartType is the content type of records with the parameter fields.
const PartType = "application/vnd.ashlar.part+json"

// RecordOrPart returns the schemas of a record with more properties that it may have: of the whole, and of those of its fields
// that the parameter fields names.
func RecordOrPart(r *records.Resource, more ...Property) (whole, part *Schema) {
	whole = Record(r)
	if len(more) > 0 {
		whole = Object("Listed"+Name(r), append(properties(r, isShown, func(*records.Field) bool { return true }), more...)...)
	}
	part = Object(strings.TrimPrefix(whole.Name, "Listed")+"Part", append(properties(r, isShown, never), more...)...)
	part.Description = "Those of the fields that the parameter fields names."
	return whole, part
}

// PageOrPart returns the schemas of a page of a list, whose records may have more properties: of whole records, and of parts
// of them.
func PageOrPart(r *records.Resource, more ...Property) (whole, part *Schema) {
	whole, part = RecordOrPart(r, more...)
	cursor := String("Continues the list with the parameter cursor. Absent or null on the last page.")
	cursor.Type = []string{"string", "null"}
	limit := Integer("The maximum number of records in a page.", 1)
	limit.Maximum = new(float64(records.MaxLimit))
	meta := Object("PageMeta",
		Optional("current_page", Integer("The number of the page, from 1. Absent with a cursor.", 1)),
		Required("limit", limit),
		Optional("total_pages", Integer("The number of pages. Absent with count=none.", 0)),
		Optional("total_count", Integer("The number of records. Absent with count=none.", 0)),
		Optional("count", &Schema{Type: "string", Enum: []any{"exact", "estimated"}, Description: "estimated if there are more than total_count records. Only with count=estimated."}),
		Optional("next_cursor", cursor))
	page := func(of *Schema) *Schema {
		return Object(of.Name+"Page", Required("meta", meta), Required("data", Array(of, 0, records.MaxLimit)))
	}
	return page(whole), page(part)
}

// Draft returns the schema of a new record. The fields that the inventory sets may be
// present, and are ignored.
func Draft(r *records.Resource) *Schema { return whole(r, "Draft", true) }

// whole returns the schema of a record with all that it needs, when it is new or later.
func whole(r *records.Resource, name string, isNew bool, more ...Property) *Schema {
	required := func(f *records.Field) bool {
		return !f.ReadOnly && (f.Required || f.OnCreate && isNew) && f.Member == ""
	}
	return eitherKey(r, Request(Name(r)+name, append(withKeys(r, properties(r, isVisible, required)), more...)...))
}

// Replacement returns the schema of a full replacement: a [Draft], without requiring what
// only a new record needs, such as the password of a user. A record that has such fields may have more
// properties.
func Replacement(r *records.Resource, more ...Property) *Schema {
	if !slices.ContainsFunc(r.Fields(), func(f *records.Field) bool { return f.OnCreate }) {
		return Draft(r)
	}
	return whole(r, "Replacement", false, more...)
}

// Change returns the schema of a partial update. The fields that the inventory sets may be
// present with their current values. It may have more properties.
func Change(r *records.Resource, more ...Property) *Schema {
	return Request(Name(r)+"Change", append(withKeys(r, properties(r, isVisible, never)), more...)...)
}

// ItemChange returns the schema of one of several partial updates: the id of the record, the
// fields to change and, optionally, the version that it must have. It may have more properties.
func ItemChange(r *records.Resource, more ...Property) *Schema {
	fields := withKeys(r, properties(r, func(f *records.Field) bool { return isVisible(f) && f.Name != "id" }, never))
	return Request(Name(r)+"ItemChange", append([]Property{
		Required("id", ID("The record to change.")),
		Optional("if_version", Integer("The version that the record must have.", 1)),
	}, append(fields, more...)...)...)
}

// ItemDeletion returns the schema of one of several deletions: the id of the record and, optionally, the version
// that it must have.
func ItemDeletion() *Schema {
	return Request("ItemDeletion", Required("id", ID("The record to delete.")),
		Optional("if_version", Integer("The version that the record must have.", 1)))
}

// withKeys adds the members that stand for references by a natural key, each after its reference.
func withKeys(r *records.Resource, properties []Property) (all []Property) {
	for _, p := range properties {
		f, ok := r.Field(p.Name)
		if ok && f.Nullable && f.Ref != nil { // the empty string is null
			optional := *p.Schema
			optional.Format, optional.MinLength, optional.Pattern = "", 0, "^("+formatOf(f).pattern+")?$"
			p.Schema = &optional
		}
		if !ok || f.Member == "" {
			all = append(all, p)
			continue
		}
		all = append(all, p, Optional(f.Member, naturalKey(f)))
	}
	return all
}

// eitherKey requires the id or the natural key of each record that must be referred to.
func eitherKey(r *records.Resource, s *Schema) *Schema {
	for _, f := range r.Fields() {
		if f.Required && f.Member != "" {
			with := func(name string) *Schema { return Object("", Required(name, &Schema{})) }
			s.AllOf = append(s.AllOf, &Schema{AnyOf: []*Schema{with(f.Name), with(f.Member)}})
		}
	}
	return s
}

// naturalKey returns the schema of a natural key in place of an id.
func naturalKey(f *records.Field) *Schema {
	to := f.Ref.Resource()
	s := &Schema{Name: Name(to) + "Key", Description: fmt.Sprintf("In place of an id: the record of %s by its natural key.", to.Name)}
	var short []string
	types := map[string]bool{}
	for _, key := range to.ShortKeys() {
		short = append(short, key.Name)
		if typ, _ := kind(key).Type.(string); !types[typ] {
			types[typ] = true
			s.AnyOf = append(s.AnyOf, &Schema{Type: typ})
		}
	}
	if len(short) > 0 {
		s.Description += " A single value is its " + strings.Join(short, " or ") + "."
	}
	var members []string
	object := Object("")
	for _, name := range append([]string{"id"}, to.KeyMembers()...) {
		members = append(members, name)
		object.Properties = append(object.Properties, Optional(name, &Schema{}))
	}
	object.AdditionalProperties = false
	s.Description += " An object has some of " + strings.Join(members, ", ") + ", and must fit one record."
	if len(s.AnyOf) > 0 {
		s.AnyOf = append(s.AnyOf, object)
	} else {
		object.Name, object.Description, s = s.Name, s.Description, object
	}
	if f.Nullable {
		return &Schema{Name: "Optional" + s.Name, AnyOf: []*Schema{s, {Type: "null"}}}
	}
	return s
}

// properties returns some fields of a record as properties.
func properties(r *records.Resource, include, required func(*records.Field) bool) []Property {
	var all []Property
	for _, f := range r.Fields() {
		if include(f) {
			p := Property{f.Name, recordField(r, f), required(f)}
			if p.Required && p.Schema.Name == "" { // generators make members of responses optional that are read-only
				p.Schema.ReadOnly = false
			}
			all = append(all, p)
		}
	}
	return all
}

func isVisible(f *records.Field) bool { return !f.Hidden }

func isShown(f *records.Field) bool { return !f.Hidden && !f.WriteOnly }

func never(*records.Field) bool { return false }

// recordField returns the schema of a field in a record.
func recordField(r *records.Resource, f *records.Field) *Schema {
	s := kind(f)
	s.ReadOnly, s.WriteOnly = f.ReadOnly, f.WriteOnly
	if value := f.DefaultValue(); value != nil {
		s.Default = value
	}
	if f.Nullable || f.Kind == records.Object {
		s.Type = []any{s.Type, "null"}
	}
	var sentences []string
	if f.Label != "" {
		sentences = append(sentences, f.Label+".")
	}
	if f.Pattern != "" {
		sentences = append(sentences, "Matches the pattern "+f.Pattern)
	}
	if f.ReadOnly {
		sentences = append(sentences, "Set by the inventory.")
	}
	if f.AdminOnly {
		sentences = append(sentences, "Only an admin may set it.")
	}
	for _, u := range r.Uniques() {
		switch i := slices.Index(u.Fields, f.Name); {
		case i < 0:
		case u.Without != "":
			sentences = append(sentences, "Unique among the records without "+u.Without+".")
		case len(u.Fields) == 1:
			sentences = append(sentences, "Unique.")
		case i == len(u.Fields)-1:
			sentences = append(sentences, "Unique together with "+strings.Join(u.Fields[:i], ", ")+".")
		}
	}
	if f.Ref != nil {
		effect := "sets this field to null"
		switch {
		case f.Ref.Cascade:
			effect = "deletes this record too"
		case f.Ref.Restrict:
			effect = "is refused while this one refers to it"
		}
		sentences = append(sentences, fmt.Sprintf("The id of a record of %s; deleting that record %s.", f.Ref.To, effect))
	}
	if s.Description != "" {
		sentences = append(sentences, s.Description)
	}
	s.Description = strings.Join(sentences, " ")
	if s.Format == "uuid" || s.Format == "date-time" { // of which tools have examples
		s.Examples = nil
	}
	if s.Enum != nil { // all schemas of the record share the type
		s.Name = Name(r) + camel(f.Name)
	}
	return s
}

// kind returns the schema that the kind of a field implies.
func kind(f *records.Field) *Schema {
	switch f.Kind {
	case records.Int:
		return &Schema{Type: "integer", Format: "int64", Minimum: f.Min, Maximum: f.Max}
	case records.Float:
		return &Schema{Type: "number", Format: "double", Minimum: f.Min, Maximum: f.Max}
	case records.Bool:
		return Boolean("")
	case records.Time:
		return &Schema{Type: "string", Format: "date-time", Examples: []any{"2026-01-31T12:00:00Z"}}
	case records.List:
		if f.Format == "uuid" {
			return &Schema{Type: "array", Items: ID(""), MaxItems: bound(f.Max), UniqueItems: true}
		}
		line := &Schema{Type: "string", Pattern: "^" + linePattern + "$", MaxLength: records.MaxElement, Examples: []any{"text"}}
		return &Schema{Type: "array", Items: line, MaxItems: bound(f.Max), UniqueItems: true}
	case records.Object:
		// The changes of an audit log. An empty schema alone would allow the same values, but
		// some tools take it for anything but null.
		value := &Schema{AnyOf: []*Schema{{Description: "Any value."}, {Type: "null"}}}
		return &Schema{Type: "object", AdditionalProperties: Object("FieldChange", Required("before", value), Required("after", value))}
	}
	return text(f)
}

// text returns the schema of a text field. An optional one without a value is an empty
// string, unless it is nullable.
func text(f *records.Field) *Schema {
	optional := !f.Required && !f.Nullable && f.Default == "" && f.Name != "id"
	s := &Schema{Type: "string", MaxLength: bound(f.Max)}
	if f.WriteOnly {
		s.MinLength = bound(f.Min)
		return s
	}
	if f.Enum != nil {
		s.Enum, s.MaxLength = enum(f.Enum), 0
		if optional {
			s.Enum = append(s.Enum, "")
		}
		if f.Nullable {
			s.Enum = append(s.Enum, nil)
		}
		return s
	}
	is := formatOf(f)
	s.Description, s.Examples = is.description, []any{is.example}
	if optional {
		s.Pattern = "^(" + is.pattern + ")?$"
		return s // without a format, which the empty string does not have
	}
	s.Pattern, s.MinLength = "^"+is.pattern+"$", 1
	if f.Format == "uuid" || f.Format == "email" {
		s.Format = f.Format
	}
	return s
}

// enum returns the values of an enumeration.
func enum(values []string) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// bound returns a bound as a whole number, 0 for none.
func bound(n *float64) int { return int(*cmp.Or(n, new(0.0))) }

// Patterns have the same meaning in RE2 and in ECMA 262 with and without the flag u: they have
// no classes such as \p{Z} and no characters beyond \xff. A line has no control characters and
// at least one character that is not blank. Blanks beyond \xff, such as the em space, count as
// text here, although the API refuses a line of nothing else.
const (
	notControl  = `[^\x00-\x1f\x7f-\x9f]`
	notBlank    = `[^\x00-\x20\x7f-\xa0]`
	uuidPattern = `[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`
	linePattern = `[\x20\xa0]*` + notBlank + notControl + `*`
	textPattern = `[\x20\xa0\n\r\t]*` + notBlank + `[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*`

	exampleID = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
)

// format describes the values of a text format.
type format struct{ pattern, example, description string }

// formats are the formats of text fields but lines and texts. Patterns allow everything that the inventory
// returns; of several ways to write a value they describe the one that is stored.
var formats = map[string]format{
	"uuid":         {uuidPattern, exampleID, "A UUID."},
	"ip":           {`[0-9A-Fa-f:.]{2,45}`, "192.0.2.1", "An IP address without a prefix length."},
	"cidr":         {`[0-9A-Fa-f:.]{2,45}/[0-9]{1,3}`, "192.0.2.0/24", "A network in CIDR notation, without host bits."},
	"network":      {`[0-9A-Fa-f:.]{2,45}/[0-9]{1,3}`, "192.0.2.0/24", "A network in CIDR notation, without host bits."},
	"interface-ip": {`[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?`, "192.0.2.1/24", "An IP address, with or without a prefix length."},
	"mac":          {`([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}`, "00:1a:2b:3c:4d:5e", "A MAC address of six octets, stored in lower case."},
	"speed":        {`(auto|[0-9]{1,10}(\.[0-9]{1,9})?[kMG]?bps)`, "10Gbps", "Must agree with speed_mbps, which is rounded; if only one of the two is sent, it sets the other. Other units and notations are accepted."},
	"timezone":     {`[A-Za-z0-9_+-]([A-Za-z0-9_+/-]*[A-Za-z0-9_+-])?`, "Europe/Berlin", "The name of a time zone."},
	"email":        {notBlank + "+@" + notBlank + "+", "jane@example.org", "An email address, stored in lower case."},
	"date":         {`[0-9]{4}-[0-9]{2}-[0-9]{2}`, "2026-01-31", "A date."},
	"url":          {`[Hh][Tt][Tt][Pp][Ss]?://` + notBlank + "+", "https://example.org/", "An absolute URL."},
}

// formatOf returns the format of a text field.
func formatOf(f *records.Field) format {
	words := strings.ReplaceAll(f.Name, "_", " ")
	if known, ok := formats[f.Format]; ok {
		return known
	} else if f.Format == "text" {
		return format{textPattern, words, "Any number of lines."}
	}
	return format{linePattern, words, ""}
}

// PreviewType is the content type of a [Preview].
const PreviewType = "application/vnd.ashlar.preview+json"

// Preview returns the body of the response to a dry run.
func Preview() *Schema {
	changes := kind(&records.Field{Kind: records.Object})
	change := Object("PreviewChange",
		Required("action", String("As in the audit log.")),
		Required("resource_type", String("As in the audit log.")),
		Required("resource_id", String("The id of the record. Empty for a new one.")),
		Required("changes", changes),
		Required("cause", String("The type and id of the record whose deletion changes or deletes this one, with a slash in between. Empty for a change that was requested.")))
	return Object("Preview",
		Required("status", Const("dry_run")),
		Required("message", String("What would change, in words.")),
		Required("created", Integer("The number of records that would be created.", 0)),
		Required("updated", Integer("The number of records that would be changed.", 0)),
		Required("deleted", Integer("The number of records that would be deleted.", 0)),
		Required("changes", Array(change, 0, records.MaxPreview)),
		Required("truncated", Boolean("Whether there are changes that are not listed.")))
}
