package httpx

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
)

// kind is the JSON form that a Go type decodes.
type kind uint8

const (
	anything kind = iota // not checked
	object
	array
	text
	integer
	number
	boolean
	custom // decoded by the type itself
)

// String returns the expected form for messages.
func (k kind) String() string {
	return [...]string{"anything", "an object", "an array", "a string", "an integer", "a number", "true or false", "a value"}[k]
}

// shape describes the JSON form of a Go type.
type shape struct {
	kind     kind
	nullable bool
	goType   reflect.Type
	fields   map[string]*shape // of a struct; nil for a map
	names    []string          // of the fields, in their order
	element  *shape            // of an array or a map
	pointee  *shape            // of a pointer, which has no other field
}

// unchecked is the shape of any value.
var unchecked = &shape{kind: anything, nullable: true}

// shapes holds the shapes of a type and its parts, for recursive types.
type shapes map[reflect.Type]*shape

func (known shapes) of(t reflect.Type) *shape {
	if s, ok := known[t]; ok {
		return s
	}
	s := &shape{goType: t}
	known[t] = s
	if t.Kind() == reflect.Pointer {
		// Not a copy, because the shape of a recursive type is still incomplete.
		s.pointee = known.of(t.Elem())
		return s
	}
	switch pointer := reflect.PointerTo(t); {
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		s.kind, s.nullable = custom, true // decodes null too
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		s.kind = custom
	default:
		known.plain(s, t)
	}
	return s
}

// plain sets the shape of a type without its own decoder.
func (known shapes) plain(s *shape, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		s.kind, s.fields = object, map[string]*shape{}
		known.structFields(s, t)
	case reflect.Map:
		s.kind, s.nullable, s.element = object, true, known.of(t.Elem())
	case reflect.Slice, reflect.Array:
		s.nullable = t.Kind() == reflect.Slice
		if s.nullable && t.Elem().Kind() == reflect.Uint8 {
			s.kind = custom // base64
			return
		}
		s.kind, s.element = array, known.of(t.Elem())
	case reflect.String:
		s.kind = text
		if t == reflect.TypeFor[json.Number]() {
			s.kind = custom
		}
	case reflect.Bool:
		s.kind = boolean
	case reflect.Float32, reflect.Float64:
		s.kind = number
	case reflect.Interface:
		s.kind, s.nullable = anything, true
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		panic("httpx: JSON cannot be decoded into " + t.String())
	default:
		s.kind = integer
	}
}

// structFields adds the fields as encoding/json does. Fields of embedded structs come after the
// struct's own, which hide them.
func (known shapes) structFields(s *shape, t reflect.Type) {
	var embedded []reflect.Type
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
			continue
		case !f.IsExported() || name == "-" && options == "":
			continue
		case name == "":
			name = f.Name
		}
		field := known.of(f.Type)
		if slices.Contains(strings.Split(options, ","), "string") {
			field = unchecked
		}
		if _, exists := s.fields[name]; !exists {
			s.fields[name] = field
			s.names = append(s.names, name)
		}
	}
	for _, e := range embedded {
		known.structFields(s, e)
	}
}

// maxFaults is the maximum number of problems reported for one document.
const maxFaults = 20

// check compares a document with the shape and reports all problems.
func (s *shape) check(doc *jsonpos.Document) error {
	c := checker{text: doc.Text}
	c.value(s, doc.Root, "")
	if len(c.faults) == 0 {
		return nil
	}
	return invalidBody(c.faults...)
}

// checker compares values with shapes.
type checker struct {
	text   string
	faults []FieldError
}

// fault records a problem of the field that begins at the offset.
func (c *checker) fault(field, code string, offset int, format string, args ...any) {
	if len(c.faults) == maxFaults {
		return
	}
	field = cmp.Or(field, "body")
	reason := fmt.Sprintf(format, args...) + " (" + position(c.text, offset) + ")"
	c.faults = append(c.faults, FieldError{Field: field, Code: code, Reason: reason})
}

