package httpx

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// kind is what JSON a Go type takes.
type kind uint8

const (
	anything kind = iota // only looked through
	object
	array
	text
	integer
	number
	boolean
	custom // decoded by the type itself
)

// String names what a value should have been.
func (k kind) String() string {
	return [...]string{"anything", "an object", "an array", "a string", "an integer", "a number", "true or false", "a value"}[k]
}

// shape is what is known of a type before a document comes.
type shape struct {
	kind     kind
	nullable bool
	goType   reflect.Type
	fields   map[string]*shape // of a struct; nil for a map
	names    []string          // of the fields, in their order
	element  *shape            // of an array or a map
	pointee  *shape            // of a pointer, which has nothing else
}

// shapeOf works out the shape of a type.
func shapeOf(t reflect.Type) *shape {
	return shapes{}.of(t)
}

// shapes are those of a type and its parts. A type within itself is found here.
type shapes map[reflect.Type]*shape

func (known shapes) of(t reflect.Type) *shape {
	if s, ok := known[t]; ok {
		return s
	}
	s := &shape{goType: t}
	known[t] = s
	if t.Kind() == reflect.Pointer {
		// Not a copy: within itself a type is not complete yet.
		s.pointee = known.of(t.Elem())
		return s
	}
	switch pointer := reflect.PointerTo(t); {
	case pointer.Implements(reflect.TypeFor[json.Unmarshaler]()):
		s.kind, s.nullable = custom, true // it sees null itself
	case pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		s.kind = custom
	default:
		known.plain(s, t)
	}
	return s
}

// plain fills in the shape of a type that leaves decoding to encoding/json.
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
		panic("httpx: JSON can't be decoded into a " + t.String())
	default:
		s.kind = integer
	}
}

// structFields adds the fields that encoding/json would, those of embedded structs
// after the struct's own, which hide them.
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
	if _, there := s.fields[name]; !there {
		s.fields[name] = field
		s.names = append(s.names, name)
	}
}
