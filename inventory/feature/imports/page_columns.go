package imports

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

const (
	maxColumns = 200 // of a file whose columns a page maps
	maxSamples = 3   // values of a column
	maxPeek    = 20  // rows of JSON and YAML whose members are the columns
)

// table is the columns of a file.
type table struct {
	Columns []*column
	Groups  []targetGroup // what columns may go to; empty if they cannot be mapped
	Missing []string      // what new records need, and no column has
	Unknown int           // columns that are unknown

	body   int // where the first row after the header begins
	breaks int // line breaks up to there
}

// column is a column of a file.
type column struct {
	Index   int
	Name    string // in the file
	To      string // what it goes to; empty if it is ignored
	Unknown string // why it is unknown; empty if it is known
	Near    string // what was probably meant
	Note    string
	Samples []string
}

// Field is the name of the form value with what the column goes to.
func (c *column) Field() string { return "to." + strconv.Itoa(c.Index) }

// Why returns why the column is unknown, as a sentence. The list of all fields is left out: the page has it.
func (c *column) Why() string {
	if i := strings.LastIndex(c.Unknown, ": use "); i >= 0 {
		return "This " + c.Unknown[:i] + "."
	}
	return "This " + c.Unknown
}

// targetGroup is a titled group of what columns may go to.
type targetGroup struct {
	Title   string
	Targets []target
}

// target is a field, or a part of a natural key, with what people call it if that is something else.
type target struct{ Path, Label string }

// byteOrderMark is that of UTF-8.
var byteOrderMark = []byte("\ufeff")

// formatOf returns the format of a file by its name, or else by how it begins.
func formatOf(name string, text []byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return importer.CSV
	case ".jsonl", ".ndjson", ".json":
		return importer.JSONL
	case ".yaml", ".yml":
		return importer.YAML
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(text, byteOrderMark), " \t\r\n"), []byte("\n"))
	first = bytes.TrimRight(first, " \r")
	switch {
	case bytes.HasPrefix(first, []byte("{")):
		return importer.JSONL
	case bytes.HasPrefix(first, []byte("- ")), string(first) == "---", bytes.HasSuffix(first, []byte(":")) && !bytes.ContainsAny(first, `",`):
		return importer.YAML
	}
	return importer.CSV
}

// readColumns returns the columns of a file. The problems say why it is no such file.
func readColumns(schema *records.Schema, r *records.Resource, format string, text []byte) (*table, []importer.Problem) {
	opts := &importer.FileOptions{Format: format}
	if r != nil {
		opts.Resource = r.Name
	}
	source, err := importer.Open("file", bytes.NewReader(text), schema, opts)
	bad, refused := errors.AsType[*importer.FileError](err)
	ofColumn := func(p importer.Problem) bool { return p.Column != "" || strings.HasPrefix(p.Reason, "column ") }
	if refused && !slices.ContainsFunc(bad.Problems, ofColumn) {
		return nil, bad.Problems // of the whole file
	}
	switch {
	case format == importer.CSV && r == nil:
		return &table{}, nil // each row has the columns of its own resource
	case format == importer.CSV:
		var wrong []importer.Problem
		if refused {
			wrong = bad.Problems
		}
		return readHeader(r, text, wrong), nil
	case source == nil:
		return &table{}, nil
	}
	return readMembers(source, r), nil
}

// readHeader returns the columns of a file of CSV. wrong are the problems of its header.
func readHeader(r *records.Resource, text []byte, wrong []importer.Problem) *table {
	text, start := bytes.TrimPrefix(text, byteOrderMark), len(text)
	start -= len(text)
	rows := csv.NewReader(bytes.NewReader(text))
	rows.FieldsPerRecord = -1
	header, err := rows.Read()
	if err != nil || len(header) > maxColumns {
		return &table{}
	}
	t := &table{body: start + int(rows.InputOffset()), breaks: bytes.Count(text[:rows.InputOffset()], []byte("\n")), Groups: targets(r)}
	for i, name := range header {
		c := &column{Index: i, Name: strings.ToValidUTF8(name, "\ufffd")}
		for _, p := range wrong {
			if p.Column == printable.Truncate(name, 64) || p.Column == "" && strings.HasPrefix(p.Reason, fmt.Sprintf("column %d ", i+1)) {
				c.Unknown = strings.TrimPrefix(p.Reason, fmt.Sprintf("column %d ", i+1))
			}
		}
		t.Columns = append(t.Columns, c)
	}
	for n := 0; n < maxSamples; n++ {
		cells, err := rows.Read()
		if err != nil {
			break
		}
		for i, c := range t.Columns {
			if i < len(cells) {
				c.Samples = append(c.Samples, sample(cells[i]))
			}
		}
	}
	t.guess(r)
	return t
}

