package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Rows writes records one after the other. A value is for one body.
type Rows interface {
	Begin(b []byte, e *Encoder) []byte
	Row(b []byte, e *Encoder, rec records.Record) []byte
	// End completes a body without any row, or one with rows.
	End(b []byte, any bool) []byte
}

// CSV returns rows of RFC 4180 with a header. Null and the empty string are empty cells, lists and objects are JSON.
// Texts are escaped (records.EscapeCell).
func CSV() Rows { return &csvRows{} }

// JSONLines returns rows of a record in JSON on each line.
func JSONLines() Rows { return jsonRows{} }

// YAML returns rows that are a list of mappings. Their values are in the flow style of YAML 1.2, which has JSON in it,
// so that each line is read alike by YAML 1.1.
func YAML() Rows { return &yamlRows{} }

type jsonRows struct{}

func (jsonRows) Begin(b []byte, _ *Encoder) []byte { return b }

func (jsonRows) Row(b []byte, e *Encoder, rec records.Record) []byte {
	return append(e.Append(b, rec), '\n')
}

func (jsonRows) End(b []byte, _ bool) []byte { return b }

type csvRows struct{ value []byte }

func (w *csvRows) Begin(b []byte, e *Encoder) []byte {
	for i := range e.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.Members[i].Name()...) // letters, digits and underscores
	}
	return append(b, "\r\n"...)
}

func (w *csvRows) Row(b []byte, e *Encoder, rec records.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	for i := range e.Members {
		if i > 0 {
			b = append(b, ',')
		}
		m := &e.Members[i]
		w.value = m.value(w.value[:0], v, base)
		text := plain(w.value)
		if m.Field.Kind == records.Text && len(text) > 0 && !isWord(text[0]) {
			text = []byte(records.EscapeCell(string(text)))
		}
		b = appendCell(b, text, len(e.Members) == 1)
	}
	return append(b, "\r\n"...)
}

func (w *csvRows) End(b []byte, _ bool) []byte { return b }

// isWord reports whether a byte is an ASCII letter or digit, with which no formula begins.
func isWord(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// plain returns a value in JSON as a text: null is empty, and a string loses its quotes.
func plain(value []byte) []byte {
	switch {
	case string(value) == "null":
		return nil
	case value[0] != '"':
		return value
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	}
	var s string
	_ = json.Unmarshal(value, &s) // of the encoder, so it is valid
	return []byte(s)
}

// appendCell appends a cell. Readers skip a line that is empty, so the only cell of a row is not.
func appendCell(b, text []byte, only bool) []byte {
	if len(text) == 0 && !only {
		return b
	}
	if len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") && !isBlank(text[0]) && !isBlank(text[len(text)-1]) {
		return append(b, text...)
	}
	b = append(b, '"')
	for _, c := range text {
		if c == '"' {
			b = append(b, '"')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

type yamlRows struct{ value []byte }

func (w *yamlRows) Begin(b []byte, _ *Encoder) []byte { return b }

func (w *yamlRows) Row(b []byte, e *Encoder, rec records.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	indent := "- "
	for i := range e.Members {
		m := &e.Members[i]
		b = append(append(append(b, indent...), yamlKey(m.Name())...), ": "...)
		w.value = m.value(w.value[:0], v, base)
		b = append(appendYAML(b, w.value, m.Field.Kind == records.Float), '\n')
		indent = "  "
	}
	return b
}

func (w *yamlRows) End(b []byte, any bool) []byte {
	if !any {
		return append(b, "[]\n"...)
	}
	return b
}

// yamlKey returns the name of a field as a key: some names are no strings in YAML 1.1.
func yamlKey(name string) string {
	switch name {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return `"` + name + `"`
	}
	return name
}

// appendYAML appends a value in JSON. Characters that YAML does not allow as they are can only be in
// strings, where they are escaped. A number with an exponent has a fraction, without which it would be a
// string in YAML 1.1.
func appendYAML(b, value []byte, float bool) []byte {
	if i := bytes.IndexByte(value, 'e'); float && i > 0 && bytes.IndexByte(value, '.') < 0 {
		return append(append(append(b, value[:i]...), ".0"...), value[i:]...)
	}
	for len(value) > 0 {
		c, size := utf8.DecodeRune(value)
		switch {
		case c < 0x7f || c >= 0xa0 && c <= 0xd7ff || c >= 0xe000 && c <= 0xfffd && c != 0xfeff || c >= 0x10000:
			b = append(b, value[:size]...)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
		value = value[size:]
	}
	return b
}
