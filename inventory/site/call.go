package site

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
)

// Fault is a response of the API that is an error.
type Fault struct {
	Status     int `json:"-"`
	Message    string
	Fields     []httpx.FieldError `json:"errors"`
	Items      []httpx.ItemError  `json:"items"`
	RetryAfter string             `json:"-"`
}

// Error returns the message, with the fields that are wrong.
func (f *Fault) Error() string {
	text := f.Message
	for _, field := range f.Fields {
		text += "; " + Lower(humanize(strings.TrimSuffix(field.Field, "_id"))) + ": " + field.Reason
	}
	return text
}

// AsFault returns the fault that an error is, if it has one of the given statuses, or one below 500 without any.
func AsFault(err error, statuses ...int) (*Fault, bool) {
	f, ok := errors.AsType[*Fault](err)
	if !ok || slices.Contains(statuses, f.Status) {
		return f, ok
	}
	return f, len(statuses) == 0 && f.Status < http.StatusInternalServerError
}

// Refused returns the fault that an error is, if a page shows it instead of what was asked for: one that the
// sender can do something about, or that waiting may help against.
func Refused(err error) (*Fault, bool) {
	f, ok := AsFault(err)
	if !ok {
		f, ok = AsFault(err, http.StatusServiceUnavailable, http.StatusInsufficientStorage)
	}
	return f, ok && f.Status != http.StatusUnauthorized
}

// Call is a request to the API.
type Call struct {
	Method string     // default: GET
	Path   string     // "/devices"
	Query  url.Values // may be nil
	Body   any        // encoded as JSON; an io.Reader is sent as it is; nil for none
	Type   string     // of a Body that is an io.Reader
	Match  string     // the header If-Match; empty for none
	Key    string     // the header Idempotency-Key; empty for none
}

// maxAnswer is the maximum size of a response that a page reads, in bytes.
const maxAnswer = 64 << 20

// Do sends a call and decodes the body of its response into the value that into points to, unless that is
// nil. Numbers in values of type any are json.Number. The error is a [*Fault] if the API refuses the call.
func (q *Request) Do(c *Call, into any) (http.Header, error) {
	r, err := q.request(c)
	if err != nil {
		return nil, err
	}
	w := &response{header: http.Header{}}
	q.bare.ServeHTTP(w, r)
	if err := w.fault(q, c); err != nil {
		return w.header, err
	}
	if w.status == http.StatusAccepted {
		made := &proposed{}
		return w.header, errors.Join(json.Unmarshal(w.body.Bytes(), made), made)
	}
	if into == nil {
		return w.header, nil
	}
	d := json.NewDecoder(&w.body)
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	return w.header, nil
}

// proposed ends the request of a form that was sent with the parameter propose: its first change is stored as a proposal.
type proposed struct{ ID string }

func (p *proposed) Error() string { return "proposed: " + p.ID }

// Get reads from the API.
func (q *Request) Get(path string, query url.Values, into any) error {
	_, err := q.Do(&Call{Path: path, Query: query}, into)
	return err
}

// Forward sends the response of the API on to the browser as it comes: exports and the feed of changes. An
// error before its begin is a [*Fault].
func (q *Request) Forward(c *Call, header http.Header) error {
	r, err := q.request(c)
	if err != nil {
		return err
	}
	w := &response{to: q.W, own: header}
	q.bare.ServeHTTP(w, r)
	return w.fault(q, c)
}

// request returns the request of a call.
func (q *Request) request(c *Call) (*http.Request, error) {
	method := cmp.Or(c.Method, http.MethodGet)
	body, isReader := c.Body.(io.Reader)
	kind := c.Type
	if !isReader && c.Body != nil {
		encoded, err := json.Marshal(c.Body)
		if err != nil {
			return nil, err
		}
		body, kind = bytes.NewReader(encoded), "application/json"
	}
	ctx := q.R.Context()
	if method != http.MethodGet {
		ctx = context.WithoutCancel(ctx) // it must end although the client has left
	}
	query, target := maps.Clone(c.Query), c.Path
	if method != http.MethodGet && query.Get("dry_run") == "" && q.R.URL.Query().Has("propose") {
		query = url.Values{"propose": {q.R.PostForm.Get("_comment")}}
		maps.Copy(query, c.Query)
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r := q.outgoing(ctx, method, target, body)
	if r == nil {
		return nil, fmt.Errorf("invalid path %q", c.Path)
	}
	for name, value := range map[string]string{"Content-Type": kind, "If-Match": c.Match, "Idempotency-Key": c.Key} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r, nil
}

// aboutPage are the headers of the browser, and the beginnings of their names, that are about a page and not about who asks
// for it. The API gets all others, whatever its Authenticator reads.
var aboutPage = []string{"Accept", "Content-", "Hx-", "Idempotency-Key", "If-", "Last-Event-Id", "Origin", "Range", "Referer", "Transfer-Encoding"}

// outgoing returns a request to the API from the sender, or nil for an invalid target.
func (q *Request) outgoing(ctx context.Context, method, target string, body io.Reader) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil
	}
	r.RemoteAddr, r.Host, r.TLS, r.RequestURI, r.Header = q.R.RemoteAddr, q.R.Host, q.R.TLS, target, q.R.Header.Clone()
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool {
		return slices.ContainsFunc(aboutPage, func(start string) bool { return strings.HasPrefix(name, start) })
	})
	if q.SignIn != "" {
		r.Header.Del("Authorization")
		r.Header.Del("Cookie")
		if q.token != "" {
			r.Header.Set("Authorization", "Bearer "+q.token)
		}
	}
	return r
}

// response keeps the response to a call, or passes it on to a browser unless it is an error.
type response struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	tooLarge bool

	to  http.ResponseWriter // nil to keep the response
	own http.Header         // of the response that is passed on
}

// fault returns why the API has refused a call, nil if it has not.
func (w *response) fault(q *Request, c *Call) error {
	switch {
	case w.tooLarge:
		return fmt.Errorf("%s: the response has more than %d bytes", c.Path, maxAnswer)
	case w.status < http.StatusBadRequest:
		return nil
	}
	f := &Fault{}
	_ = json.Unmarshal(w.body.Bytes(), f) // a body in another form has no message
	f.Status, f.RetryAfter = w.status, w.Header().Get("Retry-After")
	f.Message = cmp.Or(f.Message, http.StatusText(w.status))
	if wait, err := strconv.Atoi(f.RetryAfter); err == nil && strings.EqualFold(f.Message, http.StatusText(http.StatusTooManyRequests)) {
		f.Message += ": try again " + ui.Ago(time.Now().Add(time.Duration(wait+1)*time.Second))
	}
	f.inWords(q.Schema)
	return f
}

// Header returns the header.
func (w *response) Header() http.Header {
	if w.to != nil {
		return w.to.Header()
	}
	return w.header
}

// passes reports whether the body goes to the browser.
func (w *response) passes() bool { return w.to != nil && w.status < http.StatusBadRequest }

// WriteHeader sets the status, once.
func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if w.status = status; w.passes() {
		maps.Copy(w.to.Header(), w.own)
		w.to.WriteHeader(status)
	}
}

// Write writes a part of the body.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.passes() {
		return w.to.Write(p)
	}
	if w.body.Len()+len(p) > maxAnswer {
		w.tooLarge = true
		return 0, errors.New("the response is too large")
	}
	return w.body.Write(p)
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (w *response) Unwrap() http.ResponseWriter { return w.to }
