package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errcode"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxPooledBuffer is the capacity from which a buffer is not reused.
const maxPooledBuffer = 1 << 18

// respond sends the response to the request, or in a dry run what the request would change.
func (c *call) respond(w http.ResponseWriter, res *feature.Response) error {
	if op := c.route.feature; c.dryRun && (op == nil || !op.OwnPreview) {
		var err error
		if res, err = c.previewed(res.Message); err != nil {
			return err
		}
	}
	if res.Send != nil {
		return res.Send(w, c.r)
	}
	maps.Copy(w.Header(), res.Header)
	tag, write := res.Tag, res.Append
	if write == nil {
		write = func(b []byte) []byte { return encode.JSON(b, res.Body) }
	}
	if rec, ok := res.Body.(records.Record); ok {
		r, err := c.schema.Of(rec)
		if err != nil {
			return err
		}
		if rec, err = c.masked(r, rec); err != nil {
			return err
		}
		tag, write = tagOf(rec), func(b []byte) []byte { return c.api.encoders.Of(r).Append(b, rec) }
	}
	if tag != "" {
		httpx.SetTag(w, tag)
		if c.route.method == http.MethodGet && httpx.NotModified(w, c.r, tag) {
			return nil
		}
	}
	b, ok := c.api.buffers.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	*b = append(write(*b), '\n')
	c.sendBytes(w, cmp.Or(res.Status, http.StatusOK), *b)
	if cap(*b) <= maxPooledBuffer {
		*b = (*b)[:0]
		c.api.buffers.Put(b)
	}
	return nil
}

// contentType is shared by all responses without one of their own. Its capacity leaves no room for appending.
var contentType = []string{"application/json"}

// maxImplicitLength is the body size up to which net/http sets Content-Length itself, which
// is cheaper than another header entry.
const maxImplicitLength = 1024

func (c *call) sendBytes(w http.ResponseWriter, status int, body []byte) {
	if c.late {
		_ = c.control.SetWriteDeadline(time.Now().Add(time.Minute))
	}
	kind := w.Header()["Content-Type"]
	if kind == nil {
		kind = contentType
	}
	if len(body) > maxImplicitLength {
		if err := httpx.WriteBytes(w, status, kind[0], body); err != nil {
			httpx.WriteError(w, c.r, err) // no memory left for responses that wait for slow clients
		}
		return
	}
	w.Header()["Content-Type"] = kind
	w.WriteHeader(status)
	_, _ = w.Write(body) // ignore the error: the client disconnected
}

// tagOf returns the entity tag of a record.
func tagOf(rec records.Record) string {
	return httpx.VersionTag(rec.Meta().ID, rec.Meta().Version)
}

// checkPreconditions evaluates If-Match and If-None-Match against the current record.
func (c *call) checkPreconditions(rec records.Record) error {
	return httpx.Preconditions(c.r, tagOf(rec))
}

// translate converts errors of the inventory and of auth to HTTP errors. Other errors are
// returned unchanged: those of httpx have a status, and the rest becomes a 500.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*httpx.Error](err); ok {
		return err
	}
	e := &httpx.Error{}
	if ie, ok := errors.AsType[*records.Error](err); ok {
		e.Status, e.Code, e.Message, e.Fields, e.Err = statusOf(ie.Kind), ie.Code, ie.Message, fieldErrors(ie.Fields), ie.Err
		for _, item := range ie.Items {
			e.Items = append(e.Items, httpx.ItemError{
				Index: item.Index, ID: shorten(item.ID), Code: cmp.Or(item.Err.Code, errcode.OfStatus(statusOf(item.Err.Kind))),
				Message: item.Err.Message, Errors: fieldErrors(item.Err.Fields),
			})
		}
	} else if ae, ok := errors.AsType[*auth.Error](err); ok {
		e.Status, e.Message = statusOfAuth(ae.Kind), ae.Message
		if ae.Reason != "" {
			e.Err = errors.New(ae.Reason) // for the log
		}
	} else if many, ok := errors.AsType[*accounts.TooManyError](err); ok {
		e.Status, e.Message = http.StatusTooManyRequests, many.Error()
		e.Header = http.Header{"Retry-After": {strconv.Itoa(int(many.RetryAfter / time.Second))}}
	} else if gone, ok := errors.AsType[*feed.GoneError](err); ok {
		e.Status, e.Message = http.StatusGone, gone.Message
		e.Fields = []httpx.FieldError{{Field: "since", Code: "out_of_range", Reason: "start over behind " + gone.Head}}
	} else if errors.Is(err, context.DeadlineExceeded) {
		e.Status, e.Message, e.Err = http.StatusServiceUnavailable, "The inventory did not respond in time: try again later", err
	} else {
		return err
	}
	switch e.Status {
	case http.StatusUnauthorized:
		e.Header = http.Header{"Www-Authenticate": {"Bearer"}} // RFC 9110, 11.6.1
	case http.StatusServiceUnavailable:
		e.Header = http.Header{"Retry-After": {"1"}}
	case http.StatusInsufficientStorage:
		e.Header = http.Header{"Retry-After": {"60"}} // somebody has to make room
	}
	return e
}

