package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/internal/tracing"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/console"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Options are the optional parts of a Server. Nil, like each zero field, means the default.
type Options struct {
	// Log receives the server's log. Default: slog.Default; see also NewLog.
	Log *slog.Logger
	// Files, if not nil, are the configuration, instead of the source that CONFIG_TYPE
	// names. They never change, so New fails if they are invalid.
	Files []config.File
	// Fields are those that a rule may have. Default: ratelimit.Fields().
	Fields []ratelimit.Field
	// Store, if not nil, stores the counters, instead of the one that BACKEND_TYPE names.
	// The caller closes it after Run.
	Store ratelimit.Store
	// Output receives statistics if the settings disable every other way to export them.
	// Default: standard output.
	Output io.Writer
	// ConsoleLinks are further links of the console's navigation. Default: none.
	ConsoleLinks []ui.NavLink
	// AccessLog logs at level Info each decision over gRPC and each HTTP request of all listeners, the paths as
	// sent. It slows each down, and is meant for small programs.
	AccessLog bool
	// Listening, if not nil, is called once, when all listeners are open.
	Listening func(Addresses)
}

// Server is a rate limit server. Create one with New, and close it unless Run was called.
type Server struct {
	settings *Settings
	opts     Options
	fields   []ratelimit.Field
	log      *slog.Logger

	loadSuccess, loadError, storeErrors, serviceErrors *ratelimit.Counter
	loadOK                                             *stats.Gauge // 1 if the last load succeeded

	registry    *stats.Registry
	sinks       []func(context.Context)
	scrape      http.Handler // nil without a scrape listener
	tracing     *tracing.Tracing
	errorLog    throttle
	decisionLog throttle

	health           *health
	reportConfig     func(healthy bool, reason string)
	reportTerminated func(healthy bool, reason string)

	cache    *localcache.Cache
	backend  *backend
	engine   *ratelimit.Engine
	service  *service.Service
	quota    *quota.Service            // nil without QUOTA_ENABLED
	counters *service.Counters         // nil without ADMIN_TOKEN
	certs    *tlsfiles.Server          // nil without TLS
	source   func(ctx context.Context) // follows the configuration until ctx ends

	load       atomic.Pointer[console.Load] // the last one, without Origin
	console    *console.Console             // nil without DEBUG_CONSOLE
	configured chan struct{}                // closed when a configuration has been loaded
	once       sync.Once                    // closes configured

	used      atomic.Bool        // Run or Close was called
	stop      context.CancelFunc // ends Run
	stopped   context.Context
	ended     chan struct{} // closed when Run or Close has released everything
	addresses atomic.Pointer[Addresses]
}

// Settings are those of ratelimitd: cmd/ratelimitd/SETTINGS.md describes them.
type Settings = settings.Settings

// ParseSettings reads settings from environment variables, those not set being the defaults. The error names every
// invalid one.
func ParseSettings(environ map[string]string) (*Settings, error) { return settings.Parse(environ) }

// New creates a server. It reads certificates and mapping files, checks what
// ParseSettings could not, and connects to nothing; the only use of the network is the
// look-up of MEMSTORE_SRV. opts may be nil.
func New(ctx context.Context, s *Settings, opts *Options) (*Server, error) {
	srv := &Server{settings: s, opts: *cmp.Or(opts, &Options{}), configured: make(chan struct{}), ended: make(chan struct{})}
	srv.stopped, srv.stop = context.WithCancel(context.Background())
	if srv.fields = srv.opts.Fields; srv.fields == nil {
		srv.fields = ratelimit.Fields()
	}
	srv.log = cmp.Or(srv.opts.Log, slog.Default())
	srv.load.Store(&console.Load{})
	srv.buildStatistics()
	srv.health = &health{probe: service.NewHealth(&service.HealthOptions{Calls: srv.method("Check")})}
	srv.reportTerminated = srv.AddComponent("termination", true)
	srv.reportConfig = func(bool, string) {}
	if s.HealthyWithConfig {
		srv.reportConfig = srv.AddComponent("configuration", false)
	}
	for _, build := range []func(context.Context) error{
		srv.buildSinks, srv.buildTLS, srv.buildTracing, srv.buildEngine, srv.buildQuota, srv.buildCounters, srv.buildSource, srv.buildConsole,
	} {
		if err := build(ctx); err != nil {
			return nil, errors.Join(err, srv.Close())
		}
	}
	return srv, nil
}

// Run is New and Server.Run.
func Run(ctx context.Context, s *Settings, opts *Options) error {
	srv, err := New(ctx, s, opts)
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}

// Run serves until ctx ends or Close is called, and then shuts down; or until an error
// makes it impossible to serve. It returns nil after an orderly shutdown. It can be called
// once.
func (s *Server) Run(ctx context.Context) error {
	if !s.used.CompareAndSwap(false, true) {
		return errors.New("server: Run or Close was called before: create another server")
	}
	defer close(s.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)()
	err := s.run(ctx)
	return errors.Join(err, s.release())
}

// Close releases what New created. If the server is running, Close ends Run as the end of
// its context does, waits for it, and returns nil: Run returns the errors.
func (s *Server) Close() error {
	s.stop()
	if !s.used.CompareAndSwap(false, true) {
		<-s.ended
		return nil
	}
	defer close(s.ended)
	return s.release()
}

func (s *Server) release() error {
	s.stop()
	s.health.probe.Close()
	if s.quota != nil {
		_ = s.quota.Close() // always nil
	}
	if s.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastSpansTimeout)
		defer cancel()
		if err := s.tracing.Shutdown(ctx); err != nil {
			s.log.Warn("not all spans could be sent", "err", err)
		}
	}
	if s.backend == nil || s.backend.close == nil {
		return nil
	}
	return s.backend.close()
}

// lastSpansTimeout limits how long the shutdown waits for unsent spans.
const lastSpansTimeout = 5 * time.Second

// Addresses returns where the server listens. Listeners that are not open yet are nil:
// Debug and Scrape open first, GRPC and HTTP when a configuration has been loaded.
func (s *Server) Addresses() Addresses {
	if a := s.addresses.Load(); a != nil {
		return *a
	}
	return Addresses{}
}

// Statistics returns the server's statistics.
func (s *Server) Statistics() *stats.Registry { return s.registry }

// Engine returns the engine that decides. Rules passed to its Use stay in effect until the
// next configuration is loaded.
func (s *Server) Engine() *ratelimit.Engine { return s.engine }
