package catalog

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/manifest/registry"
)

//go:embed templates/*.html assets/*.css
var files embed.FS

// Options configures [New]. Nil means the defaults.
type Options struct {
	// Product is the name in the header. Default: "Servers".
	Product string
	// Prefix is the path under which the pages and the API are mounted, without a final slash. The handler gets paths
	// without it. Default: "", the root.
	Prefix string
	// Docs tells the pages to link to the description of the API at Prefix + "/docs/". Default: no link.
	Docs bool
}

// New returns the handler of the pages. opts may be nil.
func New(store registry.Reader, opts *Options) (http.Handler, error) {
	o := *cmp.Or(opts, &Options{})
	templates, _ := fs.Sub(files, "templates") // fails for invalid paths only
	assets, _ := fs.Sub(files, "assets")       // as above
	kit, err := ui.New(&ui.Options{
		Product: cmp.Or(o.Product, "Servers"), Prefix: o.Prefix, Templates: []fs.FS{templates}, Assets: []fs.FS{assets}, Styles: []string{"style-catalog.css"},
	})
	if err != nil {
		return nil, err
	}
	p := &pages{store: store, kit: kit, docs: o.Docs}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", httpx.HandlerFunc(p.list))
	mux.Handle("GET /server", httpx.HandlerFunc(p.server))
	mux.Handle("GET /assets/", kit.Assets())
	mux.HandleFunc("POST /theme", kit.SetTheme)
	return httpx.RenderErrors(kit.RenderError)(kit.Protect(httpx.Mux(mux))), nil
}

// pages are the handlers.
type pages struct {
	store registry.Reader
	kit   *ui.Kit
	docs  bool
}

// pageSize is the number of servers of a page.
const pageSize = 30

// listView is the data of the list.
type listView struct {
	Search  string
	Docs    bool
	Begins  bool // the first page
	Servers []row
	Next    string // cursor
}

// row is a server in the list.
type row struct {
	*registry.Entry
	Title, Description string
	Kinds              []string // registry types of packages, and remote
}

func (p *pages) list(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	q, err := registry.ParseQuery(url.Values{"search": {values.Get("q")}, "cursor": {values.Get("cursor")}})
	if err != nil {
		return err
	}
	q.Version, q.Limit = "latest", pageSize
	page, err := registry.List(r.Context(), p.store, q)
	if err != nil {
		return err
	}
	v := &listView{Search: q.Search, Docs: p.docs, Begins: q.After == nil, Next: page.Metadata.NextCursor}
	for i := range page.Servers {
		v.Servers = append(v.Servers, rowOf(&page.Servers[i]))
	}
	shown := &ui.Page{Template: "list.html", Title: "Servers", Data: v}
	if ui.IsPart(r) {
		return p.kit.Part(w, r, http.StatusOK, shown, "catalog-rows")
	}
	return p.kit.Page(w, r, http.StatusOK, shown)
}

func (p *pages) server(w http.ResponseWriter, r *http.Request) error {
	values := r.URL.Query()
	name, version := values.Get("name"), cmp.Or(values.Get("version"), "latest")
	e, err := p.store.Get(r.Context(), name, version)
	if errors.Is(err, registry.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "There is no such server: search for it in the list")
	}
	if err != nil {
		return err
	}
	all, err := p.store.Versions(r.Context(), name)
	if err != nil {
		return err
	}
	v, err := detailOf(e, all)
	if err != nil {
		return err
	}
	return p.kit.Page(w, r, http.StatusOK, &ui.Page{Template: "server.html", Title: e.Name, Data: v})
}
