package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Check puts a whole record into the form in which it is kept, and says what is wrong with
// it: addresses, ids and enumerations are written in one way, times are in UTC, fields
// that are empty get their defaults, and those that follow from others are filled in.
//
// The error is an [*Error] of kind [Invalid] that has every field that is wrong. Whether
// what a record refers to is there, and whether its keys are unique, is for the [Store].
func Check(rec Record) error { return check(rec, false) }

// CheckNew is [Check] for a record that is to be created, which may need more: a user
// needs a password.
func CheckNew(rec Record) error { return check(rec, true) }

func check(rec Record, created bool) error {
	r, err := described(rec)
	if err != nil {
		return err
	}
	if t, ok := rec.(interface{ tidy() }); ok {
		t.tidy()
	}
	var wrong []FieldError
	for _, f := range r.fields {
		wrong = f.check(rec, created, wrong)
	}
	// Once more, for ends of a link that were written in different ways.
	if t, ok := rec.(interface{ tidy() }); ok {
		t.tidy()
	}
	if c, ok := rec.(interface{ check() []FieldError }); ok {
		wrong = append(wrong, c.check()...)
	}
	return failed(r, wrong)
}

// failed is a nil error, and not an *Error that is nil, where nothing is wrong.
func failed(r *Resource, wrong []FieldError) error {
	if len(wrong) == 0 {
		return nil
	}
	return r.invalid(wrong)
}

// described is the resource of a record that is not nil.
func described(rec Record) (*Resource, error) {
	r := ResourceOf(rec)
	if r == nil || reflect.ValueOf(rec).IsNil() {
		return nil, fmt.Errorf("%T is no type of record, or there is no record", rec)
	}
	return r, nil
}

// check adds what is wrong with the field of a record, and puts it into its form.
func (f *Field) check(rec Record, created bool, wrong []FieldError) []FieldError {
	if f.Hidden {
		return wrong
	}
	v := f.of(rec)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if f.Default != "" && v.Kind() == reflect.String && v.Len() == 0 {
		v.SetString(f.Default)
	}
	if f.empty(v) {
		if f.Kind == List {
			v.Set(reflect.ValueOf([]string{})) // in JSON it is [] and never null
		}
		if f.Required || f.OnCreate && created && !settled(rec) {
			return append(wrong, FieldError{f.Name, "must not be empty"})
		}
		return wrong
	}
	if f.Kind == List {
		return f.checkList(v.Interface().([]string), wrong)
	}
	if err := f.checkValue(v); err != nil {
		return append(wrong, FieldError{f.Name, err.Error()})
	}
	return wrong
}

// settled reports whether a record has already what a new one needs.
func settled(rec Record) bool {
	s, ok := rec.(interface{ settled() bool })
	return ok && s.settled()
}

// empty reports whether there is nothing to check: no value, or the zero number of a field
// that must have one. An empty text that is pointed to is something: a reference is an id or
// null.
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
		return f.checkText(v)
	case Int:
		return f.within(float64(v.Int()))
	case Float:
		return f.within(v.Float())
	case Time:
		return checkTime(v)
	}
	return nil
}

func (f *Field) checkText(v reflect.Value) error {
	if n := float64(utf8.RuneCountInString(v.String())); f.Max != nil && n > *f.Max {
		return fmt.Errorf("must have at most %v characters", *f.Max)
	} else if f.Min != nil && n < *f.Min {
		return fmt.Errorf("must have at least %v characters", *f.Min)
	}
	if f.WriteOnly {
		return nil // any text makes a password
	}
	s, err := f.canonical(v.String())
	if err == nil {
		v.SetString(s)
	}
	return err
}

// checkList looks at a list of lines.
func (f *Field) checkList(list []string, wrong []FieldError) []FieldError {
	if f.Max != nil && float64(len(list)) > *f.Max {
		return append(wrong, FieldError{f.Name, fmt.Sprintf("must have at most %v elements", *f.Max)})
	}
	for i, s := range list {
		name := f.Name + "[" + strconv.Itoa(i) + "]"
		switch err := checkLine(s); {
		case err != nil:
			wrong = append(wrong, FieldError{name, err.Error()})
		case !utf8.ValidString(s) || utf8.RuneCountInString(s) > MaxElement:
			wrong = append(wrong, FieldError{name, fmt.Sprintf("must be UTF-8 of at most %d characters", MaxElement)})
		case slices.Contains(list[:i], s):
			wrong = append(wrong, FieldError{name, "is there twice"})
		}
	}
	return wrong
}

// MaxElement is how many characters a text in a list may have.
const MaxElement = 100

// within compares a number with its bounds.
func (f *Field) within(n float64) error {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return errors.New("must be a number")
	case f.Min != nil && f.Max != nil && (n < *f.Min || n > *f.Max):
		return fmt.Errorf("must be from %s to %s", plain(*f.Min), plain(*f.Max))
	case f.Min != nil && n < *f.Min:
		return fmt.Errorf("must be at least %s", plain(*f.Min))
	case f.Max != nil && n > *f.Max:
		return fmt.Errorf("must be at most %s", plain(*f.Max))
	}
	return nil
}

// plain is a number without an exponent.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// checkTime puts a time into the form in which it is kept.
func checkTime(v reflect.Value) error {
	t := instant(v.Interface().(time.Time))
	if t.Year() < 1 || t.Year() > 9999 { // what JSON can't have
		return errors.New("must be a timestamp of the years 1 to 9999, in UTC")
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

// instant is a time as it is kept: in UTC and whole microseconds, which is what
// databases have.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// compareValues orders two values of one kind. No value comes before all others.
func compareValues(a, b any) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(present(a), present(b))
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
		return cmp.Compare(truth(a), truth(b.(bool)))
	}
	return 0
}

func present(v any) int { return truth(v != nil) }

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
