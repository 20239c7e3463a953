package records

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
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
	List               // []string, each of one line, or a UUID if the format says so
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
	Default  string     // of a field without a value, as in a query; only a Text of a struct has one
	Label    string     // for people; empty is the name
	Aliases  []string   // what spreadsheets call the field, such as "IP address"; case and separators of words do not count
	Pattern  string     // the regular expression (RE2) that a whole Text must match
	Ref      *Reference // the resource that the id in this field belongs to, or nil

	ReadOnly  bool // set by the inventory
	Hidden    bool // internal: never shown, queried or logged
	WriteOnly bool // accepted, never stored or shown
	AdminOnly bool // set by admins only, even in one's own record
	Search    bool // searched by q; of a List the elements are

	Index   bool // stores index it together with the id
	Natural bool // lists are in the natural order of the values (NaturalKey): eth2 before eth10
	Counted bool // stores count the records per value: for fields with few values and many records
	// Shared says that many records have the same of very many values, as interfaces their names. The
	// values are too many to count, so the index has the columns of the other orders as well.
	Shared bool
	// Scanned says that filters of the field read an index that has it beside the time of creation, so that a log with
	// many entries has few indexes: in such a resource the other ones have their field alone.
	Scanned bool
	// Volatile says that a change of this field alone leaves version and updated_at unchanged.
	Volatile bool
	// Open says that programs add values to the enumeration ([ExtendEnum]). Databases do not check them.
	Open bool

	// CaseSensitive says that values which differ in case only are no duplicates ([CaseSensitive]).
	CaseSensitive bool

	Extra bool // added by Extend: the value is in Base.Extra and not in the struct

	// Member is the member of a body that may have the natural key of the referenced record in place of
	// the id: location for location_id. Empty for none.
	Member string

	facet  bool         // see Facets
	keys   []Unique     // the unique keys that the field ends, without messages
	index  []int        // of a field of the struct
	plain  bool         // of one of the usual types, without a decoder of its own: see Resource.Decode
	goType reflect.Type // of the value

	pattern      *regexp.Regexp // of Pattern
	defaultValue any            // of Default
}

// Reference is the resource that a field refers to. When the referenced record is deleted,
// the referring record is deleted too, or its field becomes null.
type Reference struct {
	To      string // the name of the resource
	Cascade bool
	// Restrict makes the [Engine] refuse the deletion while there are referring records. For stores the
	// field becomes null.
	Restrict bool

	resource *Resource
}

// Resource returns the resource that the field refers to.
func (r *Reference) Resource() *Resource { return r.resource }

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

// newField reads the tags of a field of a struct.
func newField(sf reflect.StructField) (*Field, error) {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f := &Field{Name: name, Column: sqlName(name), index: sf.Index, goType: sf.Type}
	f.setType(sf.Type)
	t := f.goType
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	decodes := p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	f.plain = f.Kind == Time || f.Kind != List && f.Kind != Object && !decodes
	if err := f.setTag(sf.Tag.Get("field")); err != nil {
		return nil, err
	}
	return f, f.prepare()
}

// prepare parses the default and the pattern.
func (f *Field) prepare() (err error) {
	if err := f.checkFormat(); err != nil {
		return err
	}
	if f.Pattern != "" {
		if f.pattern, err = regexp.Compile("^(?:" + f.Pattern + ")$"); err != nil {
			return fmt.Errorf("the pattern %q is no regular expression of RE2: %w", f.Pattern, err)
		}
		if f.Kind != Text || f.Format != "line" && f.Format != "text" {
			return errors.New("only lines and texts have a pattern")
		}
	}
	if f.Default == "" {
		return nil
	}
	if !f.Extra && f.Kind != Text || f.Kind == List || f.Ref != nil {
		return fmt.Errorf("a %s has no default", f.Kind)
	}
	if f.defaultValue, err = f.parseValue(f.Default); err != nil {
		return fmt.Errorf("the default %q %w", f.Default, err)
	}
	v := reflect.New(reflect.TypeOf(f.defaultValue)).Elem()
	v.Set(reflect.ValueOf(f.defaultValue))
	if err := f.checkValue(v); err != nil {
		return fmt.Errorf("the default %q %w", f.Default, err)
	}
	f.defaultValue = v.Interface()
	return nil
}

// DefaultValue returns the value that a field without one gets, nil for none.
func (f *Field) DefaultValue() any { return f.defaultValue }

