package console

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/console/internal/change"
	"github.com/ashlar-go/ashlar/inventory/console/internal/detail"
	"github.com/ashlar-go/ashlar/inventory/console/internal/lists"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Options configure a [Console]. Nil means the defaults.
type Options struct {
	// Prefix is the path under which the console is mounted, such as "/console". Default: "", the root.
	Prefix string
	// Product is the name in the header. Default: "Inventory".
	Product string
	// APIDocs is the address of the page about the API, for a link. Default: no link.
	APIDocs string
	// Links are further links of the navigation. Default: none.
	Links []ui.NavLink
	// Chain configures the middleware around the pages, like that of the API; its RenderError, Security
	// and Check are not used. Default: the defaults of httpx.Standard.
	Chain *httpx.StandardOptions
	// Log receives errors that no response reports. Default: slog.Default().
	Log *slog.Logger
}

// Console serves the pages. It is an http.Handler for paths without the prefix, safe for concurrent use,
// and needs no closing. Create it with [New].
type Console struct {
	site  *site.Site
	log   *slog.Logger
	links httpx.OneTimeCodes // of tokens that one-time links sign in with

	features []*feature.Feature
	handler  http.Handler
}

// New returns the pages of an inventory. opts may be nil. The error names an invalid option.
func New(api *httpapi.API, opts *Options) (*Console, error) {
	if api == nil {
		return nil, errors.New("console: the API is required")
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	c := &Console{log: cmp.Or(o.Log, slog.Default()), features: api.Features()}
	kit, err := c.kit(&o)
	if err != nil {
		return nil, err
	}
	c.site = site.New(kit, api)
	if o.APIDocs != "" {
		c.site.Extra = append(c.site.Extra, ui.NavLink{Label: "API", URL: o.APIDocs, Icon: "book"})
	}
	c.site.Extra = append(c.site.Extra, o.Links...)
	c.site.Edits = map[string]site.Edit{}
	for _, pages := range c.pages() {
		c.site.SignIn, c.site.Account = cmp.Or(c.site.SignIn, pages.SignIn), cmp.Or(c.site.Account, pages.Account)
		maps.Copy(c.site.Edits, pages.Edits)
		c.site.Entries = append(c.site.Entries, pages.Entries...)
		c.site.Links = append(c.site.Links, pages.Links...)
		c.site.Offers = append(c.site.Offers, pages.Offers...)
		c.site.Exports = append(c.site.Exports, pages.Exports...)
		c.site.Sections = append(c.site.Sections, pages.Sections...)
		c.site.Counts = append(c.site.Counts, pages.Counts...)
		c.site.Computed = append(c.site.Computed, pages.Computed...)
		c.site.Leads = append(c.site.Leads, pages.Leads...)
	}
	slices.SortStableFunc(c.site.Sections, func(a, b site.Section) int { return cmp.Compare(a.Order, b.Order) })
	slices.SortStableFunc(c.site.Counts, func(a, b site.Count) int { return cmp.Compare(a.Order, b.Order) })
	slices.SortStableFunc(c.site.Entries, func(a, b site.Entry) int { return cmp.Compare(a.Order, b.Order) })
	chain := httpx.StandardOptions{}
	if o.Chain != nil {
		chain = *o.Chain
	}
	chain.RenderError, chain.Security, chain.Check = kit.RenderError, &httpx.SecurityOptions{ContentSecurityPolicy: ui.Policy}, nil
	chain.MaxBody = maxBody
	chain.Limit = besideAssets(chain.Limit)
	chain.Repeatable = repeatable
	mux, err := c.mux()
	if err != nil {
		return nil, err
	}
	c.handler = httpx.Standard(&chain)(kit.Protect(mux))
	return c, nil
}

// besideAssets returns a limit of requests that the files of pages do not count for: a first page needs a dozen.
func besideAssets(limit httpx.Middleware) httpx.Middleware {
	if limit == nil {
		return nil
	}
	return func(next http.Handler) http.Handler {
		limited := limit(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/assets/") {
				next.ServeHTTP(w, r)
				return
			}
			limited.ServeHTTP(w, r)
		})
	}
}

const linkPath = "/signin/link"

