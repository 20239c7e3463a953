package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	reported "github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// path is the path of the operation (REFERENCE.md, 2.17).
const path = "/drift"

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
	Kind     Kind            `json:"kind"`
	Protocol string          `json:"protocol"`
	Rows     json.RawMessage `json:"rows"`
	Text     *string         `json:"text"`
}

// driftReport is the response.
type driftReport struct {
	Status      string           `json:"status"`
	Message     string           `json:"message"`
	Missing     int              `json:"missing"`
	Unexpected  int              `json:"unexpected"`
	Different   int              `json:"different"`
	Applied     int              `json:"applied"`
	Differences []*Difference    `json:"differences"`
	Problems    []driftProblem   `json:"problems"`
	Changes     []feature.Change `json:"changes"`
	Truncated   bool             `json:"truncated"`
}

// driftProblem is a table that was not compared.
type driftProblem struct {
	Table  int    `json:"table"`
	Reason string `json:"reason"`
}

// New returns the feature: the comparison at POST /drift, and its page.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"devices": &inventory.Device{}, "interfaces": &inventory.Interface{}, "links": &inventory.Link{}},
		Operations: []feature.Operation{{
			Operation: description(), Access: auth.Permission{Everyone: true}, Scoped: true, OwnPreview: true,
			Lists: []string{"devices", "interfaces", "links"}, Handle: serve,
		}},
		Pages: pages(),
	}
}

// description describes the operation.
func description() openapi.Operation {
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
		openapi.Optional("kind", enum("Default: what the table looks like.", string(Neighbors), string(Interfaces))),
		openapi.Optional("protocol", &openapi.Schema{Type: "string", MaxLength: 50, Description: "The discovery of new links. Default: cdp for the text of CDP, or else lldp."}),
		openapi.Optional("rows", &openapi.Schema{Description: "A table as parsed by ntc-templates (an array of objects) or NAPALM (an object)."}),
		openapi.Optional("text", openapi.String("In place of rows: the output of a command such as show lldp neighbors detail, show cdp neighbors or show lldp neighbors.")))
	change := openapi.Object("DriftChange",
		openapi.Required("action", enum("", Create, Update, Delete)), openapi.Required("resource", openapi.String("")),
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
		openapi.Required("differences", openapi.Array(difference, 0, maxDifferences)),
		openapi.Required("problems", openapi.Array(openapi.Object("DriftProblem",
			openapi.Required("table", number("The index of a table that was not compared.")), openapi.Required("reason", openapi.String(""))), 0, maxTables)),
		openapi.Required("changes", openapi.Array(openapi.Object(""), 0, records.MaxPreview)),
		openapi.Required("truncated", openapi.Boolean("Whether there are changes that are not listed.")))
	dryRun := openapi.DryRun()
	dryRun.Description = "true: apply nothing, and respond with what would change."
	return openapi.Operation{
		Method: http.MethodPost, Path: path,
		ID: "drift", Tag: "discovery", Summary: "Compare tables of neighbors and interfaces with the inventory, and apply chosen differences",
		Parameters: []openapi.Parameter{dryRun},
		Body: openapi.Request("Drift", openapi.Required("tables", openapi.Array(table, 1, maxTables)),
			openapi.Optional("apply", &openapi.Schema{
				Type: "array", Items: openapi.String(""), MaxItems: maxDifferences,
				Description: "The ids of differences to apply; missing, unexpected and different are those of the type with a change, and all is each with a change.",
			})),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: report}},
		Errors:    []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}
}

// body reads the body of a request.
var body = httpx.NewBody[driftRequest](&httpx.BodyOptions{MaxValues: feature.MaxValues})

