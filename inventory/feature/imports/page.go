package imports

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages returns the page for imports, and the links to it.
//
// Nothing is kept between the steps of the page: the file travels with the form, compressed, and the API reads it again
// in each step. Files that are too large for that are chosen again.
func pages() site.Pages {
	return site.Pages{Files: files, Style: "style-import.css", Routes: []site.Route{
		{Pattern: "GET /import", Handle: showImport},
		{Pattern: "POST /import", Handle: runImport},
		{Pattern: "POST /import/netbox", Handle: previewNetBox},
		{Pattern: "GET /import/template", Handle: importTemplate},
		{Pattern: "POST /import/rejected", Handle: rejectedRows},
	}, Entries: []site.Entry{
		{Label: "Import", Path: "/import", Icon: "upload", Order: 700, Show: func(q *site.Request) bool { return len(importable(q)) > 0 }},
	}, Offers: []site.Offer{{
		Label: "Import a file", Icon: "upload", Path: func(r *records.Resource) string { return "/import?resource=" + r.Name },
		Show: func(q *site.Request, r *records.Resource) bool { return importer.Importable(q.Schema, r) },
	}}}
}

// importable returns the resources whose records the sender may import.
func importable(q *site.Request) []*records.Resource {
	return slices.DeleteFunc(q.Schema.Resources(), func(r *records.Resource) bool {
		return !importer.Importable(q.Schema, r) || !q.May(r.Name, records.RouteCreate|records.RouteChange)
	})
}

// maxForm is the maximum size of a file of a form in bytes: it is in memory as it is, and the form may have it compressed.
const maxForm = 32 << 20

// The steps of an import.
const (
	stepFile      = "file"
	stepColumns   = "columns"
	stepPreview   = "preview"
	stepApply     = "apply"
	stepApplyGood = "apply-good" // without the rows that are wrong
	stepResult    = "result"
)

// importPage is the data of a page of an import.
type importPage struct {
	site.Steps
	Resources []*records.Resource // that the sender may import
	Resource  *records.Resource   // of the rows; nil if they name it
	Help      []helpRow           // the columns of the resource
	Formats   string              // the address of the description of formats; empty for none

	Name   string // of the file
	Format string
	Skip   bool // apply the other rows
	New    bool // reject rows for records that exist

	Table  *table
	Report *report
	Many   bool // more rows than a preview has
	Recent []recent

	Questions []*question
	names     answers
	NetBox    bool   // whether the sender may read one
	Address   string // of it
	LeftOut   []leftOut
}

// MaxPreview is the number of rows that a preview has at most.
func (p *importPage) MaxPreview() int { return importer.DefaultMaxRows }

// FormatNames returns the names of formats with those for people.
func (p *importPage) FormatNames() [][2]string {
	return [][2]string{{importer.CSV, "CSV"}, {importer.XLSX, "Workbook (.xlsx)"}, {importer.JSONL, "JSON lines"}, {importer.YAML, "YAML"}}
}

// Example returns rows for the empty form.
func (p *importPage) Example() string {
	var names []string
	for _, row := range p.Help[:min(len(p.Help), 4)] {
		names = append(names, row.Column)
	}
	return strings.Join(names, ",")
}

// StepTitle returns the title of the step.
func (p *importPage) StepTitle() string {
	return map[string]string{stepFile: "File", stepColumns: "Columns", stepPreview: "Preview", stepResult: "Result"}[p.Step]
}

var number = regexp.MustCompile(`\d+`)

// Summary says what the rows would change, with what goes along.
func (p *importPage) Summary() string {
	return number.ReplaceAllStringFunc(p.Report.Message, func(digits string) string {
		n, _ := strconv.ParseInt(digits, 10, 64) // of digits
		return ui.Count(n)
	})
}

// Good returns how many rows are not rejected.
func (p *importPage) Good() int64 { return p.Report.Rows - p.Report.Rejected }

// RowsFormat returns the format of rejected rows: those of a workbook are CSV.
func (p *importPage) RowsFormat() string {
	if p.Format == importer.XLSX {
		return importer.CSV
	}
	return p.Format
}

// Target returns the name of the resource, empty if the rows name it.
func (p *importPage) Target() string {
	if p.Resource == nil {
		return ""
	}
	return p.Resource.Name
}

