package server

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature/netboxapi"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
)

// consolePrefix is the path of the console.
const consolePrefix = "/console"

// withConsole adds the web pages under /console, and leads browsers that open / there. With CONSOLE=false
// there are none, and / leads to the page of the API.
func (s *Server) withConsole(api *httpapi.API, links []ui.NavLink) (http.Handler, error) {
	if !s.settings.Console {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if opensHome(r) {
				http.Redirect(w, r, "/docs/", http.StatusSeeOther)
				return
			}
			api.ServeHTTP(w, r)
		}), nil
	}
	pages, err := console.New(api, &console.Options{Prefix: consolePrefix, APIDocs: "/docs/", Links: links, Chain: s.chain, Log: s.log})
	if err != nil {
		return nil, err
	}
	s.console = pages
	mounted := http.StripPrefix(consolePrefix, pages)
	// Not a http.ServeMux, as in httpx.Probes.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, consolePrefix+"/"):
			mounted.ServeHTTP(w, r)
		case r.URL.Path == consolePrefix, opensHome(r):
			http.Redirect(w, r, consolePrefix+"/", http.StatusSeeOther)
		default:
			api.ServeHTTP(w, r)
		}
	}), nil
}

// netBoxAtRoot leads requests for /api/ to the lists of NetBox.
func netBoxAtRoot(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			at := *r.URL
			at.Path, at.RawPath = strings.TrimSuffix(netboxapi.Path, "/api")+at.Path, ""
			r = r.WithContext(r.Context())
			r.URL = &at
		}
		next.ServeHTTP(w, r)
	})
}

// opensHome reports whether a browser opens / as a page.
func opensHome(r *http.Request) bool {
	return r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// Console returns the web pages, or nil if CONSOLE is false.
func (s *Server) Console() *console.Console { return s.console }