// serve serves a request.
func serve(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	from := r.Inventory.Records()
	sent, err := body.Read(r.HTTP)
	if err != nil {
		return nil, err
	}
	if len(sent.Apply) > maxDifferences {
		return nil, records.Refuse("apply", records.TooMany(maxDifferences, "items: send fewer, or all"))
	}
	if len(sent.Tables) == 0 || len(sent.Tables) > maxTables {
		return nil, records.Refuse("tables", records.Wrong("too_many", "has %d tables: send 1 to %d in one request", len(sent.Tables), maxTables))
	}
	if err := httpx.Reserve(ctx, driftMemory); err != nil {
		return nil, err
	}
	tables := make([]Table, len(sent.Tables))
	for i := range sent.Tables {
		if field, err := sent.Tables[i].read(&tables[i]); err != nil {
			return nil, tableField(i, field, err)
		}
	}
	var report *driftReport
	if len(sent.Apply) > 0 {
		report, err = apply(ctx, r, sent, tables)
	} else {
		err = r.Inventory.Read(ctx, func(ctx context.Context) (err error) {
			report, err = compareTables(ctx, from, sent.Tables, tables)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	report.complete(r.DryRun, len(sent.Apply) > 0)
	return &feature.Response{Status: http.StatusOK, Body: report}, nil
}

// apply applies the chosen differences in one transaction, which compares the tables again.
func apply(ctx context.Context, r *feature.Request, sent driftRequest, tables []Table) (report *driftReport, err error) {
	preview, err := r.Inventory.Change(ctx, func(ctx context.Context, tx *feature.Transaction) (err error) {
		if report, err = compareTables(ctx, tx.Records, sent.Tables, tables); err != nil {
			return err
		}
		if report.Differences, err = choose(report.Differences, sent.Apply); err != nil {
			return err
		}
		return Apply(ctx, tx.Engine, tx.By, report.Differences, r.Inventory.May)
	})
	if err == nil && r.DryRun {
		report.Message, report.Changes, report.Truncated = preview.Message, preview.Changes, preview.Truncated
	}
	return report, err
}

// complete sets what follows from the differences.
func (d *driftReport) complete(dryRun, applied bool) {
	d.Status = "success"
	switch {
	case dryRun && applied:
		d.Status = "dry_run"
	case dryRun:
		d.Status, d.Message = "dry_run", differences(len(d.Differences))
	case applied:
		d.Applied, d.Message = len(d.Differences), "Applied "+differences(len(d.Differences))
	default:
		d.Message = differences(len(d.Differences))
	}
	for _, one := range d.Differences {
		switch one.Type {
		case reported.Missing:
			d.Missing++
		case reported.Unexpected:
			d.Unexpected++
		case reported.Different:
			d.Different++
		}
	}
}

// differences returns a number of differences, as in "1 difference".
func differences(n int) string {
	if n == 1 {
		return "1 difference"
	}
	return fmt.Sprintf("%d differences", n)
}

// choose returns the differences that a request names. One that does not exist is a conflict, as the inventory
// may have changed since the sender has seen it.
func choose(found []*Difference, names []string) ([]*Difference, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	chosen := []*Difference{}
	known := map[string]bool{driftAll: true, string(reported.Missing): true, string(reported.Unexpected): true, string(reported.Different): true}
	for _, d := range found {
		known[d.ID] = true
		switch {
		case wanted[d.ID] && d.Change == nil:
			return nil, records.Refuse("apply", records.Wrong("not_allowed", "has the difference %s without a change: %s", d.ID, d.Reason))
		case wanted[d.ID], d.Change != nil && (wanted[driftAll] || wanted[string(d.Type)]):
			chosen = append(chosen, d)
		}
	}
	for i, name := range names {
		if !known[name] {
			field := fmt.Sprintf("apply[%d]", i)
			return nil, &records.Error{
				Kind:    records.Conflict,
				Message: "Nothing was changed: the difference " + printable.Truncate(name, 64) + " does not exist, or does no longer: compare again without apply",
				Fields:  []records.FieldError{{Field: field, Code: "not_found", Reason: "is no difference of these tables"}},
			}
		}
	}
	return chosen, nil
}

// compareTables compares tables with the records of a reader. Those of unknown devices are problems.
func compareTables(ctx context.Context, from records.Reader, sent []driftTable, tables []Table) (*driftReport, error) {
	report := &driftReport{Problems: []driftProblem{}, Changes: []feature.Change{}}
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
		problem := records.Wrong("invalid", "%s", item.Err.Message)
		if len(item.Err.Fields) > 0 {
			problem = item.Err.Fields[0]
		}
		if item.Err.Kind != records.Unresolved {
			return nil, records.Refuse(fmt.Sprintf("tables[%d].device", item.Index), records.Wrong(problem.Code, "%s", problem.Reason))
		}
		unknown[item.Index] = true
		report.Problems = append(report.Problems, driftProblem{item.Index, problem.Reason})
	}
	var known []Table
	for i, t := range tables {
		if unknown[i] {
			continue
		}
		if err := json.Unmarshal(keys[i]["device_id"], &t.DeviceID); err != nil || t.DeviceID == "" {
			return nil, records.Refuse(fmt.Sprintf("tables[%d].device", i), records.Missing("name the device of the table"))
		}
		known = append(known, t)
	}
	report.Differences, err = Compare(ctx, from, known)
	if report.Differences == nil {
		report.Differences = []*Difference{}
	}
	return report, err
}

// tableField returns the error for a field of a table. Errors of rows begin with their index.
func tableField(i int, field string, err error) error {
	name, reason := fmt.Sprintf("tables[%d].%s", i, field), err.Error()
	if at, rest, ok := strings.Cut(reason, "]: "); ok && field == "rows" && strings.HasPrefix(at, "[") {
		name, reason = name+at+"]", rest
	}
	return records.Refuse(name, records.Wrong(records.InField(name, err).Code, "%s", printable.Truncate(reason, 300)))
}

// read parses a table. With an error it returns the name of the member that is wrong.
func (t *driftTable) read(into *Table) (field string, err error) {
	hasRows, hasDevice := isSent(t.Rows), isSent(t.Device)
	switch {
	case !hasDevice && t.DeviceID == nil:
		return "device", records.Missing("send the hostname of the device, another natural key, or device_id")
	case hasDevice && t.DeviceID != nil:
		return "device", records.NotAllowed("beside device_id")
	case hasRows == (t.Text != nil):
		return "rows", records.Wrong("required", "or text is required, and not both")
	case len(t.Protocol) > 50:
		return "protocol", records.TooLong(50, "characters")
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
		into.Kind = Interfaces
		if neighbors {
			into.Kind = Neighbors
		}
	}
	switch {
	case !slices.Contains([]Kind{Neighbors, Interfaces}, into.Kind):
		return "kind", records.NotOneOf("", "neighbors", "interfaces")
	case into.Kind == Interfaces && t.Text != nil:
		return "text", records.BadFormat("a table of neighbors: send interfaces as rows, as parsed by ntc-templates or NAPALM")
	case into.Kind == Interfaces:
		into.Interfaces, err = reported.ParseInterfaces(t.Rows)
		return "rows", err
	case t.Text == nil:
		into.Protocol = cmp.Or(into.Protocol, "lldp")
		into.Neighbors, err = reported.ParseJSON(t.Rows)
		return "rows", err
	}
	if into.Protocol == "" && cdp.MatchString(*t.Text) {
		into.Protocol = "cdp"
	}
	into.Protocol = cmp.Or(into.Protocol, "lldp")
	into.Neighbors, err = reported.ParseText(*t.Text)
	return "text", err
}

// cdp is what outputs of CDP have and those of LLDP have not.
var cdp = regexp.MustCompile(`(?i)device id ?:|local intrfce`)

// isSent reports whether a member has a value.
func isSent(doc json.RawMessage) bool { return len(doc) > 0 && string(doc) != "null" }
