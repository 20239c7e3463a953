package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	reported "github.com/ashlar-go/ashlar/inventory/discovery"
	"github.com/ashlar-go/ashlar/inventory/drift"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Differences between what devices report and the inventory (REFERENCE.md, 2.17).

// driftPath is the path of these differences. The handler applies the rights of the sender to the resources.
const driftPath = "/drift"

// maxTables is the maximum number of tables in a request.
const maxTables = 500

// driftMemory is the size of the records and the report in bytes.
const driftMemory = 24 << 20

// driftAll chooses each difference with a change.
const driftAll = "all"

// driftRequest is the body of a request.
type driftRequest struct {
	Tables []driftTable `json:"tables"`
	Apply  []string     `json:"apply"`
}

// driftTable is a table as it was sent.
type driftTable struct {
	Device   json.RawMessage `json:"device"`
	DeviceID *string         `json:"device_id"`
	Kind     drift.Kind      `json:"kind"`
	Protocol string          `json:"protocol"`
	Rows     json.RawMessage `json:"rows"`
	Text     *string         `json:"text"`
}

// driftReport is the response.
type driftReport struct {
	Status      string              `json:"status"`
	Message     string              `json:"message"`
	Missing     int                 `json:"missing"`
	Unexpected  int                 `json:"unexpected"`
	Different   int                 `json:"different"`
	Applied     int                 `json:"applied"`
	Differences []*drift.Difference `json:"differences"`
	Problems    []driftProblem      `json:"problems"`
	Changes     []previewChange     `json:"changes"`
	Truncated   bool                `json:"truncated"`
}

// driftProblem is a table that was not compared.
type driftProblem struct {
	Table  int    `json:"table"`
	Reason string `json:"reason"`
}

// driftRoutes returns the route, none without devices, interfaces and links.
func driftRoutes(schema *records.Schema) []route {
	for name, rec := range map[string]records.Record{"devices": &inventory.Device{}, "interfaces": &inventory.Interface{}, "links": &inventory.Link{}} {
		if r, ok := schema.Named(name); !ok || !r.Is(rec) {
			return nil
		}
	}
	return []route{{method: http.MethodPost, path: driftPath, access: everyone, operation: driftOperation()}}
}

func driftOperation() operation {
	enum := func(text string, values ...any) *openapi.Schema {
		return &openapi.Schema{Type: "string", Enum: values, Description: text}
	}
	either := func(text string) *openapi.Schema {
		return &openapi.Schema{Type: []string{"object", "null"}, Description: text}
	}
	number := func(text string) *openapi.Schema { return openapi.Integer(text, 0) }
	table := openapi.Request("DriftTable",
		openapi.Optional("device", &openapi.Schema{Description: "The natural key of the device: its hostname, or an object."}),
		openapi.Optional("device_id", openapi.ID("The id of the device, in place of device.")),
		openapi.Optional("kind", enum("Default: what the table looks like.", string(drift.Neighbors), string(drift.Interfaces))),
		openapi.Optional("protocol", &openapi.Schema{Type: "string", MaxLength: 50, Description: "The discovery of new links. Default: cdp for the text of CDP, or else lldp."}),
		openapi.Optional("rows", &openapi.Schema{Description: "A table as parsed by ntc-templates (an array of objects) or NAPALM (an object)."}),
		openapi.Optional("text", openapi.String("In place of rows: the output of show lldp neighbors detail, or show cdp neighbors detail.")))
	change := openapi.Object("DriftChange",
		openapi.Required("action", enum("", drift.Create, drift.Update, drift.Delete)), openapi.Required("resource", openapi.String("")),
		openapi.Required("record_id", openapi.String("Empty for a new record.")), openapi.Required("values", openapi.Object("")))
	change.Type = []string{"object", "null"}
	difference := openapi.Object("DriftDifference",
		openapi.Required("id", openapi.String("To choose the difference in apply.")),
		openapi.Required("type", enum("", string(reported.Missing), string(reported.Unexpected), string(reported.Different))),
		openapi.Required("resource", openapi.String("links or interfaces.")), openapi.Required("device_id", openapi.ID("")),
		openapi.Required("hostname", openapi.String("")), openapi.Required("interface", openapi.String("")),
		openapi.Required("fields", openapi.Array(openapi.String(""), 0, 0)),
		openapi.Required("expected", either("By the inventory; null if unexpected.")), openapi.Required("observed", either("Null if missing.")),
		openapi.Required("change", change), openapi.Required("reason", openapi.String("Why there is no change.")))
	report := openapi.Object("DriftReport",
		openapi.Required("status", openapi.String("success, or dry_run.")), openapi.Required("message", openapi.String("")),
		openapi.Required("missing", number("")), openapi.Required("unexpected", number("")), openapi.Required("different", number("")),
		openapi.Required("applied", number("The number of differences that were applied.")),
		openapi.Required("differences", openapi.Array(difference, 0, drift.MaxDifferences)),
		openapi.Required("problems", openapi.Array(openapi.Object("DriftProblem",
			openapi.Required("table", number("The index of a table that was not compared.")), openapi.Required("reason", openapi.String(""))), 0, maxTables)),
		openapi.Required("changes", openapi.Array(openapi.Object(""), 0, records.MaxPreview)),
		openapi.Required("truncated", openapi.Boolean("Whether there are changes that are not listed.")))
	body := httpx.NewBody[driftRequest](&httpx.BodyOptions{MaxValues: maxValues})
	return operation{openapi.Operation{
		ID: "drift", Tag: "discovery", Summary: "Compare tables of neighbors and interfaces with the inventory, and apply chosen differences",
		Parameters: []openapi.Parameter{dryRun("true: apply nothing, and respond with what would change.")},
		Body: openapi.Request("Drift", openapi.Required("tables", openapi.Array(table, 1, maxTables)),
			openapi.Optional("apply", &openapi.Schema{
				Type: "array", Items: openapi.String(""), MaxItems: drift.MaxDifferences,
				Description: "The ids of differences to apply; missing, unexpected and different are those of the type with a change, and all is each with a change.",
			})),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: report}},
		Errors:    []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}, func(c *call) error {
		if err := c.mayList("/devices", "/interfaces", "/links"); err != nil {
			return err
		}
		sent, err := body.Read(c.r)
		if err != nil {
			return err
		}
		return c.drift(sent)
	}}
}