// Link returns a path, with the prefix, that signs a browser in with a token of the API, once and within
// 10 minutes. It is for programs that show the link to somebody on the same machine.
func (c *Console) Link(token string) string {
	return c.site.UI.URL(linkPath + "?code=" + c.links.Issue(token, time.Now()))
}

func (c *Console) followLink(q *site.Request) error {
	token, ok := c.links.Use(q.R.URL.Query().Get("code"), time.Now())
	if !ok {
		return httpx.Errorf(http.StatusGone, "The link has been used, or is too old: sign in, or get a new link")
	}
	q.Keep(token)
	return q.Redirect("/")
}

// maxBody is the maximum size of a request in bytes: that of an import of the API, as a form.
const maxBody = 40 << 20

// repeatable are the query parameters that may occur more than once.
var repeatable = []string{"sortby", "tags", "resource", "column", "add-pick"}

// pages returns the pages of all packages.
func (c *Console) pages() []site.Pages {
	own := site.Pages{Files: files, Routes: []site.Route{
		{Pattern: "GET " + linkPath, Handle: c.followLink, Public: true},
		{Pattern: "GET /", Handle: func(*site.Request) error { return httpx.Errorf(http.StatusNotFound, "There is no such page") }},
	}}
	all := []site.Pages{own, lists.Pages(), detail.Pages(), change.Pages()}
	for _, f := range c.features {
		all = append(all, f.Pages)
	}
	return all
}

// kit returns the renderer with the templates of all packages.
func (c *Console) kit(o *Options) (*ui.Kit, error) {
	all := &ui.Options{
		Product: cmp.Or(o.Product, "Inventory"), Prefix: o.Prefix, Funcs: functions,
		Frame:  func(r *http.Request) *ui.Page { return c.site.Frame(r) },
		Styles: []string{"style-console.css", "style-steps.css"},
	}
	for _, pages := range c.pages() {
		if pages.Style != "" {
			all.Styles = append(all.Styles, pages.Style)
		}
		for dir, to := range map[string]*[]fs.FS{"templates": &all.Templates, "assets": &all.Assets} {
			if pages.Files == nil {
				continue
			}
			if _, err := fs.Stat(pages.Files, dir); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			sub, err := fs.Sub(pages.Files, dir)
			if err != nil {
				return nil, err
			}
			*to = append(*to, sub)
		}
	}
	return ui.New(all)
}

// mux returns the handler of all routes. The error is that of pages of features that cannot be served.
func (c *Console) mux() (h http.Handler, err error) {
	defer func() {
		if conflict := recover(); conflict != nil {
			err = fmt.Errorf("console: features: %v", conflict)
		}
	}()
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", c.site.UI.Assets())
	mux.HandleFunc("POST /theme", c.site.UI.SetTheme)
	require := func(given bool, what string, of ...any) {
		if !given {
			err = errors.Join(err, fmt.Errorf("console: features: "+what, of...))
		}
	}
	for _, pages := range c.pages() {
		for _, e := range pages.Entries {
			require(e.Show != nil, "entry %q: Show is required", e.Label)
		}
		for _, link := range pages.Links {
			require(link.Show != nil && link.Path != nil, "link %q: Show and Path are required", link.Label)
		}
		for _, column := range pages.Computed {
			require(column.Load != nil, "column %q: Load is required", column.Label)
		}
		for _, lead := range pages.Leads {
			require(lead.Load != nil, "lead %q: Load is required", lead.Label)
		}
		for _, offer := range pages.Offers {
			require(offer.Show != nil && offer.Path != nil, "offer %q: Show and Path are required", offer.Label)
		}
		for _, s := range pages.Sections {
			require(s.ID != "" && s.Template != "" && s.Load != nil && (s.Title != "" || s.Template == "section-bars"),
				"section %q: ID, Title, Template and Load are required", s.ID)
		}
		for _, route := range pages.Routes {
			require(route.Handle != nil, "page %s: Handle is required", route.Pattern)
			mux.Handle(route.Pattern, c.site.Handler(route))
		}
	}
	return httpx.Mux(mux), err
}

// ServeHTTP serves one request, whose path has no prefix.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }
