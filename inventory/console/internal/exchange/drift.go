package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// driftPage is the data of the page.
type driftPage struct {
	Device   string
	Kind     string // empty for what the table looks like
	Document *document
	Problem  string
	Items    []string
	Report   *driftReport
	Step     string // "", compare, preview or done
	MayApply bool
}

// driftReport is the response of the API.
type driftReport struct {
	Status, Message                         string
	Missing, Unexpected, Different, Applied int
	Differences                             []*driftDifference
	Problems                                []struct{ Reason string }
	Changes                                 []changed
	Truncated                               bool
	More                                    int
}

// driftDifference is a difference between a table and the inventory.
type driftDifference struct {
	ID, Type, Resource, Hostname, Interface, Reason string
	DeviceID                                        string `json:"device_id"`
	Fields                                          []string
	Expected, Observed                              map[string]any
	Change                                          *struct{ Action, Resource string }

	Chosen bool
	URL    string
	Text   string
	Rows   []difference
}

// mayDrift fails unless the sender may see what is compared.
func mayDrift(q *site.Request) error {
	for _, name := range []string{"devices", "interfaces", "links"} {
		if !q.May(name, records.RouteList) {
			return httpx.Errorf(http.StatusForbidden, "Your role may not see %s", name)
		}
	}
	return nil
}

func newDrift(q *site.Request) *driftPage {
	return &driftPage{Document: &document{}, MayApply: q.May("links", records.RouteCreate) || q.May("interfaces", records.RouteCreate)}
}

func showDrift(q *site.Request) error {
	if err := mayDrift(q); err != nil {
		return err
	}
	p := newDrift(q)
	p.Device = q.R.URL.Query().Get("device")
	return q.Page("drift.html", "Drift", p)
}

// postDrift compares, previews or applies.
func postDrift(q *site.Request) (err error) {
	if err := mayDrift(q); err != nil {
		return err
	}
	if err := readForm(q); err != nil {
		return err
	}
	p := newDrift(q)
	p.Device, p.Kind = strings.TrimSpace(q.R.PostFormValue("device")), q.R.PostFormValue("kind")
	if p.Document, p.Problem, err = readDocument(q); err != nil {
		return err
	}
	if p.Device == "" && p.Problem == "" {
		p.Problem = "Name the device that the table comes from."
	}
	if p.Problem != "" {
		return q.PageStatus(http.StatusBadRequest, "drift.html", "Drift", p)
	}
	step := q.R.PostFormValue("step")
	chosen := q.R.PostForm["apply"]
	if (step == "preview" || step == "apply") && len(chosen) == 0 {
		p.Problem, step = "Choose at least one difference.", ""
	}
	return p.run(q, step, chosen)
}

// table returns the body of the call.
func (p *driftPage) table() map[string]any {
	table := map[string]any{"device": p.Device}
	if _, err := uuid.Parse(p.Device); err == nil && len(p.Device) == 36 {
		table = map[string]any{"device_id": p.Device}
	}
	if p.Kind != "" {
		table["kind"] = p.Kind
	}
	if text := bytes.TrimSpace(p.Document.Text); json.Valid(text) && (text[0] == '[' || text[0] == '{') {
		table["rows"] = json.RawMessage(text)
	} else {
		table["text"] = string(p.Document.Text)
	}
	return table
}

func (p *driftPage) run(q *site.Request, step string, chosen []string) error {
	// One call: each reserves memory until the request ends.
	body, query := map[string]any{"tables": []any{p.table()}}, url.Values{}
	p.Step = "compare"
	switch step {
	case "preview":
		p.Step, body["apply"] = "preview", chosen
		query.Set("dry_run", "true")
	case "apply":
		p.Step, body["apply"] = "done", chosen
	}
	report := &driftReport{}
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/drift", Query: query, Body: body}, report)
	if err == nil && len(report.Problems) == 0 {
		p.Report = report
	}
	status := http.StatusOK
	if fault, ok := site.AsFault(err); ok {
		status, p.Problem = fault.Status, fault.Message
		for _, f := range fault.Fields {
			p.Items = append(p.Items, fmt.Sprintf("%s %s", strings.NewReplacer("tables[0].text", "the text", "tables[0].", "").Replace(f.Field), f.Reason))
		}
	} else if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		status, p.Problem = http.StatusUnprocessableEntity, "The device "+p.Device+" "+report.Problems[0].Reason
	}
	if p.Report != nil {
		p.show(q, chosen)
	}
	return q.PageStatus(status, "drift.html", "Drift", p)
}

// show prepares the report for the page.
func (p *driftPage) show(q *site.Request, chosen []string) {
	r := p.Report
	r.More = max(0, len(r.Differences)-maxShown)
	r.Differences = r.Differences[:min(len(r.Differences), maxShown)]
	for _, d := range r.Differences {
		d.Chosen = slices.Contains(chosen, d.ID)
		d.URL = q.RecordURL("devices", d.DeviceID)
		d.Text = d.sentence()
		names := map[string]bool{}
		for _, values := range []map[string]any{d.Expected, d.Observed} {
			for name := range values {
				names[name] = true
			}
		}
		for name := range names {
			before, after := plain(d.Expected[name]), plain(d.Observed[name])
			if before != after {
				d.Rows = append(d.Rows, difference{name, before, after})
			}
		}
		slices.SortFunc(d.Rows, func(a, b difference) int { return strings.Compare(a.Field, b.Field) })
	}
	prepare(q, r.Changes)
}

// sentence says in words what is different.
func (d *driftDifference) sentence() string {
	what := strings.TrimSuffix(d.Resource, "s")
	switch d.Type {
	case "missing":
		return "The inventory has this " + what + ", and the device does not report it."
	case "unexpected":
		return "The device reports this " + what + ", and the inventory does not have it."
	}
	return "The inventory and the device differ in " + strings.Join(d.Fields, ", ") + "."
}
