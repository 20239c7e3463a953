package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
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

// target is a field, or a part of a natural key, with what people call it.
type target struct{ Path, Label string }

// formatOf returns the format of a file by its name, or else by how it begins.
func formatOf(name string, text []byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return importer.CSV
	case ".xlsx":
		return importer.XLSX
	case ".jsonl", ".ndjson", ".json":
		return importer.JSONL
	case ".yaml", ".yml":
		return importer.YAML
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n"), []byte("\n"))
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
func readColumns(ctx context.Context, schema *records.Schema, r *records.Resource, format string, text []byte) (*table, error) {
	opts := &importer.FileOptions{Format: format, Hold: func(n int64) error { return httpx.Reserve(ctx, n) }}
	if r != nil {
		opts.Resource = r.Name
	}
	if r != nil && (format == importer.CSV || format == importer.XLSX) {
		rows, err := importer.Peek("file", bytes.NewReader(text), schema, opts, maxSamples)
		if err != nil || len(rows[0]) > maxColumns {
			return &table{}, err
		}
		return readHeader(r, rows), nil
	}
	source, err := importer.Open("file", bytes.NewReader(text), schema, opts)
	if err != nil || r == nil && format != importer.JSONL && format != importer.YAML {
		return &table{}, err // each row has the columns of its own resource
	}
	return readMembers(source, r), nil
}

// readHeader returns the columns of a table: where each goes, or probably. No two go to the same.
func readHeader(r *records.Resource, rows [][]string) *table {
	t := &table{Groups: targets(r)}
	used, byPath := map[string]bool{}, map[string]*column{}
	for i, name := range rows[0] {
		c := &column{Index: i, Name: strings.ToValidUTF8(name, "\ufffd")}
		t.Columns = append(t.Columns, c)
		for _, row := range rows[1:] {
			if i < len(row) {
				c.Samples = append(c.Samples, sample(row[i]))
			}
		}
		path, near := importer.Column(r, name)
		if c.Near = near; path == "" {
			c.Unknown = "column of the file is unknown"
		}
		switch {
		case c.Name != name:
			c.Unknown = "name is not UTF-8, perhaps Latin-1: convert the file"
		case name == "":
			c.Unknown = "column has no name"
		case used[path] && byPath[path] != nil && wider(r, path) != "" && !used[wider(r, path)]:
			first := byPath[path]
			first.To, c.To, byPath[path], used[wider(r, path)] = wider(r, path), path, c, true
		case used[path] && path != "":
			c.Unknown = "is the name of two columns, or goes where another one goes"
		case path != "" && (path == "_resource" || !strings.HasPrefix(path, "_")):
			c.To, used[path], byPath[path] = path, true, c
		}
	}
	for _, c := range t.Columns {
		if c.To == "" && c.Near != "" && !used[c.Near] && t.offers(c.Near) {
			c.To, used[c.Near] = c.Near, true
		} else if c.To == "" {
			c.Near = ""
		}
	}
	t.explain(r)
	return t
}

// wider returns the part of a natural key that says what the record is within, such as location.parent for location: of two
// columns for a location, as Site and Room, the first has that. Empty for none.
func wider(r *records.Resource, path string) string {
	f, ok := r.ByMember(path)
	if !ok {
		return ""
	}
	to := f.Ref.Resource()
	for _, name := range to.KeyMembers() {
		if ref, ok := to.ByMember(name); ok && ref.Ref.Resource() == to {
			return path + "." + name
		}
	}
	return ""
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
			t.Missing = append(t.Missing, site.FieldLabel(f))
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
		c.To = f.Get(c.Field())
		if path, _ := importer.Column(r, c.To); c.To != "" && path != c.To {
			return fmt.Errorf("the column %q goes to %q, which is no field of %s", c.Name, printable.Truncate(c.To, 64), r.Name)
		}
		if c.To == "" {
			continue
		}
		if other, ok := used[c.To]; ok {
			return fmt.Errorf("the columns %q and %q both go to %s: let one of them go to another field, or ignore it", other, c.Name, t.Label(c.To))
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

// Label returns what people call a target.
func (t *table) Label(path string) string {
	for _, g := range t.Groups {
		for _, o := range g.Targets {
			if o.Path == path {
				return o.Label
			}
		}
	}
	return path
}

// Offers reports whether the target of a column is one that the list of the page has.
func (t *table) Offers(c *column) bool { return c.To == "" || t.offers(c.To) }

// Paths returns where the columns go, for the API; "" if that is not chosen.
func (t *table) Paths() string {
	if len(t.Groups) == 0 {
		return ""
	}
	paths := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		paths[i] = c.To
	}
	return strings.Join(paths, ",")
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
			custom.Targets = append(custom.Targets, target{f.Name, site.FieldLabel(f)})
		case f.Ref != nil && f.Member != "":
			fields.Targets = append(fields.Targets, target{f.Name, site.FieldLabel(f) + " (ID)"})
		default:
			fields.Targets = append(fields.Targets, target{f.Name, site.FieldLabel(f)})
		}
		if f.Member != "" {
			refs.Targets = append(refs.Targets, parts(f, target{f.Member, site.FieldLabel(f)})...)
		}
	}
	return slices.DeleteFunc([]targetGroup{fields, custom, refs}, func(g targetGroup) bool { return len(g.Targets) == 0 })
}

// parts returns the columns that a natural key may have: one for the whole, or one for each part.
func parts(f *records.Field, at target) []target {
	all := []target{at}
	if strings.Count(at.Path, ".") == maxPath-1 {
		return all
	}
	part := func(name string, f *records.Field) target {
		return target{at.Path + "." + name, at.Label + " › " + site.FieldLabel(f)}
	}
	to := f.Ref.Resource()
	for _, name := range to.KeyMembers() {
		if ref, ok := to.ByMember(name); ok {
			all = append(all, parts(ref, part(name, ref))...)
		} else if f, ok := to.Field(name); ok && f.Ref == nil {
			all = append(all, part(name, f))
		}
	}
	return all
}
