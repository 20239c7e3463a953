package httpapi

import (
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

// notFound responds with 404 to a path without a route, and suggests a similar one that has a route.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	var known []string
	for i := range a.routes {
		known = append(known, a.routes[i].path)
	}
	if a.opts.Docs != nil {
		known = append(known, "/docs")
	}
	httpx.NotFoundAmong(w, r, known)
}
