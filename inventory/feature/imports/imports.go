// Package imports is the feature that imports rows of a file (REFERENCE.md, 2.15).
package imports

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxBody is the maximum size of a body in bytes.
const maxBody = importer.MaxBytes

// maxRejected is the maximum number of bytes of rejected rows in a response.
const maxRejected = 1 << 20

// importMemory is the memory that an import takes for its report, in bytes.
const importMemory = 4 << 20

// maxDuration bounds an import, which goes on when its client has gone.
const maxDuration = 15 * time.Minute

// maxShown is the maximum number of bytes of a text of the sender in a message.
const maxShown = 64

// importTypes are the formats by content type.
var importTypes = map[string]string{
	"text/csv": importer.CSV, "application/jsonl": importer.JSONL, "application/x-ndjson": importer.JSONL,
	"application/yaml": importer.YAML, "application/x-yaml": importer.YAML,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": importer.XLSX,
}

// importReport is the response to an import.
type importReport struct {
	Status  string `json:"status"`
	Code    string `json:"code,omitempty"` // of an error
	Message string `json:"message"`
	importer.Report
	RejectedRows string           `json:"rejected_rows"`
	Changes      []feature.Change `json:"changes"`
}

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{Operations: []feature.Operation{{
		Operation: description(), Access: auth.Permission{Everyone: true}, Scoped: true, OwnPreview: true,
		MaxBody: maxBody, RawBody: true, Joins: true, Handle: importRows,
	}, {
		Operation: describeReport(), Access: auth.Permission{Everyone: true}, Scoped: true, Handle: showReport,
	}, readNetBox()}, State: func(store records.Store) any { return &reports{store: store, running: map[string]*importReport{}} }, Pages: pages()}
}

// reportSchema describes the report of an import.
func reportSchema() *openapi.Schema {
	number := func(text string) *openapi.Schema { return openapi.Integer(text, 0) }
	problem := openapi.Object("ImportProblem",
		openapi.Required("line", openapi.Integer("The line of the row, from 1.", 1)),
		openapi.Required("column", openapi.String("The field, or empty for the whole row.")),
		openapi.Required("value", openapi.String("The value of the field, up to 64 characters.")),
		openapi.Required("reason", openapi.String("What is wrong, and what would be right.")),
		openapi.Optional("field", openapi.String("The reference whose natural key names no record, or several.")),
		openapi.Optional("key", openapi.String("That key in JSON, for the parameter names.")))
	change := openapi.Object("ImportChange",
		openapi.Required("action", openapi.String("create, update or delete.")), openapi.Required("resource_type", openapi.String("Such as device.")),
		openapi.Required("resource_id", openapi.String("Empty for a new record.")), openapi.Required("changes", openapi.Object("")),
		openapi.Required("cause", openapi.String("")))
	return openapi.Object("ImportReport",
		openapi.Required("status", openapi.String("success, dry_run, error, or running for one that has not ended.")), openapi.Required("message", openapi.String("")),
		openapi.Required("rows", number("The number of rows that were read.")), openapi.Required("created", number("")),
		openapi.Required("updated", number("")), openapi.Required("unchanged", number("")),
		openapi.Required("deleted", number("With prune.")), openapi.Required("rejected", number("")),
		openapi.Required("problems", openapi.Array(problem, 0, importer.MaxProblems)),
		openapi.Required("truncated", openapi.Boolean("Whether there are more problems or changes.")),
		openapi.Required("rejected_rows", openapi.String("The rejected rows as a file, up to 1 MiB, to correct and send again.")),
		openapi.Required("changes", openapi.Array(change, 0, records.MaxPreview)))
}

