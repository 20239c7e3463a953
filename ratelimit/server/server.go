package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/internal/health"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/tracing"
)

// Options are the choices that settings do not make. A nil *Options is the zero one.
type Options struct {
	// Log takes the server's log. Default: one by LOG_LEVEL and LOG_FORMAT on the
	// standard error stream.
	Log *slog.Logger
	// Files, if not nil, are the configuration, in place of what CONFIG_TYPE says. They
	// do not change, so New fails if they are not valid.
	Files []config.File
	// Store, if not nil, keeps the counters, in place of what BACKEND_TYPE says. Its
	// owner closes it after Run.
	Store ratelimit.Store
	// Output takes statistics, if the settings turn all other ways to get them off.
	// Default: the standard output stream.
	Output io.Writer
	// Listening, if not nil, is called once, when all listeners are open.
	Listening func(Addresses)
}

// Server is a rate limit server that has not run yet, runs, or has run. Make one with
// New.
type Server struct {
	settings *settings.Settings
	opts     Options
	log      *slog.Logger

	registry *stats.Registry
	counts   counts
	sinks    []func(context.Context)
	scrape   http.Handler // nil for none
	tracing  *tracing.Tracing

	health      *health.Health
	probe       *service.Health   // health over gRPC and HTTP
	config      *health.Component // nil if it does not count
	termination *health.Component

	cache     *localcache.Cache
	backend   *backend
	engine    *ratelimit.Engine
	service   *service.Service
	complaint complaint
	certs     *tlsfiles.Server // nil without TLS
	source    source

	domains    atomic.Pointer[[]ratelimit.Domain] // what the engine's rules were made of
	configured chan struct{}                      // closed when there is a configuration
	once       sync.Once

	ran       atomic.Bool
	addresses atomic.Pointer[Addresses]
}

// New makes everything that needs no network, but for the look-up of MEMSTORE_SRV: it
// reads certificates and mapping files and checks what settings.Parse could not. What it
// makes is closed by Run; to do without, run it with a context that has ended. opts may
// be nil.
func New(s *settings.Settings, opts *Options) (*Server, error) {
	srv := &Server{settings: s, configured: make(chan struct{})}
	if opts != nil {
		srv.opts = *opts
	}
	if srv.log = srv.opts.Log; srv.log == nil {
		srv.log = NewLog(s)
	}
	for _, build := range []func() error{
		srv.buildStatistics,
		srv.buildHealth,
		srv.buildTLS,
		srv.buildTracing,
		srv.buildEngine,
		srv.buildService,
		srv.buildSource,
	} {
		if err := build(); err != nil {
			srv.abandon()
			return nil, err
		}
	}
	return srv, nil
}

// Run is New and Server.Run.
func Run(ctx context.Context, s *settings.Settings, opts *Options) error {
	srv, err := New(s, opts)
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}

// Run runs the server until ctx ends and all has been wound up, or until something
// makes it impossible to go on. It returns nil after an orderly end. A server runs
// once.
func (s *Server) Run(ctx context.Context) error {
	if !s.ran.CompareAndSwap(false, true) {
		return errors.New("server: Run was called before; make a new one")
	}
	err := s.run(ctx)
	s.probe.Close()
	if s.tracing != nil {
		s.endTracing(ctx)
	}
	return errors.Join(err, s.closeBackend())
}

// Addresses are where the server listens. What does not listen yet is nil: Debug and
// Scrape come first, GRPC and HTTP when there is a configuration.
func (s *Server) Addresses() Addresses {
	if a := s.addresses.Load(); a != nil {
		return *a
	}
	return Addresses{}
}

// Statistics is where the server counts what it does.
func (s *Server) Statistics() *stats.Registry { return s.registry }

// Engine is what decides. Rules given to its Use stay until the next configuration.
func (s *Server) Engine() *ratelimit.Engine { return s.engine }

// Health says how the server is. Programs that embed it may add components.
func (s *Server) Health() *health.Health { return s.health }
