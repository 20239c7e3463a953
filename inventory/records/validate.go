package records

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Check normalizes and validates a record of the resource: addresses, ids and enumerations get their
// stored form, times are converted to UTC, empty fields get their defaults, and derived
// fields are filled in.
//
// The error is an [*Error] of kind [Invalid] with every invalid field. References and unique
// keys are checked by the [Store].
func (r *Resource) Check(rec Record) error { return r.validate(rec, false) }

// CheckNew is [Check] for a new record, which may need more: a user needs a password.
func (r *Resource) CheckNew(rec Record) error { return r.validate(rec, true) }

func (r *Resource) validate(rec Record, created bool) error {
	if err := r.check(rec); err != nil {
		return err
	}
	n, normalizes := rec.(Normalizer)
	if normalizes {
		n.Normalize()
	}
	var wrong []FieldError
	for _, f := range r.fields {
		wrong = f.check(rec, created, wrong)
	}
	if normalizes {
		n.Normalize() // again: the ends of a link are ordered by their stored form
	}
	if v, ok := rec.(Validator); ok {
		wrong = append(wrong, v.Validate()...)
	}
	return r.invalid(wrong)
}

// check normalizes a field of a record and appends what is wrong with it.
func (f *Field) check(rec Record, created bool, wrong []FieldError) []FieldError {
	if f.Hidden {
		return wrong
	}
	f.edit(rec, func(v reflect.Value) { wrong = f.checkIn(rec, v, created, wrong) })
	return wrong
}

// checkIn is check for the field of a struct.
func (f *Field) checkIn(rec Record, v reflect.Value, created bool, wrong []FieldError) []FieldError {
	if v.Kind() == reflect.Pointer && v.IsNil() && f.defaultValue != nil {
		f.assign(v, f.defaultValue)
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if f.Ref != nil && v.Elem().Len() == 0 {
			v.SetZero() // forms and CSV files send "" for no reference
			return wrong
		}
		v = v.Elem()
	}
	if f.Default != "" && v.Kind() == reflect.String && v.Len() == 0 {
		v.SetString(f.Default)
	}
	if f.empty(v) {
		if f.Kind == List {
			v.Set(reflect.ValueOf([]string{})) // JSON: [], never null
		}
		c, ok := rec.(Completer)
		if f.Required || f.OnCreate && created && !(ok && c.Complete()) {
			return append(wrong, InField(f.Name, Missing("")))
		}
		return wrong
	}
	if f.Kind == List {
		return f.checkList(v.Interface().([]string), wrong)
	}
	if err := f.checkValue(v); err != nil {
		return append(wrong, InField(f.Name, err))
	}
	return wrong
}

// empty reports whether there is nothing to check: no value, or the zero number of a
// required field.
func (f *Field) empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0 && !f.Nullable
	case reflect.Slice:
		return v.Len() == 0
	case reflect.Int64, reflect.Float64:
		return f.Required && v.IsZero() && !f.Nullable
	}
	return false
}

func (f *Field) checkValue(v reflect.Value) error {
	switch f.Kind {
	case Text:
		return f.checkString(v)
	case Int:
		return f.checkBounds(float64(v.Int()))
	case Float:
		return f.checkBounds(v.Float())
	case Time:
		t := storedTime(v.Interface().(time.Time))
		if t.Year() < 1 || t.Year() > 9999 { // JSON can't represent others
			return BadFormat("a timestamp of the years 1 to 9999, in UTC")
		}
		v.Set(reflect.ValueOf(t))
	}
	return nil
}

func (f *Field) checkString(v reflect.Value) error {
	if n := float64(utf8.RuneCountInString(v.String())); f.Max != nil && n > *f.Max {
		return TooLong(*f.Max, "characters")
	} else if f.Min != nil && n < *f.Min {
		return Wrong("too_short", "must have at least %v characters", *f.Min)
	}
	if f.WriteOnly {
		return nil // a password may contain any characters
	}
	s, err := f.canonical(v.String())
	if err != nil {
		return err
	}
	if f.pattern != nil && !f.pattern.MatchString(s) {
		return Wrong("bad_format", "must match the pattern %s", f.Pattern)
	}
	if s != v.String() { // several records may share the target of a pointer
		v.SetString(s)
	}
	return nil
}

// MaxElement is the maximum number of characters of an element of a list.
const MaxElement = 100

func (f *Field) checkList(list []string, wrong []FieldError) []FieldError {
	if f.Max != nil && float64(len(list)) > *f.Max {
		return append(wrong, InField(f.Name, TooMany(*f.Max, "elements")))
	}
	for i, s := range list {
		name := f.Name + "[" + strconv.Itoa(i) + "]"
		stored, err := f.canonical(s)
		switch {
		case err != nil:
		case utf8.RuneCountInString(s) > MaxElement:
			err = TooLong(MaxElement, "characters")
		case slices.Contains(list[:i], stored):
			err = Repeated()
		default:
			list[i] = stored
		}
		if err != nil {
			wrong = append(wrong, InField(name, err))
		}
	}
	return wrong
}

func (f *Field) checkBounds(n float64) error {
	plain := func(n *float64) any {
		if n == nil {
			return nil
		}
		return strconv.FormatFloat(*n, 'f', -1, 64) // without an exponent
	}
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return WrongKind(Float)
	case f.Min != nil && n < *f.Min || f.Max != nil && n > *f.Max:
		return OutOfRange(plain(f.Min), plain(f.Max), "")
	}
	return nil
}

// storedTime returns a time as it is stored: in UTC and whole microseconds, the resolution
// of databases.
func storedTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// compareValues orders two values of one kind. No value comes before all others.
func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(boolToInt(a != nil), boolToInt(b != nil))
	}
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case time.Time:
		return a.Compare(b.(time.Time))
	case bool:
		return cmp.Compare(boolToInt(a), boolToInt(b.(bool)))
	}
	return 0
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
