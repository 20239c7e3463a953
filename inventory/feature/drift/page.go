package drift

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages returns the page of a comparison, a form with steps.
func pages() site.Pages {
	return site.Pages{Files: files, Style: "style-drift.css", Routes: []site.Route{
		{Pattern: "GET /drift", Handle: showDrift},
		{Pattern: "POST /drift", Handle: runDrift},
		{Pattern: "GET /drift/devices", Handle: suggestDevices},
	}, Entries: []site.Entry{{
		Label: "Drift", Path: "/drift", Icon: "drift", Group: "Monitoring", Order: 420,
		Show: func(q *site.Request) bool { return q.MaySee("links", "devices", "interfaces") && mayChange(q) },
	}}}
}

// maxTable is the maximum size of a table in bytes: the API reads JSON of 1 MiB.
const maxTable = 1 << 20

// The steps of a comparison.
const (
	stepTable   = "table"
	stepCompare = "compare"
	stepPreview = "preview"
	stepApply   = "apply"
	stepResult  = "result"
)

// driftPage is the data of a page of a comparison.
type driftPage struct {
	site.Steps
	Device  string      // as it was typed
	ID      string      // of the device; empty before it is known
	Label   string      // of the device
	Several []site.Link // devices with the name; URL is the id
	Kind    string      // neighbors, interfaces, or empty for what the table looks like

	Differences  []*shownDifference
	Counts       []string // of differences, by type
	Applied      int
	site.Changes // by a dry run
}

// StepTitle returns the title of the step.
func (p *driftPage) StepTitle() string {
	return map[string]string{stepTable: "Output", stepCompare: "Differences", stepPreview: "Preview", stepResult: "Result"}[p.Step]
}

// mayChange reports whether the sender may change links or interfaces.
func mayChange(q *site.Request) bool {
	const changes = records.RouteCreate | records.RouteChange | records.RouteDelete
	return q.May("interfaces", changes) || q.May("links", changes)
}

// allowed refuses senders who may change neither links nor interfaces, or may not compare.
func allowed(q *site.Request) error {
	if !q.MaySee("devices", "interfaces", "links") {
		return httpx.Errorf(http.StatusForbidden, "Your role may not compare devices with the inventory")
	}
	if !mayChange(q) {
		return httpx.Errorf(http.StatusForbidden, "Your role may change neither links nor interfaces")
	}
	return nil
}

// showDrift shows the form for a table.
func showDrift(q *site.Request) error {
	if err := allowed(q); err != nil {
		return err
	}
	p := &driftPage{Steps: site.Steps{Step: stepTable}, Device: q.R.URL.Query().Get("device")}
	if p.Device != "" && p.find(q) == nil && p.ID != "" {
		p.Device = p.Label
		if len(p.Several) > 0 {
			p.Device = p.ID
		}
	}
	p.Fault, p.Problems = "", nil
	return p.send(q, http.StatusOK)
}

func (p *driftPage) send(q *site.Request, status int) error {
	return q.PageStatus(status, "drift.html", "Drift", p)
}

// refuse shows the form for a table again, with what was wrong.
func (p *driftPage) refuse(q *site.Request, f *site.Form, fault string, problems ...string) error {
	p.Step, p.Fault, p.Problems, p.Pasted = stepTable, fault, problems, strings.ToValidUTF8(string(f.Text), "\ufffd")
	return p.send(q, http.StatusBadRequest)
}

// runDrift performs a step.
func runDrift(q *site.Request) error {
	if err := allowed(q); err != nil {
		return err
	}
	f, err := site.ReadForm(q, maxTable)
	if err != nil {
		return err
	}
	p := &driftPage{Device: strings.TrimSpace(cmp.Or(f.Get("id"), f.Get("device"))), Kind: f.Get("kind")}
	if p.Device == "" {
		return p.refuse(q, f, "Name the device that the output comes from")
	}
	if err := p.find(q); err != nil {
		return err
	}
	switch {
	case len(p.Several) > 0 && p.ID == "":
		return p.refuse(q, f, fmt.Sprintf("%d devices have the name %q: choose one", len(p.Several), p.Device))
	case p.ID == "":
		return p.refuse(q, f, fmt.Sprintf("No device that you may see has the name or id %q", p.Device))
	case len(bytes.TrimSpace(f.Text)) == 0:
		return p.refuse(q, f, "Paste the output of the device, or choose a file with it")
	}
	table, where, err := p.table(f.Text)
	if err != nil {
		return p.refuse(q, f, "The output cannot be read", where+err.Error())
	}
	p.Kept = site.Pack(f.Text)
	chosen, step := f.Values["apply"], f.Get("step")
	switch {
	case step != stepPreview && step != stepApply:
	case len(chosen) == 0:
		p.Fault = "Choose at least one difference"
	case step == stepPreview:
		return p.preview(q, table, chosen)
	default:
		return p.apply(q, table, chosen)
	}
	return p.compare(q, f, table)
}

// maxSame is the number of devices of one name that a page offers.
const maxSame = 20

