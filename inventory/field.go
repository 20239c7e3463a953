package inventory

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Kind is what values a field has. Each has one Go type, which is that of [Field.Value].
type Kind uint8

const (
	Text   Kind = iota // string; the empty one is no value
	Int                // int64
	Float              // float64
	Bool               // bool
	Time               // time.Time, in UTC, to the microsecond
	List               // []string, texts of one line
	Object             // a value that JSON has an object for
)

// String is the name of the kind.
func (k Kind) String() string {
	return [...]string{"text", "int", "float", "bool", "time", "list", "object"}[k]
}

// Field is the description of one field, made from its line in the struct. Read it, but
// do not change it: it is shared.
type Field struct {
	Name   string // in JSON and in queries; empty for a hidden field
	Column string // in a database; empty if it is not kept
	Kind   Kind
	// Format is what a Text must be: "line" (one line of text, the default), "text" (any
	// number of lines), "enum", "uuid", or one of the formats of the package comment.
	Format string
	Enum   []string // the values of an enum

	Nullable bool // a pointer in Go, which is nil for null
	Required bool // must have a value
	OnCreate bool // must have a value in a new record
	// Min and Max bound a number; the characters of a Text; the elements of a List. Nil is
	// no bound.
	Min, Max *float64
	Default  string     // of a Text that has no value
	Ref      *Reference // what the id of this field belongs to; nil if it is none

	ReadOnly  bool // set by the inventory
	Hidden    bool // for the inventory's own use: never shown, queried or logged
	WriteOnly bool // taken, never kept or shown
	AdminOnly bool // set by an admin only, even in a record of one's own
	Search    bool // q looks into it

	// What a database does for lists that are filtered or sorted by the field.
	Index   bool // is in an index, with the id
	Counted bool // the records of each value are counted as they change: few values, many records

	index []int
}

// Reference is another resource, and what becomes of a record when what it refers to is
// deleted: it goes too, or its field becomes null.
type Reference struct {
	To      string // the name of the resource
	Cascade bool
}

// Scalar reports whether the field has a single value that is shown, which is what lists
// can be filtered by.
func (f *Field) Scalar() bool {
	return f.Kind != List && f.Kind != Object && !f.Hidden && !f.WriteOnly
}

// Sortable reports whether lists can be sorted by the field. Texts of many lines are not:
// their order means nothing, and a cursor would have to hold them.
func (f *Field) Sortable() bool { return f.Scalar() && f.Format != "text" }

// newField reads the line of one field, and the unique key that ends in it, if any.
func newField(sf reflect.StructField) (f *Field, key []string) {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f = &Field{Name: name, Column: name, index: sf.Index}
	f.typed(sf.Type)
	for part := range strings.SplitSeq(sf.Tag.Get("field"), ",") {
		word, value, _ := strings.Cut(part, "=")
		switch word {
		case "unique":
			if key = []string{name}; value != "" {
				key = []string{value, name}
			}
		default:
			if !f.flag(word) && !f.setting(word, value) {
				panic(fmt.Sprintf("inventory: field %s: unknown word %q in its tag", sf.Name, word))
			}
		}
	}
	return f, key
}

// typed sets what follows from the Go type.
func (f *Field) typed(t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		f.Nullable, t = true, t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		f.Kind = Time
	case t == reflect.TypeFor[[]string]():
		f.Kind = List
	case t.Kind() == reflect.Int64:
		f.Kind = Int
	case t.Kind() == reflect.Float64:
		f.Kind = Float
	case t.Kind() == reflect.Bool:
		f.Kind = Bool
	case t.Kind() == reflect.String:
		f.Format = "line"
	default:
		f.Kind = Object
	}
	if e, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		f.Format, f.Enum = "enum", e.Values()
	}
}

// flag takes a word of the tag that stands alone.
func (f *Field) flag(word string) bool {
	switch word {
	case "": // no tag
	case "required":
		f.Required = true
	case "oncreate":
		f.OnCreate = true
	case "readonly":
		f.ReadOnly = true
	case "admin":
		f.AdminOnly = true
	case "search":
		f.Search = true
	case "index":
		f.Index = true
	case "counted":
		f.Counted = true
	case "secret":
		f.WriteOnly, f.Column = true, ""
	case "hidden":
		f.Hidden, f.ReadOnly, f.Name = true, true, ""
	default:
		return false
	}
	return true
}

// setting takes a word of the tag that has a value.
func (f *Field) setting(word, value string) bool {
	switch word {
	case "format":
		f.Format = value
	case "column":
		f.Column = value
	case "default":
		f.Default = value
	case "min":
		f.Min = bound(value)
	case "max":
		f.Max = bound(value)
	case "ref":
		to, then, _ := strings.Cut(value, ":")
		f.Format, f.Ref = "uuid", &Reference{To: to, Cascade: then == "cascade"}
	default:
		return false
	}
	return true
}

func bound(s string) *float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("inventory: " + err.Error())
	}
	return &n
}

// Pointer is a pointer to the field of a record: to read it, or to scan into it. It is
// a **T for a nullable one.
func (f *Field) Pointer(rec Record) any { return f.of(rec).Addr().Interface() }

// In is the field within the struct of a record, for those who go through the fields of
// many: reflect.ValueOf(rec).Elem() is taken once for all of them.
func (f *Field) In(record reflect.Value) reflect.Value { return record.FieldByIndex(f.index) }

// of is the field of a record.
func (f *Field) of(rec Record) reflect.Value {
	return reflect.ValueOf(rec).Elem().FieldByIndex(f.index)
}

// Value is the value of the field in a record, of the Go type of its kind. It is nil where
// there is none: for null, and for an empty text.
func (f *Field) Value(rec Record) any {
	v := f.of(rec)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if f.Kind != Text {
		return v.Interface()
	}
	if v.Len() == 0 {
		return nil
	}
	return v.String()
}

// clear makes the field of a record empty.
func (f *Field) clear(rec Record) { f.of(rec).SetZero() }

// Set gives the field of a record a value of the Go type of its kind. nil makes it empty.
func (f *Field) Set(rec Record, value any) {
	v := f.of(rec)
	v.SetZero()
	if value == nil {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}
