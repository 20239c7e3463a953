package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// importPath is the path of imports. The handler applies the rights of the sender to the resources of
// the rows.
const importPath = "/import"

// importBody is the maximum size of a body in bytes, unless that of others is larger.
const importBody = 16 << 20

// maxRejected is the maximum number of bytes of rejected rows in a response.
const maxRejected = 1 << 20

// An import takes memory for its report, and rowMemory times its body for the rows, in bytes.
const (
	importMemory = 8 << 20
	rowMemory    = 4
)

// importTypes are the formats by content type.
var importTypes = map[string]string{
	"text/csv": importer.CSV, "application/jsonl": importer.JSONL, "application/x-ndjson": importer.JSONL,
	"application/yaml": importer.YAML, "application/x-yaml": importer.YAML,
}

// importReport is the response to an import.
type importReport struct {
	Status       string           `json:"status"`
	Message      string           `json:"message"`
	Rows         int64            `json:"rows"`
	Created      int64            `json:"created"`
	Updated      int64            `json:"updated"`
	Unchanged    int64            `json:"unchanged"`
	Deleted      int64            `json:"deleted"`
	Rejected     int64            `json:"rejected"`
	Problems     []importProblem  `json:"problems"`
	Truncated    bool             `json:"truncated"`
	RejectedRows string           `json:"rejected_rows"`
	Changes      []feature.Change `json:"changes"`
}

// importProblem describes an invalid row.
type importProblem struct {
	Line   int64  `json:"line"`
	Column string `json:"column"`
	Value  string `json:"value"`
	Reason string `json:"reason"`
}

// importRows creates and changes records by the rows of a file (REFERENCE.md, 2.15).
func importRows() operation {
	number := func(text string) *openapi.Schema { return openapi.Integer(text, 0) }
	problem := openapi.Object("ImportProblem",
		openapi.Required("line", openapi.Integer("The line of the row, from 1.", 1)),
		openapi.Required("column", openapi.String("The field, or empty for the whole row.")),
		openapi.Required("value", openapi.String("The value of the field, up to 64 characters.")),
		openapi.Required("reason", openapi.String("What is wrong, and what would be right.")))
	change := openapi.Object("ImportChange",
		openapi.Required("action", openapi.String("create, update or delete.")), openapi.Required("resource_type", openapi.String("Such as device.")),
		openapi.Required("resource_id", openapi.String("Empty for a new record.")), openapi.Required("changes", openapi.Object("")),
		openapi.Required("cause", openapi.String("")))
	report := openapi.Object("ImportReport",
		openapi.Required("status", openapi.String("success, or dry_run.")), openapi.Required("message", openapi.String("")),
		openapi.Required("rows", number("The number of rows that were read.")), openapi.Required("created", number("")),
		openapi.Required("updated", number("")), openapi.Required("unchanged", number("")),
		openapi.Required("deleted", number("With prune.")), openapi.Required("rejected", number("")),
		openapi.Required("problems", openapi.Array(problem, 0, importer.MaxProblems)),
		openapi.Required("truncated", openapi.Boolean("Whether there are more problems.")),
		openapi.Required("rejected_rows", openapi.String("The rejected rows as a file, up to 1 MiB, to correct and send again.")),
		openapi.Required("changes", openapi.Array(change, 0, importer.DefaultMaxRows)))
	return operation{openapi.Operation{
		ID: "import", Tag: "system", Summary: "Create and change records by the rows of a CSV, JSON lines or YAML file",
		Parameters: []openapi.Parameter{
			{Name: "resource", Schema: openapi.String(""), Description: "The resource of the rows, such as devices. Not needed if each row has _resource."},
			{Name: "format", Schema: &openapi.Schema{Type: "string", Enum: []any{importer.CSV, importer.JSONL, importer.YAML}}, Description: "The format of the body. Default: that of its content type."},
			{Name: "on_error", Schema: &openapi.Schema{Type: "string", Enum: []any{"stop", "skip"}}, Description: "stop (the default): change nothing if a row is rejected; skip: apply the other rows."},
			{Name: "existing", Schema: &openapi.Schema{Type: "string", Enum: []any{"update", "reject"}}, Description: "What happens to a row for a record that exists. Default: update."},
			{Name: "prune", Schema: openapi.Boolean(""), Description: "true: also delete the records of the resources of the rows that no row is for. Not with on_error=skip."},
			dryRun("true: change nothing, and respond with what would change."),
		},
		Body: openapi.String("The rows."), BodyTypes: []string{"text/csv", "application/jsonl", "application/yaml"},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: report}},
		Errors:    []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}, (*call).importRows}
}

func (c *call) importRows() error {
	opts, file, err := c.importOptions()
	if err != nil {
		return err
	}
	if opts.OnError == importer.Skip && !opts.DryRun {
		c.endless() // each transaction has up to 1,000 rows
	}
	body := c.r.ContentLength
	if body < 0 {
		body = importBody
	}
	if err := httpx.Reserve(c.r.Context(), importMemory+rowMemory*body); err != nil {
		return err
	}
	source, err := importer.Open("body", c.r.Body, c.schema, file)
	if err != nil {
		return importError(err)
	}
	var rejected bytes.Buffer
	opts.Rejected = func(row *importer.Row) error {
		if rejected.Len() == 0 {
			rejected.Write(row.Head)
		}
		if rejected.Len()+len(row.Text) <= maxRejected {
			rejected.Write(row.Text)
		}
		return nil
	}
	report, err := importer.Run(c.r.Context(), c.inventory(), []importer.Source{source}, opts)
	if err != nil {
		return importError(err)
	}
	return c.sendImport(report, opts, rejected.String())
}