// extraTypes are the Go types of added fields.
var extraTypes = map[Kind]reflect.Type{
	Text: reflect.TypeFor[string](), Int: reflect.TypeFor[*int64](), Float: reflect.TypeFor[*float64](), Bool: reflect.TypeFor[*bool](),
	Time: reflect.TypeFor[*time.Time](), List: reflect.TypeFor[[]string](),
}

// newExtra returns a field that is not in a struct.
func newExtra(name string, kind Kind, tag string, set []func(*Field)) (*Field, error) {
	t := extraTypes[kind]
	if t == nil {
		return nil, errors.New("an added field can't be an object")
	}
	f := &Field{Name: name, Column: sqlName(name), Extra: true}
	f.setType(t)
	if err := f.setTag(tag); err != nil {
		return nil, err
	}
	for _, change := range set {
		change(f)
	}
	if f.Hidden || f.WriteOnly || f.Column != sqlName(name) {
		return nil, errors.New("an added field can't be secret or hidden, and has no column=")
	}
	if f.Ref != nil {
		t, f.Nullable = reflect.TypeFor[*string](), true
	}
	f.goType = t
	return f, f.prepare()
}

// scalars are the kinds of single values.
var scalars = []Kind{Text, Int, Float, Bool, Time}

// tagWords are the words of a tag, with the kinds of fields that they fit. Nil is all.
var tagWords = map[string][]Kind{
	"required": nil, "oncreate": nil, "readonly": nil, "admin": nil, "volatile": nil, "hidden": nil, "secret": nil,
	"unique": scalars, "index": scalars, "shared": scalars, "scanned": scalars, "counted": {Text, Int, Bool},
	"natural": {Text}, "open": {Text}, "search": {Text, List},
	"format=": {Text, List}, "values=": {Text}, "ref=": {Text}, "pattern=": {Text}, "default=": scalars, "column=": nil, "alias=": nil,
	"min=": {Text, Int, Float, List}, "max=": {Text, Int, Float, List}, "unique=": scalars,
}

// checkWord checks that a word exists, with or without a value, and fits the kind of the field.
func (f *Field) checkWord(word string, hasValue bool) error {
	key, form := word, "without a value"
	if hasValue {
		key, form = word+"=", "with a value"
	}
	kinds, ok := tagWords[key]
	if !ok {
		return fmt.Errorf("unknown word %q %s in the tag", word, form)
	}
	if kinds != nil && !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("the word %q of the tag does not fit the type %s: it is for %v", word, f.Kind, kinds)
	}
	return nil
}

// checkFormat checks that the words that decide about the format fit each other and the type.
func (f *Field) checkFormat() error {
	_, known := expected[f.Format]
	switch {
	case f.Kind != Text && f.Format == "", f.Kind == List && f.Format == "uuid":
	case f.Kind == List:
		return fmt.Errorf("a list has no format %s: use uuid, or none", f.Format)
	case !known && !slices.Contains([]string{"enum", "uuid", "speed"}, f.Format):
		return fmt.Errorf("unknown format %q", f.Format)
	case f.Ref != nil && f.Format != "uuid":
		return fmt.Errorf("a reference is an id, and has no format %s", f.Format)
	case f.Enum != nil && f.Format != "enum":
		return fmt.Errorf("an enumeration has no format %s and no reference", f.Format)
	case f.Open && f.Format != "enum":
		return errors.New("only enumerations are open")
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		return fmt.Errorf("min=%v is above max=%v", *f.Min, *f.Max)
	}
	return nil
}

