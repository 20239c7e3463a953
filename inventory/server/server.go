package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/internal/tracing"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/internal/mail"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// Options are the optional parts of a [Server]. Nil, like each zero field, means the
// default.
type Options struct {
	// Log receives the server's log. Default: slog.Default; see also NewLog.
	Log *slog.Logger
	// Output receives the generated password of the first administrator, once. Default:
	// standard output.
	Output io.Writer
	// Schema has the resources of the database of DATABASE_URL. Default: those of the inventory and of Features.
	Schema *records.Schema
	// Roles are roles of the program, as in accounts.Options. The database of DATABASE_URL allows users
	// to have them; the schema of Store must have their names (inventory.Roles). Default: none.
	Roles map[auth.Role][]string
	// Store, if not nil, replaces the database of DATABASE_URL. The server does not close
	// it.
	Store records.Store
	// Version is the program's version in the API document. Default: that of httpapi.
	Version string
	// Features are the parts of the inventory besides the records. Default: standard.Features.
	Features []*feature.Feature
	// ConsoleLinks are further links of the console's navigation. Default: none.
	ConsoleLinks []ui.NavLink

	passwordCost auth.Cost // of the hashes; zero means the default, which tests lower
}

// Server is a complete inventory server. Create one with [New].
type Server struct {
	settings   *Settings
	log        *slog.Logger
	schema     *records.Schema
	store      records.Store
	mails      *mail.Queue
	certs      *tlsfiles.Server
	handler    http.Handler
	closers    []func() error // in the order in which they were opened
	provider   *oidc.Provider // nil for none
	chain      *httpx.StandardOptions
	console    *console.Console // nil if it is switched off
	endStreams func()           // of changes
	statistics *statistics
	engine     *records.Engine
	jobs       []feature.Job    // of the features
	tracing    *tracing.Tracing // nil for none
	draining   atomic.Bool

	auditRetention, metricsRetention time.Duration // 0 keeps all
}

var errNoSettings = errors.New("the settings are nil: use those of Default or Parse")

