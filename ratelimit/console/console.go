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
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Options configure a [Console]. Nil, like each zero field, means the default.
type Options struct {
	// Prefix is the path under which the console is mounted, such as "/console". Default: "", the root.
	Prefix string
	// Links are further links of the navigation. Default: none.
	Links []ui.NavLink

	// Load returns the state of the configuration. Default: it is not shown.
	Load func() Load
	// Files returns the configuration files as they are now, and why they can't be read or are invalid, such as
	// config.ReadDir does. Default: no files are shown.
	Files func() ([]config.File, error)
	// Health returns the health of the parts of the program. Default: none is shown.
	Health func() []Component
	// Store names the kind of counter store, such as "embedded". Default: it is not shown.
	Store string
	// Stats has the statistics of the page about health. Default: none are shown.
	Stats *stats.Registry

	// Assignments returns at most n assignments of quotas of the rule with a path, and how many there are: see package quota.
	// Default: none are shown.
	Assignments func(domain string, path []ratelimit.Entry, n int) ([]Assignment, int)

	// ResetToken allows those who know it to reset counters: at least httpx.MinTokenBytes bytes. Default: nobody may.
	ResetToken string

	// CounterKeyPrefix and CounterKeyFormat are those of the engine's Options.
	CounterKeyPrefix string
	CounterKeyFormat ratelimit.KeyFormat
	// Now is the clock of the rates. Default: time.Now.
	Now func() time.Time
	// Log receives changes, refused tokens, and errors that no response reports. Default: slog.Default().
	Log *slog.Logger
}

// Load is the state of the configuration.
type Load struct {
	// Origin says where it comes from, such as "files in /srv/limits".
	Origin string
	// Loaded is the time at which they became active, Tried that of the last attempt. Zero is never.
	Loaded, Tried time.Time
	// Err says why the last one is not active, nil if it is.
	Err error
	// Warnings are those of the active configuration.
	Warnings []*config.Fault
}

// Component is the health of a part of the program.
type Component struct {
	Name    string
	Healthy bool
	Reason  string
	Since   time.Time // when Healthy last changed
}

// Assignment is the quota of a client: a quota.Assignment.
type Assignment struct {
	Bucket []ratelimit.Entry
	Client string
	Quota  string
	Tokens int64
	Demand float32
	Ends   time.Time
}

// Console serves the pages. It is an http.Handler for paths without the prefix, safe for concurrent use,
// starts no goroutines and needs no closing. Create it with [New], and let [Console.Sample] run beside it.
type Console struct {
	engine  *ratelimit.Engine
	opts    Options
	log     *slog.Logger
	ui      *ui.Kit
	tree    treeCache
	rates   rates
	sending chan struct{}     // holds a value while requests are sent
	reset   *httpx.TokenGuard // nil if nobody may
	handler http.Handler
}

// New returns the pages of an engine. opts may be nil. The error names an invalid option.
func New(engine *ratelimit.Engine, opts *Options) (*Console, error) {
	if engine == nil {
		return nil, errors.New("console: the engine is required")
	}
	c := &Console{engine: engine, opts: *cmp.Or(opts, &Options{}), sending: make(chan struct{}, 1)}
	c.log = cmp.Or(c.opts.Log, slog.Default())
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	if c.opts.Load == nil {
		c.opts.Load = func() Load { return Load{} }
	}
	var err error
	if c.opts.ResetToken != "" {
		if c.reset, err = httpx.NewTokenGuard(c.opts.ResetToken, c.opts.Now); err != nil {
			return nil, fmt.Errorf("console: Options.ResetToken: %w", err)
		}
		c.opts.ResetToken = ""
	}
	if c.ui, err = c.newKit(); err != nil {
		return nil, err
	}
	chain := httpx.Standard(&httpx.StandardOptions{RenderError: c.ui.RenderError, Security: &httpx.SecurityOptions{ContentSecurityPolicy: ui.Policy}})
	c.handler = chain(c.ui.Protect(c.mux()))
	return c, nil
}

// newKit returns the renderer.
func (c *Console) newKit() (*ui.Kit, error) {
	templates, _ := fs.Sub(files, "templates") // fails for invalid paths only
	assets, _ := fs.Sub(files, "assets")
	funcs := maps.Clone(functions)
	funcs["chips"] = func(r *ratelimit.Rule) []chip { return chipsOf(c.engine.Rules().Fields(), r) }
	return ui.New(&ui.Options{
		Product: "Rate limits", Prefix: c.opts.Prefix, Templates: []fs.FS{templates}, Assets: []fs.FS{assets},
		Styles: []string{"style-limits.css"}, Funcs: funcs, Frame: func(r *http.Request) *ui.Page { return c.view(r, "", "", nil) },
	})
}

// mux returns the handler of all routes.
func (c *Console) mux() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", c.ui.Assets())
	mux.HandleFunc("POST /theme", c.ui.SetTheme)
	for pattern, handle := range map[string]httpx.HandlerFunc{
		"GET /{$}":               c.overview,
		"GET /rates.json":        c.ratesJSON,
		"GET /rules/{rule}":      c.rulePage,
		"GET /rules/{rule}/keys": c.topKeys,
		"GET /try":               c.try,
		"GET /try/suggest":       c.suggest,
		"POST /try/explain":      c.explainForm,
		"POST /try/send":         c.send,
		"POST /try/reset":        c.resetCounters,
		"GET /health":            c.health,
		"GET /configuration":     c.configuration,
	} {
		mux.Handle(pattern, handle)
	}
	return httpx.Mux(mux)
}

// ServeHTTP serves one request, whose path has no prefix.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// page responds with a page.
func (c *Console) page(w http.ResponseWriter, r *http.Request, status int, template, title string, data any) error {
	return c.ui.Page(w, r, status, c.view(r, template, title, data))
}

// part responds with a template of a page, for htmx.
func (c *Console) part(w http.ResponseWriter, r *http.Request, template, name string, data any) error {
	return c.ui.Part(w, r, http.StatusOK, c.view(r, template, "", data), name)
}

func (c *Console) view(r *http.Request, template, title string, data any) *ui.Page {
	return &ui.Page{Template: template, Title: title, Data: data, Nav: c.nav(r.URL.Path)}
}

// nav returns the navigation.
func (c *Console) nav(at string) []ui.NavGroup {
	link := func(label, path, icon string) ui.NavLink {
		current := at == path || path != "/" && strings.HasPrefix(at, path+"/") || path == "/" && strings.HasPrefix(at, "/rules/")
		return ui.NavLink{Label: label, URL: c.ui.URL(path), Icon: icon, Current: current}
	}
	all := []ui.NavGroup{{Links: []ui.NavLink{
		link("Rules", "/", "limit"), link("Try requests", "/try", "play"),
		link("Configuration", "/configuration", "file"), link("Health", "/health", "chart"),
	}}}
	if len(c.opts.Links) > 0 {
		all = append(all, ui.NavGroup{Title: "More", Links: c.opts.Links})
	}
	return all
}
