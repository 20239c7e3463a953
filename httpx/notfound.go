package httpx

import (
	"net/http"
	"strings"
)

// NotFound answers 404 through [WriteError]. It is for routers that can be told how.
func NotFound(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, Errorf(http.StatusNotFound, "No such path: %s", show(r.URL.Path)))
}

// MethodNotAllowed answers 405 through [WriteError]. Allow must be set, by the router.
func MethodNotAllowed(w http.ResponseWriter, r *http.Request) {
	allowed := strings.Join(w.Header()["Allow"], ", ")
	if allowed == "" {
		WriteError(w, r, Errorf(http.StatusMethodNotAllowed, "Method %s is not allowed here", show(r.Method)))
		return
	}
	WriteError(w, r, Errorf(http.StatusMethodNotAllowed, "Method %s is not allowed here: use %s", show(r.Method), allowed))
}

// Mux is the handler of a [http.ServeMux] whose own answers, 404 and 405 with Allow,
// are written by [WriteError] like all the others.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r) // not the handler: this sets the path values
			return
		}
		answer := discard{header: http.Header{}}
		handler.ServeHTTP(&answer, r)
		switch answer.status {
		case http.StatusMethodNotAllowed:
			w.Header()["Allow"] = answer.header["Allow"]
			MethodNotAllowed(w, r)
		default: // 404, or a redirect to where there is nothing either
			NotFound(w, r)
		}
	})
}

// discard is a ResponseWriter that only takes note.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