// New opens the database and migrates its schema, creates the first administrator if there
// is none, and builds the handler. It does not listen. Close the server even if it never
// served.
func New(ctx context.Context, s *Settings, opts *Options) (*Server, error) {
	if s == nil {
		return nil, errNoSettings
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Features == nil {
		o.Features = standard.Features()
	}
	srv := &Server{settings: s, log: o.Log, schema: o.Schema, store: o.Store, statistics: newStatistics()}
	if srv.schema == nil {
		var err error
		if srv.schema, err = inventory.NewSchema(feature.Parts(o.Features...)...); err != nil {
			return nil, err
		}
	}
	if err := srv.addRoles(&o); err != nil {
		return nil, err
	}
	if err := srv.build(ctx, &o); err != nil {
		return nil, errors.Join(err, srv.Close())
	}
	return srv, nil
}

// background runs f until Close.
func (s *Server) background(f func(ctx context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	s.closers = append(s.closers, func() error {
		stop()
		return <-ended
	})
}

// addRoles adds the names of Options.Roles to the schema.
func (s *Server) addRoles(o *Options) (err error) {
	var names []string
	for role := range o.Roles {
		names = append(names, string(role))
	}
	slices.Sort(names)
	s.schema, err = s.schema.With(inventory.Roles(names...))
	return err
}

// build creates the parts in the order of their dependencies.
func (s *Server) build(ctx context.Context, o *Options) (err error) {
	if s.certs, err = loadTLS(s.settings, s.log); err != nil {
		return err
	}
	if err := s.startTracing(ctx); err != nil {
		return err
	}
	if err := s.openStore(ctx); err != nil {
		return err
	}
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: o.passwordCost})
	if err != nil {
		return err
	}
	if err := accounts.KeyUsernames(ctx, s.store, s.log); err != nil {
		return err
	}
	if err := inventory.KeyHostnames(ctx, s.store, s.log); err != nil {
		return err
	}
	engine := records.New(s.store, nil)
	if err := s.firstAdmin(ctx, engine, hasher, o); err != nil {
		return err
	}
	if err := s.setRetention(ctx); err != nil {
		return err
	}
	tokens, err := s.openTokens(ctx)
	if err != nil {
		return err
	}
	guard, err := jwt.NewGuard(tokens, accounts.NewStates(s.store), nil)
	if err != nil {
		return err
	}
	if err := s.openMail(); err != nil {
		return err
	}
	service, err := accounts.New(engine, hasher, &accounts.Options{
		Notify: s.notify, AllowWithoutCurrentPassword: !s.settings.RequireCurrentPassword, Log: s.log, Roles: o.Roles,
		Issuer:   s.settings.TOTPIssuer,
		External: accounts.ExternalOptions{CreateUsers: s.settings.OIDC.CreateUsers, LinkByEmail: s.settings.OIDC.LinkByEmail},
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, service.Close)
	if err := s.addLogins(o, service, tokens); err != nil {
		return err
	}
	api, err := s.api(o, engine, guard)
	if err != nil {
		return err
	}
	s.engine = engine
	for _, f := range o.Features {
		if !f.Fits(s.store.Schema()) {
			s.log.Warn("a feature is left out, because the store has another schema: open it with inventory.NewSchema(feature.Parts(features...)...)", "needs", slices.Sorted(maps.Keys(f.Needs)))
		}
	}
	for _, f := range api.Features() {
		s.jobs = append(s.jobs, f.Jobs...)
	}
	s.statistics.registry.MustRegister(&storeCollector{s.store, api, service, s.mails, s.provider})
	s.endStreams = api.EndStreams
	if s.handler, err = s.withConsole(api, o.ConsoleLinks); err != nil {
		return err
	}
	if s.settings.NetBoxAtRoot {
		s.handler = netBoxAtRoot(s.handler)
	}
	if s.settings.DatabaseReadURL != "" {
		s.handler = httpapi.ReadAfter(s.handler)
	}
	if s.tracing != nil {
		s.handler = s.tracing.HTTP(s.handler)
	}
	s.handler = httpx.Probes(s.ready, "/healthz")(s.handler)
	return nil
}

// startTracing starts what sends spans, which Close sends the last of.
func (s *Server) startTracing(ctx context.Context) (err error) {
	if s.tracing, err = tracing.Start(ctx, &s.settings.Tracing, s.log); err != nil || s.tracing == nil {
		return err
	}
	s.closers = append(s.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), lastSpansTimeout)
		defer cancel()
		if err := s.tracing.Shutdown(ctx); err != nil {
			s.log.Warn("not all spans could be sent", "err", err)
		}
		return nil
	})
	return nil
}

// lastSpansTimeout limits how long Close waits for unsent spans.
const lastSpansTimeout = 5 * time.Second

// addLogins adds the feature of the accounts to the features.
func (s *Server) addLogins(o *Options, service *accounts.Service, tokens *jwt.Tokens) error {
	own := &logins.Options{Mail: s.settings.MailHost != "", PublicURL: s.settings.PublicURL}
	if err := s.openProvider(own, tokens); err != nil {
		return err
	}
	users, err := logins.New(service, tokens, own)
	o.Features = append(slices.Clone(o.Features), users)
	reviewed := len(s.settings.Review) == 0
	for i, f := range o.Features {
		if f != nil && f.Proposals != nil {
			with, proposals := *f, *f.Proposals
			with.Proposals, proposals.Review, reviewed = &proposals, s.settings.Review, true
			o.Features[i] = &with
		}
	}
	if err == nil && !reviewed {
		err = errors.New("REVIEW: no feature of the server has proposals")
	}
	return err
}

