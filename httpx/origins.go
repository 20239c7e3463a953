package httpx

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// LocalOrigins returns the usual origins of local development.
func LocalOrigins() []string {
	origins := []string{"http://localhost", "http://127.0.0.1", "https://localhost:3000"}
	for _, host := range []string{"http://localhost", "http://127.0.0.1"} {
		for _, port := range []string{":3000", ":5173", ":4200", ":8080"} {
			origins = append(origins, host+port)
		}
	}
	return origins
}

// Origins is a list of the web origins whose pages may use a service. CORS headers
// ([Origins.CORS]) and refusals ([Origins.Protect]) use the same list.
type Origins struct {
	list      []string
	crossSite *http.CrossOriginProtection
}

// NewOrigins returns a list of origins. Each is scheme://host or scheme://host:port, as a browser
// sends it: in lower case and without the scheme's default port. An empty list allows only pages
// of the service's own host.
func NewOrigins(list []string) (*Origins, error) {
	o := &Origins{list: slices.Clone(list), crossSite: http.NewCrossOriginProtection()}
	for _, origin := range list {
		err := checkOrigin(origin)
		if err == nil {
			err = o.crossSite.AddTrustedOrigin(origin)
		}
		if err != nil {
			return nil, fmt.Errorf("origin %q: %w: write it as https://host or https://host:port", origin, err)
		}
	}
	return o, nil
}

// checkOrigin rejects what no browser sends.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case err != nil:
		return err
	case origin != u.Scheme+"://"+strings.ToLower(u.Host):
		return errors.New("must be only a scheme and a host in lower case")
	case u.Scheme == "http" && u.Port() == "80", u.Scheme == "https" && u.Port() == "443":
		return errors.New("must not have the default port of its scheme")
	}
	return nil
}

// allows reports whether the origin is listed or has the request's host. The scheme is not
// compared, because it is unknown behind a proxy that terminates TLS.
func (o *Origins) allows(origin string, r *http.Request) bool {
	if slices.Contains(o.list, origin) {
		return true
	}
	_, host, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(host, r.Host)
}

// Protect is middleware that responds with 403 to requests whose Origin is not allowed, and to
// cross-site requests with unsafe methods ([http.CrossOriginProtection]). Requests without
// Origin and fetch metadata do not come from a browser and pass.
func (o *Origins) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !o.allows(origin, r) {
			WriteError(w, r, Errorf(http.StatusForbidden, "Forbidden: origin %s is not allowed", printable.Truncate(origin, maxPrinted)))
			return
		}
		if err := o.crossSite.Check(r); err != nil {
			WriteError(w, r, &Error{Status: http.StatusForbidden, Message: "Forbidden: cross-site request", Err: err})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// CORS is middleware that lets pages of allowed origins read responses, errors included, and
// responds to their preflights with 204. It refuses nothing: [Origins.Protect] does.
//
// Cookies and Authorization may be sent. Pages can read the response headers of package httplimit
// (X-RateLimit-*, RateLimit-*, RateLimit, Retry-After), X-Request-ID, X-Response-Time, ETag,
// Location, Link, X-Total-Count, Idempotent-Replayed and Dry-Run.
func (o *Origins) CORS(next http.Handler) http.Handler { return o.corsWith(nil)(next) }

// CORSOptions are headers beyond those of [Origins.CORS]. Nil means none.
type CORSOptions struct {
	AllowHeaders  []string // of requests that pages may send, such as X-Api-Key
	ExposeHeaders []string // of responses that pages may read
}

// corsWith is [Origins.CORS] with further headers.
func (o *Origins) corsWith(opts *CORSOptions) Middleware {
	opts = cmp.Or(opts, &CORSOptions{})
	exposed := []string{strings.Join(append([]string{
		limitheader.All, "X-Request-ID", "X-Response-Time", "ETag", "Location", "Link", "X-Total-Count",
		"Idempotent-Replayed", "Dry-Run", "Read-After",
	}, opts.ExposeHeaders...), ", ")}
	allowed := strings.Join(append([]string{
		"Accept", "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Read-After", "X-CSRF-Token", "X-Request-ID",
	}, opts.AllowHeaders...), ", ")
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		vary(h, "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !o.allows(origin, r) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			h["Access-Control-Expose-Headers"] = exposed
			next.ServeHTTP(w, r)
			return
		}
		// A preflight gets the same response for all paths.
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", allowed)
		h.Set("Access-Control-Max-Age", "600")
		vary(h, "Access-Control-Request-Method")
		vary(h, "Access-Control-Request-Headers")
		w.WriteHeader(http.StatusNoContent)
	})
}
