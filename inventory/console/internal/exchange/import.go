package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxShown is the maximum number of changes or problems on a page.
const maxShown = 200

// importPage is the data of the page.
type importPage struct {
	Resources []*records.Resource
	Resource  *records.Resource
	Title     string
	Fields    []fieldHelp
	Format    string // csv, jsonl or yaml
	OnError   string // stop or skip
	Document  *document
	Problem   string
	Items     []string // of the problem
	Columns   []column // of a CSV, to map
	Choices   []string
	Report    *importReport
	Step      string // "", map, preview or done
	Docs      string
}

type fieldHelp struct {
	Name     string
	Required bool
	Text     string
}

// importReport is the response of the API.
type importReport struct {
	Status, Message                                      string
	Rows, Created, Updated, Unchanged, Deleted, Rejected int64
	Problems                                             []importProblem
	Truncated                                            bool
	RejectedRows                                         string `json:"rejected_rows"`
	Changes                                              []changed
	MoreChanges, MoreProblems                            int
}

type importProblem struct {
	Line                  int64
	Column, Value, Reason string
}

// Encoded are the rejected rows for a hidden field.
func (r *importReport) Encoded() string { return (&document{Text: []byte(r.RejectedRows)}).Encoded() }

// importable returns the resources that the sender may import.
func importable(q *site.Request) (all []*records.Resource) {
	for _, r := range q.Schema.Resources() {
		if importer.Importable(q.Schema, r) && q.May(r.Name, records.RouteCreate|records.RouteChange) {
			all = append(all, r)
		}
	}
	return all
}

// newImport returns the page for the resource that a request names.
func newImport(q *site.Request, resource string) (*importPage, error) {
	p := &importPage{Resources: importable(q), OnError: "stop", Document: &document{}}
	if len(p.Resources) == 0 {
		return nil, httpx.Errorf(http.StatusForbidden, "Your role may not import records")
	}
	i := slices.IndexFunc(p.Resources, func(r *records.Resource) bool { return r.Name == cmp.Or(resource, "devices") })
	if i < 0 && resource == "" {
		i = 0
	} else if i < 0 {
		return nil, httpx.Errorf(http.StatusForbidden, "Your role may not import %s, or there are no such records", shortened(resource))
	}
	p.Resource = p.Resources[i]
	p.Title = site.Plural(p.Resource)
	p.Fields = help(p.Resource)
	return p, nil
}

// help returns the columns of a resource.
func help(r *records.Resource) (all []fieldHelp) {
	for _, f := range r.Fields() {
		if f.Name == "" || f.ReadOnly || f.Hidden || f.WriteOnly {
			continue
		}
		h := fieldHelp{Name: f.Name, Required: f.Required || f.OnCreate}
		switch {
		case f.Ref != nil && f.Member != "":
			target := f.Ref.Resource()
			h.Name, h.Text = f.Member, "the "+target.Noun()+": "+strings.Join(target.KeyMembers(), ", ")
		case len(f.Enum) > 0:
			h.Text = strings.Join(f.Enum, ", ")
		case f.Kind == records.Bool:
			h.Text = "true or false"
		case f.Kind == records.List:
			h.Text = "a list, such as [\"a\",\"b\"]"
		case f.Kind == records.Int, f.Kind == records.Float:
			h.Text = "a number"
		}
		all = append(all, h)
	}
	return all
}

func showImport(q *site.Request) error {
	p, err := newImport(q, q.R.URL.Query().Get("resource"))
	if err != nil {
		return err
	}
	return q.Page("import.html", "Import", p)
}

// importTemplate sends a CSV with the header of a resource.
func importTemplate(q *site.Request) error {
	p, err := newImport(q, q.R.URL.Query().Get("resource"))
	if err != nil {
		return err
	}
	names := make([]string, len(p.Fields))
	for i, f := range p.Fields {
		names[i] = f.Name
	}
	return attach(q, "text/csv; charset=utf-8", p.Resource.Name+".csv", []byte(strings.Join(names, ",")+"\n"))
}

// attach responds with a file to keep.
func attach(q *site.Request, kind, name string, text []byte) error {
	h := q.W.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Cache-Control", "no-store")
	_, _ = q.W.Write(text) // ignore the error: the client disconnected
	return nil
}

// sendRejected sends rejected rows, which the form has, as a file.
func sendRejected(q *site.Request) error {
	if err := readForm(q); err != nil {
		return err
	}
	p, err := newImport(q, q.R.PostFormValue("resource"))
	if err != nil {
		return err
	}
	d, problem, err := readDocument(q)
	if err != nil || problem != "" {
		return httpx.Errorf(http.StatusBadRequest, "There are no rejected rows")
	}
	return attach(q, "application/octet-stream", "rejected-"+p.Resource.Name+"."+formatOf(q, d), d.Text)
}

// formatOf returns the format of a form, or else of the name of its file.
func formatOf(q *site.Request, d *document) string {
	chosen := q.R.PostFormValue("format")
	if slices.Contains([]string{importer.CSV, importer.JSONL, importer.YAML}, chosen) {
		return chosen
	}
	switch strings.ToLower(path.Ext(d.Name)) {
	case ".jsonl", ".ndjson":
		return importer.JSONL
	case ".yaml", ".yml":
		return importer.YAML
	}
	if start := bytes.TrimSpace(d.Text); d.Name == "" && bytes.HasPrefix(start, []byte("{")) {
		return importer.JSONL
	} else if d.Name == "" && bytes.HasPrefix(start, []byte("- ")) {
		return importer.YAML
	}
	return importer.CSV
}

