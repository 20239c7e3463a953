package registry

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// openReads lets pages of all origins read the API, without credentials, as those of editors and catalogs do. It passes
// these requests on without Origin, so that no list of origins refuses them; all others keep theirs.
func openReads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		preflight := method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		if preflight {
			method = r.Header.Get("Access-Control-Request-Method")
		}
		if method != http.MethodGet && method != http.MethodHead || !belowVersion(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		if preflight {
			h.Set("Access-Control-Allow-Methods", "GET, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Header.Get("Origin") != "" {
			r = r.Clone(r.Context())
			r.Header.Del("Origin")
		}
		next.ServeHTTP(w, r)
	})
}

// belowVersion reports whether a path is below a version of the API.
func belowVersion(path string) bool {
	return strings.HasPrefix(path, "/v0.1/") || strings.HasPrefix(path, "/v0/")
}

// notFound handles the paths without a route: a page, or for a client of the API a problem that names the path it meant.
func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	meant := "/v0.1/servers"
	switch first {
	case "servers", "publish", "validate", "auth", "health", "ping", "version":
		meant = "/v0.1" + r.URL.Path
	case "v0", "v0.1", "v1":
	default:
		accept := r.Header.Get("Accept")
		if a.opts.Pages != nil && (!strings.Contains(accept, "json") || strings.Contains(accept, "html")) {
			a.reader(a.opts.Pages).ServeHTTP(w, r)
			return
		}
	}
	httpx.WriteError(w, r, httpx.Errorf(http.StatusNotFound, "No such path: %s: the API is at %s", printable.Truncate(r.URL.Path, 200), printable.Truncate(meant, 200)))
}

// reader requires a token if Options.AuthorizeRead does.
func (a *api) reader(next http.Handler) http.Handler {
	if a.opts.AuthorizeRead == nil {
		return next
	}
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := authenticate(r, a.opts.AuthorizeRead); err != nil {
			return err
		}
		next.ServeHTTP(w, r)
		return nil
	})
}
