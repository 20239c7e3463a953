package ui

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

//go:embed assets/*.css assets/*.js assets/*.svg assets/*.gz assets/LICENSES.txt
var assets embed.FS

//go:embed assets/style-1-tokens.css
var tokens string

// Tokens returns a style sheet with the colours, spaces and fonts of pages as custom properties of :root, for pages that
// no Kit renders.
func Tokens() []byte { return []byte(tokens) }

//go:embed templates/*.html templates/pages/*.html
var templates embed.FS

// Policy is the Content-Security-Policy of pages: everything comes from their own origin, nothing is
// inline, and no other page frames them. Charts and maps set styles through the object model, which
// needs no permission.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Options configure a [Kit]. Nil means the defaults.
type Options struct {
	// Product is the name in the header and in titles. Default: "Ashlar".
	Product string
	// Prefix is the path under which the handler is mounted, such as "/console", without a final slash.
	// Links begin with it, and cookies are limited to it. Default: "", the root.
	Prefix string
	// Templates have the pages at their top. Default: none.
	Templates []fs.FS
	// Assets have further files that pages load, at their top. Default: none.
	Assets []fs.FS
	// Styles are the names of style sheets of Assets that all pages load, in one file; not
	// compressed ones (.gz). Default: none.
	Styles []string
	// Funcs are further functions of templates. Default: none.
	Funcs template.FuncMap
	// Frame returns what is around the message of an error: a page with navigation, user and search, but without template
	// and title. Nil, or if it returns nil: only brand and theme in the header.
	Frame func(*http.Request) *Page
}

// Kit renders pages. It is safe for concurrent use. Create it with [New].
type Kit struct {
	product, prefix string
	files           *httpx.Files
	pages           map[string]*template.Template
	frame           func(*http.Request) *Page
}

// New parses the templates. opts may be nil. The error names a template or file that is invalid.
func New(opts *Options) (*Kit, error) {
	o := *cmp.Or(opts, &Options{})
	if o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/")) {
		return nil, fmt.Errorf("ui: Options.Prefix %q: must begin with a slash and not end with one", o.Prefix)
	}
	k := &Kit{product: cmp.Or(o.Product, "Ashlar"), prefix: o.Prefix, frame: o.Frame, pages: map[string]*template.Template{}}
	own, _ := fs.Sub(assets, "assets") // fails for invalid paths only
	var err error
	files := append([]fs.FS{own}, o.Assets...)
	if k.files, err = httpx.NewFiles(files...); err != nil {
		return nil, err
	}
	if err := k.joinStyles(files, o.Styles); err != nil {
		return nil, err
	}
	kit := template.FuncMap{"url": k.URL, "asset": k.asset, "part": noPart}
	base := template.New("").Funcs(functions).Funcs(kit).Funcs(o.Funcs)
	if base, err = base.ParseFS(templates, "templates/*.html"); err != nil {
		return nil, err
	}
	pages, _ := fs.Sub(templates, "templates/pages") // as above
	return k, k.parse(base, append([]fs.FS{pages}, o.Templates...))
}

// joinStyles adds the file that all pages load: the style sheets of the kit and others. A browser paints
// nothing before it has every style sheet, so that one file is quicker than many.
func (k *Kit) joinStyles(files []fs.FS, others []string) error {
	var all []byte
	for _, name := range append([]string{"style-1-tokens.css", "style-2-page.css", "style-3-components.css"}, others...) {
		err := fs.ErrNotExist
		for i := len(files) - 1; i >= 0 && errors.Is(err, fs.ErrNotExist); i-- {
			var data []byte
			data, err = fs.ReadFile(files[i], name)
			all = append(all, data...)
		}
		if err != nil {
			return fmt.Errorf("ui: style sheet %q: %w", name, err)
		}
	}
	return k.files.Add("styles.css", all)
}

