package registry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest"
)

// Options configures [NewHandler]. Nil means the defaults.
type Options struct {
	// Authorize returns the namespaces that the owner of a token may publish to and change, as [Tokens] describes
	// them. The error is errToken for an unknown token. Default: the registry is read-only.
	Authorize func(ctx context.Context, token string) ([]string, error)
	// AuthorizeRead makes reads need a token too, except those about the service. It is called like Authorize, and the
	// namespaces do not matter; a request without a known token gets a 401. Default: everybody may read.
	AuthorizeRead func(ctx context.Context, token string) ([]string, error)
	// Audit receives a record of each publication and change of status, with the beginning of the SHA-256 of the
	// token. Default: Chain.Log, else slog.Default.
	Audit *slog.Logger
	// Validate configures the validation of published manifests. Default: the profile manifest.Registry.
	Validate *manifest.Options
	// MaxVersions is the maximum number of versions of a server. Default: 10,000.
	MaxVersions int
	// MaxServerBytes is the maximum size of all manifests of a server together. Default: 16 MiB.
	MaxServerBytes int64
	// Version of the program, for /version. Default: "unknown".
	Version string
	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// Chain configures the middleware. Its default RenderError writes problem details. Default: the
	// defaults of httpx.Standard.
	Chain *httpx.StandardOptions
	// Docs is mounted at /docs/, without that prefix: a page for the OpenAPI document, such as
	// that of package apidocs. Default: no such page.
	Docs http.Handler
	// Pages handles all other paths that are not below a version of the API, such as package
	// registry/catalog. Default: 404.
	Pages http.Handler
}

// NewHandler returns the handler of a registry over a store. opts may be nil.
func NewHandler(store Store, opts *Options) http.Handler {
	o := *cmp.Or(opts, &Options{})
	o.Validate = cmp.Or(o.Validate, &manifest.Options{Profile: manifest.Registry})
	if o.Now == nil {
		o.Now = time.Now
	}
	o.MaxVersions, o.MaxServerBytes = cmp.Or(o.MaxVersions, 10_000), cmp.Or(o.MaxServerBytes, 16<<20)
	chain := *cmp.Or(o.Chain, &httpx.StandardOptions{})
	if chain.RenderError == nil {
		chain.RenderError = renderProblem
	}
	o.Audit = cmp.Or(o.Audit, chain.Log, slog.Default())
	a := &api{store: store, opts: o, clients: chain.Clients}
	return openReads(httpx.Standard(&chain)(httpx.MuxWith(a.routes(), a.notFound)))
}

// api has the handlers of the routes.
type api struct {
	store   Store
	opts    Options
	clients *httpx.Clients
}

func (a *api) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, base := range []string{"/v0.1", "/v0"} {
		for pattern, f := range map[string]httpx.HandlerFunc{
			"GET %/servers":                           a.list,
			"GET %/servers/{name}/versions":           a.versions,
			"GET %/servers/{name}/versions/{version}": a.get,
		} {
			mux.Handle(strings.Replace(pattern, "%", base, 1), a.reader(handler(f)))
		}
		for pattern, f := range map[string]httpx.HandlerFunc{
			"POST %/publish":       a.publish,
			"POST %/validate":      a.validate,
			"POST %/auth/{method}": a.login,
			"GET %/health":         about(map[string]string{"status": "ok"}),
			"GET %/ping":           about(map[string]bool{"pong": true}),
			"GET %/version":        about(map[string]string{"version": cmp.Or(a.opts.Version, "unknown")}),
		} {
			mux.Handle(strings.Replace(pattern, "%", base, 1), handler(f))
		}
		for _, method := range []string{"PATCH", "PUT"} {
			mux.Handle(method+" "+base+"/servers/{name}/versions/{version}/status", handler(a.setStatus))
			mux.Handle(method+" "+base+"/servers/{name}/status", handler(a.setAllStatus))
		}
	}
	mux.Handle("GET /openapi.json", handler(static(openAPI)))
	mux.Handle("GET /server.schema.json", handler(static(manifest.Schema())))
	if a.opts.Docs != nil {
		docs := http.StripPrefix("/docs", a.opts.Docs)
		mux.Handle("GET /docs", docs) // redirects to /docs/
		mux.Handle("GET /docs/", docs)
	}
	return mux
}

// about returns a handler with a constant response.
func about(v any) httpx.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) error { return httpx.WriteJSON(w, http.StatusOK, v) }
}

// handler returns a handler for a function with errors of stores or of httpx.
func handler(f httpx.HandlerFunc) http.Handler {
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return translate(f(w, r)) })
}

// translate converts the errors of stores and returns others unchanged.
func translate(err error) error {
	status, message := 0, ""
	var header http.Header
	switch {
	case errors.Is(err, ErrNotFound):
		status, message = http.StatusNotFound, "Server not found"
	case errors.Is(err, ErrExists):
		status, message = http.StatusConflict, "This version exists: publish another one, because versions cannot be changed"
	case errors.Is(err, ErrTooMany):
		status, message = http.StatusUnprocessableEntity, "The server has too many versions, or they are too large"
	case errors.Is(err, ErrUnchanged):
		status, message = http.StatusBadRequest, "Nothing to change: status and message are already as requested"
	case errors.Is(err, ErrFull):
		status, message = http.StatusInsufficientStorage, "The registry is full"
		header = http.Header{"Retry-After": {strconv.Itoa(60)}} // somebody has to make room
	default:
		return err
	}
	return &httpx.Error{Status: status, Message: message, Header: header, Err: err}
}
