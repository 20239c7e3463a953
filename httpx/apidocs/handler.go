package apidocs

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

// Options configures a [Handler]. Nil means the defaults.
type Options struct {
	// Title of the page. Default: "API".
	Title string
	// DocumentURL is the address of the OpenAPI document for the browser: a path relative to the
	// page, or a URL whose server allows the page's origin.
	// Default: "../openapi.json".
	DocumentURL string
}

// Handler serves the page and its files. It is safe for concurrent use.
type Handler struct {
	page   []byte
	tag    string
	policy string
	files  map[string]*file // by their names in the page
}

// New returns a handler. It panics if DocumentURL is neither a path nor an http or https URL.
func New(opts *Options) *Handler {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Title == "" {
		o.Title = "API"
	}
	if o.DocumentURL == "" {
		o.DocumentURL = "../openapi.json"
	}
	allowed, err := policyFor(o.DocumentURL)
	if err != nil {
		panic("apidocs: Options.DocumentURL: " + err.Error())
	}
	h := &Handler{policy: allowed, files: map[string]*file{}}
	h.page = h.render(o)
	h.tag = tagOf(h.page)
	return h
}

// render returns the page and registers its files.
func (h *Handler) render(o Options) []byte {
	add := func(name, contentType string) string {
		f := load(name, contentType)
		h.files[f.name] = f
		return f.name
	}
	var page bytes.Buffer
	layout := template.Must(template.ParseFS(assets, "assets/page.html"))
	err := layout.Execute(&page, map[string]string{
		"Title": o.Title, "Document": o.DocumentURL,
		"Style":     add("swagger-ui.css.gz", "text/css; charset=utf-8"),
		"PageStyle": add("page.css", "text/css; charset=utf-8"),
		"Bundle":    add("swagger-ui-bundle.js.gz", "text/javascript; charset=utf-8"),
		"Init":      add("init.js", "text/javascript; charset=utf-8"),
		"License":   add("LICENSE.txt", "text/plain; charset=utf-8"),
	})
	if err != nil {
		panic("apidocs: " + err.Error()) // cannot happen: a test renders the embedded page
	}
	return page.Bytes()
}

// ServeHTTP serves the page at "/" and its files below; "" redirects to the page.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.serve(w, r); err != nil {
		httpx.WriteError(w, r, err)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	f := h.files[strings.TrimPrefix(r.URL.Path, "/")]
	switch {
	case f == nil && r.URL.Path != "" && r.URL.Path != "/":
		return httpx.Errorf(http.StatusNotFound, "Not Found")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return &httpx.Error{
			Status: http.StatusMethodNotAllowed, Message: "Method Not Allowed: use GET or HEAD",
			Header: http.Header{"Allow": {"GET, HEAD"}},
		}
	case r.URL.Path == "":
		redirect(w, r)
	case f == nil:
		h.servePage(w, r)
	default:
		f.serve(w, r)
	}
	return nil
}

// redirect adds a slash to the path. It is relative to the path that the client sent, of which
// the handler sees only a part.
func redirect(w http.ResponseWriter, r *http.Request) {
	name := "."
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		name = path.Base(u.EscapedPath())
	}
	if name == "." || name == "/" {
		name = ""
	} else {
		name += "/"
	}
	w.Header().Set("Location", "./"+name)
	w.WriteHeader(http.StatusMovedPermanently)
}

func (h *Handler) servePage(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", h.policy)
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	httpx.SetTag(w, h.tag)
	if httpx.NotModified(w, r, h.tag) {
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(h.page)))
	_, _ = w.Write(h.page) // ignore the error: the client disconnected
}

// policy is the Content-Security-Policy of the page. Swagger UI has its icons in data: URLs
// and sets styles through the object model, which needs no permission.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'%s; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var plainHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// policyFor returns the policy with the origin of the document.
func policyFor(document string) (string, error) {
	u, err := url.Parse(document)
	if err != nil {
		return "", err
	}
	if u.Host == "" && u.Scheme == "" {
		return fmt.Sprintf(policy, ""), nil
	}
	if u.Scheme != "http" && u.Scheme != "https" || !plainHost.MatchString(u.Host) {
		return "", fmt.Errorf("invalid URL %q: use a path or a URL such as https://api.example.org/openapi.json", document)
	}
	return fmt.Sprintf(policy, " "+u.Scheme+"://"+u.Host), nil
}
