package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Source returns rows.
type Source interface {
	// Next returns the next row, or io.EOF after the last one. Another error ends the source; it is a
	// [*FileError] if the file is wrong.
	Next() (*Row, error)
}

// Row is a row of a file.
type Row struct {
	File     string
	Line     int64 // from 1
	Resource *records.Resource
	Patch    records.Patch // by the names of fields, and of members with natural keys
	Problems []Problem     // found while reading it
	// Head and Text are the row as it was read: a file with Head, once, and Text can be imported again.
	Head, Text []byte

	header  *header   // of its table; nil for other rows
	pending []Problem // why it waits
	page    *page     // with Text and Patch; nil if the row has them
	from    int       // where they begin in it
}

// FileError is the error of a file that can't be read, or not any further.
type FileError struct{ Problems []Problem }

// Error returns the problems.
func (e *FileError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// The names of formats.
const (
	CSV   = "csv"
	JSONL = "jsonl"
	YAML  = "yaml"
	XLSX  = "xlsx" // a workbook: its sheet with the name of the resource, or else the first one
)

// formats are the formats by the ending of a file.
var formats = map[string]string{".csv": CSV, ".jsonl": JSONL, ".ndjson": JSONL, ".yaml": YAML, ".yml": YAML, ".xlsx": XLSX}

// FileOptions say what a file contains. Nil means the defaults.
type FileOptions struct {
	// Format is CSV, JSONL, YAML or XLSX. Default: that of the ending of the name: .csv, .jsonl, .ndjson, .yaml,
	// .yml or .xlsx.
	Format string
	// Resource is the resource of rows that do not name one by _resource. Default: the name of the file
	// up to the first dot, if there is such a resource.
	Resource string
	// Columns are those of the resource that the columns of CSV or XLSX are, in their order; empty ones are ignored.
	// Default: what the header means ([Column]).
	Columns []string
	// Names are the ids of the records that natural keys stand for which name no record, or several: by the name of the
	// reference and Problem.Key. An empty id is none.
	Names map[string]map[string]string
	// Hold is called with the bytes of memory that a workbook takes before it is read. Its error is that of Open.
	Hold func(bytes int64) error
}

// maxRow is the maximum size of a row in bytes.
const maxRow = 1 << 20

// Open returns the rows of a file. The error is a [*FileError].
func Open(name string, r io.Reader, schema *records.Schema, opts *FileOptions) (Source, error) {
	f, cells, err := open(name, r, schema, opts)
	switch {
	case err != nil:
		return nil, err
	case cells != nil:
		return newTable(f, cells)
	case f.opts.Format == YAML:
		return &yamlSource{file: f}, nil
	}
	return &jsonSource{file: f}, nil
}

// Peek returns the header of a file of CSV or XLSX and the cells of up to n rows, for people who say where columns go.
func Peek(name string, r io.Reader, schema *records.Schema, opts *FileOptions, n int) (rows [][]string, err error) {
	f, cells, err := open(name, r, schema, opts)
	if err != nil {
		return nil, err
	}
	if cells == nil {
		return nil, f.fail(1, "is no table: only CSV and workbooks have columns")
	}
	s := &csvSource{file: f, r: cells}
	for len(rows) <= n {
		f.bounded.n = 0
		row, err := cells.Read()
		if err != nil && len(rows) == 0 {
			return nil, s.broken(err)
		}
		if err != nil {
			break
		}
		rows = append(rows, row)
	}
	rows[0] = trimmed(rows[0])
	return rows, nil
}

// open begins to read a file. cells are those of a table.
func open(name string, r io.Reader, schema *records.Schema, opts *FileOptions) (f *file, cells cellReader, err error) {
	f = &file{name: path.Base(filepath.ToSlash(name)), schema: schema, opts: *cmp.Or(opts, &FileOptions{})}
	of := &f.opts
	if schema == nil {
		return nil, nil, f.fail(1, "the schema is nil")
	}
	of.Format = cmp.Or(of.Format, formats[strings.ToLower(path.Ext(f.name))])
	if !slices.Contains([]string{CSV, JSONL, YAML, XLSX}, of.Format) {
		return nil, nil, f.fail(1, "the format is not known by the name: name it .csv, .xlsx, .jsonl or .yaml, or give the format: csv, xlsx, jsonl or yaml")
	}
	if of.Resource == "" {
		of.Resource, _, _ = strings.Cut(f.name, ".")
		if _, ok := schema.Named(of.Resource); !ok {
			of.Resource = ""
		}
	}
	if of.Resource != "" {
		var reason string
		if f.resource, reason = f.importable(of.Resource); reason != "" {
			return nil, nil, f.fail(1, "%s", reason)
		}
	}
	f.bounded = &bounded{r: r}
	f.in = bufio.NewReaderSize(f.bounded, 64<<10)
	if of.Format == XLSX {
		cells, err = f.workbook(r)
		return f, cells, err
	}
	if err := f.sniff(of.Format); err != nil {
		return nil, nil, err
	}
	if of.Format == CSV {
		start, _ := f.in.Peek(f.in.Size()) // an error is that of the first row
		cells = newCRLF(f.in, separator(start))
	}
	return f, cells, nil
}

// file is a file that is read.
type file struct {
	name     string
	opts     FileOptions
	schema   *records.Schema
	resource *records.Resource // of rows that do not name one; nil for none
	in       *bufio.Reader
	bounded  *bounded
	line     int64 // that was read last
}

// rowsOf returns the resource of the rows of the file, nil if it is not known.
func (f *file) rowsOf() *records.Resource { return f.resource }

// fail returns the error for a file that can't be read on.
func (f *file) fail(line int64, format string, args ...any) error {
	return Fail(f.name, int(line), format, args...)
}

// importable returns a resource by name, or why its records can't be imported.
func (f *file) importable(name string) (r *records.Resource, reason string) {
	var names []string
	for _, r := range f.schema.Resources() {
		if Importable(f.schema, r) {
			names = append(names, r.Name)
		}
	}
	if r, ok := f.schema.Named(name); ok && slices.Contains(names, name) {
		return r, ""
	}
	return nil, fmt.Sprintf("the resource %q can't be imported: %s", printable.Truncate(name, 64), didYouMean(name, names))
}

// didYouMean suggests one of some names, or all.
func didYouMean(name string, names []string) string {
	if near := suggest.Closest(name, names, max(1, len(name)/3)); near != "" {
		return "did you mean " + near + "?"
	}
	return "use " + strings.Join(names, ", ")
}

// bounded bounds how many bytes are read for one row.
type bounded struct {
	r    io.Reader
	n    int // since the last row
	over bool
}

var errRow = errors.New("the row is too long")

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > maxRow {
		b.over = true
		return 0, errRow
	}
	n, err := b.r.Read(p)
	b.n += n
	return n, err
}