// newImport returns a page for a resource by name, which is empty if the rows name it.
func newImport(q *site.Request, name string) (*importPage, error) {
	p := &importPage{Steps: site.Steps{Step: stepFile}, Resources: importable(q), NetBox: q.Sender.Role == auth.Admin}
	if len(p.Resources) == 0 {
		return nil, httpx.Errorf(http.StatusForbidden, "Your role may not import records")
	}
	for _, link := range q.Extra {
		if link.Label == "API" {
			p.Formats = link.URL
		}
	}
	for _, r := range p.Resources {
		if r.Name == name {
			p.Resource, p.Help = r, help(r)
			return p, nil
		}
	}
	if name != "" {
		return nil, httpx.Errorf(http.StatusForbidden, "You may not import records of %q, or there are none", name)
	}
	return p, nil
}

// showImport shows the form for a file.
func showImport(q *site.Request) error {
	name := q.R.URL.Query().Get("resource")
	if all := importable(q); len(all) > 0 && !q.R.URL.Query().Has("resource") {
		name = all[0].Name
		if slices.ContainsFunc(all, func(r *records.Resource) bool { return r.Name == "devices" }) {
			name = "devices"
		}
	}
	p, err := newImport(q, name)
	if err != nil {
		return err
	}
	return p.send(q, http.StatusOK)
}

func (p *importPage) send(q *site.Request, status int) error {
	return q.PageStatus(status, "import.html", "Import", p)
}

// refuse shows the form for a file again, with what was wrong.
func (p *importPage) refuse(q *site.Request, f *site.Form, fault string, problems ...string) error {
	p.Step, p.Fault, p.Problems = stepFile, fault, problems
	if f.Name == "" && len(f.Text) < maxMend {
		p.Pasted = strings.ToValidUTF8(string(f.Text), "\ufffd")
	}
	return p.send(q, http.StatusBadRequest)
}

// runImport performs a step.
func runImport(q *site.Request) error {
	if len(importable(q)) == 0 {
		return httpx.Errorf(http.StatusForbidden, "Your role may not import records")
	}
	f, err := site.ReadForm(q, maxForm)
	if err != nil {
		return err
	}
	p, err := newImport(q, f.Get("resource"))
	if err != nil {
		return err
	}
	p.Name, p.Format, p.Skip, p.New = f.Name, f.Get("format"), f.Get("on_error") == "skip", f.Get("existing") == "reject"
	if f.Text == nil {
		return p.refuse(q, f, "Choose a file, or paste rows")
	}
	if p.Format == "" {
		p.Format = formatOf(f.Name, f.Text)
	}
	return p.check(q, f)
}

// check shows the columns of a file, or what it would change, or applies it.
func (p *importPage) check(q *site.Request, f *site.Form) (err error) {
	p.names = readAnswers(f)
	p.Table, err = readColumns(q.R.Context(), q.Schema, p.Resource, p.Format, f.Text)
	if bad, ok := errors.AsType[*importer.FileError](err); ok {
		problems := make([]string, len(bad.Problems))
		for i, w := range bad.Problems {
			problems[i] = fmt.Sprintf("line %d: %s", w.Line, w.Reason)
		}
		return p.refuse(q, f, "The file cannot be read", problems...)
	}
	if err != nil {
		return err
	}
	p.Kept, p.Step = site.Pack(f.Text), stepColumns
	if err := p.Table.choose(f, p.Resource); err != nil {
		p.Fault = "Two columns go to the same field"
		p.Problems = []string{err.Error()}
		return p.send(q, http.StatusBadRequest)
	}
	switch f.Get("step") {
	case stepColumns:
		if p.Table.Unknown == 0 && len(p.Table.Missing) == 0 { // nothing to choose
			return p.preview(q, f, "")
		}
	case stepPreview:
		return p.preview(q, f, "")
	case stepApplyGood:
		p.Skip = true
		return p.apply(q, f)
	case stepApply:
		return p.apply(q, f)
	}
	return p.send(q, http.StatusOK)
}

// call sends the file to the API.
func (p *importPage) call(q *site.Request, f *site.Form, onError string, dry bool) (*sentReport, error) {
	query := url.Values{"format": {p.Format}, "on_error": {onError}}
	if p.Resource != nil {
		query.Set("resource", p.Resource.Name)
	}
	if p.New {
		query.Set("existing", "reject")
	}
	if paths := p.Table.Paths(); paths != "" {
		query.Set("columns", paths)
	}
	if len(p.names) > 0 {
		names, err := json.Marshal(p.names)
		if err != nil {
			return nil, err
		}
		query.Set("names", string(names))
	}
	if dry {
		query.Set("dry_run", "true")
	}
	into := &sentReport{}
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/import", Query: query, Body: bytes.NewReader(f.Text), Type: "text/csv"}, into)
	return into, err
}

