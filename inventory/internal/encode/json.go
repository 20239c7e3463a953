package encode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Encoder encodes records of one resource as encoding/json does, without escaping &, < and
// >. It is built once from the description of the resource.
type Encoder struct {
	Members  []Member // in the order of the description
	resource *records.Resource
}

// Cache makes the encoders of resources when they are first used. Its zero value is ready for use.
type Cache struct{ made sync.Map } // *records.Resource to *Encoder

// Of returns the encoder of a resource.
func (e *Cache) Of(r *records.Resource) *Encoder {
	if made, ok := e.made.Load(r); ok {
		return made.(*Encoder)
	}
	made, _ := e.made.LoadOrStore(r, New(r))
	return made.(*Encoder)
}

// Member encodes one field of a record.
type Member struct {
	Field  *records.Field
	name   string                                    // `"hostname":`
	base   func(b []byte, base *records.Base) []byte // for a field of Base, without reflection
	index  int                                       // of another field in the struct
	append func(b []byte, v reflect.Value) []byte
	keys   map[string]json.RawMessage // natural keys by id, in place of the id that the field has
}

// New returns the encoder of the visible fields of a resource.
func New(r *records.Resource) *Encoder {
	e := &Encoder{resource: r}
	base := map[string]func([]byte, *records.Base) []byte{
		"id":         func(b []byte, base *records.Base) []byte { return String(b, base.ID) },
		"created_at": func(b []byte, base *records.Base) []byte { return Time(b, base.CreatedAt) },
		"updated_at": func(b []byte, base *records.Base) []byte { return Time(b, base.UpdatedAt) },
		"version":    func(b []byte, base *records.Base) []byte { return strconv.AppendInt(b, base.Version, 10) },
	}
	t := reflect.TypeOf(r.New()).Elem()
	for _, f := range r.Fields() {
		if f.Hidden || f.WriteOnly {
			continue
		}
		m := Member{Field: f, name: `"` + f.Name + `":`, base: base[f.Name]}
		if m.base == nil && !f.Extra {
			sf := f.StructField(t)
			m.index, m.append = sf.Index[0], appender(sf.Type)
		}
		e.Members = append(e.Members, m)
	}
	return e
}

// Only returns the encoder of some of the fields, in the order of their description; nil is
// all fields.
func (e *Encoder) Only(fields []*records.Field) *Encoder {
	if fields == nil {
		return e
	}
	some := &Encoder{resource: e.resource}
	for _, m := range e.Members {
		if slices.Contains(fields, m.Field) {
			some.Members = append(some.Members, m)
		}
	}
	return some
}

// Natural returns the encoder of rows that an import creates again: what clients can set, with natural keys
// in place of references, which SetKeys finds. Records that equal others in all that names them have their ids too.
func (e *Encoder) Natural() *Encoder {
	some := &Encoder{resource: e.resource}
	for _, m := range e.Members {
		switch {
		case m.Field.Name == "id" && e.resource.Anonymous:
			m.keys = map[string]json.RawMessage{}
		case m.Field.ReadOnly || m.base != nil:
			continue
		case m.Field.Member != "":
			m.name, m.keys = `"`+m.Field.Member+`":`, map[string]json.RawMessage{}
		}
		some.Members = append(some.Members, m)
	}
	return some
}

// maxExportKeys bounds the natural keys of one field that an export keeps.
const maxExportKeys = 20_000

// SetKeys finds the natural keys that some records need.
func (e *Encoder) SetKeys(ctx context.Context, from records.Reader, recs []records.Record) error {
	for i := range e.Members {
		m := &e.Members[i]
		if m.keys == nil {
			continue
		}
		if len(m.keys) > maxExportKeys {
			clear(m.keys)
		}
		missing := map[string]bool{}
		for _, rec := range recs {
			if id, _ := m.Field.Value(rec).(string); id != "" && m.keys[id] == nil {
				missing[id] = true
			}
		}
		of := e.resource
		if m.Field.Ref != nil {
			of = m.Field.Ref.Resource()
		}
		found, err := records.KeysOf(ctx, from, of, slices.Collect(maps.Keys(missing)))
		if err != nil {
			return err
		}
		if m.Field.Ref == nil { // a key needs no id
			for id, key := range found {
				found[id] = json.RawMessage("null")
				if string(key) == `{"id":"`+id+`"}` {
					found[id] = json.RawMessage(`"` + id + `"`)
				}
			}
		}
		maps.Copy(m.keys, found)
	}
	return nil
}

