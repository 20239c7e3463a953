package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// csvSource reads rows of cells below a header: CSV (RFC 4180), also with semicolons or tabs, and workbooks.
type csvSource struct {
	*file
	r      cellReader
	header []string
	head   []byte
	of     map[*records.Resource]*header
}

// cellReader reads the rows of a table, as [csv.Reader] does.
type cellReader interface {
	Read() (cells []string, err error)
	FieldPos(field int) (line, column int)
}

// separator returns what separates the cells of the first line.
func separator(start []byte) (comma byte) {
	counts, state := map[byte]int{}, cellStart
	for _, b := range start {
		if state = state.next(b, ','); state == cellStart && b == '\n' {
			break
		}
		if state != cellQuoted {
			counts[b]++
		}
	}
	comma = ','
	for _, b := range []byte(";\t") {
		if counts[b] > counts[comma] {
			comma = b
		}
	}
	return comma
}

// newTable reads the header of a table.
func newTable(f *file, r cellReader) (Source, error) {
	s := &csvSource{file: f, r: r, of: map[*records.Resource]*header{}}
	cells, err := s.r.Read()
	if err != nil {
		return nil, s.broken(err)
	}
	cells = trimmed(cells)
	s.header, s.head, s.line = cells, encodeCSV(cells), 1
	if f.opts.Columns != nil {
		if len(f.opts.Columns) != len(cells) {
			return nil, f.fail(1, "has %d columns, and %d are named", len(cells), len(f.opts.Columns))
		}
		head := slices.Clone(f.opts.Columns)
		for i, path := range head {
			if path == "" {
				head[i] = "_" + strings.TrimLeft(cells[i], "_")
			}
		}
		s.head = encodeCSV(head)
	}
	if f.resource == nil && !slices.Contains(cells, "_resource") {
		return nil, f.fail(1, "has no resource: name the file after it, as in devices.csv, give the resource, or add a column _resource")
	}
	wrong := &FileError{}
	for i, name := range cells {
		if p := (Problem{File: f.name, Line: 1}); !utf8.ValidString(name) {
			p.Reason = fmt.Sprintf("column %d %s", i+1, latin1)
			wrong.Problems = append(wrong.Problems, p)
		} else if name == "" && f.opts.Columns == nil {
			p.Reason = fmt.Sprintf("column %d has no name", i+1)
			wrong.Problems = append(wrong.Problems, p)
		}
	}
	if f.resource != nil {
		for name, reason := range s.headerOf(f.resource).wrong {
			wrong.Problems = append(wrong.Problems, Problem{File: f.name, Line: 1, Column: printable.Truncate(name, 64), Reason: reason})
		}
		slices.SortFunc(wrong.Problems, func(a, b Problem) int { return strings.Compare(a.Column, b.Column) })
	}
	if len(wrong.Problems) > 0 {
		return nil, wrong
	}
	return s, nil
}

// trimmed returns cells without empty ones at the end.
func trimmed(cells []string) []string {
	for len(cells) > 1 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 1 && strings.TrimSpace(cells[0]) == "" {
		return nil
	}
	return cells
}

// header says what the columns of a file are for a resource.
type header struct {
	paths [][]string        // such as device, location
	names map[string]string // of the columns, by the first of a path; "" for several
	wrong map[string]string // what is wrong with columns, by name
}

// headerOf returns what the columns are for a resource.
func (s *csvSource) headerOf(r *records.Resource) *header {
	if h := s.of[r]; h != nil {
		return h
	}
	h := &header{names: map[string]string{}, wrong: map[string]string{}}
	s.of[r] = h
	used, whole := map[string]string{}, map[string]string{}
	for i, name := range s.header {
		path, _ := Column(r, name)
		if s.opts.Columns != nil {
			if path = s.opts.Columns[i]; path == "" {
				h.paths = append(h.paths, []string{"_"})
				continue
			}
		}
		steps := strings.Split(cmp.Or(path, name), ".")
		if reason := unknownPath(r, steps); reason != "" {
			h.wrong[name] = reason
		}
		if other, ok := used[path]; ok && path != "" && other == name {
			h.wrong[name] = "is the name of two columns: remove one"
		} else if ok && path != "" {
			h.wrong[name] = fmt.Sprintf("is %s, as %q is: remove one of the two columns", path, other)
		}
		used[path] = name
		if _, ok := h.names[steps[0]]; ok && len(steps) > 1 {
			name = whole[steps[0]]
		} else if len(steps) == 1 {
			whole[steps[0]] = name
		}
		h.names[steps[0]], h.paths = name, append(h.paths, steps)
	}
	return h
}