// postImport takes the next step: map the columns, preview, or apply.
func postImport(q *site.Request) error {
	if err := readForm(q); err != nil {
		return err
	}
	p, err := newImport(q, q.R.PostFormValue("resource"))
	if err != nil {
		return err
	}
	if q.R.PostFormValue("on_error") == "skip" {
		p.OnError = "skip"
	}
	if p.Document, p.Problem, err = readDocument(q); err != nil {
		return err
	}
	if p.Problem != "" {
		return q.PageStatus(http.StatusBadRequest, "import.html", "Import", p)
	}
	p.Format = formatOf(q, p.Document)
	switch step := q.R.PostFormValue("step"); step {
	case "preview", "apply":
		return p.run(q, step == "apply")
	}
	return p.mapColumns(q)
}

// mapColumns shows the columns of a CSV; other formats have a preview at once.
func (p *importPage) mapColumns(q *site.Request) error {
	if p.Format != importer.CSV {
		return p.run(q, false)
	}
	if p.Columns, _ = readColumns(p.Resource, p.Document.Text); p.Columns == nil {
		return p.run(q, false) // the API says what is wrong
	}
	p.Step, p.Choices = "map", choices(p.Resource)
	return q.Page("import.html", "Import", p)
}

// mapped returns the text with the names that the form chooses for columns.
func (p *importPage) mapped(q *site.Request) ([]byte, error) {
	columns, rest := readColumns(p.Resource, p.Document.Text)
	if p.Format != importer.CSV || q.R.PostFormValue("columns") == "" || strconv.Itoa(len(columns)) != q.R.PostFormValue("columns") {
		return p.Document.Text, nil
	}
	for i := range columns {
		columns[i].To = q.R.PostFormValue("column" + strconv.Itoa(i))
	}
	return renamed(p.Document.Text, columns, rest)
}

// run previews or applies the import.
func (p *importPage) run(q *site.Request, apply bool) (err error) {
	if p.Document.Text, err = p.mapped(q); err != nil {
		return err
	}
	query := url.Values{"resource": {p.Resource.Name}, "format": {p.Format}, "on_error": {"skip"}, "dry_run": {"true"}}
	if apply {
		query = url.Values{"resource": {p.Resource.Name}, "format": {p.Format}, "on_error": {p.OnError}}
	}
	report := &importReport{}
	_, err = q.Do(&site.Call{Method: http.MethodPost, Path: "/import", Query: query, Body: bytes.NewReader(p.Document.Text), Type: "text/" + p.Format}, report)
	status := http.StatusOK
	if fault, ok := site.AsFault(err); ok {
		status = fault.Status
		if fault.Status != http.StatusUnprocessableEntity || json.Unmarshal(fault.Body, report) != nil || report.Rows == 0 {
			return p.refused(q, fault)
		}
	} else if err != nil {
		return err
	}
	p.Report, p.Step = report, "preview"
	if apply && report.Status == "success" {
		p.Step = "done"
	}
	p.show(q)
	return q.PageStatus(status, "import.html", "Import", p)
}

// refused shows why the API did not read the file.
func (p *importPage) refused(q *site.Request, fault *site.Fault) error {
	p.Problem = fault.Message
	for _, f := range fault.Fields {
		p.Items = append(p.Items, f.Field+" "+f.Reason)
	}
	if p.Format == importer.CSV {
		p.Columns, _ = readColumns(p.Resource, p.Document.Text)
		if p.Columns != nil && fault.Status == http.StatusBadRequest && len(fault.Fields) > 0 {
			p.Step, p.Choices = "map", choices(p.Resource)
		}
	}
	return q.PageStatus(fault.Status, "import.html", "Import", p)
}

// show prepares the report for the page.
func (p *importPage) show(q *site.Request) {
	r := p.Report
	slices.SortStableFunc(r.Problems, func(a, b importProblem) int { return cmp.Compare(a.Line, b.Line) })
	r.MoreChanges, r.MoreProblems = max(0, len(r.Changes)-maxShown), max(0, len(r.Problems)-maxShown)
	r.Changes, r.Problems = r.Changes[:min(len(r.Changes), maxShown)], r.Problems[:min(len(r.Problems), maxShown)]
	prepare(q, r.Changes)
}

// prepare adds to changes how to show them.
func prepare(q *site.Request, all []changed) {
	for i := range all {
		c := &all[i]
		c.Resource = c.Type
		for _, r := range q.Schema.Resources() {
			if r.Kind() == c.Type {
				c.Resource = r.Noun()
				if c.ID != "" {
					c.URL = q.RecordURL(r.Name, c.ID)
				}
			}
		}
		for name, values := range c.Changes {
			if values.Before == nil && (values.After == nil || values.After == "") {
				continue
			}
			c.Fields = append(c.Fields, difference{name, plain(values.Before), plain(values.After)})
		}
		slices.SortFunc(c.Fields, func(a, b difference) int { return strings.Compare(a.Field, b.Field) })
	}
}

// plain returns a value as text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(encoded)
}