// statusOf maps the error kinds of the inventory to statuses.
func statusOf(kind records.ErrorKind) int {
	return cmp.Or(map[records.ErrorKind]int{
		records.Invalid:         http.StatusBadRequest,
		records.NotFound:        http.StatusNotFound,
		records.Conflict:        http.StatusConflict,
		records.Stale:           http.StatusPreconditionFailed,
		records.Forbidden:       http.StatusForbidden,
		records.Unauthenticated: http.StatusUnauthorized,
		records.Unavailable:     http.StatusServiceUnavailable,
		records.Full:            http.StatusInsufficientStorage,
		records.Unresolved:      http.StatusUnprocessableEntity,
	}[kind], http.StatusInternalServerError)
}

// statusOfAuth maps the error kinds of auth to statuses.
func statusOfAuth(kind auth.Kind) int {
	if kind.Unauthorized() {
		return http.StatusUnauthorized
	}
	return cmp.Or(map[auth.Kind]int{
		auth.WeakPassword:        http.StatusBadRequest,
		auth.ResetInvalid:        http.StatusNotFound,
		auth.Forbidden:           http.StatusForbidden,
		auth.Busy:                http.StatusServiceUnavailable,
		auth.ProviderUnavailable: http.StatusServiceUnavailable,
		auth.LoginRefused:        http.StatusUnauthorized,
	}[kind], http.StatusInternalServerError)
}

func fieldErrors(fields []records.FieldError) []httpx.FieldError {
	all := make([]httpx.FieldError, len(fields))
	for i, f := range fields {
		all[i] = httpx.FieldError(f)
	}
	return all
}

// preview is the response to a dry run.
type preview struct {
	Status    string           `json:"status"`
	Message   string           `json:"message"`
	Created   int64            `json:"created"`
	Updated   int64            `json:"updated"`
	Deleted   int64            `json:"deleted"`
	Changes   []feature.Change `json:"changes"`
	Truncated bool             `json:"truncated"`
}

// previewed returns what the request would change. The message may be empty for that of the changes.
func (c *call) previewed(message string) (*feature.Response, error) {
	p, err := c.visiblePreview()
	if err != nil {
		return nil, err
	}
	if r := c.route.resource; r != nil && len(p.Changes) > 0 {
		if err := c.noteRead(r); err != nil { // it shows what the record has
			return nil, err
		}
	}
	body := preview{"dry_run", message, p.Created, p.Updated, p.Deleted, feature.Changes(p.Changes), p.Truncated}
	if message == "" {
		body.Message = p.Message()
	}
	return &feature.Response{Body: body, Header: http.Header{"Content-Type": {openapi.PreviewType}}}, nil
}

// previewing adds the response to a dry run to the description of the route.
func (rt *route) previewing() {
	if !slices.Contains(rt.params(), "dry_run") || rt.feature != nil && rt.feature.OwnPreview { // with reports of their own
		return
	}
	preview := openapi.Response{Status: http.StatusOK, Schema: openapi.Preview(), ContentType: openapi.PreviewType}
	rt.doc.Responses = append([]openapi.Response{preview}, rt.doc.Responses...)
}

// retryLater returns the error of a request that may succeed after some seconds.
func retryLater(status, seconds int, cause error, format string, args ...any) *httpx.Error {
	return &httpx.Error{Status: status, Err: cause, Header: http.Header{"Retry-After": {strconv.Itoa(seconds)}}, Message: fmt.Sprintf(format, args...)}
}

// openings bounds what is open at once, such as exports: of all callers, and of each.
type openings struct {
	most, perCaller int
	all, own        string // the messages for too many, own with the number that one caller may have

	mu      sync.Mutex
	total   int
	callers map[string]int
}

// enter adds one of a caller, until leave is called. The error is for too many of them.
func (o *openings) enter(caller string) (leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.callers[caller] >= o.perCaller:
		return nil, retryLater(http.StatusTooManyRequests, 5, nil, o.own, o.perCaller)
	case o.total >= o.most:
		return nil, retryLater(http.StatusServiceUnavailable, 5, nil, "%s", o.all)
	}
	o.total++
	o.callers[caller]++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.total--
		if o.callers[caller]--; o.callers[caller] == 0 {
			delete(o.callers, caller)
		}
	}, nil
}
