package httpapi

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// route is one line of the surface.
type route struct {
	pattern string // "GET /devices/{id}"
	access  auth.Action
	operation
}

// operation is what a client must know of a route, and what it does.
type operation struct {
	doc openapi.Operation // without what the route says: method, path and access
	do  func(c *call) error
}

// params are the names of the parameters of the query, beyond those of a list.
func (op *operation) params() []string {
	var names []string
	for _, p := range op.doc.Parameters {
		if p.In == "" || p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

func (rt *route) method() string {
	method, _, _ := strings.Cut(rt.pattern, " ")
	return method
}

func (rt *route) path() string {
	_, path, _ := strings.Cut(rt.pattern, " ")
	return path
}

// takesDryRun reports whether a request may ask for what would be.
func (rt *route) takesDryRun() bool { return slices.Contains(rt.params(), "dry_run") }

// dryRun is the parameter with what it means where that takes more words.
func dryRun(meaning string) openapi.Parameter {
	p := openapi.DryRun()
	p.Description = meaning
	return p
}

// router finds the route of a request. HEAD is answered where GET is, and OPTIONS wherever
// there is something.
func (a *API) router() http.Handler {
	mux := a.mux()
	plain := httpx.Mux(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !clean(r.URL.EscapedPath()):
			httpx.NotFound(w, r)
		case r.Method == http.MethodOptions && options(mux, w, r):
		default:
			plain.ServeHTTP(w, r)
		}
	})
}

// clean reports whether a path is one that the router would not redirect to another. It knows
// nothing of the prefix that the API may be mounted under, so it would redirect to nowhere.
func clean(p string) bool {
	c := path.Clean(p)
	return strings.HasPrefix(p, "/") && (p == c || c != "/" && p == c+"/")
}

func (a *API) mux() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{} // by path
	for i := range a.routes {
		rt := &a.routes[i]
		mux.Handle(rt.method()+" "+exactly(rt.path()), a.serve(rt))
		methods[rt.path()] = append(methods[rt.path()], rt.method())
	}
	for of, own := range methods {
		for _, method := range shadowed(of, methods) {
			mux.Handle(method+" "+of, refusal(allow(own)))
		}
	}
	if a.opts.Docs != nil {
		docs := http.StripPrefix("/docs", a.opts.Docs)
		mux.Handle("GET /docs", docs) // which leads to where there is a slash
		mux.Handle("GET /docs/", docs)
	}
	return mux
}

// exactly is the pattern of one path. "/" by itself would be all of them.
func exactly(of string) string {
	if of == "/" {
		return "/{$}"
	}
	return of
}

// allow is the header of that name for a path with these methods.
func allow(methods []string) string {
	all := slices.Clone(methods)
	if slices.Contains(all, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// options answers OPTIONS with what the router would say that it allows, and reports
// whether there is anything at the path.
func options(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) bool {
	handler, _ := mux.Handler(r)
	answer := unsent{header: http.Header{}}
	handler.ServeHTTP(&answer, r)
	allowed := answer.header.Get("Allow")
	if allowed == "" {
		return false
	}
	w.Header().Set("Allow", allowed+", OPTIONS")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// unsent is an answer of which only the header is wanted.
type unsent struct{ header http.Header }

func (u *unsent) Header() http.Header         { return u.header }
func (u *unsent) WriteHeader(int)             {}
func (u *unsent) Write(p []byte) (int, error) { return len(p), nil }

// refusal answers 405.
func refusal(methods string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", methods)
		httpx.MethodNotAllowed(w, r)
	})
}

// shadowed are the methods that a path such as /users/login does not have, and that
// /users/{id} would take it for an id with.
func shadowed(of string, allowed map[string][]string) []string {
	if strings.HasSuffix(of, "}") {
		return nil
	}
	taken := allowed[of[:strings.LastIndexByte(of, '/')]+"/{id}"]
	if len(taken) == 0 {
		return nil
	}
	var methods []string
	for _, method := range append([]string{http.MethodOptions}, taken...) {
		if !slices.Contains(allowed[of], method) {
			methods = append(methods, method)
		}
	}
	return methods
}
