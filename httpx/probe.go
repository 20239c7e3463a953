package httpx

import (
	"context"
	"net/http"
	"slices"
)

// Probes is middleware that responds to GET and HEAD requests of probes: to /livez with 200 while the process serves,
// and to /readyz, and the paths also, with 200 if ready returns nil and otherwise with 503, Retry-After and the text of the
// error, which must be safe to show. It belongs before middleware that refuses or logs: probes come every few seconds from one address.
func Probes(ready func(ctx context.Context) error, also ...string) Middleware {
	probe := Chain(ResponseTime, RequestID(nil), SecurityHeaders(nil))(HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path == "/livez" {
			return WriteJSON(w, http.StatusOK, Confirm("The process is alive"))
		}
		if err := ready(r.Context()); err != nil {
			return &Error{Status: http.StatusServiceUnavailable, Message: err.Error(), Header: http.Header{"Retry-After": {"5"}}}
		}
		return WriteJSON(w, http.StatusOK, Confirm("The server is ready"))
	}))
	paths := append([]string{"/livez", "/readyz"}, also...)
	return func(next http.Handler) http.Handler {
		// Not a http.ServeMux, which would redirect paths such as //x without the headers of next.
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(paths, r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
				probe.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