// find finds the device that was typed, by its id or name.
func (p *driftPage) find(q *site.Request) error {
	r, _ := q.Schema.Named("devices")
	filter := url.Values{"hostname": {p.Device}, "limit": {strconv.Itoa(maxSame)}}
	if len(p.Device) == 36 && strings.Count(p.Device, "-") == 4 {
		filter = url.Values{"id__in": {p.Device}}
	}
	page, err := q.List("devices", filter)
	if err != nil {
		if fault, ok := site.AsFault(err, http.StatusBadRequest); ok {
			p.Fault = fault.Error()
			return nil
		}
		return err
	}
	if len(page.Data) == 1 {
		p.ID, p.Label = page.Data[0].ID(), site.Label(r, page.Data[0])
		return nil
	}
	labels, err := q.RefLabels(r.Fields(), page.Data)
	if err != nil {
		return err
	}
	for _, rec := range page.Data {
		p.Several = append(p.Several, site.Link{Label: placed(rec, labels), URL: rec.ID()})
	}
	return nil
}

// placed returns the name of a device with its location.
func placed(rec site.Record, labels map[string]string) string {
	location := "no location"
	if id := rec.Text("location_id"); id != "" {
		location = cmp.Or(labels[id], "a location that you may not see")
	}
	return rec.Text("hostname") + ", " + location
}

// maxSuggested is the number of devices that a field suggests.
const maxSuggested = 10

// suggestDevices responds with options for the field of the device.
func suggestDevices(q *site.Request) error {
	if err := allowed(q); err != nil {
		return err
	}
	r, _ := q.Schema.Named("devices")
	typed := q.R.URL.Query().Get("device")
	page, err := q.Some("devices", maxSuggested, url.Values{"hostname__contains": {typed}})
	if err != nil {
		return err
	}
	labels, err := q.RefLabels(r.Fields(), page.Data)
	if err != nil {
		return err
	}
	var options []site.Link
	for _, rec := range page.Data {
		options = append(options, site.Link{Label: rec.Text("hostname"), URL: placed(rec, labels)})
	}
	return q.Part("drift.html", "drift-devices", options)
}

// table returns the table of a text: JSON, or the output of a command. The error is that of JSON, and where is
// its line.
func (p *driftPage) table(text []byte) (t *driftTable, where string, err error) {
	t = &driftTable{DeviceID: &p.ID, Kind: Kind(p.Kind)}
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if trimmed[0] != '[' && trimmed[0] != '{' {
		plain := string(bytes.TrimPrefix(text, []byte("\ufeff")))
		t.Text = &plain
		return t, "", nil
	}
	var doc any
	err = json.Unmarshal(text, &doc)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Sprintf("line %d: ", lineAt(text, wrong.Offset)), err
	}
	t.Rows = trimmed
	return t, "", err
}

// lineAt returns the line of an offset, from 1.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
}

// shownReport is the response of the API, for a page.
type shownReport struct {
	driftReport
	Differences []*shownDifference `json:"differences"`
	Changes     []site.Change      `json:"changes"`
}

// call sends a table to the API.
func (p *driftPage) call(q *site.Request, t *driftTable, apply []string, dry bool) (*shownReport, error) {
	query := url.Values{}
	if dry {
		query.Set("dry_run", "true")
	}
	into := &shownReport{}
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: path, Query: query, Body: driftRequest{[]driftTable{*t}, apply}}, into)
	return into, err
}

// compare shows the differences.
func (p *driftPage) compare(q *site.Request, f *site.Form, t *driftTable) error {
	report, err := p.call(q, t, nil, false)
	if fault, ok := site.AsFault(err); ok && fault.Status != http.StatusUnauthorized {
		return p.refuse(q, f, "The output cannot be compared", p.explain(fault, t, f.Text)...)
	}
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		return p.refuse(q, f, "The device cannot be compared: it "+report.Problems[0].Reason)
	}
	p.Step, p.Differences = stepCompare, report.Differences
	for i, n := range []int{report.Missing, report.Unexpected, report.Different} {
		if n > 0 {
			p.Counts = append(p.Counts, fmt.Sprint(n, " ", []string{"missing", "unexpected", "different"}[i]))
		}
	}
	for _, d := range p.Differences {
		d.Checked = d.Change != nil && slices.Contains(f.Values["apply"], d.ID)
		d.link = q.RecordURL
	}
	status := http.StatusOK
	if p.Fault != "" {
		status = http.StatusBadRequest
	}
	return p.send(q, status)
}

// preview shows what the chosen differences would change.
func (p *driftPage) preview(q *site.Request, t *driftTable, chosen []string) error {
	report, err := p.call(q, t, chosen, true)
	if err != nil {
		return p.failed(q, err)
	}
	p.Step, p.Differences = stepPreview, report.Differences
	if p.Changes, err = q.DescribeChanges(report.Changes); err != nil {
		return err
	}
	return p.send(q, http.StatusOK)
}

// apply applies the chosen differences. It does not compare again: the calls of one request share memory.
func (p *driftPage) apply(q *site.Request, t *driftTable, chosen []string) error {
	report, err := p.call(q, t, chosen, false)
	if err != nil {
		return p.failed(q, err)
	}
	p.Step, p.Applied, p.Differences = stepResult, report.Applied, report.Differences
	for _, d := range p.Differences {
		d.link = q.RecordURL
	}
	return p.send(q, http.StatusOK)
}

