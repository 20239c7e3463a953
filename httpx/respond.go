package httpx

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
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

	"github.com/ashlar-go/ashlar/internal/errcode"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
)

// HandlerFunc is a handler that returns an error, which [WriteError] renders. It must not
// return one after it has begun to respond.
type HandlerFunc func(http.ResponseWriter, *http.Request) error

// ServeHTTP calls f and renders its error.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f(w, r); err != nil {
		WriteError(w, r, err)
	}
}

// WriteJSON responds with a status and a JSON document that ends with a line feed and does not
// escape &, < and >. If v cannot be encoded, or the [Budget] of the request is used up, it returns
// an error and writes nothing.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	return writeAs(w, status, "application/json", v)
}

func writeAs(w http.ResponseWriter, status int, contentType string, v any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode a %T: %w", v, err)
	}
	if status >= http.StatusBadRequest { // an error must be sent even if the budget is used up
		send(w, status, contentType, body.Bytes())
		return nil
	}
	return WriteBytes(w, status, contentType, body.Bytes())
}

// WriteBytes responds with a status and a body of a content type. Like [WriteJSON], it counts the
// body against the [Budget] of the request; if that is used up, it returns an error and writes
// nothing.
func WriteBytes(w http.ResponseWriter, status int, contentType string, body []byte) error {
	if len(body) > firstBuffer { // the cost of a request covers others
		reserved := reservationBelow(w)
		if err := reserved.add(int64(cap(body))); err != nil {
			return err
		}
		defer reserved.wait(true)()
	}
	send(w, status, contentType, body)
	return nil
}

// WritePage responds with data as JSON, or with the same as text, as the query ("format=json" or "format=text") or
// else the Accept header selects. The response is not cached.
func WritePage(w http.ResponseWriter, r *http.Request, data any, text string) error {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	format := r.URL.Query().Get("format")
	if format == "" && strings.Contains(r.Header.Get("Accept"), "application/json") {
		format = "json"
	}
	switch format {
	case "json":
		return WriteJSON(w, http.StatusOK, data)
	case "", "text":
		return WriteBytes(w, http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	}
	return Errorf(http.StatusBadRequest, "unknown format %q: use text or json", format)
}

// WriteTagged responds with 200 and a body of a content type, and with an entity tag of the content, or with 304 to
// a client that has it.
func WriteTagged(w http.ResponseWriter, r *http.Request, contentType string, body []byte) error {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	SetTag(w, tag)
	if NotModified(w, r, tag) {
		return nil
	}
	return WriteBytes(w, http.StatusOK, contentType, body)
}

// WriteStream responds with a status and a body of a content type and length in bytes that write
// produces, for a body that would take much memory. While a client accepts it slowly, the request
// may be ended in favour of others if the [Budget] is used up. After an error of write the response
// is incomplete, and its connection is closed.
func WriteStream(w http.ResponseWriter, status int, contentType string, length int64, write func(io.Writer) error) {
	defer reservationBelow(w).wait(true)()
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(status)
	_ = write(w) // net/http closes the connection after a short body
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // ignore the error: the client disconnected
}

// reservationBelow returns the reservation of the request that w responds to, or nil.
func reservationBelow(w http.ResponseWriter) *reservation {
	for own := range writers(w) {
		if own.reserved != nil {
			return own.reserved
		}
	}
	return nil
}

// Confirmation is the body of a response that only reports success.
type Confirmation struct {
	Status  string `json:"status"` // "success"
	Message string `json:"message"`
}

// Confirm returns a [Confirmation] with a message.
func Confirm(message string) Confirmation { return Confirmation{"success", message} }

// statusClientClosedRequest is the status of a request that its client cancelled. Only access
// logs see it; they would otherwise show 200 or 500.
const statusClientClosedRequest = 499

// Error is an HTTP error response: handlers return it and [WriteError] renders it.
type Error struct {
	Status  int          // 400 to 599
	Code    string       // short, for programs; empty is that of the status, such as "not_found"
	Message string       // shown to the client
	Fields  []FieldError // errors of single fields
	Items   []ItemError  // errors of single items of a bulk request
	Header  http.Header  // headers to set, such as Allow; may be nil
	Err     error        // the cause, for logs only; may be nil
}

// FieldError is an error of one field of a request.
type FieldError struct {
	// Field is a path such as "author.firstname" or "authors[2].born", the name of a query
	// parameter, or "body".
	Field string `json:"field"`
	// Code is a short name for programs, such as "required"; empty becomes "invalid".
	Code string `json:"code"`
	// Reason says what would be valid. It is shown to the client.
	Reason string `json:"reason"`
}

// ItemError is an error of one item of a bulk request.
type ItemError struct {
	Index   int          `json:"index"` // from 0, in the order of the request
	ID      string       `json:"id,omitempty"`
	Code    string       `json:"code,omitempty"`
	Message string       `json:"message"`
	Errors  []FieldError `json:"errors,omitempty"`
}

// Errorf returns an [Error] with a formatted message. An error wrapped with %w becomes its
// cause; its text is part of the message and shown to the client.
func Errorf(status int, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Status: status, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// invalidField returns a 400 for one field.
func invalidField(field, code, reason string) *Error {
	return invalidFields([]FieldError{{Field: field, Code: code, Reason: reason}})
}

// invalidFields returns a 400 for one or more fields.
func invalidFields(fields []FieldError) *Error {
	message := fields[0].Field + ": " + fields[0].Reason
	if more := len(fields) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return &Error{Status: http.StatusBadRequest, Message: message, Fields: fields}
}

// repeatedParameter returns a 400 for a query parameter that may occur once only.
func repeatedParameter(name string) *Error {
	e := invalidField(printable.Truncate(name, maxPrinted), "repeated", "must not be repeated")
	e.Message = "Duplicate query parameter forbidden: " + e.Fields[0].Field
	return e
}

func tooLarge(limit int64) *Error {
	return Errorf(http.StatusRequestEntityTooLarge, "Request body too large: send at most %d bytes", limit)
}

// asError returns the response for an error. Errors not meant for clients become a bare 500,
// because their text may contain anything.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit)
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Status: statusClientClosedRequest, Message: "Client Closed Request", Err: err}
	}
	return &Error{Status: http.StatusInternalServerError, Message: "Internal Server Error", Err: err}
}