func (c *call) drift(sent driftRequest) error {
	if len(sent.Apply) > drift.MaxDifferences {
		return badField("apply", fmt.Sprintf("has more than %d items: send fewer, or all", drift.MaxDifferences))
	}
	if err := httpx.Reserve(c.r.Context(), driftMemory); err != nil {
		return err
	}
	tables, err := readTables(sent.Tables)
	if err != nil {
		return err
	}
	if len(sent.Apply) > 0 {
		return c.applyDrift(sent, tables)
	}
	var report *driftReport
	_, err = c.read(nil, true, func(ctx context.Context, _ *records.Query) (_ *records.Page, err error) {
		report, err = compareTables(ctx, c.store, sent.Tables, tables)
		return nil, err
	})
	if err != nil {
		return err
	}
	report.Message = differences(len(report.Differences))
	return c.sendDrift(report)
}

// differences returns a number of differences, as in "1 difference".
func differences(n int) string {
	if n == 1 {
		return "1 difference"
	}
	return fmt.Sprintf("%d differences", n)
}

// applyDrift applies the chosen differences in one transaction, which compares the tables again.
func (c *call) applyDrift(sent driftRequest, tables []drift.Table) error {
	var from records.Reader
	v := c.inventory().BeforeChange(func(_ context.Context, tx records.Tx) error {
		places := c.places
		if c.accounts != nil {
			places = c.account.Places() // of the sender now
		}
		from = records.Limited(tx, places)
		return nil
	})
	var report *driftReport
	err := v.Together(c.r.Context(), func(ctx context.Context, in *records.Engine) (err error) {
		if report, err = compareTables(ctx, from, sent.Tables, tables); err != nil {
			return err
		}
		if report.Differences, err = choose(report.Differences, sent.Apply); err != nil {
			return err
		}
		return drift.Apply(ctx, in, c.caller(), report.Differences, c.mayUse)
	})
	if err != nil {
		return err
	}
	report.Message = "Applied " + differences(len(report.Differences))
	if c.dryRun {
		p := c.visiblePreview()
		report.Message, report.Changes, report.Truncated = p.Message(), previewChanges(p.Changes), p.Truncated
	} else {
		report.Applied = len(report.Differences)
	}
	return c.sendDrift(report)
}

// sendDrift responds with a report.
func (c *call) sendDrift(report *driftReport) error {
	report.Status = "success"
	if c.dryRun {
		report.Status = "dry_run"
	}
	for _, d := range report.Differences {
		switch d.Type {
		case reported.Missing:
			report.Missing++
		case reported.Unexpected:
			report.Unexpected++
		case reported.Different:
			report.Different++
		}
	}
	c.send(http.StatusOK, func(b []byte) []byte { return appendJSON(b, reflect.ValueOf(report)) })
	return nil
}

// choose returns the differences that a request names. One that does not exist is a conflict, as the inventory
// may have changed since the sender has seen it.
func choose(found []*drift.Difference, names []string) ([]*drift.Difference, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	chosen := []*drift.Difference{}
	known := map[string]bool{driftAll: true, string(reported.Missing): true, string(reported.Unexpected): true, string(reported.Different): true}
	for _, d := range found {
		known[d.ID] = true
		switch {
		case wanted[d.ID] && d.Change == nil:
			return nil, invalidField("apply", "has the difference "+d.ID+" without a change: "+d.Reason)
		case wanted[d.ID], d.Change != nil && (wanted[driftAll] || wanted[string(d.Type)]):
			chosen = append(chosen, d)
		}
	}
	for i, name := range names {
		if !known[name] {
			field := fmt.Sprintf("apply[%d]", i)
			return nil, &records.Error{
				Kind:    records.Conflict,
				Message: "Nothing was changed: the difference " + shorten(name) + " does not exist, or does no longer: compare again without apply",
				Fields:  []records.FieldError{{Field: field, Reason: "is no difference of these tables"}},
			}
		}
	}
	return chosen, nil
}

