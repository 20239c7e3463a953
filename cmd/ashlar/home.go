package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest"
)

//go:embed home
var homeFiles embed.FS

// system is a section of the landing page.
type system struct {
	ID, Name, Text string
	Links          []link
}

type link struct{ Label, URL, Note string }

// home serves the landing page, which links to everything else.
type home struct {
	port     int
	page     *template.Template
	files    fs.FS
	listener net.Listener
	hosts    *httpx.Hosts
	log      *slog.Logger
	codes    codes
	places   *places
}

func newHome(flags *flag.FlagSet) *home {
	h := &home{}
	flags.IntVar(&h.port, "port", 8888, "`port` of the landing page; 0 picks a free one")
	return h
}

func (h *home) open(ctx context.Context, host string, names []string, log io.Writer) (err error) {
	h.log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if h.files, err = fs.Sub(homeFiles, "home"); err != nil {
		return err
	}
	if h.page, err = template.ParseFS(h.files, "page.html"); err != nil {
		return err
	}
	h.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(h.port)))
	if err != nil {
		return portTaken(err, "-port")
	}
	h.hosts, err = allowedHosts(h.listener, names)
	return err
}

// allowedHosts returns the hosts of a listener with the names of -allowed-hosts.
func allowedHosts(l net.Listener, names []string) (*httpx.Hosts, error) {
	hosts, err := httpx.NewHosts(l.Addr(), &httpx.HostsOptions{Names: names, Setting: "-allowed-hosts"})
	if err != nil {
		return nil, cli.Usagef("-allowed-hosts: %w", err)
	}
	return hosts, nil
}

func (h *home) serve(ctx context.Context, p *places) error {
	h.places = p
	return httpx.Serve(ctx, h.listener, h.handler(), &httpx.ServeOptions{Log: h.log})
}

func (h *home) close() error { return closeListener(h.listener) }

// closeListener closes a listener that may be closed already or nil.
func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (h *home) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return h.show(w, r, view{}) }))
	mux.Handle("GET /sign-in", httpx.HandlerFunc(h.signIn))
	mux.Handle("GET /style.css", http.FileServerFS(h.files))
	mux.Handle("POST /manifest", httpx.HandlerFunc(h.validate))
	return httpx.Standard(&httpx.StandardOptions{
		Log:     h.log,
		Hosts:   h.hosts,
		MaxBody: maxForm,
		Security: &httpx.SecurityOptions{
			ContentSecurityPolicy: "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		},
	})(httpx.Mux(mux))
}

// maxForm is the maximum size of a form: a manifest of 1 MiB, encoded.
const maxForm = 4 << 20

// view is the data of the page.
type view struct {
	Systems  []system
	SignIn   string // path of a sign-in link, or empty
	Session  *session
	Document string
	Verdict  *verdict
}

// verdict is the result of a validation.
type verdict struct {
	Valid    bool
	Summary  string
	Problems []problem
}

type problem struct{ Severity, Where, Message, Hint string }

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
	return h.show(w, r, view{Document: document, Verdict: validate([]byte(document))})
}

// validate validates a manifest.
func validate(document []byte) *verdict {
	report := manifest.Validate(document, nil)
	v := &verdict{Valid: report.Valid(), Summary: "The manifest is valid."}
	if !v.Valid {
		v.Summary = fmt.Sprintf("The manifest has %d errors.", report.Errors)
		if report.Errors == 1 {
			v.Summary = "The manifest has an error."
		}
	}
	for _, p := range report.Problems {
		where := fmt.Sprintf("line %d, column %d", p.Line, p.Column)
		v.Problems = append(v.Problems, problem{fmt.Sprint(p.Severity), where, p.Message, p.Suggestion})
	}
	return v
}

func (h *home) show(w http.ResponseWriter, r *http.Request, v view) error {
	v.Systems = h.places.systems()
	if v.Session == nil && here(r) {
		v.SignIn = signInPath + h.codes.issue(time.Now())
	}
	var page bytes.Buffer
	if err := h.page.Execute(&page, v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "same-origin") // or the form would come from the origin "null"
	_, err := page.WriteTo(w)
	return err
}