// value checks a value and the values in it.
func (c *checker) value(s *shape, n *jsonpos.Node, path string) {
	if len(c.faults) == maxFaults {
		return
	}
	for s.pointee != nil {
		if n.Kind == jsonpos.Null {
			return
		}
		s = s.pointee
	}
	before := len(c.faults)
	switch {
	case n.Kind == jsonpos.Object || n.Kind == jsonpos.Array:
		if !s.accepts(n.Kind) {
			c.fault(path, "wrong_type", n.Start, "must be %v, not %v", s.kind, n.Kind)
			s = unchecked // to report problems inside
		}
		c.members(s, n, path)
		c.elements(s, n, path)
	case n.Kind == jsonpos.Null:
		if !s.nullable && s.kind != anything {
			c.fault(path, "wrong_type", n.Start, "must be %v, not null", s.kind)
		}
		return
	case !s.accepts(n.Kind):
		c.fault(path, "wrong_type", n.Start, "must be %v, not %v", s.kind, n.Kind)
	case n.Kind == jsonpos.Number && s.kind != anything && s.kind != custom:
		c.number(s, n, path)
	}
	if s.kind == custom && len(c.faults) == before {
		c.decode(s, n, path)
	}
}

// accepted are the kinds of JSON that shapes accept; others are not checked here.
var accepted = map[kind]jsonpos.Kind{
	object: jsonpos.Object, array: jsonpos.Array, text: jsonpos.String, boolean: jsonpos.Boolean,
	integer: jsonpos.Number, number: jsonpos.Number,
}

// accepts reports whether a value of a kind can have the shape.
func (s *shape) accepts(k jsonpos.Kind) bool {
	want, checked := accepted[s.kind]
	return !checked || k == want
}

// members checks the members of an object.
func (c *checker) members(s *shape, n *jsonpos.Node, path string) {
	seen := map[string]bool{}
	for i := range n.Members {
		m := &n.Members[i]
		field := printable.Truncate(m.Key, maxPrinted)
		if path != "" {
			field = path + "." + field
		}
		if seen[m.Key] {
			c.fault(field, "repeated", m.KeyStart, "duplicate field: send it once")
		}
		seen[m.Key] = true
		inner := cmp.Or(s.fields[m.Key], s.element, unchecked)
		if s.fields != nil && s.fields[m.Key] == nil {
			c.fault(field, "unknown", m.KeyStart, "unknown field: %s", s.hint(m.Key))
		}
		c.value(inner, &m.Value, field)
	}
}

// elements checks the elements of an array.
func (c *checker) elements(s *shape, n *jsonpos.Node, path string) {
	for i := range n.Elements {
		c.value(cmp.Or(s.element, unchecked), &n.Elements[i], path+"["+strconv.Itoa(i)+"]")
	}
}

// hint suggests valid field names.
func (s *shape) hint(name string) string {
	if meant := suggest.Among(name, s.names); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "use " + strings.Join(s.names, ", ")
}

// number checks that the Go type can hold a number.
func (c *checker) number(s *shape, n *jsonpos.Node, path string) {
	if json.Unmarshal([]byte(n.Text), reflect.New(s.goType).Interface()) == nil {
		return
	}
	if s.kind == integer && strings.ContainsAny(n.Text, ".eE") {
		c.fault(path, "wrong_type", n.Start, "must be an integer, not %s", printable.Truncate(n.Text, maxPrinted))
		return
	}
	c.fault(path, "out_of_range", n.Start, "out of range: %s", printable.Truncate(n.Text, maxPrinted))
}

// decode lets a type with its own decoder check its value.
func (c *checker) decode(s *shape, n *jsonpos.Node, path string) {
	err := json.Unmarshal([]byte(c.text[n.Start:n.End]), reflect.New(s.goType).Interface())
	switch {
	case err == nil:
	case s.goType == reflect.TypeFor[time.Time]():
		c.fault(path, "wrong_type", n.Start, "must be a timestamp such as 2026-01-31T12:00:00Z")
	default:
		c.fault(path, "bad_format", n.Start, "invalid value: %s", printable.Truncate(strings.TrimPrefix(err.Error(), "json: "), maxPrinted))
	}
}