// ErrorBody is the JSON form of an error.
type ErrorBody struct {
	Status    string       `json:"status"` // "error"
	Code      string       `json:"code"`
	Message   string       `json:"message"`
	RequestID string       `json:"request_id,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
	Items     []ItemError  `json:"items,omitempty"`
}

// Problem is the JSON form of an error by RFC 9457.
type Problem struct {
	Type      string       `json:"type"` // "about:blank": no more specific than the status
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Code      string       `json:"code"`
	RequestID string       `json:"request_id,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
	Items     []ItemError  `json:"items,omitempty"`
}

// WriteError renders every error of this package and its handlers: an [*Error] as it is, a body
// over a limit as 413, a cancelled request as 499, and any other error as a 500 without details.
// The body is an [ErrorBody], or a [Problem] if the Accept header prefers
// application/problem+json.
//
// The error is passed to [AccessLog]. If the response has begun, nothing is written.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if recordError(w, err) {
		return
	}
	e := *asError(err)
	e.Code, e.Fields = cmp.Or(e.Code, errcode.OfStatus(e.Status)), slices.Clone(e.Fields)
	for i := range e.Fields {
		e.Fields[i].Code = cmp.Or(e.Fields[i].Code, "invalid")
	}
	h := w.Header()
	for _, name := range []string{"Etag", "Last-Modified", "Location", "Content-Encoding"} {
		h.Del(name)
	}
	maps.Copy(h, e.Header)
	h.Set("Cache-Control", "no-store")
	if render, ok := r.Context().Value(renderKey{}).(func(http.ResponseWriter, *http.Request, *Error)); ok {
		render(w, r, &e)
		return
	}
	vary(h, "Accept")
	if wantsProblem(r.Header) {
		title := cmp.Or(http.StatusText(e.Status), "Status "+strconv.Itoa(e.Status))
		problem := Problem{"about:blank", title, e.Status, e.Message, e.Code, RequestIDFrom(r.Context()), e.Fields, e.Items}
		_ = writeAs(w, e.Status, "application/problem+json", problem) // cannot fail to encode
		return
	}
	_ = writeAs(w, e.Status, "application/json", ErrorBody{"error", e.Code, e.Message, RequestIDFrom(r.Context()), e.Fields, e.Items})
}

