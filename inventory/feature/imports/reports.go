package imports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

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