// importOptions parses the parameters.
func (c *call) importOptions() (*importer.Options, *importer.FileOptions, error) {
	file := &importer.FileOptions{Resource: c.query.Get("resource"), Format: c.query.Get("format")}
	if file.Format == "" {
		kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
		if file.Format = importTypes[kind]; file.Format == "" {
			return nil, nil, httpx.Errorf(http.StatusUnsupportedMediaType, "Content-Type is %s: send text/csv, application/jsonl or application/yaml, or add the parameter format", shorten(kind))
		}
	}
	opts := &importer.Options{By: c.caller(), DryRun: c.dryRun, Allow: c.mayUse, Check: c.checkRows}
	switch c.query.Get("existing") {
	case "", "update":
	case "reject":
		opts.New = true
	default:
		return nil, nil, badField("existing", "must be update or reject")
	}
	switch c.query.Get("prune") {
	case "", "false":
	case "true":
		opts.Prune = true
	default:
		return nil, nil, badField("prune", "must be true or false")
	}
	switch c.query.Get("on_error") {
	case "", "stop":
	case "skip":
		if opts.Prune {
			return nil, nil, badField("prune", "must not be true with on_error=skip: the record of a rejected row would be deleted")
		}
		opts.OnError = importer.Skip
	default:
		return nil, nil, badField("on_error", "must be stop or skip")
	}
	return opts, file, nil
}

// importError converts the error of an import.
func importError(err error) error {
	bad, ok := errors.AsType[*importer.FileError](err)
	if !ok {
		return err
	}
	e := &httpx.Error{Status: http.StatusBadRequest, Message: "Invalid file: " + bad.Error()}
	for i, p := range bad.Problems {
		if i == 20 {
			break
		}
		field := p.Column
		if field == "" {
			field = "body"
		}
		e.Fields = append(e.Fields, httpx.FieldError{Field: shorten(field), Reason: fmt.Sprintf("%s (line %d)", p.Reason, p.Line)})
	}
	return e
}

// checkQuery applies the check of requests to all but the body, whose rows are checked one by one.
func (a *API) checkQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bare := r.WithContext(r.Context())
		bare.Body, bare.ContentLength = http.NoBody, 0
		a.check(http.HandlerFunc(func(w http.ResponseWriter, checked *http.Request) {
			whole := checked.WithContext(checked.Context())
			whole.Body, whole.ContentLength = r.Body, r.ContentLength
			next.ServeHTTP(w, whole)
		})).ServeHTTP(w, bare)
	})
}

// rowsChecked is the number of rows that are checked at once, as one body.
const rowsChecked = 100

// checkRows applies the check of bodies, such as that for markup (REFERENCE.md, 5.1), to rows, which are
// not JSON.
func (c *call) checkRows(_ context.Context, rows []*importer.Row) (index int, reason string, err error) {
	for first := 0; first < len(rows); first += rowsChecked {
		chunk := rows[first:min(first+rowsChecked, len(rows))]
		if c.passes(chunk) == nil {
			continue
		}
		for i := range chunk { // together they may only be too large
			if refused := c.passes(chunk[i : i+1]); refused != nil {
				return first + i, refused.Message, nil
			}
		}
	}
	return -1, "", nil
}

// passes returns what the check of bodies says about rows, nil if it accepts them.
func (c *call) passes(rows []*importer.Row) (refused *httpx.Error) {
	patches := make([]records.Patch, len(rows))
	for i, row := range rows {
		patches[i] = row.Patch
	}
	body, err := json.Marshal(patches)
	if err != nil {
		return &httpx.Error{Status: http.StatusBadRequest, Message: "is no JSON: " + err.Error()}
	}
	r := c.r.Clone(context.Background())
	r.Header = http.Header{"Content-Type": {"application/json"}}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	render := httpx.RenderErrors(func(_ http.ResponseWriter, _ *http.Request, e *httpx.Error) { refused = e })
	render(c.check(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))).ServeHTTP(nobody{}, r)
	return refused
}

// nobody is a response writer that discards everything.
type nobody struct{}

func (nobody) Header() http.Header         { return http.Header{} }
func (nobody) WriteHeader(int)             {}
func (nobody) Write(p []byte) (int, error) { return len(p), nil }

// sendImport responds with a report: with 422 if nothing was changed because of rejected rows.
func (c *call) sendImport(r *importer.Report, opts *importer.Options, rejected string) error {
	body := importReport{
		Status: "success", Message: "Import completed", Rows: r.Rows, Created: r.Created, Updated: r.Updated, Unchanged: r.Unchanged, Deleted: r.Deleted,
		Rejected: r.Rejected, Problems: make([]importProblem, len(r.Problems)), Truncated: r.Truncated, RejectedRows: rejected,
		Changes: previewChanges(r.Changes),
	}
	for i, p := range r.Problems {
		body.Problems[i] = importProblem{p.Line, shorten(p.Column), p.Value, p.Reason}
	}
	status := http.StatusOK
	switch {
	case opts.OnError == importer.Stop && r.Rejected > 0:
		status, body.Status = http.StatusUnprocessableEntity, "error"
		body.Message = fmt.Sprintf("Nothing was changed: %d of %d rows are rejected", r.Rejected, r.Rows)
	case opts.DryRun:
		body.Status, body.Message = "dry_run", fmt.Sprintf("Would create %d records and update %d", r.Created, r.Updated)
		if opts.Prune {
			body.Message = fmt.Sprintf("Would create %d records, update %d and delete %d", r.Created, r.Updated, r.Deleted)
		}
	}
	c.send(status, func(b []byte) []byte { return appendJSON(b, reflect.ValueOf(body)) })
	return nil
}