type renderKey struct{}

// RenderErrors is middleware that lets a program choose the form of errors: render writes the
// responses of [WriteError] within it. The headers of the error are set already, and e.Err is for
// logs only. Nil keeps the form that WriteError has.
func RenderErrors(render func(w http.ResponseWriter, r *http.Request, e *Error)) Middleware {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if render != nil {
			r = r.WithContext(context.WithValue(r.Context(), renderKey{}, render))
		}
		next.ServeHTTP(w, r)
	})
}

// SentPath returns the escaped path of a request as the client has sent it. That of its URL is shorter
// if outer handlers have stripped a prefix.
func SentPath(r *http.Request) string {
	if sent, err := url.ParseRequestURI(r.RequestURI); err == nil {
		return sent.EscapedPath()
	}
	return r.URL.EscapedPath()
}

// NotFound responds with 404 through [WriteError].
func NotFound(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, Errorf(http.StatusNotFound, "No such path: %s", printable.Truncate(r.URL.Path, maxPrinted)))
}

// NotFoundAmong is [NotFound], and names the path that was probably meant. The known paths are those of
// patterns: a segment in braces stands for any.
func NotFoundAmong(w http.ResponseWriter, r *http.Request, known []string) {
	meant := suggest.Path(r.URL.Path, known)
	if meant == "" {
		NotFound(w, r)
		return
	}
	WriteError(w, r, Errorf(http.StatusNotFound, "No such path: %s: did you mean %s?", printable.Truncate(r.URL.Path, maxPrinted), printable.Truncate(meant, maxPrinted)))
}

// MethodNotAllowed responds with 405 through [WriteError]. The router must have set Allow.
func MethodNotAllowed(w http.ResponseWriter, r *http.Request) {
	message := "Method " + printable.Truncate(r.Method, maxPrinted) + " is not allowed here"
	if allowed := strings.Join(w.Header()["Allow"], ", "); allowed != "" {
		message += ": use " + allowed
	}
	WriteError(w, r, Errorf(http.StatusMethodNotAllowed, "%s", message))
}

// Mux returns a handler for a [http.ServeMux] whose own responses, 404 and 405 with Allow, are
// written by [WriteError].
func Mux(mux *http.ServeMux) http.Handler { return MuxWith(mux, NotFound) }

// MuxWith is [Mux] with another response for paths that no pattern matches.
func MuxWith(mux *http.ServeMux, notFound http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r) // not the handler, because this sets the path values
			return
		}
		response := discard{header: http.Header{}}
		handler.ServeHTTP(&response, r)
		if response.status == http.StatusMethodNotAllowed {
			w.Header()["Allow"] = response.header["Allow"]
			MethodNotAllowed(w, r)
			return
		}
		notFound(w, r) // also for a redirect to a path that does not exist
	})
}

// discard is a ResponseWriter that drops the body.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// wantsProblem reports whether the Accept header names application/problem+json and does not
// prefer application/json. Wildcards do not count.
func wantsProblem(h http.Header) bool {
	accept := h["Accept"]
	problem, named := quality(accept, "application/problem+json")
	if !named || problem == 0 {
		return false
	}
	plain, _ := quality(accept, "application/json")
	return problem >= plain
}

// quality returns the q-value that the lines of an Accept or Accept-Encoding header give a name,
// from 0 to 1000 (RFC 9110, section 12.4.2), and whether they name it.
func quality(lines []string, name string) (q int, named bool) {
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			value, parameters, _ := strings.Cut(element, ";")
			if strings.EqualFold(strings.TrimSpace(value), name) {
				return qValue(parameters), true
			}
		}
	}
	return 0, false
}

// qValue returns the parameter q in thousandths, and 1000 if it is missing or malformed.
func qValue(parameters string) int {
	for parameter := range strings.SplitSeq(parameters, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(key, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) { // written to reject NaN too
			break
		}
		return int(q * 1000)
	}
	return 1000
}

// vary adds a name to Vary unless it is present.
func vary(h http.Header, name string) {
	for _, line := range h["Vary"] {
		if _, present := quality([]string{line}, name); present {
			return
		}
	}
	h.Add("Vary", name)
}