// failed says why the chosen differences were not applied.
func (p *driftPage) failed(q *site.Request, err error) error {
	fault, ok := p.Fail(stepResult, err)
	if !ok {
		return err
	}
	for _, item := range fault.Items {
		p.Problems = append(p.Problems, item.Message)
	}
	return p.send(q, fault.Status)
}

// rowField is the field of a row in an error of the API.
var rowField = regexp.MustCompile(`^tables\[0\]\.rows\[(\d+)\]`)

// explain returns the problems of a fault of the API, those of rows with their line.
func (p *driftPage) explain(fault *site.Fault, t *driftTable, text []byte) (problems []string) {
	for _, field := range fault.Fields {
		at := strings.TrimPrefix(field.Field, "tables[0].")
		reason := field.Reason
		switch row := rowField.FindStringSubmatch(field.Field); {
		case row != nil:
			n, _ := strconv.Atoi(row[1]) // digits
			at = "line " + strconv.Itoa(lineOfRow(text, n)) + ": the row"
		case at == "text", at == "rows":
			at = "the table"
			if strings.HasPrefix(reason, "line ") {
				at = ""
			}
		case at == "kind":
			at = "the kind of the table"
		}
		problems = append(problems, strings.TrimSpace(at+" "+reason))
	}
	if len(problems) == 0 {
		problems = append(problems, fault.Message)
	}
	return problems
}

// lineOfRow returns the line in which an element of an array of JSON begins, from 1.
func lineOfRow(text []byte, n int) int {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return 1
	}
	for i := 0; i < n && d.More(); i++ {
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			break
		}
	}
	at := d.InputOffset()
	for at < int64(len(text)) && strings.IndexByte(" \t\r\n,", text[at]) >= 0 {
		at++
	}
	return lineAt(text, at)
}

// shownDifference is a difference for a page.
type shownDifference struct {
	Difference
	Checked bool                             `json:"-"`
	link    func(resource, id string) string // the page of a record
}

// What returns in words what is different.
func (d *shownDifference) What() string {
	if d.Resource == "interfaces" {
		switch d.Type {
		case discovery.Missing:
			return "The inventory has this interface, and the device does not report it."
		case discovery.Unexpected:
			return "The device reports this interface, and the inventory does not have it."
		}
		return "The interface is not as the device reports it."
	}
	switch d.Type {
	case discovery.Missing:
		return fmt.Sprintf("The inventory has a link to %s. The device hears nobody there.", end(d.Expected))
	case discovery.Unexpected:
		return fmt.Sprintf("The device hears %s. The inventory has no link there.", end(d.Observed))
	}
	return fmt.Sprintf("The inventory has a link to %s. The device hears %s.", end(d.Expected), end(d.Observed))
}

// Tone returns the colour of the type.
func (d *shownDifference) Tone() string {
	return map[discovery.Kind]string{discovery.Missing: "bad", discovery.Unexpected: "info", discovery.Different: "warn"}[d.Type]
}

// end returns a neighbour and its port in words.
func end(of site.Record) string {
	name := of.Text("neighbor")
	if name == "" {
		name = "a neighbour without a name"
	}
	for _, port := range []string{"port", "port_description"} {
		if text := of.Text(port); text != "" {
			return name + ", port " + text
		}
	}
	return name
}

// Effect returns in words what applying the difference does, empty if nothing can be applied.
func (d *shownDifference) Effect() string {
	if d.Change == nil {
		return ""
	}
	what := map[string]string{"links": "link", "interfaces": "interface"}[d.Resource]
	switch d.Change.Action {
	case Create:
		return "Creates the " + what + "."
	case Delete:
		if d.Resource == "links" {
			return "Deletes the link, and its cable."
		}
		return "Deletes the interface, with what belongs to it."
	}
	if d.Resource == "links" {
		return "Moves the end of the link to what the device hears."
	}
	return "Takes over what the device reports."
}

// Why returns why nothing can be applied, as a sentence.
func (d *shownDifference) Why() string {
	if d.Reason == "" {
		return ""
	}
	return "Cannot be applied: " + d.Reason + "."
}

// URL returns the page of the record that is different, empty without one.
func (d *shownDifference) URL() string {
	switch {
	case d.Change != nil && d.Change.RecordID != "":
		return d.link(d.Resource, d.Change.RecordID)
	case d.Expected["link_id"] != nil:
		return d.link("links", site.Text(d.Expected["link_id"]))
	}
	return ""
}

// Rows returns the values that differ: of the inventory, and of the device.
func (d *shownDifference) Rows() (rows []site.Diff) {
	names := d.Fields
	if d.Type != discovery.Different {
		for name := range d.Observed {
			if name != "name" && d.Resource == "interfaces" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		rows = append(rows, site.Diff{Field: strings.ReplaceAll(name, "_", " "), Before: site.Text(d.Expected[name]), After: site.Text(d.Observed[name])})
	}
	return rows
}
