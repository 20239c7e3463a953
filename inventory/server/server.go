package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/mail"
)

// Options are the choices of a [Server] that are no settings. Nil means the defaults.
type Options struct {
	// Log takes what happens. Default: NewLog to the standard error stream.
	Log *slog.Logger
	// Output is shown the password that was made for the first admin, once. Default: the
	// standard output.
	Output io.Writer
	// Store is used in place of the one of DATABASE_URL, and not closed.
	Store inventory.Store
	// Version is that of the program, for the API's document. Default: that of httpapi.
	Version string
}

// Server is an inventory with everything around it. Make one with [New].
type Server struct {
	settings *Settings
	log      *slog.Logger
	store    inventory.Store
	mails    *mail.Queue
	certs    *tlsfiles.Server
	handler  http.Handler
	closers  []func() error // in the order in which they were opened
}

// New opens the database, which brings its schema up to date, sees that there is an admin,
// and makes the handler. It does not listen. Close the server also if it never served.
func New(ctx context.Context, s *Settings, opts *Options) (*Server, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	o.Log = cmp.Or(o.Log, NewLog(os.Stderr, s))
	srv := &Server{settings: s, log: o.Log, store: o.Store}
	if err := srv.build(ctx, &o); err != nil {
		return nil, errors.Join(err, srv.Close())
	}
	return srv, nil
}

// build makes the parts, from the ground up.
func (s *Server) build(ctx context.Context, o *Options) (err error) {
	if s.certs, err = loadTLS(s.settings, s.log); err != nil {
		return err
	}
	if err := s.openStore(ctx); err != nil {
		return err
	}
	hasher, err := auth.NewHasher(nil)
	if err != nil {
		return err
	}
	if err := firstAdmin(ctx, s.store, hasher, s.settings, o.Output); err != nil {
		return err
	}
	tokens, err := newTokens(ctx, s.store, s.settings)
	if err != nil {
		return err
	}
	guard, err := auth.NewGuard(tokens, httpapi.NewAccountStates(s.store), nil)
	if err != nil {
		return err
	}
	if err := s.openMail(); err != nil {
		return err
	}
	api, err := s.api(o, guard, &httpapi.Accounts{
		Tokens: tokens, Hasher: hasher, SendReset: s.sendReset, RequireCurrentPassword: s.settings.RequireCurrentPassword,
	})
	if err != nil {
		return err
	}
	s.handler = s.withHealth(api)
	return nil
}

// api is the inventory's, behind everything that the settings ask for.
func (s *Server) api(o *Options, guard *auth.Guard, accounts *httpapi.Accounts) (*httpapi.API, error) {
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
	return httpapi.New(s.store, guard, &httpapi.Options{
		Accounts: accounts,
		Chain:    &httpx.StandardOptions{Log: s.log, Origins: origins, Clients: clients, Limit: limiter},
		Docs:     apidocs.New(&apidocs.Options{Title: "Network inventory", DocumentURL: "../openapi.json"}),
		Version:  o.Version,
		Log:      s.log,
	})
}

// newTokens signs with JWT_SECRET, or else with a key that the store keeps.
func newTokens(ctx context.Context, store inventory.Store, s *Settings) (*auth.Tokens, error) {
	key := []byte(s.JWTSecret)
	if len(key) == 0 {
		var err error
		if key, err = httpapi.SigningKey(ctx, store); err != nil {
			return nil, err
		}
	}
	return auth.NewTokens([][]byte{key}, &auth.TokensOptions{Lifetime: s.JWTExpiration})
}

// firstAdmin makes an admin where there is nobody yet. A password that was made for them is
// shown here and nowhere else.
func firstAdmin(ctx context.Context, store inventory.Store, hasher *auth.Hasher, s *Settings, output io.Writer) error {
	created, password, err := httpapi.FirstAdmin(ctx, store, hasher, s.AdminUsername, s.AdminPassword)
	if err != nil {
		return fmt.Errorf("ADMIN_USERNAME, ADMIN_PASSWORD: %w", err)
	}
	if created {
		debug.FreeOSMemory() // hashing took more than everything else will
	}
	if !created || s.AdminPassword != "" {
		return nil
	}
	_, err = fmt.Fprintf(output, "the first admin is %q with the password %s\nit is shown only now: log in and change it\n", s.AdminUsername, password)
	return err
}

// Handler is the whole of the inventory, to be mounted elsewhere.
func (s *Server) Handler() http.Handler { return s.handler }

// Store is where the records are.
func (s *Server) Store() inventory.Store { return s.store }

// Serve answers requests on the listener until ctx ends, then lets those under way finish
// and sends the mails that wait, for some seconds. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return httpx.Serve(ctx, l, s.handler, &httpx.ServeOptions{TLS: s.tlsConfig(), Log: s.log})
	})
	group.Go(func() error { return s.watchCertificate(ctx) })
	return group.Wait()
}

// Close sends the mails that wait, for some seconds, and closes what New has opened.
func (s *Server) Close() error {
	var failed []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		failed = append(failed, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(failed...)
}

// URL is how a browser on this machine gets to a server that listens there.
func (s *Server) URL(listening net.Addr) string {
	scheme := "http"
	if s.certs != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return scheme + "://" + listening.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Run is New, listening at the address of the settings, and Serve.
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