// parse adds the pages at the top of file systems. All pages have the templates of all files that begin
// with an underscore.
func (k *Kit) parse(base *template.Template, sources []fs.FS) error {
	for _, source := range sources {
		if shared, _ := fs.Glob(source, "_*.html"); len(shared) > 0 { // fails for invalid patterns only
			if _, err := base.ParseFS(source, shared...); err != nil {
				return err
			}
		}
	}
	for _, source := range sources {
		names, _ := fs.Glob(source, "[^_]*.html") // as above
		for _, name := range names {
			page, err := base.Clone()
			if err != nil {
				return err
			}
			page.Funcs(template.FuncMap{"part": func(name string, data any) (template.HTML, error) {
				var out strings.Builder
				err := page.ExecuteTemplate(&out, name, data)
				return template.HTML(out.String()), err // #nosec G203 -- escaped by the template
			}})
			if k.pages[name], err = page.ParseFS(source, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Assets returns the handler of the files that pages load, for the path Prefix + "/assets/", of which it
// needs the last element only.
func (k *Kit) Assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		short := r.Clone(r.Context())
		short.URL.Path = "/" + path.Base(r.URL.Path)
		k.files.ServeHTTP(w, short)
	})
}

// URL returns the path of a page for a browser: Prefix and a path that begins with a slash.
func (k *Kit) URL(path string) string { return k.prefix + path }

// asset returns the path of a file that pages load.
func (k *Kit) asset(name string) (string, error) {
	hashed := k.files.Name(name)
	if hashed == "" {
		return "", fmt.Errorf("unknown asset %q", name)
	}
	return k.prefix + "/assets/" + hashed, nil
}

// Page is a page of a handler.
type Page struct {
	// Template is the name of a file of Options.Templates. Required.
	Template string
	// Title of the page, without the product. Required.
	Title string
	// Data is for the template.
	Data any
	// Nav are the links of the navigation, in groups. Default: no navigation.
	Nav []NavGroup
	// User is the name of the signed-in user; empty hides the menu of the account.
	User string
	// Search is the path of the command palette, which gets the parameter q; empty for none.
	Search string
	// Live is the path of server-sent events that the page follows; empty for none.
	Live string
	// Notice is a message about what has just been done, shown once.
	Notice string
	// Public pages have only brand and theme in the header, such as the page to sign in.
	Public bool
}

// NavGroup is a titled group of links.
type NavGroup struct {
	Title string
	Links []NavLink
}

// NavLink is a link of the navigation. Current marks the page itself, or the one above it. Below are links that a button
// beside it shows and hides.
type NavLink struct {
	Label, URL, Icon string
	Current          bool
	Below            []NavLink
}

// Open reports whether the links below are shown: the page is one of them, or that of the link.
func (l NavLink) Open() bool { return l.Current || slices.ContainsFunc(l.Below, NavLink.Open) }

// View is the data of templates.
type View struct {
	*Page
	Product, Prefix string
	Theme           string // "light", "dark", or "system"
	Token           string // for forms
	Path            string // of the page, to come back to
}

// errNoTemplate is returned for a page that does not exist.
var errNoTemplate = errors.New("ui: unknown template")

// Page responds with a whole page.
func (k *Kit) Page(w http.ResponseWriter, r *http.Request, status int, p *Page) error {
	return k.Part(w, r, status, p, "layout")
}

// Part responds with one template of a page, for htmx. Its name is that of a define action.
func (k *Kit) Part(w http.ResponseWriter, r *http.Request, status int, p *Page, name string) error {
	page := k.pages[p.Template]
	if page == nil {
		return fmt.Errorf("%w %q", errNoTemplate, p.Template)
	}
	view := &View{Page: p, Product: k.product, Prefix: k.prefix, Theme: theme(r), Token: token(r), Path: strings.TrimPrefix(r.URL.RequestURI(), k.prefix)}
	var body bytes.Buffer
	if err := page.ExecuteTemplate(&body, name, view); err != nil {
		return fmt.Errorf("render %s: %w", p.Template, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", Policy)
	h.Set("Referrer-Policy", "same-origin") // with none, forms would come from the origin "null"
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "HX-Request")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // ignore the error: the client disconnected
	return nil
}

// IsPart reports whether htmx asks for a part of a page, and not for a whole one.
func IsPart(r *http.Request) bool {
	return r.Header.Get("HX-Request") == "true" && r.Header.Get("HX-History-Restore-Request") != "true" && r.Header.Get("HX-Boosted") != "true"
}

// noPart stands for the function part, which shows a template by its name, until a page is parsed.
func noPart(string, any) (template.HTML, error) { return "", errors.New("ui: part is for pages") }