// description describes the operation.
func description() openapi.Operation {
	dryRun := openapi.DryRun()
	dryRun.Description = "true: change nothing, and respond with what would change, and the first 1,000 changes."
	return openapi.Operation{
		Method: http.MethodPost, Path: "/import",
		ID: "import", Tag: "system", Summary: "Create and change records by the rows of a file: CSV, a workbook, JSON lines or YAML",
		Parameters: []openapi.Parameter{
			{Name: "resource", Schema: openapi.String(""), Description: "The resource of the rows, such as devices. Not needed if each row has _resource."},
			{Name: "format", Schema: &openapi.Schema{Type: "string", Enum: []any{importer.CSV, importer.JSONL, importer.YAML, importer.XLSX}}, Description: "The format of the body. Default: that of its content type."},
			{Name: "columns", Schema: openapi.String(""), Description: "What the columns of a table are, in their order and separated by commas, such as hostname,,location; an empty one is ignored. Default: what the header means."},
			{Name: "names", Schema: openapi.String(""), Description: "The ids of the records that natural keys stand for which name no record, or several, as JSON: by field and key of a problem, such as {\"location_id\":{\"\\\"Room 1\\\"\":\"ID\"}}; an empty id is none."},
			{Name: "on_error", Schema: &openapi.Schema{Type: "string", Enum: []any{"stop", "skip"}}, Description: "stop (the default): change nothing if a row is rejected; skip: apply the other rows."},
			{Name: "existing", Schema: &openapi.Schema{Type: "string", Enum: []any{"update", "reject"}}, Description: "What happens to a row for a record that exists. Default: update."},
			{Name: "prune", Schema: openapi.Boolean(""), Description: "true: also delete the records of the resources of the rows that no row is for. Not with on_error=skip."},
			dryRun,
		},
		Body: &openapi.Schema{Description: "The rows."}, BodyTypes: []string{"text/csv", "application/jsonl", "application/yaml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: reportSchema()}},
		Errors:    []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}
}

// importRows creates and changes records by the rows of a file. The rights of the sender apply to the resources of
// the rows.
func importRows(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	opts, file, err := readOptions(r)
	if err != nil {
		return nil, err
	}
	if err := httpx.ReserveBody(ctx, importMemory); err != nil {
		return nil, err
	}
	rows, err := readBody(ctx, r.HTTP.Body)
	if err != nil {
		return nil, err
	}
	opts.Hold = func(bytes int64) error { return httpx.ReserveBody(ctx, bytes) }
	file.Hold = opts.Hold
	if r.Joined {
		if opts.OnError == importer.Skip {
			return nil, records.Refuse("on_error", records.NotAllowed("beside propose: leave the wrong rows out"))
		}
		return run(ctx, r, rows, opts, file)
	}
	// The client may lose its connection meanwhile, and read the report later.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Inventory.Unbounded(ctx)), maxDuration)
	defer cancel()
	ctx = records.WithChangeTimeout(ctx, maxDuration)
	kept := r.State.(*reports)
	id, progress := kept.begin(opts.By)
	opts.Progress = progress
	res, err := run(ctx, r, rows, opts, file)
	kept.end(ctx, r.Inventory, id, res, err)
	return res, err
}

// readBody reads a body, and returns it from memory, where it is compressed.
func readBody(ctx context.Context, body io.Reader) (io.Reader, error) {
	const step = 256 << 10
	var packed bytes.Buffer
	zip, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	part, held := make([]byte, 64<<10), 0
	for {
		n, err := body.Read(part)
		_, _ = zip.Write(part[:n]) // a buffer does not fail
		for ; packed.Cap() > held; held += step {
			if err := httpx.ReserveBody(ctx, step); err != nil {
				return nil, err
			}
		}
		_, large := errors.AsType[*http.MaxBytesError](err)
		switch {
		case errors.Is(err, io.EOF):
			return flate.NewReader(&packed), zip.Close()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, httpx.Errorf(http.StatusRequestTimeout, "The request body did not arrive in time")
		case err != nil && !large:
			return nil, httpx.Errorf(http.StatusBadRequest, "The request body could not be read")
		case err != nil:
			return nil, err
		}
	}
}

// run applies the rows of a body.
func run(ctx context.Context, r *feature.Request, rows io.Reader, opts *importer.Options, file *importer.FileOptions) (*feature.Response, error) {
	source, err := importer.Open("body", rows, r.Inventory.Records().Schema(), file)
	if err != nil {
		return nil, importError(err)
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
	report, err := importer.Run(ctx, r.Inventory.Engine(), []importer.Source{source}, opts)
	if err != nil {
		return nil, importError(err)
	}
	if err := records.MaskChanges(ctx, r.Inventory.Records(), report.Changes...); err != nil {
		return nil, err
	}
	return respond(report, opts, rejected.String()), nil
}

// readOptions parses the parameters.
func readOptions(r *feature.Request) (*importer.Options, *importer.FileOptions, error) {
	file := &importer.FileOptions{Resource: r.Query.Get("resource"), Format: r.Query.Get("format")}
	if file.Format == "" {
		kind, _, _ := mime.ParseMediaType(r.HTTP.Header.Get("Content-Type"))
		if file.Format = importTypes[kind]; file.Format == "" {
			return nil, nil, httpx.Errorf(http.StatusUnsupportedMediaType, "Content-Type is %s: send text/csv, application/jsonl or application/yaml, or add the parameter format: csv, xlsx, jsonl or yaml", printable.Truncate(kind, maxShown))
		}
	}
	if r.Query.Has("columns") {
		file.Columns = strings.Split(r.Query.Get("columns"), ",")
	}
	if r.Query.Has("names") && json.Unmarshal([]byte(r.Query.Get("names")), &file.Names) != nil {
		return nil, nil, records.Refuse("names", records.BadFormat("an object of objects with ids"))
	}
	opts := &importer.Options{By: r.Inventory.Sender(), DryRun: r.DryRun, MaxChanges: records.MaxPreview, Allow: r.Inventory.May, Check: func(_ context.Context, rows []*importer.Row) (int, string, error) {
		return checkRows(r.Inventory, rows)
	}}
	existing, err := r.Choice("existing", "update", "reject")
	if err != nil {
		return nil, nil, err
	}
	prune, err := r.Choice("prune", "false", "true")
	if err != nil {
		return nil, nil, err
	}
	onError, err := r.Choice("on_error", "stop", "skip")
	if err != nil {
		return nil, nil, err
	}
	opts.New, opts.Prune = existing == "reject", prune == "true"
	if onError == "skip" {
		opts.OnError = importer.Skip
	}
	if opts.Prune && opts.OnError == importer.Skip {
		return nil, nil, records.Refuse("prune", records.NotAllowed("beside on_error=skip: the record of a rejected row would be deleted"))
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
		e.Fields = append(e.Fields, httpx.FieldError{Field: printable.Truncate(field, maxShown), Code: "bad_format", Reason: fmt.Sprintf("%s (line %d)", p.Reason, p.Line)})
	}
	return e
}

// rowsChecked is the number of rows that are checked at once, as one body.
const rowsChecked = 100

// checkRows applies the check of bodies, such as that for markup (REFERENCE.md, 5.1), to rows, which are
// not JSON.
func checkRows(in feature.Inventory, rows []*importer.Row) (index int, reason string, err error) {
	for first := 0; first < len(rows); first += rowsChecked {
		chunk := rows[first:min(first+rowsChecked, len(rows))]
		if passes(in, chunk) == nil {
			continue
		}
		for i := range chunk { // together they may only be too large
			if refused := passes(in, chunk[i:i+1]); refused != nil {
				return first + i, refused.Message, nil
			}
		}
	}
	return -1, "", nil
}

// passes returns what the check of bodies says about rows, nil if it accepts them.
func passes(in feature.Inventory, rows []*importer.Row) *httpx.Error {
	patches := make([]records.Patch, len(rows))
	for i, row := range rows {
		patches[i] = row.Patch
	}
	doc, err := json.Marshal(patches)
	if err != nil {
		return &httpx.Error{Status: http.StatusBadRequest, Message: "is no JSON: " + err.Error()}
	}
	return in.Check(doc)
}

// respond responds with a report: with 422 if nothing was changed because of rejected rows.
func respond(r *importer.Report, opts *importer.Options, rejected string) *feature.Response {
	body := &importReport{Status: "success", Message: "Import completed", Report: *r, RejectedRows: rejected, Changes: feature.Changes(r.Changes)}
	body.Problems = append([]importer.Problem{}, r.Problems...) // not nil
	for i := range body.Problems {
		body.Problems[i].Column = printable.Truncate(body.Problems[i].Column, maxShown)
	}
	status := http.StatusOK
	switch {
	case opts.OnError == importer.Stop && r.Rejected > 0:
		status, body.Status = http.StatusUnprocessableEntity, "error"
		body.Code = "unprocessable"
		body.Message = fmt.Sprintf("Nothing was changed: %d of %d rows are rejected", r.Rejected, r.Rows)
	case opts.DryRun:
		body.Status, body.Message = "dry_run", r.Summary
	}
	return &feature.Response{Status: status, Body: body}
}

// The bounds of the reports that are kept. They are stored as the responses of requests with an Idempotency-Key are.
const (
	maxReports   = 100
	keepReports  = 24 * time.Hour
	reportsOwner = "reports of imports"
	maxPruned    = 10 // with each new one
)

// reports keeps the reports of imports, for those who lost their connection.
type reports struct {
	store records.Store

	mu      sync.Mutex
	running map[string]*importReport
}

// keyOf returns the key of a report: only who sent the import may read it.
func keyOf(sender records.Caller, requestID string) string {
	sum := sha256.Sum256([]byte(cmp.Or(sender.UserID, sender.Name)))
	return hex.EncodeToString(sum[:16]) + " " + requestID
}

// begin notes that an import runs. progress reports how far it is.
func (s *reports) begin(by records.Caller) (key string, progress func(read, applied, rejected int64)) {
	key = keyOf(by, by.RequestID)
	progress = func(read, applied, rejected int64) {
		now := newReport("running", fmt.Sprintf("%d of the %d rows that were read are applied", applied, read))
		now.Rows, now.Rejected = read, rejected
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running[key] = now
	}
	progress(0, 0, 0)
	return key, progress
}

// newReport returns a report without rows.
func newReport(status, message string) *importReport {
	return &importReport{Status: status, Message: message, Report: importer.Report{Problems: []importer.Problem{}}, Changes: []feature.Change{}}
}

// end keeps the report of an import that has ended. Dry runs, and failures to store it, leave none.
func (s *reports) end(ctx context.Context, in feature.Inventory, key string, res *feature.Response, failed error) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, key)
	}()
	var body any
	status := http.StatusOK
	switch {
	case failed != nil:
		now := newReport("error", "The import ended with an error of the server")
		if e, ok := errors.AsType[*httpx.Error](in.Refusal(failed)); ok {
			status, now.Message = e.Status, e.Message
		}
		body = now
	case res.Body.(*importReport).Status == "dry_run":
		return
	default:
		body = res.Body
	}
	text, err := json.Marshal(body)
	if err != nil {
		return
	}
	_ = s.store.Change(ctx, func(tx records.Tx) error { // the sender has the response
		r := records.Of[records.IdempotencyRecord](tx.Schema())
		old, err := records.Select[records.IdempotencyRecord](ctx, tx, &records.Query{Limit: maxReports + maxPruned}, "owner", reportsOwner)
		if err != nil {
			return err
		}
		for i, o := range old { // ids are in order of age
			if o.Key != key && len(old)-i < maxReports {
				continue
			}
			if err := tx.Delete(ctx, r, o.ID, o.Version, nil); err != nil {
				return err
			}
		}
		rec := &records.IdempotencyRecord{Owner: reportsOwner, Key: key, Request: "import", Status: int64(status), Body: string(text)}
		if err := in.Engine().Init(rec); err != nil {
			return err
		}
		return tx.Create(ctx, rec)
	})
}

// describeReport describes the operation that reads a report again.
func describeReport() openapi.Operation {
	return openapi.Operation{
		Method: http.MethodGet, Path: "/import/{request_id}", ID: "getImport", Tag: "system",
		Summary:   "Read the report of one of your imports again, or how far it is, by the X-Request-ID of its request",
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: reportSchema()}},
		Errors:    []int{http.StatusNotFound},
	}
}

// showReport responds with the report of an import.
func showReport(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	s := r.State.(*reports)
	key := keyOf(r.Inventory.Sender(), r.HTTP.PathValue("request_id"))
	s.mu.Lock()
	now := s.running[key]
	s.mu.Unlock()
	if now != nil {
		return &feature.Response{Body: now}, nil
	}
	kept, err := records.First[records.IdempotencyRecord](ctx, records.Fresh(s.store), "owner", reportsOwner, "key", key)
	if err != nil {
		return nil, err
	}
	if kept == nil || r.Inventory.Engine().Now().Sub(kept.CreatedAt) >= keepReports {
		return nil, httpx.Errorf(http.StatusNotFound, "No report of an import with this request id: it is kept for a day, for who sent the import")
	}
	return &feature.Response{Append: func(b []byte) []byte { return append(b, kept.Body...) }}, nil
}