// Column returns the column of a resource that a column of a spreadsheet means, such as location for "Site": the name or
// label of a field, that of a natural key with its parts, or an alias. For an unknown one, near is what was probably meant.
func Column(r *records.Resource, name string) (path, near string) {
	if unknownPath(r, strings.Split(name, ".")) == "" {
		return name, ""
	}
	var names, aliases, of []string
	for _, f := range r.Fields() {
		if f.Hidden || f.WriteOnly {
			continue
		}
		column := cmp.Or(f.Member, f.Name)
		for _, alias := range f.Aliases {
			aliases, of = append(aliases, alias), append(of, column)
		}
		names = append(names, f.Name)
		if f.Member != "" {
			names = append(names, f.Member)
			for _, part := range f.Ref.Resource().KeyMembers() {
				names = append(names, f.Member+"."+part)
			}
		}
		if f.Label != "" {
			aliases, of = append(aliases, f.Label), append(of, column)
		}
	}
	if path := suggest.Closest(name, names, 0); path != "" {
		return path, ""
	}
	if alias := suggest.Closest(name, aliases, 0); alias != "" {
		return of[slices.Index(aliases, alias)], ""
	}
	most := max(1, len(name)/3)
	if near := suggest.Closest(name, names, most); near != "" {
		return "", near
	}
	if alias := suggest.Closest(name, aliases, most); alias != "" && len(alias) > 3 {
		return "", of[slices.Index(aliases, alias)]
	}
	return "", ""
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

// Next returns the next row that has a value: spreadsheets also save rows that were formatted.
func (s *csvSource) Next() (*Row, error) {
	var cells []string
	var err error
	for blank := true; blank; blank = err == nil && len(s.header) > 1 && len(trimmed(cells)) == 0 {
		s.bounded.n = 0
		if cells, err = s.r.Read(); errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
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
	cells = cells[:max(len(trimmed(cells)), min(len(cells), len(s.header)))]
	for s.opts.Format == XLSX && len(cells) < len(s.header) {
		cells = append(cells, "")
	}
	row := s.row(encodeCSV(cells))
	row.Head = s.head
	if len(row.Problems) > 0 {
		return row, nil
	}
	if len(cells) != len(s.header) {
		row.refuse("", fmt.Sprintf("has %d cells, and the header has %d: put cells with separators in quotation marks", len(cells), len(s.header)))
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
	case s.opts.Format == XLSX:
		return s.fail(s.line+1, "the workbook cannot be read further: save it as CSV (UTF-8)")
	}
	return err
}

// fill sets the values of a row.
func (s *csvSource) fill(row *Row, cells []string) {
	nested := map[string]key{}
	row.header = s.headerOf(row.Resource)
	for i, path := range row.header.paths {
		name, cell := path[0], cells[i]
		if strings.HasPrefix(name, "_") {
			continue
		}
		if f, ok := row.Resource.Field(name); ok && len(path) == 1 {
			if s.opts.Format == XLSX {
				cell = dateOf(f, cell)
			}
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
		ref, _ := row.Resource.ByMember(name)
		row.Patch[name], _ = json.Marshal(k.document(ref.Ref.Resource())) // of documents, so it is valid
	}
}

// key is a natural key with its parts by name, which are documents or keys; nil is an empty one. The part without a
// name is that of the field which names records, or a document in place of the others.
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
func (k key) document(of *records.Resource) any {
	parts, empty := map[string]any{}, true
	for name, part := range k {
		if nested, ok := part.(key); ok {
			ref, _ := of.ByMember(name)
			part = nested.document(ref.Ref.Resource())
		}
		parts[name], empty = part, empty && part == nil
	}
	own, ok := parts[""]
	delete(parts, "")
	wider := slices.IndexFunc(of.KeyMembers(), func(name string) bool {
		ref, isRef := of.ByMember(name)
		return isRef && ref.Ref.Resource() == of && parts[name] != nil
	})
	switch {
	case empty:
		return nil
	case ok && own == nil && wider >= 0: // of a room within a site, only the site is known
		return parts[of.KeyMembers()[wider]]
	case ok && len(parts) == 0:
		return own
	case own != nil && naming(of) != nil:
		parts[naming(of).Name] = own
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
		cell = records.UnescapeCell(cell)
		if i := slices.IndexFunc(f.Enum, func(value string) bool { return strings.EqualFold(value, strings.TrimSpace(cell)) }); i >= 0 {
			cell = f.Enum[i]
		}
		if p, err := netip.ParsePrefix(cell); err == nil && f.Format == "ip" { // as lists of other inventories have it
			cell = p.Addr().String()
		}
		return text(cell), ""
	case records.Bool:
		switch strings.ToLower(cell) {
		case "true", "yes", "1":
			return json.RawMessage("true"), ""
		case "false", "no", "0":
			return json.RawMessage("false"), ""
		}
		return text(cell), records.WrongKind(f.Kind).Reason
	case records.List:
		if json.Valid([]byte(cell)) && cell[0] == '[' {
			return json.RawMessage(cell), ""
		}
		if cell[0] == '[' {
			return text(cell), records.WrongType(`a list such as core,lab or ["core","lab"]`).Reason
		}
		var elements []string
		for element := range strings.SplitSeq(cell, ",") {
			if element = strings.TrimSpace(element); element != "" {
				elements = append(elements, element)
			}
		}
		doc, _ := json.Marshal(elements) // texts always encode
		return doc, ""
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

// crlf reads CSV for csv.Reader, which drops the CR of each CR LF, also within quotation marks. There it
// doubles the CR, so that one is left. It follows csv.Reader in what is within quotation marks, also after
// a row that is wrong, which ends with its line.
type crlf struct {
	in      *bufio.Reader
	comma   byte // between cells
	state   cellState
	cr      bool // the last byte was a CR
	doubled bool // and it is doubled
}

// cellState is the position of a byte within CSV.
type cellState uint8

const (
	cellStart  cellState = iota
	cellPlain            // in a cell without quotation marks
	cellQuoted           // within quotation marks
	cellQuote            // after the second one, or the first of two that stand for one
	rowWrong             // after an error, up to the end of the line
)

func newCRLF(in *bufio.Reader, comma byte) *csv.Reader {
	r := csv.NewReader(&crlf{in: in, comma: comma})
	r.Comma, r.FieldsPerRecord = rune(comma), -1
	r.LazyQuotes = comma == '\t' // spreadsheets copy a cell with 24" as it is
	return r
}

// Read reads up to the end of what is buffered.
func (c *crlf) Read(p []byte) (n int, err error) {
	for n < len(p) && (n == 0 || c.in.Buffered() > 0) {
		b, err := c.in.ReadByte()
		if err != nil {
			return n, err
		}
		if b == '\n' && c.state == cellQuoted && c.cr && !c.doubled {
			if err := c.in.UnreadByte(); err != nil {
				return n, err
			}
			b, c.doubled = '\r', true
		} else {
			c.state, c.doubled = c.state.next(b, c.comma), false
		}
		p[n], c.cr = b, b == '\r'
		n++
	}
	return n, nil
}

// next returns the state after a byte.
func (s cellState) next(b, comma byte) cellState {
	switch {
	case s == cellQuoted && b == '"':
		return cellQuote
	case s == cellQuoted, s == cellQuote && b == '"':
		return cellQuoted
	case b == '\n':
		return cellStart
	case s == rowWrong:
		return rowWrong
	case b == comma:
		return cellStart
	case s == cellStart && b == '"':
		return cellQuoted
	case b == '"', s == cellQuote:
		return rowWrong
	}
	return cellPlain
}
