package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Observation describes a request and its end, with values of bounded number.
type Observation struct {
	// Route is the path of a route, such as "/devices/{id}"; "other" for a request that reached
	// none, because it was refused before or has an unknown path.
	Route  string
	Method string // that of the route; "other" for a request that reached none
	Status int
	Took   time.Duration // until the handler returned
	// Refusal is the reason that the request was refused for lack of a valid token or of a permission, such as
	// "expired" or "forbidden": the name of an [auth.Kind]. Empty for other requests, and for those that
	// need no token.
	Refusal string
}

type observationKey struct{}

// observe serves a request and reports it.
func (a *API) observe(h http.Handler, w http.ResponseWriter, r *http.Request) {
	o := &Observation{Route: "other", Method: "other"}
	noted := &statusWriter{ResponseWriter: w}
	begin := time.Now()
	defer func() {
		o.Status, o.Took = noted.status, time.Since(begin)
		if o.Status == 0 {
			o.Status = http.StatusOK
		}
		a.opts.Observe(r.Context(), *o)
	}()
	h.ServeHTTP(noted, r.WithContext(context.WithValue(r.Context(), observationKey{}, o)))
}

// noteRoute notes the route of a request that is observed.
func noteRoute(r *http.Request, rt *route) {
	if o, ok := r.Context().Value(observationKey{}).(*Observation); ok {
		o.Route, o.Method = rt.path, rt.method
	}
}

// noteRefusal notes why a request that is observed was refused.
func (c *call) noteRefusal(err error) {
	kind := auth.KindOf(err)
	if records.KindOf(err) == records.Forbidden {
		kind = auth.Forbidden
	}
	if c.route.access.Anonymous || !kind.Unauthorized() && kind != auth.Forbidden {
		return
	}
	if o, ok := c.r.Context().Value(observationKey{}).(*Observation); ok {
		o.Refusal = kind.String()
	}
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 { // not an informational one
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// HeavyQueries returns how many heavy queries run and wait ([HeavyOptions]).
func (a *API) HeavyQueries() (running, waiting int) {
	a.heavy.mu.Lock()
	defer a.heavy.mu.Unlock()
	for _, c := range a.heavy.callers {
		waiting += c.queries
	}
	running = int(a.heavy.running.Load())
	return running, max(waiting-running, 0)
}