// setTag applies the words of a tag.
func (f *Field) setTag(tag string) error {
	tag, pattern, hasPattern := strings.Cut(tag, "pattern=")
	if hasPattern {
		f.Pattern, tag = pattern, tag+"pattern="
	}
	for part := range strings.SplitSeq(tag, ",") {
		word, value, hasValue := strings.Cut(part, "=")
		if part == "" {
			continue
		}
		if err := f.checkWord(word, hasValue); err != nil {
			return err
		}
		switch {
		case word == "pattern":
		case word == "unique" && value != "":
			with, optional := strings.CutSuffix(value, "?")
			f.keys = append(f.keys, Unique{Fields: []string{with, f.Name}})
			if optional {
				f.keys = append(f.keys, Unique{Fields: []string{f.Name}, Without: with})
			}
		case word == "unique":
			f.keys = append(f.keys, Unique{Fields: []string{f.Name}})
		default:
			if err := f.setWord(word, value); err != nil {
				return err
			}
		}
	}
	return nil
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

// setWord applies one word of the tag.
func (f *Field) setWord(word, value string) (err error) {
	flag, ok := map[string]*bool{
		"required": &f.Required, "oncreate": &f.OnCreate, "readonly": &f.ReadOnly, "admin": &f.AdminOnly,
		"search": &f.Search, "natural": &f.Natural, "index": &f.Index, "counted": &f.Counted, "volatile": &f.Volatile,
		"open": &f.Open, "shared": &f.Shared, "scanned": &f.Scanned,
	}[word]
	switch {
	case ok:
		*flag = true
		return nil
	case word == "secret":
		f.WriteOnly, f.Column = true, ""
	case word == "hidden":
		f.Hidden, f.ReadOnly, f.Name = true, true, ""
	case word == "format":
		f.Format = value
	case word == "values":
		f.Format, f.Enum = "enum", strings.Split(strings.ToLower(value), "|")
	case word == "column":
		f.Column = value
	case word == "alias":
		f.Aliases = strings.Split(value, "|")
	case word == "default":
		f.Default = value
	case word == "min":
		f.Min, err = parseBound(value)
	case word == "max":
		f.Max, err = parseBound(value)
	case word == "ref":
		to, effect, _ := strings.Cut(value, ":")
		if effect != "null" && effect != "cascade" && effect != "restrict" {
			return fmt.Errorf("ref=%s has no effect of a deletion: add :null, :cascade or :restrict", value)
		}
		f.Format, f.Ref = "uuid", &Reference{To: to, Cascade: effect == "cascade", Restrict: effect == "restrict"}
	}
	return err
}

func parseBound(s string) (*float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && n-n != 0 {
		err = fmt.Errorf("%s is no bound", s)
	}
	return &n, err
}

// In returns the field in the struct of a record, for a field that is not Extra. A caller that
// reads many fields takes reflect.ValueOf(rec).Elem() once for all of them.
func (f *Field) In(record reflect.Value) reflect.Value { return record.FieldByIndex(f.index) }

// Pointer returns a pointer to the field in the struct of a record, for a field that is not
// Extra. It is a **T for a nullable field.
func (f *Field) Pointer(rec Record) any {
	return f.In(reflect.ValueOf(rec).Elem()).Addr().Interface()
}

// StructField returns the field of the struct of type t, for a field that is not Extra.
func (f *Field) StructField(t reflect.Type) reflect.StructField { return t.FieldByIndex(f.index) }

// edit calls change with the field in a record, which it may set. The value of an added field
// has the type that a field of a struct would have.
func (f *Field) edit(rec Record, change func(v reflect.Value)) {
	if !f.Extra {
		change(f.In(reflect.ValueOf(rec).Elem()))
		return
	}
	v := reflect.New(f.goType).Elem()
	if old := rec.Meta().Extra[f.Name]; old != nil {
		f.assign(v, old)
	}
	change(v)
	f.setExtra(rec, f.valueIn(v))
}

// setExtra sets an added field. An empty list is stored, and is not null.
func (f *Field) setExtra(rec Record, value any) {
	base := rec.Meta()
	if value == nil {
		delete(base.Extra, f.Name)
		return
	}
	if base.Extra == nil {
		base.Extra = Values{}
	}
	base.Extra[f.Name] = value
}

// Value returns the value of the field in a record, of the Go type of its kind. It is nil
// for null and for an empty string.
func (f *Field) Value(rec Record) any {
	if f.Extra {
		value := rec.Meta().Extra[f.Name]
		switch {
		case value == "":
			return nil
		case value == nil && f.Kind == List:
			return []string{} // a list is never null
		}
		return value
	}
	return f.valueIn(f.In(reflect.ValueOf(rec).Elem()))
}

// valueIn is Value for the field of a struct.
func (f *Field) valueIn(v reflect.Value) any {
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
	if rec == nil {
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
func (f *Field) clear(rec Record) { f.Set(rec, nil) }

// Set sets the field of a record to a value of the Go type of its kind, or clears it for
// nil.
func (f *Field) Set(rec Record, value any) {
	if f.Extra {
		f.setExtra(rec, value)
		return
	}
	v := f.In(reflect.ValueOf(rec).Elem())
	v.SetZero()
	if value != nil {
		f.assign(v, value)
	}
}

// assign sets the field of a struct to a value that is not nil.
func (f *Field) assign(v reflect.Value, value any) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}
