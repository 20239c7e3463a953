package site

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Table is a short list of records.
type Table struct {
	Fields  []*records.Field
	Rows    []TableRow
	More    string // "12 more", "More", or empty
	MoreURL string
}

// TableRow is a row of a table.
type TableRow struct {
	ID    string
	Cells []Cell
}

// LoadTable sets the first records of a list as the data of a part. Without records it has nothing to show.
func (p *Part) LoadTable(resource string, query url.Values, limit int, names []string) error {
	t, err := p.ReadTable(resource, query, limit, names)
	if err == nil && len(t.Rows) > 0 {
		p.Data = t
	}
	return err
}

// ReadTable reads the first records of a list. The first of the given fields links to the record.
func (q *Request) ReadTable(resource string, query url.Values, limit int, names []string) (*Table, error) {
	r, _ := q.Schema.Named(resource)
	t := &Table{}
	for _, name := range names {
		if f, ok := r.Field(name); ok {
			t.Fields = append(t.Fields, f)
		}
	}
	asked := maps.Clone(query)
	asked.Set("limit", strconv.Itoa(limit))
	if !asked.Has("count") {
		asked.Set("count", "estimated")
	}
	page, err := q.List(resource, asked)
	if err != nil {
		return nil, err
	}
	labels, err := q.RefLabels(t.Fields, page.Data)
	if err != nil {
		return nil, err
	}
	for _, rec := range page.Data {
		row := TableRow{ID: rec.ID()}
		for _, f := range t.Fields {
			row.Cells = append(row.Cells, q.Cell(f, rec, labels))
		}
		if len(row.Cells) > 0 {
			first := &row.Cells[0]
			first.Kind, first.URL, first.Text = "link", q.RecordURL(resource, rec.ID()), Clip(cmp.Or(first.Text, Label(r, rec)), 120)
		}
		t.Rows = append(t.Rows, row)
	}
	filter := maps.Clone(query)
	filter.Del("count")
	t.MoreURL = q.ListURL(resource) + "?" + filter.Encode()
	switch more := page.Meta.Total - int64(len(page.Data)); {
	case page.Meta.NextCursor == "":
	case asked.Get("count") == "none" || page.Meta.Count == "estimated":
		t.More = "More"
	default:
		t.More = strconv.FormatInt(more, 10) + " more"
	}
	return t, nil
}

// maxColumns is the number of columns of a list of records that refer to another one.
const maxColumns = 5

// Columns returns the fields by which a short list shows records of a resource, the label first, without
// the field that all of them have in common.
func Columns(r *records.Resource, without string) []string {
	var names []string
	if f := LabelField(r); f != nil {
		names = append(names, f.Name)
	}
	add := func(fits func(*records.Field) bool) {
		for _, f := range r.Fields() {
			if len(names) < maxColumns && listed(f) && f.Name != without && !slices.Contains(names, f.Name) && fits(f) {
				names = append(names, f.Name)
			}
		}
	}
	add(func(f *records.Field) bool { return f.Ref != nil && f.Required })
	add(func(f *records.Field) bool { return f.Ref == nil && f.Required })
	add(func(f *records.Field) bool {
		return slices.Contains([]string{"status", "severity", "role", "kind"}, f.Name)
	})
	add(func(f *records.Field) bool {
		return f.Ref == nil && (f.Search || f.Counted || f.Extra) && f.Name != "site_code" && !strings.HasSuffix(f.Name, "_status")
	})
	if len(names) == 0 {
		names = []string{"id"}
	}
	return names
}

// listed reports whether short lists may have a column for a field.
func listed(f *records.Field) bool {
	return f.Name != "" && !f.Hidden && !f.WriteOnly && !f.ReadOnly && f.Kind != records.List && f.Kind != records.Object && f.Format != "text" &&
		!slices.Contains([]string{"id", "version", "created_at", "updated_at"}, f.Name)
}

// Clip shortens a text to a number of characters.
func Clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most-1])) + "…"
}

// Number parses a number of the API, 0 for none.
func (r Record) Number(name string) float64 {
	n, err := strconv.ParseFloat(r.Text(name), 64)
	if err != nil {
		return 0
	}
	return n
}

// CountOf says how many records a list has: "1 device", "more than 1,000 devices".
func CountOf(page *Page, r *records.Resource) string {
	text := ui.Count(page.Meta.Total) + " " + Plural(r)
	if page.Meta.Total == 1 {
		text = "1 " + r.Noun()
	}
	if page.Meta.Count == "estimated" {
		text = "more than " + text
	}
	return text
}
