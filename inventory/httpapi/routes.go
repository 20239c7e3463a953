package httpapi

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// route is one route of the API: its path, who may call it, and what it does.
type route struct {
	method, path string
	access       auth.Permission
	operation
	resource *records.Resource  // that it reads or changes; nil for none
	does     records.Routes     // with the resource
	feature  *feature.Operation // that it is; nil for none
}

// operation describes what a route does and does it.
type operation struct {
	doc    openapi.Operation // without method, path and access
	handle func(c *call) (*feature.Response, error)
}

// table returns all routes. Authorization, the validation of parameters and the OpenAPI
// document are derived from it. The error names an operation of a feature that cannot be served.
func (a *API) table() ([]route, error) {
	schema := a.store.Schema()
	routes := []route{
		{method: "GET", path: "/", access: everyone, operation: health()},
		{method: "GET", path: "/openapi.json", access: auth.Public(), operation: openAPI()},
		{method: "GET", path: "/summary", access: everyone, operation: summary()},
		{method: "POST", path: transactionPath, access: everyone, operation: transaction()},
		{method: "GET", path: searchPath, access: everyone, operation: searchAll()},
	}
	if r, ok := schema.Named("locations"); ok {
		routes = append(routes, route{method: "GET", path: "/debug/count", access: auth.Public(), operation: countAll(r)})
	}
	for _, r := range schema.Resources() {
		if !isUsers(r) || a.accounts != nil {
			routes = append(routes, a.records(r)...)
		}
	}
	routes, err := a.addFeatures(append(routes, a.changeRoutes()...))
	for i := range routes {
		routes[i].placing()
		routes[i].exporting()
		routes[i].previewing()
	}
	return routes, err
}

// checkRoles returns an error for a role in the access to a route that no user can have. It knows the roles of a program
// with accounts of its own by inventory.Roles.
func (a *API) checkRoles() error {
	users, _ := a.store.Schema().Named("users")
	if users == nil || !isUsers(users) {
		return nil
	}
	role, _ := users.Field("role")
	if a.accounts == nil && len(role.Enum) == len(inventory.Viewer.Values()) {
		return nil
	}
	for i := range a.routes {
		for _, named := range a.routes[i].access.Roles {
			if !slices.Contains(role.Enum, string(named)) {
				return fmt.Errorf("httpapi: the access to %s %s names the unknown role %q: use one of %s, or add it by inventory.Roles",
					a.routes[i].method, a.routes[i].path, named, strings.Join(role.Enum, ", "))
			}
		}
	}
	return nil
}

// records returns the routes of a resource, as its definition says.
func (a *API) records(r *records.Resource) (routes []route) {
	all, one := "/"+r.Name, "/"+r.Name+"/{id}"
	for _, rt := range []route{
		{method: "GET", path: all, does: records.RouteList, operation: list(r)},
		{method: "POST", path: all, does: records.RouteCreate, operation: create(r)},
		{method: "PATCH", path: all, does: records.RouteChangeMany, operation: a.changeMany(r)},
		{method: "DELETE", path: all, does: records.RouteDeleteMany, operation: deleteMany(r)},
		{method: "GET", path: one, does: records.RouteGet, operation: get(r)},
		{method: "PUT", path: one, does: records.RouteReplace, operation: a.replace(r)},
		{method: "PATCH", path: one, does: records.RouteChange, operation: a.change(r)},
		{method: "DELETE", path: one, does: records.RouteDelete, operation: deleteOne(r)},
	} {
		rt.resource, rt.access = r, accessTo(r, rt.does)
		if rt.path == all {
			rt.access = ofAll(rt.access)
		}
		if r.Routes.Has(rt.does) {
			routes = append(routes, rt)
		}
	}
	for _, child := range r.Children {
		from, _ := a.store.Schema().Named(child.From)
		of := route{method: "GET", path: one + "/" + child.Path, access: accessTo(from, records.RouteList), operation: listOf(r, from, child.Field), resource: from, does: records.RouteList}
		routes = append(routes, of)
		if child.Count != "" {
			of.path, of.operation = one+"/"+child.Count, countOf(r, from, child.Field)
			routes = append(routes, of)
		}
	}
	return routes
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
func (a *API) router() (http.Handler, error) {
	mux, err := a.mux()
	if err != nil {
		return nil, err
	}
	plain := httpx.MuxWith(mux, a.notFound)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isClean(r.URL.EscapedPath()):
			httpx.NotFound(w, r)
		case r.Method == http.MethodOptions && serveOptions(mux, w, r):
		default:
			plain.ServeHTTP(w, r)
		}
	}), nil
}

// isClean reports whether a ServeMux would not redirect the path. Its redirect would lead
// nowhere if the API is mounted under a prefix.
func isClean(p string) bool {
	c := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == c || c != "/" && p == c+"/")
}

// mux returns the routes. The error is that of operations of features whose paths conflict with others.
func (a *API) mux() (mux *http.ServeMux, err error) {
	defer func() {
		if conflict := recover(); conflict != nil {
			err = fmt.Errorf("httpapi: Options.Features: %v", conflict)
		}
	}()
	mux = http.NewServeMux()
	methods := map[string][]string{} // by path
	for i := range a.routes {
		rt := &a.routes[i]
		pattern := rt.path
		if pattern == "/" {
			pattern = "/{$}" // only this path
		}
		if rt.feature != nil && rt.feature.Secret { // then other routes with a wildcard are no ambiguous matches
			pattern = pattern[:strings.LastIndexByte(pattern, '/')+1] + hidden
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
	return mux, nil
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
