package registry

import (
	_ "embed" // the document
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// openAPI is the OpenAPI document. It is written by hand; tests compare it with the handler.
//
//go:embed openapi.json
var openAPI []byte

// static returns a handler for a constant JSON document.
func static(body []byte) httpx.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		return httpx.WriteTagged(w, r, "application/json", body)
	}
}

// problem is the body of an error (RFC 9457). Error repeats Detail, because the specification of the API has
// that member and the public registry the others.
type problem struct {
	Title     string   `json:"title"`
	Status    int      `json:"status"`
	Detail    string   `json:"detail"`
	Error     string   `json:"error"`
	RequestID string   `json:"request_id,omitempty"`
	Errors    []detail `json:"errors,omitempty"`
}

// detail is one of several errors.
type detail struct {
	Message  string `json:"message"`
	Location string `json:"location"`
}

// renderProblem writes an error.
func renderProblem(w http.ResponseWriter, r *http.Request, e *httpx.Error) {
	p := problem{
		Title: http.StatusText(e.Status), Status: e.Status, Detail: e.Message, Error: e.Message,
		RequestID: httpx.RequestIDFrom(r.Context()),
	}
	for _, f := range e.Fields {
		p.Errors = append(p.Errors, detail{f.Reason, f.Field})
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(append(jsonpos.AppendValue(nil, &p), '\n')) // ignore the error: the client disconnected
}
