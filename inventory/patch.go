package inventory

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Patch is a partial update: the fields to change, by their names in JSON, and what they
// are to be. A field that is left out stays as it is; null makes one empty that is
// nullable.
type Patch map[string]json.RawMessage

// Apply changes the fields of a record that a patch names, and leaves the rest. The record
// is not checked, for which there is [Check]: a patch is right if what it makes is right.
//
// The error is an [*Error] of kind [Invalid] that has every field, up to 20, that is unknown or
// of a wrong type, or that is the inventory's own and would change. The record is as it was
// then.
func (p Patch) Apply(rec Record) error {
	r, err := described(rec)
	if err != nil {
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
			wrong = append(wrong, r.unknown(name, len(wrong) == 0))
		default:
			wrong = f.patch(changed, p[name], wrong)
		}
	}
	if len(wrong) > 0 {
		return r.invalid(wrong)
	}
	if c, ok := changed.(interface{ follow(Patch) }); ok {
		c.follow(p)
	}
	reflect.ValueOf(rec).Elem().Set(reflect.ValueOf(changed).Elem())
	return nil
}

// unknown is what is wrong with a name that no field has. The names that there are stand
// with the first of them only, as a document may have thousands.
func (r *Resource) unknown(name string, first bool) FieldError {
	reason := "is no field of this record"
	if first {
		reason += ": use " + r.settable()
	}
	return FieldError{show(name), reason}
}

// settable are the names of the fields that a client may send.
func (r *Resource) settable() string {
	var names []string
	for _, f := range r.fields {
		if !f.ReadOnly {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// patch gives the field of a record the value of a document.
func (f *Field) patch(rec Record, doc json.RawMessage, wrong []FieldError) []FieldError {
	null := string(bytes.TrimSpace(doc)) == "null"
	if null && !f.Nullable && f.Kind != List && f.Kind != Object {
		return append(wrong, FieldError{f.Name, "must not be null: " + f.wanted()})
	}
	before := f.Value(rec)
	f.clear(rec) // or a document would be merged into what is there
	if err := json.Unmarshal(doc, f.Pointer(rec)); err != nil {
		return append(wrong, FieldError{f.Name, f.wanted()})
	}
	if f.ReadOnly && !f.same(before, f.Value(rec)) {
		return append(wrong, FieldError{f.Name, "is set by the inventory: leave it out, or send it as it is"})
	}
	return wrong
}

// wanted is what JSON a field takes.
func (f *Field) wanted() string {
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

// same reports whether two values of the field are alike.
func (f *Field) same(a, b any) bool {
	if f.Kind == List || f.Kind == Object {
		return reflect.DeepEqual(a, b)
	}
	return compareValues(a, b) == 0
}

// Diff is what has changed from one record to another of the same type, without hidden
// fields, those that the inventory keeps itself, and secrets. A nil record has no values, which is
// what was before it was created, or will be after it is deleted.
func Diff(before, after Record) Changes {
	r := ResourceOf(before)
	if r == nil {
		r = ResourceOf(after)
	}
	if r == nil {
		return nil
	}
	changes := Changes{}
	for _, f := range r.fields {
		if f.Hidden || f.WriteOnly || f.inBase() {
			continue
		}
		old, now := f.valueOrNil(before), f.valueOrNil(after)
		if !f.same(old, now) {
			changes[f.Name] = Change{old, now}
		}
	}
	return changes
}

// inBase reports whether the field is one that every record has.
func (f *Field) inBase() bool { return len(f.index) > 1 }

// valueOrNil is the value of a field, nil for an empty list and for a record that is not
// there.
func (f *Field) valueOrNil(rec Record) any {
	if ResourceOf(rec) == nil {
		return nil
	}
	v := f.Value(rec)
	if list, ok := v.([]string); ok && len(list) == 0 {
		return nil
	}
	return v
}