// preview shows what the file would change. All rows are tried, so that it also shows the changes of the good
// ones. fault says why the file was not applied, if it should have been.
func (p *importPage) preview(q *site.Request, f *site.Form, fault string) error {
	p.Fault = fault
	answer, err := p.call(q, f, "skip", true)
	if refused, ok := site.Refused(err); ok && fault != "" && (refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusRequestEntityTooLarge) {
		p.Step = stepColumns // the calls of one request have no memory for a preview as well
		return p.send(q, http.StatusConflict)
	}
	if err != nil {
		return p.failed(q, f, err)
	}
	p.Step = stepPreview
	if err := p.ask(q, answer.Problems); err != nil {
		return err
	}
	if p.Report, err = answer.view(q); err != nil {
		return err
	}
	status := http.StatusOK
	if fault != "" {
		status = http.StatusConflict
	}
	return p.send(q, status)
}

// failed shows the columns again, with what the API says about the file.
func (p *importPage) failed(q *site.Request, f *site.Form, err error) error {
	fault, ok := p.Fail(stepColumns, err)
	if !ok {
		return err
	}
	if fault.Status == http.StatusServiceUnavailable {
		p.Problems = append(p.Problems, fmt.Sprintf("The file has %s. Send it in smaller parts if waiting does not help.", size(len(f.Text))))
	}
	p.Many = bytes.Count(f.Text, []byte("\n")) > importer.DefaultMaxRows
	return p.send(q, fault.Status)
}

// apply imports the file.
func (p *importPage) apply(q *site.Request, f *site.Form) error {
	began, onError := time.Now().UTC().Truncate(time.Microsecond), "stop"
	if p.Skip {
		onError = "skip"
	}
	answer, err := p.call(q, f, onError, false)
	if fault, ok := site.AsFault(err, http.StatusUnprocessableEntity); ok {
		return p.preview(q, f, fault.Message)
	}
	if err != nil {
		return p.failed(q, f, err)
	}
	p.Step, p.Kept = stepResult, ""
	if p.Report, err = answer.view(q); err != nil {
		return err
	}
	if answer.Created+answer.Updated > 0 {
		if p.Recent, err = p.recent(q, began); err != nil {
			return err
		}
	}
	return p.send(q, http.StatusOK)
}

// recent are records that have changed since an import has begun.
type recent struct {
	Resource *records.Resource
	URL      string // of the list
	Total    int64
	Links    []site.Link
}

// maxRecent is the number of records of a resource that a page links to; the list has the others.
const maxRecent = 24

// recent returns the records that have changed since a time, by resource.
func (p *importPage) recent(q *site.Request, since time.Time) (all []recent, err error) {
	of := []*records.Resource{p.Resource}
	if p.Resource == nil {
		of = p.Resources
	}
	for _, r := range of {
		if !q.May(r.Name, records.RouteList) {
			continue
		}
		filter := url.Values{"updated_at__gte": {since.Format(time.RFC3339Nano)}}
		found := recent{Resource: r, URL: q.ListURL(r.Name) + "?" + filter.Encode()}
		filter.Set("limit", strconv.Itoa(maxRecent))
		page, err := q.List(r.Name, filter)
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Data {
			found.Links = append(found.Links, site.Link{Label: site.Label(r, rec), URL: q.RecordURL(r.Name, rec.ID())})
		}
		if found.Total = page.Meta.Total; len(found.Links) > 0 {
			all = append(all, found)
		}
	}
	return all, nil
}

