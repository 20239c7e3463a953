package importer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// csvSource reads CSV (RFC 4180) with a header.
type csvSource struct {
	*file
	r      *csv.Reader
	header []string
	head   []byte
	paths  [][]string // of the columns
}

// newCSV reads the header.
func newCSV(f *file) (Source, error) {
	s := &csvSource{file: f, r: newCRLF(f.in)}
	s.r.FieldsPerRecord = -1
	header, err := s.r.Read()
	if err != nil {
		return nil, s.broken(err)
	}
	s.header, s.head, s.line = header, encodeCSV(header), 1
	if f.resource == nil && !slices.Contains(header, "_resource") {
		return nil, f.fail(1, "has no resource: name the file after it, as in devices.csv, give the resource, or add a column _resource")
	}
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t") {
		return nil, f.fail(1, "the columns are separated by semicolons or tabs: separate them by commas")
	}
	seen := map[string]bool{}
	wrong := &FileError{}
	refuse := func(column, format string, args ...any) {
		wrong.Problems = append(wrong.Problems, Problem{File: f.name, Line: 1, Column: printable.Truncate(column, 64), Reason: fmt.Sprintf(format, args...)})
	}
	for i, name := range header {
		switch {
		case !utf8.ValidString(name):
			refuse("", "column %d %s", i+1, latin1)
		case name == "":
			refuse("", "column %d has no name", i+1)
		case seen[name]:
			refuse(name, "is the name of two columns: remove one")
		case f.resource != nil:
			if reason := unknownPath(f.resource, strings.Split(name, ".")); reason != "" {
				refuse(name, "%s", reason)
			}
		}
		seen[name] = true
		s.paths = append(s.paths, strings.Split(name, "."))
	}
	if len(wrong.Problems) > 0 {
		return nil, wrong
	}
	return s, nil
}

// unknownPath says why a resource has no column with a path such as device.location, "" if it has.
func unknownPath(r *records.Resource, path []string) string {
	for i, name := range path {
		if reason := unknown(r, name); i == 0 && reason != "" {
			return reason
		}
		f, ok := r.ByMember(name)
		if i > 0 {
			members := append([]string{"id"}, r.KeyMembers()...)
			if !slices.Contains(members, name) {
				return "is an unknown column: " + strings.Join(path[:i], ".") + " has no part " + name + ": " + didYouMean(name, members)
			}
		}
		if i == len(path)-1 {
			return ""
		}
		if !ok {
			return "is an unknown column: " + strings.Join(path[:i+1], ".") + " has no parts"
		}
		r = f.Ref.Resource()
	}
	return ""
}

// Next returns the next row.
func (s *csvSource) Next() (*Row, error) {
	s.bounded.n = 0
	cells, err := s.r.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if parse, ok := errors.AsType[*csv.ParseError](err); ok && !s.bounded.over && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.line = int64(parse.StartLine)
		row := s.row(encodeCSV(cells))
		row.Head = s.head
		what := "has a quotation mark in the wrong place"
		if errors.Is(err, csv.ErrQuote) {
			what = "has a quotation mark that is not closed, or text behind one that closes a cell"
		}
		row.refuse("", fmt.Sprintf("%s (line %d, column %d): put cells with quotation marks in quotation marks, and write each twice", what, parse.Line, parse.Column))
		return row, nil
	}
	if err != nil {
		return nil, s.broken(err)
	}
	line, _ := s.r.FieldPos(0)
	s.line = int64(line)
	row := s.row(encodeCSV(cells))
	row.Head = s.head
	if len(row.Problems) > 0 {
		return row, nil
	}
	if len(cells) != len(s.header) {
		row.refuse("", fmt.Sprintf("has %d cells, and the header has %d: put cells with commas in quotation marks", len(cells), len(s.header)))
		return row, nil
	}
	for i, name := range s.header {
		if name == "_resource" && cells[i] != "" {
			s.setResource(row, cells[i])
		}
	}
	if row.Resource != nil {
		s.fill(row, cells)
	}
	return s.finish(row), nil
}

// broken returns the error of a file that can't be read on.
func (s *csvSource) broken(err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case s.bounded.over && s.header == nil:
		return s.fail(1, "the header is longer than 1 MiB: close its quotation mark")
	case s.bounded.over:
		return s.fail(s.line, "the row behind this line is longer than 1 MiB: close its quotation mark")
	case ok:
		return s.fail(int64(parse.StartLine), "%v", parse.Err)
	case errors.Is(err, io.EOF):
		return s.fail(1, "is empty")
	}
	return err
}

