package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// HandlerFunc is a handler that returns its error, which [WriteError] renders. It must
// not return one after it has begun to answer.
type HandlerFunc func(http.ResponseWriter, *http.Request) error

// ServeHTTP makes the function an [http.Handler].
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f(w, r); err != nil {
		WriteError(w, r, err)
	}
}

// WriteJSON answers with a status and a JSON document, which ends with a line feed
// and has &, < and > as they are: it is served as JSON and never sniffed. If v can't
// be encoded, nothing is written and the error says so; that is a 500.
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
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a client that does not listen is its own loss
	return nil
}

// Confirmation is the body of an answer that has nothing to show but that it is done.
type Confirmation struct {
	Status  string `json:"status"` // "success"
	Message string `json:"message"`
}

// Confirm is a [Confirmation] with the message.
func Confirm(message string) Confirmation { return Confirmation{"success", message} }

// ErrorBody is the JSON of an error (specification, "Errors").
type ErrorBody struct {
	Status    string       `json:"status"` // "error"
	Message   string       `json:"message"`
	RequestID string       `json:"request_id,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
	Items     []ItemError  `json:"items,omitempty"`
}

// Problem is the JSON of an error in the form of RFC 9457. Its status is a number, so
// it can't be an [ErrorBody] as well.
type Problem struct {
	Type      string       `json:"type"` // "about:blank": the status says it
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	RequestID string       `json:"request_id,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
	Items     []ItemError  `json:"items,omitempty"`
}

// WriteError is the one place where errors become answers. An [*Error] is answered as
// it says, a body over a limit with 413, a request that its client gave up with 499;
// everything else is a 500 that shows nothing. The body is an [ErrorBody], or
// a [Problem] if the Accept header asks for application/problem+json.
//
// The error is kept for [AccessLog]. If the answer has begun already, that is all.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if note(w, err) {
		return
	}
	e := asError(err)
	h := w.Header()
	for _, ofSuccess := range []string{"Etag", "Last-Modified", "Location", "Content-Encoding"} {
		h.Del(ofSuccess)
	}
	maps.Copy(h, e.Header)
	h.Set("Cache-Control", "no-store")
	vary(h, "Accept")
	if wantsProblem(r.Header) {
		problem := Problem{"about:blank", statusText(e.Status), e.Status, e.Message, RequestIDFrom(r.Context()), e.Fields, e.Items}
		_ = writeAs(w, e.Status, "application/problem+json", problem) // strings and a number
		return
	}
	_ = writeAs(w, e.Status, "application/json", ErrorBody{"error", e.Message, RequestIDFrom(r.Context()), e.Fields, e.Items})
}

func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "Status " + strconv.Itoa(status)
}
