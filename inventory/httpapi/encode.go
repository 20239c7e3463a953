package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// encoder encodes records of one resource as encoding/json does, without escaping &, < and
// >. It is built once from the description of the resource.
type encoder struct {
	members []member
}

// encoders are the encoders of resources, made when they are first used.
type encoders struct{ made sync.Map } // *records.Resource to *encoder

// of returns the encoder of a resource.
func (e *encoders) of(r *records.Resource) *encoder {
	if made, ok := e.made.Load(r); ok {
		return made.(*encoder)
	}
	made, _ := e.made.LoadOrStore(r, newEncoder(r))
	return made.(*encoder)
}

// member encodes one field of a record.
type member struct {
	field  *records.Field
	name   string                                    // `"hostname":`
	base   func(b []byte, base *records.Base) []byte // for a field of Base, without reflection
	index  int                                       // of another field in the struct
	append func(b []byte, v reflect.Value) []byte
	keys   map[string]json.RawMessage // natural keys by id, in place of the id that the field has
}

// newEncoder returns the encoder of the visible fields of a resource.
func newEncoder(r *records.Resource) *encoder {
	e := &encoder{}
	base := map[string]func([]byte, *records.Base) []byte{
		"id":         func(b []byte, base *records.Base) []byte { return appendString(b, base.ID) },
		"created_at": func(b []byte, base *records.Base) []byte { return appendTime(b, base.CreatedAt) },
		"updated_at": func(b []byte, base *records.Base) []byte { return appendTime(b, base.UpdatedAt) },
		"version":    func(b []byte, base *records.Base) []byte { return strconv.AppendInt(b, base.Version, 10) },
	}
	t := reflect.TypeOf(r.New()).Elem()
	for _, f := range r.Fields() {
		if f.Hidden || f.WriteOnly {
			continue
		}
		m := member{field: f, name: `"` + f.Name + `":`, base: base[f.Name]}
		if m.base == nil && !f.Extra {
			sf := f.StructField(t)
			m.index, m.append = sf.Index[0], appender(sf.Type)
		}
		e.members = append(e.members, m)
	}
	return e
}

// only returns the encoder of some of the fields, in the order of their description; nil is
// all fields.
func (e *encoder) only(fields []*records.Field) *encoder {
	if fields == nil {
		return e
	}
	some := &encoder{}
	for _, m := range e.members {
		if slices.Contains(fields, m.field) {
			some.members = append(some.members, m)
		}
	}
	return some
}

// natural returns the encoder of rows that an import creates again: what clients can set, with natural keys
// in place of references, which setKeys finds.
func (e *encoder) natural() *encoder {
	some := &encoder{}
	for _, m := range e.members {
		if m.field.ReadOnly || m.base != nil {
			continue
		}
		if m.field.Member != "" {
			m.name, m.keys = `"`+m.field.Member+`":`, map[string]json.RawMessage{}
		}
		some.members = append(some.members, m)
	}
	return some
}

// maxExportKeys bounds the natural keys of one field that an export keeps.
const maxExportKeys = 20_000

// setKeys finds the natural keys that some records need.
func (e *encoder) setKeys(ctx context.Context, from records.Reader, recs []records.Record) error {
	for i := range e.members {
		m := &e.members[i]
		if m.keys == nil {
			continue
		}
		if len(m.keys) > maxExportKeys {
			clear(m.keys)
		}
		missing := map[string]bool{}
		for _, rec := range recs {
			if id, _ := m.field.Value(rec).(string); id != "" && m.keys[id] == nil {
				missing[id] = true
			}
		}
		found, err := records.KeysOf(ctx, from, m.field.Ref.Resource(), slices.Collect(maps.Keys(missing)))
		if err != nil {
			return err
		}
		maps.Copy(m.keys, found)
	}
	return nil
}

// after returns the encoder with another member after that of a field.
func (e *encoder) after(field string, m member) *encoder {
	i := slices.IndexFunc(e.members, func(m member) bool { return m.field.Name == field })
	return &encoder{members: slices.Insert(slices.Clone(e.members), i+1, m)}
}