// readMembers returns the members of the first rows of JSON lines or YAML. They go where their names say.
func readMembers(source importer.Source, r *records.Resource) *table {
	t := &table{}
	byName := map[string]*column{}
	for range maxPeek {
		row, err := source.Next()
		if err != nil {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(row.Patch)) {
			c := byName[name]
			if c == nil && len(t.Columns) < maxColumns {
				c = &column{Index: len(t.Columns), Name: printable.String(name), To: name}
				byName[name], t.Columns = c, append(t.Columns, c)
			}
			if c != nil && len(c.Samples) < maxSamples {
				c.Samples = append(c.Samples, sample(plain(row.Patch[name])))
			}
		}
		for _, p := range row.Problems {
			if c := byName[p.Column]; c != nil && strings.HasPrefix(p.Reason, "is an unknown column") {
				c.Unknown, c.To = p.Reason, ""
			}
		}
	}
	if r != nil {
		t.explain(r)
	}
	return t
}

// sample shortens a value for a page.
func sample(value string) string {
	return printable.Truncate(strings.Join(strings.Fields(strings.ToValidUTF8(value, "\ufffd")), " "), 40)
}

// plain returns the text of a JSON value.
func plain(doc json.RawMessage) string {
	var text string
	if json.Unmarshal(doc, &text) == nil {
		return text
	}
	return string(doc)
}

// guess says where columns go: to the field of their name, or to the one that was probably meant. No two go to
// the same.
func (t *table) guess(r *records.Resource) {
	used := map[string]bool{}
	for _, c := range t.Columns {
		if c.Unknown == "" && (c.Name == "_resource" || !strings.HasPrefix(c.Name, "_")) && !used[c.Name] {
			c.To, used[c.Name] = c.Name, true
		}
	}
	for _, c := range t.Columns {
		if c.To != "" || strings.HasPrefix(c.Name, "_") {
			continue
		}
		if c.Near = t.closest(c.Name, used); c.Near != "" {
			c.To, used[c.Near] = c.Near, true
		}
	}
	t.explain(r)
}

// closest returns what a column with an unknown name was probably meant to go to, except what is used.
func (t *table) closest(name string, used map[string]bool) string {
	var paths, labels []string
	for _, g := range t.Groups {
		for _, o := range g.Targets {
			if !used[o.Path] {
				paths, labels = append(paths, o.Path), append(labels, cmp.Or(o.Label, o.Path))
			}
		}
	}
	most := max(1, len(name)/3)
	if near := suggest.Closest(name, paths, most); near != "" {
		return near
	}
	if near := suggest.Closest(name, labels, most); near != "" {
		return paths[slices.Index(labels, near)]
	}
	word, found := strings.ToLower(strings.NewReplacer(" ", "_", "-", "_").Replace(name)), ""
	for _, path := range paths { // "serial" is serial_number, if nothing else begins so
		if len(word) >= 4 && strings.HasPrefix(path, word) && !strings.Contains(path, ".") {
			if found != "" {
				return ""
			}
			found = path
		}
	}
	return found
}

// explain counts unknown columns, notes which are not imported, and finds what new records lack.
func (t *table) explain(r *records.Resource) {
	has := map[string]bool{}
	t.Unknown = 0
	for _, c := range t.Columns {
		first, _, _ := strings.Cut(c.To, ".")
		has[first] = true
		f, ok := r.Field(c.To)
		switch {
		case c.Unknown != "":
			t.Unknown++
		case c.Name == "_resource":
			c.Note = "The resource of the row."
		case strings.HasPrefix(c.Name, "_"):
			c.Note = "Names that begin with an underscore are ignored."
		case ok && f.ReadOnly && f.Name != "id":
			c.Note = "The inventory sets it: not imported."
		}
	}
	t.Missing = nil
	for _, f := range r.Fields() {
		if needed(f) && !has[f.Name] && (f.Member == "" || !has[f.Member]) {
			t.Missing = append(t.Missing, cmp.Or(f.Member, f.Name))
		}
	}
}