// sniff refuses files that are not what they say, and skips a byte order mark.
func (f *file) sniff(format string) error {
	start, err := f.in.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	text := bytes.TrimPrefix(start, byteOrderMark)
	if len(text) < len(start) {
		_, _ = f.in.Discard(len(start) - len(text))
	}
	first := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return f.fail(1, "is a ZIP archive, perhaps a workbook: name it .xlsx, give the format xlsx, or save it as CSV (UTF-8)")
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		return f.fail(1, "is compressed with gzip: decompress it first (gunzip)")
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return f.fail(1, "is in UTF-16: save it in UTF-8, or convert it (iconv -f UTF-16 -t UTF-8)")
	case bytes.HasPrefix(start, []byte("%PDF")), bytes.IndexByte(start, 0) >= 0:
		return f.fail(1, "is a binary file, not %s", format)
	case len(first) == 0 && len(start) < 512:
		return f.fail(1, "is empty")
	case format == CSV && (first[0] == '{' || first[0] == '['):
		return f.fail(1, "begins like JSON, not CSV: name it .jsonl, or give the format")
	case format == JSONL && len(first) > 0 && first[0] == '[':
		return f.fail(1, "is a JSON array: write one object a line (jq -c '.[]')")
	case format == JSONL && len(first) > 0 && first[0] != '{':
		return f.fail(1, "does not begin with an object in braces, as JSON lines do: check the format")
	}
	return nil
}

// latin1 describes text that is not UTF-8, and joined text with a byte order mark within.
const (
	latin1 = "is not UTF-8, perhaps Latin-1: convert the file (iconv -f LATIN1 -t UTF-8)"
	joined = "begins with a byte order mark, perhaps of a second file: remove it, and a second header"
)

// byteOrderMark is that of UTF-8.
var byteOrderMark = []byte("\ufeff")

// row returns a new row at the last line.
func (f *file) row(text []byte) *Row {
	row := &Row{File: f.name, Line: f.line, Resource: f.resource, Text: text, Patch: records.Patch{}}
	switch {
	case !utf8.Valid(text):
		where, n := "", f.line
		for line := range bytes.Lines(text) {
			if !utf8.Valid(line) {
				break
			}
			n++
			where = fmt.Sprintf("in line %d ", n)
		}
		row.refuse("", where+latin1)
	case bytes.HasPrefix(text, byteOrderMark):
		row.refuse("", joined)
	}
	return row
}

// setResource sets the resource that a row names by _resource.
func (f *file) setResource(row *Row, name string) {
	r, reason := f.importable(name)
	if row.Resource = r; reason != "" {
		row.refuse("_resource", reason)
	}
}