// api returns the API with the middleware that the settings require.
func (s *Server) api(o *Options, engine *records.Engine, guard *jwt.Guard) (*httpapi.API, error) {
	origins, err := httpx.NewOrigins(s.settings.AllowedOrigins)
	if err != nil {
		return nil, fmt.Errorf("ALLOWED_ORIGINS: %w", err)
	}
	clients := httpx.BehindProxies(s.settings.TrustedProxies...)
	limiter, closeLimiter, err := limit(s.settings, clients, s.log)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, closeLimiter)
	s.chain = &httpx.StandardOptions{
		Log: s.log, Origins: origins, Clients: clients, Limit: httpx.Chain(limiter, protectHosts),
		Budget: httpx.NewBudget(&httpx.BudgetOptions{Bytes: s.settings.MaxRequestMemory}),
	}
	chain := *s.chain
	chain.Limit = httpx.Chain(exceptDocs(limiter), protectHosts)
	return httpapi.New(engine, guard, &httpapi.Options{
		PrivateTargets: s.settings.ImportPrivate,
		Key:            []byte(s.settings.WebhooksKey),
		Features:       o.Features,
		Chain:          &chain,
		Docs:           apidocs.New(&apidocs.Options{Title: "Network inventory", DocumentURL: "../openapi.json", LoginURL: "../users/login"}),
		Heavy: httpapi.HeavyOptions{
			PerCaller: s.settings.HeavyQueriesPerCaller, Total: s.settings.HeavyQueries, Timeout: s.settings.HeavyQueryTimeout,
		},
		Observe: s.statistics.observe,
		Changes: httpapi.ChangesOptions{Streams: s.settings.ChangeStreams, StreamsPerCaller: s.settings.ChangeStreamsPerCaller},
		Version: o.Version,
		Log:     s.log,
	})
}

// inBackground returns what jobs get, with what the settings keep.
func (s *Server) inBackground() *feature.Background {
	set := s.settings
	return &feature.Background{Engine: s.engine, Log: s.log, Ran: s.statistics.ran, Count: s.statistics.count, Key: []byte(set.WebhooksKey), PrivateTargets: set.WebhooksPrivate, Keep: map[string]records.Retention{
		"audit-logs":  {MaxAge: s.auditRetention, MaxRecords: set.AuditMaxEntries},
		"events":      {MaxAge: set.EventRetention, MaxRecords: set.EventMax},
		"metrics-raw": {MaxAge: s.metricsRetention}, "metrics-5m": {MaxAge: set.Metrics5mRetention}, "metrics-1h": {MaxAge: set.Metrics1hRetention},
	}}
}

// Handler returns the handler of the whole server, to be mounted in another one.
func (s *Server) Handler() http.Handler { return s.handler }

// Store returns the store of the records.
func (s *Server) Store() records.Store { return s.store }

// Serve serves requests on the listener until ctx ends, for SHUTDOWN_DRAIN_DELAY longer while /readyz is 503, then waits
// some seconds for open requests and sends queued mails. It refuses requests for other hosts than those of the
// listener, of ALLOWED_HOSTS and of ALLOWED_ORIGINS. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hosts, err := s.hosts(l.Addr())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	metrics, err := s.listenMetrics(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	var config *tls.Config // nil without a certificate
	if s.certs != nil {
		config = s.certs.Config("h2", "http/1.1")
	}
	stopped := ctx.Done()
	group, ctx := errgroup.WithContext(ctx)
	operational, stop := context.WithCancel(context.WithoutCancel(ctx)) // metrics are served until the last request has ended
	group.Go(func() error {
		defer stop()
		return httpx.Serve(context.WithValue(ctx, hostsKey{}, hosts), l, s.handler, &httpx.ServeOptions{
			MaxConnections: s.settings.MaxConnections, MaxConnectionsPerAddress: s.settings.MaxConnectionsPerAddress,
			TrustedProxies: s.settings.TrustedProxies, TLS: config, DrainDelay: s.settings.ShutdownDrainDelay, Log: s.log,
		})
	})
	group.Go(func() error { return s.watchCertificate(ctx) })
	group.Go(func() error { return s.serveMetrics(operational, metrics) })
	group.Go(func() error {
		<-ctx.Done()
		s.draining.Store(true)
		select {
		case <-stopped:
			_ = backoff.Sleep(operational, s.settings.ShutdownDrainDelay)
		default: // a listener has failed
		}
		s.endStreams() // httpx.Serve waits for them
		return nil
	})
	for _, job := range s.jobs {
		group.Go(func() error { return job(ctx, s.inBackground()) })
	}
	group.Go(func() error { return s.keepBackups(ctx) })
	group.Go(func() error { return s.checkProvider(ctx) })
	return group.Wait()
}

