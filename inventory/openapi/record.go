package openapi

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// Name is that of the schema of a record: "Device", "AuditLog".
func Name(r *inventory.Resource) string {
	var name strings.Builder
	for word := range strings.FieldsSeq(r.Label()) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// Record is what is shown of a record: every field, null where it has no value.
func Record(r *inventory.Resource) *Schema {
	return record(r, Name(r), shown, func(*inventory.Field) bool { return true })
}

// Part is a record, or some of its fields, which is what the parameter "fields" leaves.
func Part(r *inventory.Resource) *Schema {
	s := record(r, Name(r)+"Part", shown, none)
	s.Description = "The record, or those of its fields that the parameter fields names."
	return s
}

// Draft is what a new record is made from: what the inventory sets may be there, and
// counts for nothing.
func Draft(r *inventory.Resource) *Schema {
	s := record(r, Name(r)+"Draft", notHidden, func(f *inventory.Field) bool {
		return !f.ReadOnly && (f.Required || f.OnCreate)
	})
	s.Closed = true
	return s
}

// Replacement is what takes the place of a record: a [Draft] that needs less, if a new
// record needs more, as a user needs a password.
func Replacement(r *inventory.Resource) *Schema {
	if !slices.ContainsFunc(r.Fields(), func(f *inventory.Field) bool { return f.OnCreate }) {
		return Draft(r)
	}
	s := record(r, Name(r)+"Replacement", notHidden, func(f *inventory.Field) bool { return !f.ReadOnly && f.Required })
	s.Closed = true
	return s
}

// Change is the fields of a record to change. What the inventory sets may be there as it is.
func Change(r *inventory.Resource) *Schema {
	s := record(r, Name(r)+"Change", notHidden, none)
	s.Closed = true
	return s
}

// ItemChange is one of several changes: the id of the record, the fields to change, and
// the version they are meant for, if any.
func ItemChange(r *inventory.Resource) *Schema {
	s := record(r, Name(r)+"ItemChange", func(f *inventory.Field) bool { return notHidden(f) && f.Name != "id" }, none)
	s.Properties = append([]Property{
		Must("id", ID("The record to change.")),
		May("if_version", Integer("The version that it must have.", 1)),
	}, s.Properties...)
	s.Closed = true
	return s
}

// IDs are the ids of several records.
func IDs() *Schema { return Items(ID("")) }

// Page is one of a list. What else than limit its meta has depends on what was asked for.
func Page(r *inventory.Resource) *Schema {
	return Object(Name(r)+"Page",
		Must("meta", meta()),
		Must("data", Array(Part(r), inventory.MaxLimit)))
}

func meta() *Schema {
	cursor := String("What continues the list with the parameter cursor. Not there, or null, on the last page.")
	cursor.Type = append(cursor.Type, "null")
	limit := Integer("How many records a page has at most.", 1)
	limit.Maximum = ptr(float64(inventory.MaxLimit))
	return Object("PageMeta",
		May("current_page", Integer("The page, from 1. Not there behind a cursor.", 1)),
		Must("limit", limit),
		May("total_pages", Integer("How many pages there are. Not there with count=false.", 0)),
		May("total_count", Integer("How many records there are. Not there with count=false.", 0)),
		May("next_cursor", cursor))
}

// record is an object with some of the fields of a record.
func record(r *inventory.Resource, name string, has, must func(*inventory.Field) bool) *Schema {
	var properties []Property
	for _, f := range r.Fields() {
		if has(f) {
			properties = append(properties, Property{f.Name, value(r, f), must(f)})
		}
	}
	return Object(name, properties...)
}

func notHidden(f *inventory.Field) bool { return !f.Hidden }

func shown(f *inventory.Field) bool { return !f.Hidden && !f.WriteOnly }

func none(*inventory.Field) bool { return false }