// fill sets the values of a row.
func (s *csvSource) fill(row *Row, cells []string) {
	nested := map[string]key{}
	for i, path := range s.paths {
		name, cell := path[0], cells[i]
		if strings.HasPrefix(name, "_") {
			continue
		}
		if f, ok := row.Resource.Field(name); ok && len(path) == 1 {
			doc, reason := cellValue(f, cell)
			if row.Patch[name] = doc; reason != "" && !f.ReadOnly {
				row.refuse(name, reason)
			}
			continue
		}
		row.Patch[name] = json.RawMessage("null") // finish reports a name that is unknown
		if ref, ok := row.Resource.ByMember(name); ok {
			if nested[name] == nil {
				nested[name] = key{}
			}
			nested[name].add(ref, path[1:], cell)
		}
	}
	for name, k := range nested {
		row.Patch[name], _ = json.Marshal(k.document()) // of documents, so it is valid
	}
}

// key is a natural key with its parts by name, which are documents or keys; nil is an empty one. The part without a
// name is a document in place of the others.
type key map[string]any

// add adds a cell. The column has been checked.
func (k key) add(ref *records.Field, path []string, cell string) {
	to, name, doc := ref.Ref.Resource(), "", text(cell)
	if len(path) > 0 {
		name = path[0]
		if f, ok := to.ByMember(name); ok {
			part, ok := k[name].(key)
			if !ok {
				part = key{}
				k[name] = part
			}
			part.add(f, path[1:], cell)
			return
		}
		if f, ok := to.Field(name); ok {
			if value, reason := cellValue(f, cell); reason == "" {
				doc = value
			}
		}
	} else if short := to.ShortKeys(); cell != "" && (cell[0] == '{' || len(short) > 0 && short[0].Kind == records.Int) && json.Valid([]byte(cell)) {
		doc = json.RawMessage(cell)
	}
	if k[name] = doc; string(doc) == `""` || string(doc) == "null" {
		k[name] = nil
	}
}

// document returns the natural key as a value for JSON, nil for an empty one.
func (k key) document() any {
	parts, empty := map[string]any{}, true
	for name, part := range k {
		if nested, ok := part.(key); ok {
			part = nested.document()
		}
		parts[name], empty = part, empty && part == nil
	}
	own, ok := parts[""]
	delete(parts, "")
	switch {
	case empty:
		return nil
	case ok && len(parts) == 0:
		return own
	}
	return parts
}

// cellValue returns a cell as the JSON of a field, or what would be right.
func cellValue(f *records.Field, cell string) (doc json.RawMessage, reason string) {
	if cell == "" && (f.Nullable || f.Kind == records.Object) {
		return json.RawMessage("null"), ""
	}
	if cell == "" && f.Kind == records.List {
		return json.RawMessage("[]"), ""
	}
	switch f.Kind {
	case records.Text, records.Time:
		if cell == "" && f.Kind == records.Time {
			return json.RawMessage("null"), ""
		}
		return text(records.UnescapeCell(cell)), ""
	case records.Bool:
		if lower := strings.ToLower(cell); lower == "true" || lower == "false" {
			return json.RawMessage(lower), ""
		}
		return text(cell), records.WrongKind(f.Kind).Reason
	case records.List:
		if json.Valid([]byte(cell)) && cell[0] == '[' {
			return json.RawMessage(cell), ""
		}
		return text(cell), records.WrongType(`a JSON array such as ["core","lab"]`).Reason
	case records.Object:
		if json.Valid([]byte(cell)) {
			return json.RawMessage(cell), ""
		}
		return text(cell), records.WrongType("a JSON object").Reason
	}
	number := strings.TrimSpace(cell)
	if c := number; c != "" && json.Valid([]byte(c)) && strings.IndexByte("-0123456789", c[0]) >= 0 {
		return json.RawMessage(c), ""
	}
	return text(cell), records.WrongKind(f.Kind).Reason
}

// text returns a string as JSON.
func text(s string) json.RawMessage {
	doc, _ := json.Marshal(s) // a string always encodes
	return doc
}

// encodeCSV returns a row. Readers skip an empty line, so the only cell of a row has quotation marks.
func encodeCSV(cells []string) []byte {
	if len(cells) == 1 && cells[0] == "" {
		return []byte("\"\"\n")
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(cells) // a buffer does not fail
	w.Flush()
	return b.Bytes()
}
