package records

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Patch is a partial update: the new values of some fields by their JSON names. The other
// fields stay unchanged, and null clears a nullable field.
type Patch map[string]json.RawMessage

// Patch returns an [Edit.Apply] that applies a patch to a record of the resource. It does not
// validate the result: use [Resource.Check].
//
// Its error is an [*Error] of kind [Invalid] with the fields, up to 20, that are unknown, have
// the wrong JSON type, or are read-only and would change. The record is unchanged then.
func (r *Resource) Patch(p Patch) func(rec Record) error {
	return func(rec Record) error { return p.apply(r, rec) }
}

// Draft returns the record that a patch describes. Read-only fields are ignored, so that a record that was read can
// be sent back.
func (r *Resource) Draft(p Patch) (Record, error) {
	for _, f := range r.Fields() {
		if f.ReadOnly {
			delete(p, f.Name)
		}
	}
	rec := r.New()
	return rec, p.apply(r, rec)
}

func (p Patch) apply(r *Resource, rec Record) error {
	if err := r.check(rec); err != nil {
		return err
	}
	changed := Clone(rec)
	var wrong []FieldError
	for _, name := range slices.Sorted(maps.Keys(p)) {
		f, ok := r.byName[name]
		switch {
		case len(wrong) == maxWrong:
			return r.invalid(wrong)
		case !ok:
			reason := "is an unknown field"
			if len(wrong) == 0 { // list the fields once: a document may have thousands of unknown ones
				reason += ": " + Hint(name, names(r.fields, func(f *Field) bool { return !f.ReadOnly }))
			}
			wrong = append(wrong, FieldError{shorten(name), reason})
		default:
			wrong = f.patch(changed, p[name], wrong)
		}
	}
	if len(wrong) > 0 {
		return r.invalid(wrong)
	}
	if c, ok := changed.(Patcher); ok {
		c.Patched(p)
	}
	reflect.ValueOf(rec).Elem().Set(reflect.ValueOf(changed).Elem())
	return nil
}

// patch sets the field of a record to a JSON value and appends what is wrong with it.
func (f *Field) patch(rec Record, doc json.RawMessage, wrong []FieldError) []FieldError {
	null := string(bytes.TrimSpace(doc)) == "null"
	if null && !f.Nullable && f.Kind != List && f.Kind != Object {
		return append(wrong, FieldError{f.Name, "must not be null: " + f.jsonType()})
	}
	if f.Kind == Int {
		doc = wholeNumber(doc)
	}
	before := f.Value(rec)
	f.clear(rec) // Unmarshal would merge into the old value
	var err error
	f.edit(rec, func(v reflect.Value) { err = json.Unmarshal(doc, v.Addr().Interface()) })
	if err != nil {
		return append(wrong, FieldError{f.Name, f.jsonType()})
	}
	if f.ReadOnly && !f.same(before, f.Value(rec)) {
		return append(wrong, FieldError{f.Name, "is read-only: omit it, or send its current value"})
	}
	return wrong
}

// jsonType returns the JSON that a field accepts.
func (f *Field) jsonType() string {
	switch f.Kind {
	case Int:
		return "must be a whole number"
	case Float:
		return "must be a number"
	case Bool:
		return "must be true or false"
	case Time:
		return "must be a timestamp such as 2026-01-31T12:00:00Z"
	case List:
		return "must be an array of strings"
	case Object:
		return "must be an object"
	}
	return "must be a string"
}
