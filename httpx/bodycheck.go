package httpx

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
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

func shapeOf(t reflect.Type) *shape { return shapes{}.of(t) }

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
			field = &shape{kind: anything, nullable: true}
		}
		s.add(name, field)
	}
	for _, e := range embedded {
		known.structFields(s, e)
	}
}

func (s *shape) add(name string, field *shape) {
	if _, exists := s.fields[name]; !exists {
		s.fields[name] = field
		s.names = append(s.names, name)
	}
}

// maxFaults is the maximum number of problems reported for one document.
const maxFaults = 20

// check compares a well-formed document with the shape and reports all problems.
func (s *shape) check(data []byte, maxDepth int) error {
	c := checker{data: data, maxDepth: maxDepth}
	c.value(s, "")
	if len(c.faults) == 0 {
		return nil
	}
	message := "Invalid JSON: " + c.faults[0].Field + ": " + c.faults[0].Reason
	if more := len(c.faults) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return &Error{Status: http.StatusBadRequest, Message: message, Fields: c.faults}
}

// checker walks through a well-formed document.
type checker struct {
	data     []byte
	at       int // of the next byte
	depth    int
	maxDepth int
	faults   []FieldError
}

// done reports whether to stop.
func (c *checker) done() bool { return len(c.faults) >= maxFaults || c.at >= len(c.data) }

// fault records a problem of the field that begins at the offset.
func (c *checker) fault(field string, offset int, format string, args ...any) {
	if len(c.faults) == maxFaults {
		return
	}
	if field == "" {
		field = "body"
	}
	reason := fmt.Sprintf(format, args...) + " (" + position(c.data, offset) + ")"
	c.faults = append(c.faults, FieldError{Field: field, Reason: reason})
}

// space skips white space.
func (c *checker) space() {
	for c.at < len(c.data) && bytes.IndexByte([]byte(" \t\r\n"), c.data[c.at]) >= 0 {
		c.at++
	}
}

// value checks the next value.
func (c *checker) value(s *shape, path string) {
	c.space()
	for s.pointee != nil {
		if c.data[c.at] == 'n' {
			c.token()
			return
		}
		s = s.pointee
	}
	start, before := c.at, len(c.faults)
	switch c.data[c.at] {
	case '{':
		c.composite(s, path, object, c.members)
	case '[':
		c.composite(s, path, array, c.elements)
	default:
		c.scalar(s, path, c.token())
		return
	}
	// After a fault inside the value, c.at may not be at its end.
	if s.kind == custom && len(c.faults) == before {
		c.decode(s, path, start, c.data[start:c.at])
	}
}

// composite checks an object or an array. It continues after a type mismatch to report further
// problems inside.
func (c *checker) composite(s *shape, path string, is kind, inner func(*shape, string)) {
	if s.kind != is && s.kind != anything && s.kind != custom {
		c.fault(path, c.at, "must be %v, not %v", s.kind, is)
		s = &shape{kind: anything}
	}
	if c.depth++; c.depth > c.maxDepth {
		c.fault(path, c.at, "nested too deeply: use at most %d levels", c.maxDepth)
		c.at = len(c.data)
		return
	}
	c.at++
	inner(s, path)
	c.depth--
}

// more reports whether another member or element follows, and consumes the closing bracket
// otherwise.
func (c *checker) more(closing byte) bool {
	c.space()
	if c.done() {
		return false
	}
	if c.data[c.at] == ',' {
		c.at++
		c.space()
	}
	if c.data[c.at] == closing {
		c.at++
		return false
	}
	return true
}

// members checks the members of an object.
func (c *checker) members(s *shape, path string) {
	seen := map[string]struct{}{}
	for c.more('}') {
		start := c.at
		name := unquote(c.token())
		field := printable(name)
		if path != "" {
			field = path + "." + field
		}
		if _, duplicate := seen[name]; duplicate {
			c.fault(field, start, "duplicate field: send it once")
		}
		seen[name] = struct{}{}
		c.space()
		c.at++ // the colon
		c.value(c.member(s, name, field, start), field)
	}
}

// member returns the shape of a member.
func (c *checker) member(s *shape, name, field string, start int) *shape {
	if s.fields == nil {
		if s.element != nil {
			return s.element
		}
		return &shape{kind: anything, nullable: true}
	}
	inner, known := s.fields[name]
	if !known {
		c.fault(field, start, "unknown field: %s", s.hint(name))
		return &shape{kind: anything, nullable: true}
	}
	return inner
}

// hint suggests valid field names.
func (s *shape) hint(name string) string {
	i := slices.IndexFunc(s.names, func(known string) bool { return strings.EqualFold(known, name) })
	if i >= 0 {
		return "did you mean " + s.names[i] + "?"
	}
	return "use " + strings.Join(s.names, ", ")
}

// elements checks the elements of an array.
func (c *checker) elements(s *shape, path string) {
	element := s.element
	if element == nil {
		element = &shape{kind: anything, nullable: true}
	}
	for i := 0; c.more(']'); i++ {
		c.value(element, path+"["+strconv.Itoa(i)+"]")
	}
}

// token consumes a string, a number or a literal.
func (c *checker) token() []byte {
	start := c.at
	if c.data[c.at] != '"' {
		for c.at < len(c.data) && bytes.IndexByte([]byte(",:]} \t\r\n"), c.data[c.at]) < 0 {
			c.at++
		}
		return c.data[start:c.at]
	}
	for c.at++; c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
	return c.data[start:c.at]
}

// scalar checks a string, a number or a literal.
func (c *checker) scalar(s *shape, path string, token []byte) {
	start := c.at - len(token)
	is := kindOf(token)
	switch {
	case token[0] == 'n':
		if !s.nullable && s.kind != anything {
			c.fault(path, start, "must be %v, not null", s.kind)
		}
	case s.kind == anything:
	case s.kind == custom:
		c.decode(s, path, start, token)
	case s.kind == integer && is == number, s.kind == number && is == number:
		c.fits(s, path, start, token)
	case s.kind != is:
		c.fault(path, start, "must be %v, not %v", s.kind, is)
	}
}

// kindOf returns the kind of a token by its first byte.
func kindOf(token []byte) kind {
	switch token[0] {
	case '"':
		return text
	case 't', 'f':
		return boolean
	}
	return number
}

// fits checks that the Go type can hold a number.
func (c *checker) fits(s *shape, path string, start int, token []byte) {
	if json.Unmarshal(token, reflect.New(s.goType).Interface()) == nil {
		return
	}
	if s.kind == integer && bytes.ContainsAny(token, ".eE") {
		c.fault(path, start, "must be an integer, not %s", printable(string(token)))
		return
	}
	c.fault(path, start, "out of range: %s", printable(string(token)))
}

// decode lets a type with its own decoder check its value.
func (c *checker) decode(s *shape, path string, start int, value []byte) {
	err := json.Unmarshal(value, reflect.New(s.goType).Interface())
	if err == nil {
		return
	}
	if s.goType == reflect.TypeFor[time.Time]() {
		c.fault(path, start, "must be a timestamp such as 2026-01-31T12:00:00Z")
		return
	}
	reason := strings.TrimPrefix(err.Error(), "json: ")
	c.fault(path, start, "invalid value: %s", printable(reason))
}

// unquote returns the value of a JSON string.
func unquote(token []byte) string {
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1])
	}
	var s string
	_ = json.Unmarshal(token, &s) // the document is well-formed
	return s
}