// needed reports whether a new record must have a value in a field.
func needed(f *records.Field) bool {
	return (f.Required || f.OnCreate) && !f.ReadOnly && f.DefaultValue() == nil
}

// choose takes over where a form says that columns go. The error names two that go to the same.
func (t *table) choose(f *site.Form, r *records.Resource) error {
	if len(t.Groups) == 0 {
		return nil
	}
	used := map[string]string{}
	for _, c := range t.Columns {
		if !f.Has(c.Field()) {
			continue
		}
		if c.To = f.Get(c.Field()); c.To != "" && !t.offers(c.To) && c.To != c.Name {
			return fmt.Errorf("the column %q goes to %q, which is no field of %s", c.Name, printable.Truncate(c.To, 64), r.Name)
		}
		if c.To == "" {
			continue
		}
		if other, ok := used[c.To]; ok {
			return fmt.Errorf("the columns %q and %q both go to %s: let one of them go to another field, or ignore it", other, c.Name, c.To)
		}
		used[c.To] = c.Name
	}
	t.explain(r)
	return nil
}

// offers reports whether a path is one of the targets.
func (t *table) offers(path string) bool {
	return slices.ContainsFunc(t.Groups, func(g targetGroup) bool {
		return slices.ContainsFunc(g.Targets, func(o target) bool { return o.Path == path })
	})
}

// Offers reports whether the target of a column is one that the list of the page has.
func (t *table) Offers(c *column) bool { return c.To == "" || t.offers(c.To) }

// apply returns the file with the header that the targets say. Rows keep their lines.
func (t *table) apply(text []byte) []byte {
	header := make([]string, len(t.Columns))
	same, taken := true, map[string]bool{}
	for _, c := range t.Columns {
		name := c.To
		if name == "" {
			name = "_" + strings.Map(func(c rune) rune {
				if c == '\r' || c == '\n' {
					return ' '
				}
				return c
			}, strings.TrimLeft(c.Name, "_"))
			for taken[name] || name == "_resource" {
				name += "_"
			}
		}
		header[c.Index], taken[name] = name, true
		same = same && name == c.Name
	}
	if same || len(t.Groups) == 0 {
		return text
	}
	var b bytes.Buffer
	b.Grow(len(text) + 1024)
	w := csv.NewWriter(&b)
	_ = w.Write(header) // a buffer does not fail
	w.Flush()
	b.WriteString(strings.Repeat("\n", max(0, t.breaks-1)))
	b.Write(text[t.body:])
	return b.Bytes()
}

// nameOf returns the name in the file of the column that goes to a field, "" if it is the same.
func (t *table) nameOf(field string) string {
	field, _, _ = strings.Cut(field, "[")
	for _, c := range t.Columns {
		if c.To == field && c.To != c.Name {
			return c.Name
		}
	}
	return ""
}

// maxPath is the number of names that a path such as device.location.name has at most.
const maxPath = 3

// targets returns what columns of CSV may go to.
func targets(r *records.Resource) []targetGroup {
	fields, custom, refs := targetGroup{Title: "Fields"}, targetGroup{Title: "Custom fields"}, targetGroup{Title: "References by name"}
	for _, f := range r.Fields() {
		switch {
		case f.Hidden || f.WriteOnly || f.ReadOnly && f.Name != "id":
			continue
		case f.Extra:
			custom.Targets = append(custom.Targets, target{f.Name, f.Label})
		default:
			fields.Targets = append(fields.Targets, target{f.Name, f.Label})
		}
		if f.Member != "" {
			refs.Targets = append(refs.Targets, parts(f, f.Member)...)
		}
	}
	return slices.DeleteFunc([]targetGroup{fields, custom, refs}, func(g targetGroup) bool { return len(g.Targets) == 0 })
}

// parts returns the columns that a natural key may have: one for the whole, or one for each part.
func parts(f *records.Field, path string) []target {
	all := []target{{Path: path}}
	if strings.Count(path, ".") == maxPath-1 {
		return all
	}
	to := f.Ref.Resource()
	for _, name := range to.KeyMembers() {
		if ref, ok := to.ByMember(name); ok {
			all = append(all, parts(ref, path+"."+name)...)
		} else if f, ok := to.Field(name); ok && f.Ref == nil {
			all = append(all, target{Path: path + "." + name})
		}
	}
	return all
}
