package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/manifest"
)

//go:embed home
var homeFiles embed.FS

// exampleManifest fills the form. It has one mistake.
//
//go:embed home/example.json
var exampleManifest string

// home serves the landing page, which links to everything else.
type home struct {
	port      *port
	kit       *ui.Kit
	hosts     *httpx.Hosts
	log       *slog.Logger
	codes     httpx.OneTimeCodes
	addresses *addresses
	systems   *systems
	registry  http.Handler
}

func newHome(flags *pflag.FlagSet) *home {
	return &home{port: newPort(flags, "port", 8888, "the landing page")}
}

func (h *home) open(ctx context.Context, names []string, log *slog.Logger) (err error) {
	h.log = log
	templates, err := fs.Sub(homeFiles, "home/templates")
	if err != nil {
		return err
	}
	assets, err := fs.Sub(homeFiles, "home/assets")
	if err != nil {
		return err
	}
	if h.kit, err = ui.New(&ui.Options{Templates: []fs.FS{templates}, Assets: []fs.FS{assets}, Styles: []string{"style-home.css"}}); err != nil {
		return err
	}
	if h.hosts, err = allowedHosts(h.port.listener, names); err != nil {
		return err
	}
	h.registry, err = newRegistry(ctx, h.hosts)
	return err
}

// links lead from the consoles back to the landing page. There are none if it listens on all addresses: which
// one a browser can use is not known then.
func (h *home) links() []ui.NavLink {
	if a, ok := h.port.listener.Addr().(*net.TCPAddr); !ok || a.IP.IsUnspecified() {
		return nil
	}
	return []ui.NavLink{{Label: "Start page", URL: "http://" + h.port.listener.Addr().String() + "/", Icon: "mark"}}
}

// allowedHosts returns the hosts of a listener with the names of -allowed-hosts.
func allowedHosts(l net.Listener, names []string) (*httpx.Hosts, error) {
	hosts, err := httpx.NewHosts(l.Addr(), &httpx.HostsOptions{Names: names, Setting: "-allowed-hosts"})
	if err != nil {
		return nil, cli.Usagef("-allowed-hosts: %w", err)
	}
	return hosts, nil
}

func (h *home) serve(ctx context.Context, p *addresses) error {
	h.addresses = p
	return httpx.Serve(ctx, h.port.listener, h.handler(), &httpx.ServeOptions{Log: h.log})
}

func (h *home) close() error { return h.port.close() }

func (h *home) handler() http.Handler {
	pages := http.NewServeMux()
	pages.Handle("GET /{$}", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return h.show(w, r, &view{}) }))
	pages.Handle("GET /manifest", http.RedirectHandler("/#manifest", http.StatusSeeOther)) // from a change of the theme
	pages.Handle("GET /numbers", httpx.HandlerFunc(h.showNumbers))
	pages.Handle("GET /sign-in", httpx.HandlerFunc(h.signIn))
	pages.Handle("GET /assets/", h.kit.Assets())
	pages.HandleFunc("POST /theme", h.kit.SetTheme)
	mux := http.NewServeMux()
	mux.Handle("/", h.kit.Protect(httpx.Mux(pages)))
	mux.Handle(registryPath+"/", h.registry)
	mux.Handle("POST /manifest", httpx.HandlerFunc(h.validate)) // changes nothing, so it needs no token
	return httpx.Standard(&httpx.StandardOptions{
		Log: h.log, Hosts: h.hosts, MaxBody: maxForm, RenderError: h.kit.RenderError,
		Security: &httpx.SecurityOptions{ContentSecurityPolicy: ui.Policy},
	})(mux)
}

// maxForm is the maximum size of a form: a manifest of 1 MiB, encoded.
const maxForm = 4 << 20

// view is the data of the page.
type view struct {
	// Origins of the systems.
	Network, Debug, Limits, Books string

	Console, Docs string // addresses in the inventory
	LimitsFrom    string
	PasswordFile  string
	TryLimit      []string // the words of a command
	Numbers       *numbers
	Document      string
	Verdict       *manifest.Report
}

func (h *home) validate(w http.ResponseWriter, r *http.Request) error {
	body, err := httpx.ReadBody(r, maxForm)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return httpx.Errorf(http.StatusBadRequest, "Invalid form: use the form of the landing page")
	}
	document := form.Get("document")
	v := &view{Document: document, Verdict: manifest.Validate([]byte(document), nil)}
	if ui.IsPart(r) {
		return h.kit.Part(w, r, http.StatusOK, &ui.Page{Template: "home.html", Data: v}, "home-verdict")
	}
	return h.show(w, r, v)
}

func (h *home) show(w http.ResponseWriter, r *http.Request, v *view) error {
	p := h.addresses
	v.Network, v.Debug, v.Limits, v.Books = origin(r, p.network), origin(r, p.Debug), origin(r, p.HTTP), origin(r, p.books)
	v.Console, v.Docs = v.Network+"/console/", v.Network+"/docs/"
	v.LimitsFrom, v.PasswordFile = p.limits, quoted(p.passwordFile)
	v.TryLimit = strings.Fields(fmt.Sprintf("go run ./cmd/ratelimit-client -dial_string %s -domain demo -descriptors client=bob -n 6", p.GRPC))
	if v.Verdict == nil {
		v.Document = exampleManifest
	}
	v.Numbers = h.systems.numbers(r.Context(), time.Now())
	return h.kit.Page(w, r, http.StatusOK, &ui.Page{Template: "home.html", Title: "Start", Data: v})
}

// showNumbers responds with the part of the page that htmx asks for again and again.
func (h *home) showNumbers(w http.ResponseWriter, r *http.Request) error {
	v := &view{Numbers: h.systems.numbers(r.Context(), time.Now())}
	return h.kit.Part(w, r, http.StatusOK, &ui.Page{Template: "home.html", Data: v}, "home-numbers")
}

// origin returns the origin of a system for the browser that sends a request: with the host that it has
// used itself, because cookies belong to that.
func origin(r *http.Request, a net.Addr) string {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String()
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return "http://" + net.JoinHostPort(host, port)
}
