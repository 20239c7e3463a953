package httpapi

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// route is one route of the API: its path, who may call it, and what it does.
type route struct {
	method, path string
	access       auth.Action
	operation
}

// operation describes what a route does and does it.
type operation struct {
	doc    openapi.Operation // without method, path and access
	handle func(c *call) error
}

// table returns all routes. Authorization, the validation of parameters and the OpenAPI
// document are derived from it.
func (a *API) table() []route {
	devices, interfaces := inventory.Of[inventory.Device](), inventory.Of[inventory.Interface]()
	locations, vlans := inventory.Of[inventory.Location](), inventory.Of[inventory.VLAN]()
	links, events := inventory.Of[inventory.Link](), inventory.Of[inventory.Event]()
	metrics, audit := inventory.Of[inventory.Metric](), inventory.Of[inventory.AuditLog]()
	routes := slices.Concat(
		[]route{
			{"GET", "/", auth.Read, health()},
			{"GET", "/debug/count", auth.Public, countLocations()},
			{"GET", "/openapi.json", auth.Public, openAPI()},
		},
		records(devices, auth.Write),
		[]route{
			{"GET", "/devices/{id}/interfaces", auth.Read, listOf(devices, interfaces, "device_id")},
			{"GET", "/devices/{id}/interfacecount", auth.Read, countOf(devices, interfaces, "device_id")},
		},
		records(interfaces, auth.Write),
		records(locations, auth.Write),
		[]route{
			{"GET", "/locations/{id}/devices", auth.Read, listOf(locations, devices, "location_id")},
			{"GET", "/locations/{id}/devicescount", auth.Read, countOf(locations, devices, "location_id")},
		},
		records(vlans, auth.Write),
		records(links, auth.WriteLinks),
		[]route{
			{"GET", "/events", auth.Read, list(events)},
			{"POST", "/events", auth.Write, create(events)},
			{"PATCH", "/events", auth.Write, acknowledgeMany()},
			{"DELETE", "/events", auth.Write, deleteMany(events)},
			{"GET", "/events/{id}", auth.Read, get(events)},
			{"PATCH", "/events/{id}", auth.Write, acknowledge()},
			{"DELETE", "/events/{id}", auth.Write, deleteOne(events)},

			{"GET", "/metrics", auth.Read, overview()},
			{"POST", "/metrics", auth.Write, create(metrics)},
			{"DELETE", "/metrics", auth.Write, deleteMany(metrics)},
			{"GET", "/metrics/{id}", auth.Read, get(metrics)},
			{"GET", "/metrics/device/{id}", auth.Read, latestMetric()},

			{"GET", "/audit-logs", auth.ReadAudit, list(audit)},
			{"GET", "/audit-logs/{id}", auth.ReadAudit, get(audit)},
		})
	if a.accounts == nil {
		return routes
	}
	users := inventory.Of[inventory.User]()
	return append(routes,
		route{"POST", "/users/login", auth.Public, login()},
		route{"POST", "/users/logout", auth.Public, logout()},
		route{"POST", "/users/forgot-password", auth.Public, forgotPassword()},
		route{"POST", "/users/reset-password/{code}", auth.Public, resetPassword()},

		route{"GET", "/users", auth.ManageUsers, list(users)},
		route{"POST", "/users", auth.ManageUsers, create(users)},
		route{"PATCH", "/users", auth.ManageUsers, changeMany(users)},
		route{"DELETE", "/users", auth.ManageUsers, deleteMany(users)},
		route{"GET", "/users/{id}", auth.ReadUser, get(users)},
		route{"PUT", "/users/{id}", auth.ChangeUser, replace(users)},
		route{"PATCH", "/users/{id}", auth.ChangeUser, change(users)},
		route{"DELETE", "/users/{id}", auth.ManageUsers, deleteOne(users)},
		route{"PUT", "/users/{id}/password", auth.ChangeUser, changePassword()},
	)
}

// records returns the routes of a resource whose records everybody with a token may read.
func records(r *inventory.Resource, write auth.Action) []route {
	all, one := "/"+r.Name(), "/"+r.Name()+"/{id}"
	return []route{
		{"GET", all, auth.Read, list(r)},
		{"POST", all, write, create(r)},
		{"PATCH", all, write, changeMany(r)},
		{"DELETE", all, write, deleteMany(r)},
		{"GET", one, auth.Read, get(r)},
		{"PUT", one, write, replace(r)},
		{"PATCH", one, write, change(r)},
		{"DELETE", one, write, deleteOne(r)},
	}
}

// params returns the names of the query parameters, except those of lists.
func (op *operation) params() []string {
	var names []string
	for _, p := range op.doc.Parameters {
		if p.In == "" || p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// router dispatches requests to the routes. It serves HEAD wherever there is a GET, and
// OPTIONS on every path with a route.
func (a *API) router() http.Handler {
	mux := a.mux()
	plain := httpx.Mux(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isClean(r.URL.EscapedPath()):
			httpx.NotFound(w, r)
		case r.Method == http.MethodOptions && serveOptions(mux, w, r):
		default:
			plain.ServeHTTP(w, r)
		}
	})
}

// isClean reports whether a ServeMux would not redirect the path. Its redirect would lead
// nowhere if the API is mounted under a prefix.
func isClean(p string) bool {
	c := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == c || c != "/" && p == c+"/")
}

func (a *API) mux() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{} // by path
	for i := range a.routes {
		rt := &a.routes[i]
		pattern := rt.path
		if pattern == "/" {
			pattern = "/{$}" // only this path
		}
		mux.Handle(rt.method+" "+pattern, a.serve(rt))
		methods[rt.path] = append(methods[rt.path], rt.method)
	}
	for p, own := range methods {
		for _, method := range shadowed(p, methods) {
			mux.Handle(method+" "+p, methodNotAllowed(own))
		}
	}
	if a.opts.Docs != nil {
		docs := http.StripPrefix("/docs", a.opts.Docs)
		mux.Handle("GET /docs", docs) // redirects to /docs/
		mux.Handle("GET /docs/", docs)
	}
	return mux
}

// shadowed returns the methods that a path such as /users/login lacks and that the mux would
// otherwise dispatch to /users/{id}.
func shadowed(p string, methods map[string][]string) []string {
	if strings.HasSuffix(p, "}") {
		return nil
	}
	other := methods[p[:strings.LastIndexByte(p, '/')]+"/{id}"]
	if len(other) == 0 {
		return nil
	}
	var missing []string
	for _, method := range append([]string{http.MethodOptions}, other...) {
		if !slices.Contains(methods[p], method) {
			missing = append(missing, method)
		}
	}
	return missing
}

// methodNotAllowed responds with 405 and the methods of the path.
func methodNotAllowed(methods []string) http.Handler {
	allowed := slices.Clone(methods)
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		httpx.MethodNotAllowed(w, r)
	})
}

// serveOptions responds to OPTIONS with the methods that the mux allows, and reports whether
// the path has any.
func serveOptions(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) bool {
	handler, _ := mux.Handler(r)
	response := headerOnly{}
	handler.ServeHTTP(response, r)
	allowed := http.Header(response).Get("Allow")
	if allowed == "" {
		return false
	}
	w.Header().Set("Allow", allowed+", OPTIONS")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// headerOnly is a response writer that discards everything except the header.
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) WriteHeader(int)             {}
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }
