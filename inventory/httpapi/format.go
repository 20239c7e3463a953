package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// format is a form in which lists are sent (REFERENCE.md, 2.12).
type format struct {
	name  string      // of the parameter format, and the suffix of files
	types []string    // media types; the first one is sent
	rows  func() rows // nil for the pages in JSON
}

// rows writes records in a format.
type rows interface {
	begin(b []byte, e *encoder) []byte
	row(b []byte, e *encoder, rec records.Record) []byte
	// end completes a body without any row, or one with rows.
	end(b []byte, any bool) []byte
}

// formatParameter is the parameter that names a format.
const formatParameter = "format"

// keysParameter says whether exports have ids or natural keys.
const keysParameter = "keys"

// formats returns the formats; the first is the default. Errors are a form of JSON too, so a client that
// accepts these only gets JSON.
func formats() []*format {
	return []*format{
		{"json", []string{"application/json", "application/problem+json"}, nil},
		{"csv", []string{"text/csv"}, func() rows { return &csvRows{} }},
		{"jsonl", []string{"application/x-ndjson", "application/jsonl", "application/ndjson", "application/x-jsonlines"}, func() rows { return jsonRows{} }},
		{"yaml", []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}, func() rows { return &yamlRows{} }},
	}
}

// exporting describes the formats of a list.
func (op *operation) exporting() {
	r := op.doc.List
	op.doc.Errors = append(op.doc.Errors, http.StatusNotAcceptable)
	op.doc.Responses = append(op.doc.Responses,
		openapi.Response{Status: http.StatusOK, ContentType: "text/csv", Schema: openapi.String("A line with the names of the fields, and one for each record.")},
		openapi.Response{Status: http.StatusOK, ContentType: "application/x-ndjson", Schema: openapi.String("A record in JSON on each line.")},
		openapi.Response{Status: http.StatusOK, ContentType: "application/yaml", Schema: openapi.String("A list of the records.")})
	if _, taken := r.Field(keysParameter); !taken {
		op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
			Name: keysParameter, Schema: &openapi.Schema{Type: "string", Enum: []any{"id", "natural"}},
			Description: "natural: an export has the fields that clients can set, with natural keys in place of ids, so that an import creates the records again.",
		})
	}
	if _, taken := r.Field(formatParameter); taken {
		return
	}
	names := openapi.String("")
	for _, f := range formats() {
		names.Enum = append(names.Enum, f.name)
	}
	op.doc.Parameters = append(op.doc.Parameters, openapi.Parameter{
		Name: formatParameter, Schema: names,
		Description: "The format, instead of the header Accept. Others than json have all records that match, unless page, limit or cursor is given.",
	})
}

// format returns the format that the client wants. The parameter counts more than Accept; of a resource
// with a field of that name it is a filter.
func (c *call) format(r *records.Resource) (*format, error) {
	all := formats()
	if _, taken := r.Field(formatParameter); !taken && c.query.Has(formatParameter) {
		var names []string
		for _, f := range all {
			if f.name == c.query.Get(formatParameter) {
				return f, nil
			}
			names = append(names, f.name)
		}
		return nil, badField(formatParameter, "must be one of "+strings.Join(names, ", "))
	}
	accept := c.r.Header["Accept"]
	if len(accept) == 0 || len(accept) == 1 && (accept[0] == "*/*" || accept[0] == all[0].types[0] || accept[0] == "") {
		return all[0], nil
	}
	best, bestQ, bestMatch := (*format)(nil), 0, 0
	for _, f := range all {
		for _, t := range f.types {
			if q, match := accepted(accept, t); q > bestQ || q == bestQ && q > 0 && match > bestMatch {
				best, bestQ, bestMatch = f, q, match
			}
		}
	}
	if best == nil {
		var types []string
		for _, f := range all {
			types = append(types, f.types[0])
		}
		return nil, httpx.Errorf(http.StatusNotAcceptable, "The list has no format that Accept allows: use %s, or the parameter %s", strings.Join(types, ", "), formatParameter)
	}
	return best, nil
}

// accepted returns the q-value in thousandths that the lines of an Accept header give a media type, and how
// specific the range is that it is from: 3 for the type, 2 for one such as text/*, 1 for */*, 0 for none
// (RFC 9110, section 12.5.1).
func accepted(lines []string, mediaType string) (q, match int) {
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			is := 0
			switch strings.ToLower(strings.TrimSpace(name)) {
			case mediaType:
				is = 3
			case kind + "/*":
				is = 2
			case "*/*":
				is = 1
			}
			if is > match {
				q, match = weight(parameters), is
			}
		}
	}
	return q, match
}

// weight returns the parameter q in thousandths, 1000 without a valid one.
func weight(parameters string) int {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
			return int(q * 1000)
		}
	}
	return 1000
}

// jsonRows writes a record in JSON on each line.
type jsonRows struct{}

func (jsonRows) begin(b []byte, _ *encoder) []byte { return b }

func (jsonRows) row(b []byte, e *encoder, rec records.Record) []byte {
	return append(e.append(b, rec), '\n')
}

func (jsonRows) end(b []byte, _ bool) []byte { return b }

// csvRows writes CSV (RFC 4180) with a header. Null and the empty string are empty cells, lists and objects
// are JSON. Texts are escaped (records.EscapeCell).
type csvRows struct{ value []byte }

func (w *csvRows) begin(b []byte, e *encoder) []byte {
	for i := range e.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.members[i].column()...) // letters, digits and underscores
	}
	return append(b, "\r\n"...)
}

func (w *csvRows) row(b []byte, e *encoder, rec records.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	for i := range e.members {
		if i > 0 {
			b = append(b, ',')
		}
		m := &e.members[i]
		w.value = m.value(w.value[:0], v, base)
		text := plain(w.value)
		if m.field.Kind == records.Text && len(text) > 0 && !isWord(text[0]) {
			text = []byte(records.EscapeCell(string(text)))
		}
		b = appendCell(b, text, len(e.members) == 1)
	}
	return append(b, "\r\n"...)
}

func (w *csvRows) end(b []byte, _ bool) []byte { return b }

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

// yamlRows writes a list of mappings, whose values are in the flow style of YAML 1.2, which has JSON in it,
// so that each line is read alike by YAML 1.1.
type yamlRows struct{ value []byte }

func (w *yamlRows) begin(b []byte, _ *encoder) []byte { return b }

func (w *yamlRows) row(b []byte, e *encoder, rec records.Record) []byte {
	v, base := reflect.ValueOf(rec).Elem(), rec.Meta()
	indent := "- "
	for i := range e.members {
		m := &e.members[i]
		b = append(append(append(b, indent...), yamlKey(m.column())...), ": "...)
		w.value = m.value(w.value[:0], v, base)
		b = append(appendYAML(b, w.value, m.field.Kind == records.Float), '\n')
		indent = "  "
	}
	return b
}

func (w *yamlRows) end(b []byte, any bool) []byte {
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
