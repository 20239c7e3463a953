package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// encoder writes records of one resource as encoding/json would, without &, < and >
// escaped. It is made once, from the description.
type encoder struct {
	parts []part
}

// part is a field of a record and how it is written.
type part struct {
	field  *inventory.Field
	name   string // `"hostname":`
	index  int    // in the struct; -1 if it is in the base
	append func(b []byte, v reflect.Value) []byte
	base   func(b []byte, base *inventory.Base) []byte
}

// newEncoder makes the encoder of a resource: of the fields that are shown.
func newEncoder(r *inventory.Resource) *encoder {
	e := &encoder{}
	t := reflect.TypeOf(r.New()).Elem()
	for _, f := range r.Fields() {
		if f.Hidden || f.WriteOnly {
			continue
		}
		p := part{field: f, name: `"` + f.Name + `":`, index: -1, base: ofBase(f.Name)}
		if p.base == nil {
			p.index = indexOf(t, f.Name)
			p.append = appender(t.Field(p.index).Type)
		}
		e.parts = append(e.parts, p)
	}
	return e
}

// indexOf is the field of a struct by its name in JSON.
func indexOf(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return i
		}
	}
	panic("httpapi: " + t.String() + " has no field " + name) // the first test sees it
}

// ofBase is how a field that every record has is written, nil for one of its own.
func ofBase(name string) func([]byte, *inventory.Base) []byte {
	switch name {
	case "id":
		return func(b []byte, base *inventory.Base) []byte { return appendText(b, base.ID) }
	case "created_at":
		return func(b []byte, base *inventory.Base) []byte { return appendTime(b, base.CreatedAt) }
	case "updated_at":
		return func(b []byte, base *inventory.Base) []byte { return appendTime(b, base.UpdatedAt) }
	case "version":
		return func(b []byte, base *inventory.Base) []byte { return strconv.AppendInt(b, base.Version, 10) }
	}
	return nil
}

// only is the encoder of some of the fields, in the order in which they are described.
func (e *encoder) only(fields []*inventory.Field) *encoder {
	if fields == nil {
		return e
	}
	some := &encoder{}
	for _, p := range e.parts {
		if slices.Contains(fields, p.field) {
			some.parts = append(some.parts, p)
		}
	}
	return some
}

// append writes a record behind b.
func (e *encoder) append(b []byte, rec inventory.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	b = append(b, '{')
	for i := range e.parts {
		if i > 0 {
			b = append(b, ',')
		}
		p := &e.parts[i]
		b = append(b, p.name...)
		if p.base != nil {
			b = p.base(b, base)
			continue
		}
		b = p.append(b, v.Field(p.index))
	}
	return append(b, '}')
}

// appendAll writes an array of records behind b.
func (e *encoder) appendAll(b []byte, records []inventory.Record) []byte {
	b = append(b, '[')
	for i, rec := range records {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.append(b, rec)
	}
	return append(b, ']')
}

// appender is how values of a Go type are written. Nothing here puts a value into an
// interface but pointers, so nothing is allocated.
func appender(t reflect.Type) func([]byte, reflect.Value) []byte {
	switch t {
	case reflect.TypeFor[time.Time]():
		return func(b []byte, v reflect.Value) []byte { return appendTime(b, *v.Addr().Interface().(*time.Time)) }
	case reflect.TypeFor[[]string]():
		return appendTexts
	}
	switch t.Kind() {
	case reflect.Pointer:
		element := appender(t.Elem())
		return func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, "null"...)
			}
			return element(b, v.Elem())
		}
	case reflect.String:
		return func(b []byte, v reflect.Value) []byte { return appendText(b, v.String()) }
	case reflect.Int64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Float64:
		return func(b []byte, v reflect.Value) []byte { return appendFloat(b, v.Float()) }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	}
	return appendAny
}

// appendAny leaves a value to encoding/json: the changes in the audit log.
func appendAny(b []byte, v reflect.Value) []byte {
	buffer := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v.Interface()); err != nil {
		return append(b, "null"...) // no value of a field can be like that
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

func appendTexts(b []byte, v reflect.Value) []byte {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, v.Index(i).String())
	}
	return append(b, ']')
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// appendFloat writes a number as ECMAScript does, which is what encoding/json does.
func appendFloat(b []byte, n float64) []byte {
	size := n
	if size < 0 {
		size = -size
	}
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, n, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, n, 'e', -1, 64)
	if end := len(b); end >= 4 && b[end-4] == 'e' && b[end-3] == '-' && b[end-2] == '0' {
		b[end-2] = b[end-1] // e-09 is e-9
		b = b[:end-1]
	}
	return b
}
