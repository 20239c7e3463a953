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
		a.proposing(&routes[i])
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

// The operations that resources have in common.

func get(r *records.Resource) operation {
	responses := reading(openapi.RecordOrPart(r))
	responses[1].Headers = []openapi.Header{openapi.ETag()}
	return operation{openapi.Operation{
		ID: "get" + openapi.Name(r), Tag: r.Name, Summary: "Get one " + r.Noun(),
		Parameters: []openapi.Parameter{openapi.Fields(r), openapi.IfNoneMatch()},
		Responses:  append(responses, notModified()),
	}, (*call).get}
}

func list(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "list" + plural(r), Tag: r.Name, Summary: "List " + r.Plural(r.Noun()),
		List: r, Responses: reading(openapi.PageOrPart(r)),
	}, (*call).list}
}

// listOf lists the records that refer to a record of another resource by a field.
func listOf(parent, r *records.Resource, field string) operation {
	return operation{openapi.Operation{
		ID: "list" + plural(r) + "Of" + openapi.Name(parent), Tag: parent.Name,
		Summary: "List the " + r.Plural(r.Noun()) + " of one " + parent.Noun(),
		List:    r, Responses: reading(openapi.PageOrPart(r)),
	}, func(c *call) (*feature.Response, error) { return c.listOf(c.current(parent), c.current(r), field) }}
}

// countOf counts those records.
func countOf(parent, r *records.Resource, field string) operation {
	count := openapi.Object("Count",
		openapi.Required("status", openapi.Const("success")), openapi.Required("count", openapi.Integer("", 0)))
	return operation{openapi.Operation{
		ID: "count" + plural(r) + "Of" + openapi.Name(parent), Tag: parent.Name,
		Summary:   "Count the " + r.Plural(r.Noun()) + " of one " + parent.Noun(),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: count}},
	}, func(c *call) (*feature.Response, error) { return c.countOf(c.current(parent), c.current(r), field) }}
}

// create creates one record, or those of an array.
func create(r *records.Resource) operation {
	draft := openapi.Draft(r)
	return operation{openapi.Operation{
		ID: "create" + openapi.Name(r), Tag: r.Name, Summary: "Create one " + r.Noun() + ", or several atomically",
		Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IdempotencyKey()},
		Body:       openapi.OneOf(openapi.Name(r)+"Input", draft, items(draft).Named(openapi.Name(r)+"Drafts")),
		Responses: []openapi.Response{{
			Status: http.StatusCreated, Schema: openapi.OneOf(openapi.Name(r)+"Result", openapi.Record(r), bulk(plural(r), "Created", openapi.Record(r))),
			Headers: []openapi.Header{openapi.ETag(), openapi.Location()},
		}},
		Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}, (*call).create}
}

func (a *API) replace(r *records.Resource) operation {
	return operation{editing(r, openapi.Operation{
		ID: "replace" + openapi.Name(r), Summary: "Replace all fields of one " + r.Noun(), Body: openapi.Replacement(r, a.input(r)...),
	}), (*call).replace}
}

func (a *API) change(r *records.Resource) operation {
	return operation{editing(r, openapi.Operation{
		ID: "change" + openapi.Name(r), Summary: "Change some fields of one " + r.Noun(), Body: openapi.Change(r, a.input(r)...),
	}), (*call).changeOne}
}

// input returns the members of a change that are no fields.
func (a *API) input(r *records.Resource) []openapi.Property {
	if rules := a.rules[r.Name]; rules != nil {
		return rules.Input
	}
	return nil
}

// editing completes an operation that changes one record.
func editing(r *records.Resource, doc openapi.Operation) openapi.Operation {
	doc.Tag = r.Name
	doc.Parameters = []openapi.Parameter{openapi.DryRun(), openapi.IfMatch()}
	doc.Responses = []openapi.Response{{Status: http.StatusOK, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag()}}}
	doc.Errors = []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity}
	return doc
}

func (a *API) changeMany(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "change" + plural(r), Tag: r.Name, Summary: "Change some fields of several " + r.Plural(r.Noun()) + " atomically",
		Parameters: []openapi.Parameter{openapi.DryRun()},
		Body:       items(openapi.ItemChange(r, a.input(r)...)),
		Responses:  []openapi.Response{{Status: http.StatusOK, Schema: bulk(plural(r), "Updated", openapi.Record(r))}},
		Errors:     []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity},
	}, (*call).changeMany}
}

func deleteOne(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "delete" + openapi.Name(r), Tag: r.Name, Summary: "Delete one " + r.Noun(),
		Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IfMatch()},
		Responses:  []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("")}},
		Errors:     []int{http.StatusConflict, http.StatusPreconditionFailed},
	}, (*call).deleteOne}
}

func deleteMany(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "delete" + plural(r), Tag: r.Name, Summary: "Delete several " + r.Plural(r.Noun()) + " atomically",
		Parameters: []openapi.Parameter{openapi.DryRun()},
		Body:       items(openapi.OneOf("Deletion", openapi.ID(""), openapi.ItemDeletion())),
		Responses:  []openapi.Response{{Status: http.StatusOK, Schema: bulk("Records", "Deleted", openapi.ID(""))}},
		Errors:     []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
	}, (*call).deleteMany}
}

// countAll counts the records of a resource without a token.
func countAll(r *records.Resource) operation {
	count := openapi.Object("", openapi.Required("count", openapi.Integer("", 0)))
	return operation{openapi.Operation{
		ID: "count" + plural(r), Tag: "system", Summary: "Count the " + r.Plural(r.Noun()),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: count}},
	}, func(c *call) (*feature.Response, error) { return c.countAll(c.current(r)) }}
}

// health reports that the API is running.
func health() operation {
	return operation{openapi.Operation{
		ID: "running", Tag: "system", Summary: "Report that the API is running",
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Const(running), ContentType: "text/plain"}},
	}, (*call).health}
}

// plural returns the name of several records in operation ids: "Devices".
func plural(r *records.Resource) string { return r.Plural(openapi.Name(r)) }

// reading returns the responses with whole records and, with the parameter fields, with parts of them.
func reading(whole, part *openapi.Schema) []openapi.Response {
	return []openapi.Response{
		{Status: http.StatusOK, Schema: whole},
		{Status: http.StatusOK, Schema: part, ContentType: openapi.PartType},
	}
}

func notModified() openapi.Response {
	return openapi.Response{Status: http.StatusNotModified}
}

// items returns the array of a bulk request.
func items(of *openapi.Schema) *openapi.Schema { return openapi.Array(of, 1, records.MaxItems) }

// bulk returns the response to a bulk request: "Created", "Updated" or "Deleted".
func bulk(what, done string, result *openapi.Schema) *openapi.Schema {
	return openapi.Confirmation(what+done,
		openapi.Required(strings.ToLower(done), openapi.Integer("The number of records.", 0)),
		openapi.Required("results", openapi.Array(result, 0, records.MaxItems)))
}