// After returns the encoder with another member after that of a field, whose value depends on the id of the record.
func (e *Encoder) After(field, name string, value func(b []byte, id string) []byte) *Encoder {
	i := slices.IndexFunc(e.Members, func(m Member) bool { return m.Field != nil && m.Field.Name == field })
	m := Member{name: `"` + name + `":`, base: func(b []byte, base *records.Base) []byte { return value(b, base.ID) }}
	return &Encoder{Members: slices.Insert(slices.Clone(e.Members), i+1, m)}
}

// Append appends a record.
func (e *Encoder) Append(b []byte, rec records.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	b = append(b, '{')
	for i := range e.Members {
		if i > 0 {
			b = append(b, ',')
		}
		m := &e.Members[i]
		b = append(b, m.name...)
		b = m.value(b, v, base)
	}
	return append(b, '}')
}

// Name returns the name of the member, which may differ from that of the field (see After).
func (m *Member) Name() string { return m.name[1 : len(m.name)-2] }

// Append appends the value of the field of a record.
func (m *Member) Append(b []byte, rec records.Record) []byte {
	return m.value(b, reflect.ValueOf(rec).Elem(), rec.Meta())
}

// value appends the value of the field in the struct of a record.
func (m *Member) value(b []byte, v reflect.Value, base *records.Base) []byte {
	switch {
	case m.keys != nil:
		id, _ := m.Field.Value(v.Addr().Interface().(records.Record)).(string)
		if key, ok := m.keys[id]; ok {
			return append(b, key...)
		}
		return append(b, "null"...)
	case m.base != nil:
		return m.base(b, base)
	case m.Field.Extra:
		return Value(b, m.Field, base.Extra[m.Field.Name])
	}
	return m.append(b, v.Field(m.index))
}

// Value appends a value of a field.
func Value(b []byte, f *records.Field, value any) []byte {
	switch v := value.(type) {
	case string:
		return String(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return Float(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case time.Time:
		return Time(b, v)
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

// AppendAll appends an array of records.
func (e *Encoder) AppendAll(b []byte, recs []records.Record) []byte {
	b = append(b, '[')
	for i, rec := range recs {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.Append(b, rec)
	}
	return append(b, ']')
}

// appender returns the encoding of a Go type. Only pointers are converted to interfaces, so
// nothing is allocated.
func appender(t reflect.Type) func([]byte, reflect.Value) []byte {
	switch t {
	case reflect.TypeFor[time.Time]():
		return func(b []byte, v reflect.Value) []byte { return Time(b, *v.Addr().Interface().(*time.Time)) }
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
		return func(b []byte, v reflect.Value) []byte { return String(b, v.String()) }
	case reflect.Int64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Float64:
		return func(b []byte, v reflect.Value) []byte { return Float(b, v.Float()) }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	}
	return func(b []byte, v reflect.Value) []byte { return JSON(b, v.Interface()) }
}

// JSON appends other values, such as the changes of an audit log, with encoding/json.
func JSON(b []byte, v any) []byte {
	buffer := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return append(b, "null"...) // unreachable for what can be encoded
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// Time appends a time.
func Time(b []byte, t time.Time) []byte {
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
		b = String(b, v.Index(i).String())
	}
	return append(b, ']')
}

// Float appends a number as ECMAScript and encoding/json do.
func Float(b []byte, n float64) []byte {
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

// String appends a string. Runs without escapes, nearly all of it, are copied at once.
// U+2028 and U+2029 are escaped as by encoding/json, because old JavaScript engines treat
// them as line ends.
func String(b []byte, s string) []byte {
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
			if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
				b = append(b, '\\', "\"\\bfnrt"[at])
			} else {
				b = fmt.Appendf(b, `\u%04x`, c)
			}
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