// finish checks the members of a row.
func (f *file) finish(row *Row) *Row {
	if row.Resource == nil && len(row.Problems) == 0 {
		row.refuse("", "has no resource: name the file after it, as in devices.csv, give the resource, or add _resource to the row")
	}
	if row.Resource == nil {
		return row
	}
	for name, doc := range row.Patch {
		if reason := unknown(row.Resource, name); reason != "" {
			row.refuse(name, reason)
		}
		if f, ok := row.Resource.Field(name); ok && f.Kind == records.Text && !f.Nullable && string(doc) == "null" {
			row.Patch[name] = json.RawMessage(`""`)
		}
	}
	for _, ref := range row.Resource.Fields() {
		if ref.Member == "" {
			continue
		}
		row.setKey(ref)
		if id, ok := f.opts.Names[ref.Name][row.key(ref)]; ok && id != "" {
			row.Patch[ref.Member], _ = json.Marshal(map[string]string{"id": id}) // of strings, so it is valid
		} else if ok {
			row.Patch[ref.Member] = json.RawMessage("null")
		}
	}
	slices.SortFunc(row.Problems, func(a, b Problem) int { return strings.Compare(a.Column, b.Column) })
	return row
}

// setKey completes the natural key of a reference: a name in place of an id is one, and a name alone is that of a field which
// names records together with others.
func (row *Row) setKey(f *records.Field) {
	doc, ok := row.Patch[f.Member]
	if id, byID := row.Patch[f.Name]; !ok && byID {
		var name string
		if json.Unmarshal(id, &name) != nil || name == "" || records.ValidID(name) {
			return
		}
		row.Patch[f.Member], doc = id, id
	}
	if len(doc) == 0 || doc[0] != '"' && (doc[0] < '0' || doc[0] > '9') || string(doc) == `""` {
		return
	}
	if name := naming(f.Ref.Resource()); name != nil && len(f.Ref.Resource().ShortKeys()) == 0 {
		row.Patch[f.Member], _ = json.Marshal(map[string]json.RawMessage{name.Name: doc}) // of a document, so it is valid
	}
}

// naming returns the field that names the records of a resource, together with others or alone; nil for none.
func naming(r *records.Resource) *records.Field {
	short := r.ShortKeys()
	if i := slices.IndexFunc(short, func(f *records.Field) bool { return f.Name == "name" }); i >= 0 {
		return short[i]
	}
	if len(short) > 0 {
		return short[0]
	}
	for _, name := range r.KeyMembers() {
		if f, ok := r.Field(name); ok && f.Natural {
			return f
		}
	}
	return nil
}

// unknown says why a resource has no column with a name, "" if it has.
func unknown(r *records.Resource, name string) string {
	if strings.HasPrefix(name, "_") {
		return ""
	}
	if _, ok := r.Field(name); ok {
		return ""
	}
	if _, ok := r.ByMember(name); ok {
		return ""
	}
	return "is an unknown column of " + r.Name + ": " + didYouMean(name, columns(r))
}

// columns returns the columns that a row of a resource may have.
func columns(r *records.Resource) (names []string) {
	for _, f := range r.Fields() {
		if !f.Hidden && !f.WriteOnly && (!f.ReadOnly || f.Name == "id") {
			names = append(names, f.Name)
		}
		if f.Member != "" {
			names = append(names, f.Member)
		}
	}
	return names
}

// size is the memory of a row in bytes.
func (row *Row) size() int {
	n := 200 + len(row.Text)
	for name, doc := range row.Patch {
		n += 64 + len(name) + len(doc)
	}
	return n
}

// problem describes what is wrong with a field or member in the words of the file.
func (row *Row) problem(column, reason string) Problem {
	return Problem{File: row.File, Line: row.Line, Column: row.columnOf(column), Value: row.value(column), Reason: reason}
}

func (row *Row) refuse(column, reason string) {
	row.Problems = append(row.Problems, row.problem(column, reason))
}

// fieldOf returns the reference that a field or member is, nil for none.
func (row *Row) fieldOf(name string) *records.Field {
	if row.Resource == nil {
		return nil
	}
	f, ok := row.Resource.ByMember(name)
	if !ok {
		if f, ok = row.Resource.Field(name); !ok || f.Member == "" {
			return nil
		}
	}
	return f
}

// columnOf returns the column of the file with a field or member.
func (row *Row) columnOf(name string) string {
	names := []string{name}
	if f := row.fieldOf(name); f != nil {
		names = []string{f.Name, f.Member}
	}
	for _, name := range names {
		if row.header != nil && row.header.names[name] != "" {
			return row.header.names[name]
		}
		if _, ok := row.Patch[name]; ok && row.header == nil {
			return name
		}
	}
	return names[len(names)-1]
}