// Close sends queued mails, for some seconds at most, and closes everything that New opened.
func (s *Server) Close() error {
	var failed []error
	for _, closer := range slices.Backward(s.closers) {
		failed = append(failed, closer())
	}
	s.closers = nil
	return errors.Join(failed...)
}

// URL returns the URL, for a browser on this machine, of a server that listens at the
// address.
func (s *Server) URL(listening net.Addr) string { return s.settings.url(listening.String()) }

// url is URL for a host and a port.
func (s *Settings) url(addr string) string {
	scheme := "http"
	if s.TLSCert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return scheme + "://" + addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Run is New, Serve at the address of the settings, and Close.
func Run(ctx context.Context, s *Settings, opts *Options) (err error) {
	srv, err := New(ctx, s, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	srv.log.Info("listening", "url", srv.URL(l.Addr()), "database", s.Database())
	return srv.Serve(ctx, l)
}

// hostsKey is the key of the *httpx.Hosts in the contexts of requests that Serve serves. Requests
// to a handler that is mounted elsewhere have none.
type hostsKey struct{}

// hosts returns the hosts that the server answers for at an address: its own, and those of
// ALLOWED_HOSTS and ALLOWED_ORIGINS.
func (s *Server) hosts(addr net.Addr) (*httpx.Hosts, error) {
	names := slices.Clone(s.settings.AllowedHosts)
	for _, origin := range s.settings.AllowedOrigins {
		if u, err := url.Parse(origin); err == nil && u.Hostname() != "" {
			names = append(names, u.Hostname())
		}
	}
	hosts, err := httpx.NewHosts(addr, &httpx.HostsOptions{Names: names, Setting: "ALLOWED_HOSTS"})
	if err != nil {
		return nil, fmt.Errorf("ALLOWED_HOSTS: %w", err)
	}
	return hosts, nil
}

// protectHosts is middleware that refuses requests for other hosts.
func protectHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts, ok := r.Context().Value(hostsKey{}).(*httpx.Hosts)
		if ok && !hosts.Allowed(r.Host) {
			hosts.Protect(next).ServeHTTP(w, r) // responds that it is refused
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loadTLS reads the certificate of TLS_CERT and TLS_KEY. It returns nil if they are unset.
func loadTLS(s *Settings, log *slog.Logger) (*tlsfiles.Server, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	server, err := tlsfiles.NewServer(tlsfiles.Files{Cert: s.TLSCert, Key: s.TLSKey}, &tlsfiles.Options{Log: log})
	if err != nil {
		return nil, fmt.Errorf("TLS_CERT, TLS_KEY:\n%w", err)
	}
	return server, nil
}

// watchCertificate reloads the certificate when its files change, until ctx ends.
func (s *Server) watchCertificate(ctx context.Context) error {
	if s.certs == nil {
		return nil
	}
	s.certs.Watch(ctx, func(err error) {
		if err != nil {
			s.log.Error("the TLS certificate can't be reloaded; the previous one stays in use", "err", err)
			return
		}
		s.log.Info("TLS certificate reloaded")
	})
	return nil
}

// pingTimeout limits a health check of the database.
const pingTimeout = 2 * time.Second

// ready returns nil if the database responds and the server is not shutting down.
func (s *Server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return httpx.Errorf(http.StatusServiceUnavailable, "The server is shutting down")
	}
	p, ok := s.store.(records.Pinger)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := p.Ping(ctx)
	if err == nil {
		return nil
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "the database does not respond", slog.Any("err", err))
	if known, ok := errors.AsType[*records.Error](err); ok {
		return httpx.Errorf(http.StatusServiceUnavailable, "%s", known.Message) // may say more, such as that the database is damaged
	}
	return httpx.Errorf(http.StatusServiceUnavailable, "The database does not respond")
}
