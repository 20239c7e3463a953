package server

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
)

// consolePrefix is the path of the console.
const consolePrefix = "/console"

// withConsole adds the web pages under /console, and leads browsers that open / there. With CONSOLE=false
// there are none.
func (s *Server) withConsole(api *httpapi.API, links []ui.NavLink) (http.Handler, error) {
	if !s.settings.Console {
		return api, nil
	}
	pages, err := console.New(api, &console.Options{Prefix: consolePrefix, APIDocs: "/docs/", Links: links, Chain: s.chain, Log: s.log})
	if err != nil {
		return nil, err
	}
	s.console = pages
	mounted := http.StripPrefix(consolePrefix, pages)
	// Not a http.ServeMux, as in withHealth.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, consolePrefix+"/"):
			mounted.ServeHTTP(w, r)
		case r.URL.Path == consolePrefix, r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
			http.Redirect(w, r, consolePrefix+"/", http.StatusSeeOther)
		default:
			api.ServeHTTP(w, r)
		}
	}), nil
}

// Console returns the web pages, or nil if CONSOLE is false.
func (s *Server) Console() *console.Console { return s.console }