// value returns the value of a column for messages.
func (row *Row) value(column string) string {
	column, _, _ = strings.Cut(column, "[")
	f := row.fieldOf(column)
	doc, ok := row.Patch[column]
	if f != nil && !ok {
		doc = row.Patch[f.Member]
	}
	var object map[string]json.RawMessage
	if f != nil && json.Unmarshal(doc, &object) == nil && len(object) > 0 {
		if name := naming(f.Ref.Resource()); name != nil && object[name.Name] != nil {
			doc = object[name.Name]
		}
	}
	if len(doc) == 0 || string(doc) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(doc, &text) != nil {
		text = string(doc)
	}
	return printable.Truncate(text, 64)
}

// maxKey is the maximum number of bytes of a natural key that others say the record of.
const maxKey = 500

// key returns the natural key of a reference, such as "Room 1" or {"name":"R1","location":"Vienna"}, to compare it with others;
// empty for none.
func (row *Row) key(f *records.Field) string {
	var key any
	if json.Unmarshal(row.Patch[f.Member], &key) != nil || key == nil {
		return ""
	}
	if parts, ok := key.(map[string]any); ok {
		maps.DeleteFunc(parts, func(_ string, part any) bool { return part == nil })
	}
	doc, _ := json.Marshal(key) // it was JSON
	if len(doc) > maxKey {
		return ""
	}
	return string(doc)
}

// problemsOf returns the problems that an error of the inventory has.
func (row *Row) problemsOf(e *records.Error) []Problem {
	if len(e.Fields) == 0 {
		return []Problem{row.problem("", e.Message)}
	}
	problems := make([]Problem, len(e.Fields))
	for i, field := range e.Fields {
		if f := row.fieldOf(field.Field); f != nil && row.header != nil && field.Code == "ambiguous" {
			to := f.Ref.Resource()
			field.Reason = fmt.Sprintf("names several %s: tell them apart by columns such as %s.%s, or by the id in a column %s", to.Name, f.Member, strings.Join(to.KeyMembers(), ", "+f.Member+"."), f.Name)
		}
		problems[i] = row.problem(field.Field, field.Reason)
		if f := row.fieldOf(field.Field); f != nil && (field.Code == "ambiguous" || field.Code == "not_found") {
			problems[i].Field, problems[i].Key = f.Name, row.key(f)
		}
	}
	return problems
}

// NewRow returns a row with some values: by the names of fields, and natural keys by the names of members.
// Its text is an item of a YAML list, which can be imported again.
func NewRow(file string, line int, r *records.Resource, values map[string]any) (*Row, error) {
	row := &Row{File: file, Line: int64(line), Resource: r, Patch: records.Patch{}}
	named := map[string]any{"_resource": r.Name}
	for name, value := range values {
		doc, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		row.Patch[name], named[name] = doc, json.RawMessage(doc)
	}
	text, err := json.Marshal(named)
	row.Text = append(append([]byte("- "), text...), '\n')
	return row, err
}

// Fail returns the [*FileError] for a line of a file, from 1; 0 is the first one.
func Fail(file string, line int, format string, args ...any) error {
	return &FileError{[]Problem{{File: file, Line: int64(max(line, 1)), Reason: fmt.Sprintf(format, args...)}}}
}

// Address returns the address that a text is, without a zone; "" for any other text.
func Address(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return ""
	}
	return a.String()
}

// MaxTags is the maximum number of tags of a device.
const MaxTags = 50

// IsTag reports whether a text can be a tag of a device: a short line.
func IsTag(text string) bool {
	return strings.TrimSpace(text) != "" && utf8.RuneCountInString(text) <= records.MaxElement && !strings.ContainsFunc(text, unicode.IsControl)
}

// Rows returns a source of n rows, each made when it is read.
func Rows(n int, row func(i int) (*Row, error)) Source {
	at := -1
	return sourceFunc(func() (*Row, error) {
		if at++; at >= n {
			return nil, io.EOF
		}
		return row(at)
	})
}

// sourceFunc is a function as a [Source].
type sourceFunc func() (*Row, error)

// Next returns the next row.
func (f sourceFunc) Next() (*Row, error) { return f() }

// Count is a number of objects of a kind that have no counterpart in the inventory.
type Count struct {
	Kind    string
	Objects int64
}

// Counts returns numbers by kind, the most objects first.
func Counts(of map[string]int64) (all []Count) {
	for kind, n := range of {
		if n > 0 {
			all = append(all, Count{kind, n})
		}
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), strings.Compare(a.Kind, b.Kind))
	})
	return all
}
