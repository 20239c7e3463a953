package apidocs

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
)

//go:embed assets/page.css assets/init.js assets/*.gz assets/LICENSE.txt
var assets embed.FS

//go:embed page.html
var pages embed.FS

// Options configures a [Handler]. Nil means the defaults.
type Options struct {
	// Title of the page. Default: "API".
	Title string
	// DocumentURL is the address of the OpenAPI document for the browser: a path relative to the
	// page, or a URL whose server allows the page's origin.
	// Default: "../openapi.json".
	DocumentURL string
	// LoginURL is the path, relative to the page, of a route that takes a POST of JSON with username,
	// password and, for a second factor, code, and responds with token, a bearer token. The page then
	// has a form to log in with them. Default: no form.
	LoginURL string
}

// Handler serves the page and its files. It is safe for concurrent use.
type Handler struct {
	page   []byte
	policy string
	files  *httpx.Files
}

// New returns a handler. It panics if DocumentURL is neither a path nor an http or https URL, or if
// LoginURL is not a path: passwords are sent to the page's own origin only.
func New(opts *Options) *Handler {
	o := *cmp.Or(opts, &Options{})
	o.Title = cmp.Or(o.Title, "API")
	o.DocumentURL = cmp.Or(o.DocumentURL, "../openapi.json")
	allowed, err := policyFor(o.DocumentURL)
	if err != nil {
		panic("apidocs: Options.DocumentURL: " + err.Error())
	}
	if u, err := url.Parse(o.LoginURL); err != nil || u.Scheme != "" || u.Host != "" {
		panic(fmt.Sprintf("apidocs: Options.LoginURL: invalid path %q: use a path such as ../users/login", o.LoginURL))
	}
	h := &Handler{policy: allowed}
	h.page = h.render(o)
	return h
}

// render returns the page and registers its files.
func (h *Handler) render(o Options) []byte {
	files, err := fs.Sub(assets, "assets")
	if err == nil {
		h.files, err = httpx.NewFiles(files)
	}
	style, _ := assets.ReadFile("assets/page.css") // it is embedded
	if err == nil {
		err = h.files.Add("page.css", append(ui.Tokens(), style...))
	}
	if err != nil {
		panic("apidocs: " + err.Error()) // cannot happen: the files are embedded
	}
	var page bytes.Buffer
	err = template.Must(template.ParseFS(pages, "page.html")).Execute(&page, map[string]string{
		"Title": o.Title, "Document": o.DocumentURL, "Login": o.LoginURL,
		"Style": h.files.Name("swagger-ui.css"), "PageStyle": h.files.Name("page.css"),
		"Bundle": h.files.Name("swagger-ui-bundle.js"), "Init": h.files.Name("init.js"), "License": h.files.Name("LICENSE.txt"),
	})
	if err != nil {
		panic("apidocs: " + err.Error()) // cannot happen: a test renders the embedded page
	}
	return page.Bytes()
}

// ServeHTTP serves the page at "/" and its files below; "" redirects to the page.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httpx.HandlerFunc(h.serve).ServeHTTP(w, r)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	switch {
	case r.URL.Path != "" && r.URL.Path != "/":
		h.files.ServeHTTP(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return &httpx.Error{
			Status: http.StatusMethodNotAllowed, Message: "Method Not Allowed: use GET or HEAD",
			Header: http.Header{"Allow": {"GET, HEAD"}},
		}
	case r.URL.Path == "":
		redirect(w, r)
	default:
		w.Header().Set("Content-Security-Policy", h.policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		return httpx.WriteTagged(w, r, "text/html; charset=utf-8", h.page)
	}
	return nil
}

// redirect adds a slash to the path. It is relative to the path that the client sent, of which
// the handler sees only a part.
func redirect(w http.ResponseWriter, r *http.Request) {
	name := path.Base(httpx.SentPath(r)) + "/"
	if name == "./" || name == "//" {
		name = ""
	}
	w.Header().Set("Location", "./"+name)
	w.WriteHeader(http.StatusMovedPermanently)
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
