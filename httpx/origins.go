package httpx

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// LocalOrigins are the origins of local development (reference, ruling 17).
func LocalOrigins() []string {
	origins := []string{"http://localhost", "http://127.0.0.1", "https://localhost:3000"}
	for _, host := range []string{"http://localhost", "http://127.0.0.1"} {
		for _, port := range []string{":3000", ":5173", ":4200", ":8080"} {
			origins = append(origins, host+port)
		}
	}
	return origins
}

// Origins is the list of the web origins whose pages may use a service. What browsers
// may read ([Origins.CORS]) and what is refused ([Origins.Protect]) come of one
// list, so that they can't contradict each other.
type Origins struct {
	list      []string
	crossSite *http.CrossOriginProtection
}

// NewOrigins makes the list. Each is scheme://host or scheme://host:port, as a browser
// sends it: in lower case, and without the port that is the scheme's own. An empty list
// leaves only pages of the service's own host.
func NewOrigins(list []string) (*Origins, error) {
	o := &Origins{list: slices.Clone(list), crossSite: http.NewCrossOriginProtection()}
	for _, origin := range list {
		err := asBrowsersWrite(origin)
		if err == nil {
			err = o.crossSite.AddTrustedOrigin(origin)
		}
		if err != nil {
			return nil, fmt.Errorf("origin %q: %w: write it as https://host or https://host:port", origin, err)
		}
	}
	return o, nil
}

// asBrowsersWrite refuses what no browser would ever send.
func asBrowsersWrite(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case err != nil:
		return err
	case origin != u.Scheme+"://"+strings.ToLower(u.Host):
		return errors.New("more than a scheme and a host in lower case")
	case u.Scheme == "http" && u.Port() == "80", u.Scheme == "https" && u.Port() == "443":
		return errors.New("the scheme's own port is left out")
	}
	return nil
}

// allows reports whether the origin is on the list, or that of the request's own host:
// a page served next to the API. The scheme is not compared, as behind a proxy
// that ends TLS it can't be known.
func (o *Origins) allows(origin string, r *http.Request) bool {
	if slices.Contains(o.list, origin) {
		return true
	}
	_, host, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(host, r.Host)
}

// foreignOrigin is the answer to pages that are not on the list.
func foreignOrigin(origin string) *Error {
	return Errorf(http.StatusForbidden, "Forbidden: origin %s is not allowed", show(origin))
}

// Protect is a layer that answers 403 to requests whose Origin is not on the list, and
// to cross-site requests that change something, by [http.CrossOriginProtection]:
// fetch metadata where the browser sends it. Requests without these headers come from
// no browser and pass.
func (o *Origins) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !o.allows(origin, r) {
			WriteError(w, r, foreignOrigin(origin))
			return
		}
		if err := o.crossSite.Check(r); err != nil {
			WriteError(w, r, &Error{Status: http.StatusForbidden, Message: "Forbidden: cross-site request", Err: err})
			return
		}
		next.ServeHTTP(w, r)
	})
}