// compareTables compares tables with the records of a reader. Those of unknown devices are problems.
func compareTables(ctx context.Context, from records.Reader, sent []driftTable, tables []drift.Table) (*driftReport, error) {
	report := &driftReport{Problems: []driftProblem{}, Changes: []previewChange{}}
	keys := make([]records.Patch, len(sent))
	for i, t := range sent {
		keys[i] = records.Patch{"device": t.Device}
		if t.DeviceID != nil {
			doc, err := json.Marshal(map[string]string{"id": *t.DeviceID})
			if err != nil {
				return nil, err
			}
			keys[i]["device"] = doc
		}
	}
	wrong, err := records.Resolve(ctx, from, records.Of[inventory.Interface](from.Schema()), keys)
	if err != nil {
		return nil, err
	}
	unknown := map[int]bool{}
	for _, item := range wrong {
		reason := item.Err.Message
		if len(item.Err.Fields) > 0 {
			reason = item.Err.Fields[0].Reason
		}
		if item.Err.Kind != records.Unresolved {
			return nil, badField(fmt.Sprintf("tables[%d].device", item.Index), reason)
		}
		unknown[item.Index] = true
		report.Problems = append(report.Problems, driftProblem{item.Index, reason})
	}
	var known []drift.Table
	for i, t := range tables {
		if unknown[i] {
			continue
		}
		if err := json.Unmarshal(keys[i]["device_id"], &t.DeviceID); err != nil || t.DeviceID == "" {
			return nil, badField(fmt.Sprintf("tables[%d].device", i), "is missing: name the device of the table")
		}
		known = append(known, t)
	}
	report.Differences, err = drift.Compare(ctx, from, known)
	if report.Differences == nil {
		report.Differences = []*drift.Difference{}
	}
	return report, err
}

// readTables parses the tables of a request.
func readTables(sent []driftTable) ([]drift.Table, error) {
	if len(sent) == 0 || len(sent) > maxTables {
		return nil, badField("tables", fmt.Sprintf("has %d tables: send 1 to %d in one request", len(sent), maxTables))
	}
	tables := make([]drift.Table, len(sent))
	for i := range sent {
		field, err := sent[i].read(&tables[i])
		if err != nil {
			return nil, badField(tableField(i, field, err))
		}
	}
	return tables, nil
}

// tableField returns the field of a table with an error, and the reason. Errors of rows begin with their index.
func tableField(i int, field string, err error) (name, reason string) {
	name, reason = fmt.Sprintf("tables[%d].%s", i, field), err.Error()
	if at, rest, ok := strings.Cut(reason, "]: "); ok && field == "rows" && strings.HasPrefix(at, "[") {
		name, reason = name+at+"]", rest
	}
	return name, printable.Truncate(reason, 300)
}

// read parses a table. With an error it returns the name of the member that is wrong.
func (t *driftTable) read(into *drift.Table) (field string, err error) {
	hasRows, hasDevice := isSent(t.Rows), isSent(t.Device)
	switch {
	case !hasDevice && t.DeviceID == nil:
		return "device", errors.New("is missing: send the hostname of the device, another natural key, or device_id")
	case hasDevice && t.DeviceID != nil:
		return "device", errors.New("is one name too many: send device or device_id")
	case hasRows == (t.Text != nil):
		return "rows", errors.New("or text is required, and not both")
	case len(t.Protocol) > 50:
		return "protocol", errors.New("must have at most 50 characters")
	}
	into.Kind, into.Protocol = t.Kind, t.Protocol
	if into.Kind == "" {
		neighbors, known := t.Text != nil, t.Text != nil
		if !known {
			neighbors, known = reported.HasNeighbors(t.Rows)
		}
		if !known {
			return "kind", errors.New("is missing: rows do not say whether it is neighbors or interfaces")
		}
		into.Kind = drift.Interfaces
		if neighbors {
			into.Kind = drift.Neighbors
		}
	}
	switch {
	case !slices.Contains([]drift.Kind{drift.Neighbors, drift.Interfaces}, into.Kind):
		return "kind", errors.New("must be neighbors or interfaces")
	case into.Kind == drift.Interfaces && t.Text != nil:
		return "text", errors.New("must be a table of neighbors: send interfaces as rows, as parsed by ntc-templates or NAPALM")
	case into.Kind == drift.Interfaces:
		into.Interfaces, err = reported.ParseInterfaces(t.Rows)
		return "rows", err
	case t.Text == nil:
		into.Protocol = cmp.Or(into.Protocol, "lldp")
		into.Neighbors, err = reported.ParseJSON(t.Rows)
		return "rows", err
	}
	if into.Protocol == "" && strings.Contains(strings.ToLower(*t.Text), "device id:") { // as in no output of LLDP
		into.Protocol = "cdp"
	}
	into.Protocol = cmp.Or(into.Protocol, "lldp")
	into.Neighbors, err = reported.ParseText(*t.Text)
	return "text", err
}

// isSent reports whether a member has a value.
func isSent(doc json.RawMessage) bool { return len(doc) > 0 && string(doc) != "null" }