// importTemplate sends an empty file of CSV with the columns of a resource.
func importTemplate(q *site.Request) error {
	p, err := newImport(q, q.R.URL.Query().Get("resource"))
	if err != nil {
		return err
	}
	if p.Resource == nil {
		return httpx.Errorf(http.StatusBadRequest, "resource is missing: name one, as in ?resource=devices")
	}
	var header []string
	for _, row := range p.Help {
		header = append(header, row.Column)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(header) // a buffer does not fail
	w.Flush()
	return download(q, p.Resource.Name+".csv", importer.CSV, b.Bytes())
}

// rejectedRows sends the rejected rows that a page has as a file.
func rejectedRows(q *site.Request) error {
	if len(importable(q)) == 0 {
		return httpx.Errorf(http.StatusForbidden, "Your role may not import records")
	}
	f, err := site.ReadForm(q, maxForm)
	if err != nil {
		return err
	}
	name, format := "rows", f.Get("format")
	if r, ok := q.Schema.Named(f.Get("resource")); ok {
		name = r.Name
	}
	if types[format] == "" || f.Text == nil {
		return httpx.Errorf(http.StatusBadRequest, "Invalid form: it has no rows, or no format")
	}
	return download(q, name+"-rejected."+format, format, f.Text)
}

// types are the content types of formats.
var types = map[string]string{importer.CSV: "text/csv; charset=utf-8", importer.JSONL: "application/jsonl", importer.YAML: "application/yaml"}

// download sends a file that the browser saves.
func download(q *site.Request, name, format string, text []byte) error {
	h := q.W.Header()
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return httpx.WriteBytes(q.W, http.StatusOK, types[format], text)
}

// size writes a number of bytes for people.
func size(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// sentReport is the response of the API, for a page.
type sentReport struct {
	importReport
	Changes []site.Change `json:"changes"`
}

// report is a report for a page.
type report struct {
	*sentReport
	site.Changes
	Packed string // the rejected rows, packed; empty if there are none
	Mend   string // the rejected rows, if they are few enough to correct them on the page
}

// maxMend is the number of bytes of rows to correct on the page.
const maxMend = 64 << 10

// view returns a report for a page.
func (a *sentReport) view(q *site.Request) (*report, error) {
	slices.SortStableFunc(a.Problems, func(x, y importer.Problem) int { return cmp.Compare(x.Line, y.Line) })
	v := &report{sentReport: a}
	for i, w := range a.Problems {
		a.Problems[i].Reason = explain(q, w)
	}
	if a.RejectedRows != "" {
		v.Packed = site.Pack([]byte(a.RejectedRows))
		if len(a.RejectedRows) <= maxMend {
			v.Mend = strings.ToValidUTF8(a.RejectedRows, "\ufffd")
		}
	}
	var err error
	v.Changes, err = q.DescribeChanges(a.Changes)
	return v, err
}

// explain returns what is wrong with a cell in the words of the page.
func explain(q *site.Request, w importer.Problem) string {
	for _, r := range q.Schema.Resources() {
		f, ok := r.Field(w.Field)
		if !ok || f.Ref == nil || w.Key == "" {
			continue
		}
		if strings.HasPrefix(w.Reason, "names several") {
			return fmt.Sprintf("is the name of several %s: say which", site.Plural(f.Ref.Resource()))
		}
		return fmt.Sprintf("is the name of no %s", f.Ref.Resource().Noun())
	}
	return site.Words(q.Schema, w.Reason)
}

// helpRow describes a column for people who prepare a file.
type helpRow struct {
	Column string
	Need   bool
	Text   string
}

// help returns the columns of a resource, those first that new records need.
func help(r *records.Resource) (rows []helpRow) {
	var others []helpRow
	for _, f := range r.Fields() {
		if f.Hidden || f.WriteOnly || f.ReadOnly {
			continue
		}
		row := helpRow{cmp.Or(f.Member, f.Name), needed(f), describe(f)}
		if row.Need {
			rows = append(rows, row)
		} else {
			others = append(others, row)
		}
	}
	return append(rows, others...)
}

// describe says what a cell has.
func describe(f *records.Field) string {
	kinds := map[records.Kind]string{
		records.Int: "A whole number", records.Float: "A number", records.Bool: "true or false", records.Time: "A time, such as 2026-01-31T12:00:00Z",
		records.List: "A list, such as core,lab", records.Object: "Names with values, as in JSON",
	}
	formats := map[string]string{
		"line": "Text", "text": "Text, also of several lines", "ip": "An IP address", "cidr": "A network, such as 192.0.2.0/24", "network": "A network, such as 192.0.2.0/24",
		"interface-ip": "An IP address, with or without a prefix length", "mac": "A MAC address", "email": "An email address", "timezone": "A time zone, such as Europe/Vienna",
		"speed": "A speed, such as 10G", "date": "A date, such as 2026-01-31", "url": "A URL", "uuid": "An id",
	}
	text := kinds[f.Kind]
	switch {
	case f.Ref != nil && f.Member != "":
		var names []string
		for _, key := range f.Ref.Resource().ShortKeys() {
			names = append(names, key.Name)
		}
		noun := f.Ref.Resource().Noun()
		if text = "The " + noun; len(names) > 0 {
			text += ", by its " + strings.Join(names, " or ")
		} else {
			text += ", in columns such as " + f.Member + "." + f.Ref.Resource().KeyMembers()[0]
		}
	case f.Ref != nil:
		text = "The id of the " + f.Ref.Resource().Noun()
	case len(f.Enum) > 0:
		text = "One of " + strings.Join(f.Enum, ", ")
	case f.Kind == records.Text:
		if text = formats[f.Format]; text == "" {
			text = "Text"
		}
	}
	if v := f.DefaultValue(); v != nil && v != "" {
		text += fmt.Sprintf("; default %v", v)
	}
	return text
}
