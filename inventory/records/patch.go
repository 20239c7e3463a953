package records

import (
	"bytes"
	"encoding/json"
	"fmt"
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
			hint := ""
			if len(wrong) == 0 { // list the fields once: a document may have thousands of unknown ones
				hint = Hint(name, names(r.fields, func(f *Field) bool { return !f.ReadOnly }))
			}
			wrong = append(wrong, InField(shorten(name), Unknown("field", hint)))
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
		return append(wrong, InField(f.Name, fmt.Errorf("must not be null: %w", WrongKind(f.Kind))))
	}
	if f.Kind == Int {
		doc = wholeNumber(doc)
	}
	before := f.Value(rec)
	f.clear(rec) // Unmarshal would merge into the old value
	var err error
	f.edit(rec, func(v reflect.Value) { err = json.Unmarshal(doc, v.Addr().Interface()) })
	if err != nil {
		return append(wrong, InField(f.Name, WrongKind(f.Kind)))
	}
	if f.ReadOnly && !f.same(before, f.Value(rec)) {
		return append(wrong, FieldError{f.Name, "read_only", "is read-only: omit it, or send its current value"})
	}
	return wrong
}

// Pop removes a member from an object and decodes it, if it is present. The error, for a value of another type, is wrong
// in the field of this name.
func Pop[T any](p Patch, name string, wrong error) (value T, present bool, err error) {
	doc, present := p[name]
	if !present {
		return value, false, nil
	}
	delete(p, name)
	if string(bytes.TrimSpace(doc)) == "null" || json.Unmarshal(doc, &value) != nil {
		return value, true, Refuse(name, wrong)
	}
	return value, true, nil
}