// append appends a record.
func (e *encoder) append(b []byte, rec records.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	b = append(b, '{')
	for i := range e.members {
		if i > 0 {
			b = append(b, ',')
		}
		m := &e.members[i]
		b = append(b, m.name...)
		b = m.value(b, v, base)
	}
	return append(b, '}')
}

// column returns the name of the member, which may differ from that of the field (see after).
func (m *member) column() string { return m.name[1 : len(m.name)-2] }

// value appends the value of the field in the struct of a record.
func (m *member) value(b []byte, v reflect.Value, base *records.Base) []byte {
	switch {
	case m.keys != nil:
		id, _ := m.field.Value(v.Addr().Interface().(records.Record)).(string)
		if key, ok := m.keys[id]; ok {
			return append(b, key...)
		}
		return append(b, "null"...)
	case m.base != nil:
		return m.base(b, base)
	case m.field.Extra:
		return appendExtra(b, m.field, base.Extra[m.field.Name])
	}
	return m.append(b, v.Field(m.index))
}

// appendExtra appends the value of a field that is not in the struct.
func appendExtra(b []byte, f *records.Field, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendFloat(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case time.Time:
		return appendTime(b, v)
	case []string:
		return appendStrings(b, reflect.ValueOf(v))
	}
	switch {
	case f.Kind == records.List:
		return append(b, "[]"...)
	case f.Kind == records.Text && !f.Nullable:
		return append(b, `""`...)
	}
	return append(b, "null"...)
}

// appendAll appends an array of records.
func (e *encoder) appendAll(b []byte, recs []records.Record) []byte {
	b = append(b, '[')
	for i, rec := range recs {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.append(b, rec)
	}
	return append(b, ']')
}

// appender returns the encoding of a Go type. Only pointers are converted to interfaces, so
// nothing is allocated.
func appender(t reflect.Type) func([]byte, reflect.Value) []byte {
	switch t {
	case reflect.TypeFor[time.Time]():
		return func(b []byte, v reflect.Value) []byte { return appendTime(b, *v.Addr().Interface().(*time.Time)) }
	case reflect.TypeFor[[]string]():
		return appendStrings
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
		return func(b []byte, v reflect.Value) []byte { return appendString(b, v.String()) }
	case reflect.Int64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Float64:
		return func(b []byte, v reflect.Value) []byte { return appendFloat(b, v.Float()) }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	}
	return appendJSON
}

// appendJSON encodes other values, such as the changes of an audit log, with encoding/json.
func appendJSON(b []byte, v reflect.Value) []byte {
	buffer := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v.Interface()); err != nil {
		return append(b, "null"...) // unreachable: the values of fields are encodable
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

func appendStrings(b []byte, v reflect.Value) []byte {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, v.Index(i).String())
	}
	return append(b, ']')
}

// appendFloat encodes a number as ECMAScript and encoding/json do.
func appendFloat(b []byte, n float64) []byte {
	size := max(n, -n)
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, n, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, n, 'e', -1, 64)
	if end := len(b); end >= 4 && b[end-4] == 'e' && b[end-3] == '-' && b[end-2] == '0' {
		b[end-2] = b[end-1] // e-09 becomes e-9
		b = b[:end-1]
	}
	return b
}

// appendString encodes a string. Runs without escapes, nearly all of it, are copied at once.
// U+2028 and U+2029 are escaped as by encoding/json, because old JavaScript engines treat
// them as line ends.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		char, size := utf8.DecodeRuneInString(s[i:])
		escape := ""
		switch {
		case char == utf8.RuneError && size == 1:
			escape = `\ufffd`
		case char == '\u2028':
			escape = `\u2028`
		case char == '\u2029':
			escape = `\u2029`
		}
		if escape != "" {
			b = append(b, s[start:i]...)
			b = append(b, escape...)
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendEscaped appends the escape of an ASCII character.
func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return fmt.Appendf(b, `\u%04x`, c)
}
