package inventory

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of values that a field has. Each has one Go type, which [Field.Value]
// returns.
type Kind uint8

const (
	Text   Kind = iota // string; the empty string is no value
	Int                // int64
	Float              // float64
	Bool               // bool
	Time               // time.Time, in UTC, to the microsecond
	List               // []string, each of one line
	Object             // a value that is an object in JSON
)

// String returns the name of the kind.
func (k Kind) String() string {
	return [...]string{"text", "int", "float", "bool", "time", "list", "object"}[k]
}

// Field describes one field of a record. It is shared and must not be modified.
type Field struct {
	Name   string // in JSON and in queries; empty for a hidden field
	Column string // in a database; empty if it is not stored
	Kind   Kind
	// Format restricts a Text: "line" (one line, the default), "text" (any number of lines),
	// "enum", "uuid", or one of the formats of the package comment.
	Format string
	Enum   []string // the values of an enum

	Nullable bool // a pointer in Go, nil for null
	Required bool // must have a value
	OnCreate bool // must have a value in a new record
	// Min and Max bound a number, the characters of a Text, or the elements of a List. Nil
	// is no bound.
	Min, Max *float64
	Default  string     // of a Text without a value
	Ref      *Reference // the resource that the id in this field belongs to, or nil

	ReadOnly  bool // set by the inventory
	Hidden    bool // internal: never shown, queried or logged
	WriteOnly bool // accepted, never stored or shown
	AdminOnly bool // set by admins only, even in one's own record
	Search    bool // searched by q

	Index   bool // stores index it together with the id
	Counted bool // stores count the records per value: for fields with few values and many records

	index []int
}

// Reference is the resource that a field refers to. When the referenced record is deleted,
// the referring record is deleted too, or its field becomes null.
type Reference struct {
	To      string // the name of the resource
	Cascade bool
}

// Scalar reports whether the field has a single visible value, by which lists can be
// filtered.
func (f *Field) Scalar() bool {
	return f.Kind != List && f.Kind != Object && f.shown()
}

// shown reports whether responses contain the field.
func (f *Field) shown() bool { return !f.Hidden && !f.WriteOnly }

// Sortable reports whether lists can be sorted by the field. Multi-line texts are not
// sortable: a cursor would have to contain them.
func (f *Field) Sortable() bool { return f.Scalar() && f.Format != "text" }

// newField reads the tags of a field. It also returns the unique key that the field ends,
// or nil.
func newField(sf reflect.StructField) (f *Field, key []string) {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f = &Field{Name: name, Column: name, index: sf.Index}
	f.setType(sf.Type)
	for part := range strings.SplitSeq(sf.Tag.Get("field"), ",") {
		word, value, _ := strings.Cut(part, "=")
		switch {
		case word == "unique" && value != "":
			key = []string{value, name}
		case word == "unique":
			key = []string{name}
		case !f.setWord(word, value):
			panic(fmt.Sprintf("inventory: field %s: unknown word %q in its tag", sf.Name, word))
		}
	}
	return f, key
}

// setType sets what follows from the Go type.
func (f *Field) setType(t reflect.Type) {
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

// setWord applies one word of the tag and reports whether it is known.
func (f *Field) setWord(word, value string) bool {
	flag, ok := map[string]*bool{
		"required": &f.Required, "oncreate": &f.OnCreate, "readonly": &f.ReadOnly, "admin": &f.AdminOnly,
		"search": &f.Search, "index": &f.Index, "counted": &f.Counted,
	}[word]
	switch {
	case ok:
		*flag = true
		return true
	case word == "secret":
		f.WriteOnly, f.Column = true, ""
	case word == "hidden":
		f.Hidden, f.ReadOnly, f.Name = true, true, ""
	case word == "format":
		f.Format = value
	case word == "column":
		f.Column = value
	case word == "default":
		f.Default = value
	case word == "min":
		f.Min = parseBound(value)
	case word == "max":
		f.Max = parseBound(value)
	case word == "ref":
		to, effect, _ := strings.Cut(value, ":")
		f.Format, f.Ref = "uuid", &Reference{To: to, Cascade: effect == "cascade"}
	default:
		return word == "" // no tag
	}
	return true
}

func parseBound(s string) *float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("inventory: " + err.Error())
	}
	return &n
}

// Pointer returns a pointer to the field in a record, to read or to scan into. It is a **T
// for a nullable field.
func (f *Field) Pointer(rec Record) any { return f.of(rec).Addr().Interface() }

// In returns the field in the struct of a record. A caller that reads many fields takes
// reflect.ValueOf(rec).Elem() once for all of them.
func (f *Field) In(record reflect.Value) reflect.Value { return record.FieldByIndex(f.index) }

func (f *Field) of(rec Record) reflect.Value { return f.In(reflect.ValueOf(rec).Elem()) }

// Value returns the value of the field in a record, of the Go type of its kind. It is nil
// for null and for an empty string.
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

// valueOrNil is Value, but nil for an empty list and for a missing record.
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

// same reports whether two values of the field are equal.
func (f *Field) same(a, b any) bool {
	if f.Kind == List || f.Kind == Object {
		return reflect.DeepEqual(a, b)
	}
	return compareValues(a, b) == 0
}

// clear sets the field of a record to its zero value.
func (f *Field) clear(rec Record) { f.of(rec).SetZero() }

// Set sets the field of a record to a value of the Go type of its kind, or clears it for
// nil.
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
