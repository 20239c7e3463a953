package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// Options are the choices that settings do not make.
type Options struct {
	// Log takes the server's log. Default: one by LOG_LEVEL and LOG_FORMAT on the
	// standard error stream.
	Log *slog.Logger
	// Files, if not nil, are the configuration, and no directory is read.
	Files []config.File
	// Listening is called once, when both listeners accept connections and health
	// says so.
	Listening func(Addresses)
}

// Addresses are where a server listens.
type Addresses struct {
	GRPC, HTTP net.Addr
}

// Run runs a server until ctx ends and all has been wound up, or until something
// makes it impossible to go on. It returns nil after an orderly end.
func Run(ctx context.Context, s *settings.Settings, opts *Options) error {
	if opts == nil {
		opts = &Options{}
	}
	srv := &server{settings: s, log: opts.Log, health: service.NewHealth(nil)}
	if srv.log == nil {
		srv.log = NewLog(s)
	}
	defer srv.health.Close()
	if err := srv.build(opts.Files); err != nil {
		return err
	}
	if err := srv.listen(ctx); err != nil {
		return err
	}
	return srv.serve(ctx, opts.Listening)
}

type server struct {
	settings *settings.Settings
	log      *slog.Logger
	health   *service.Health
	engine   *ratelimit.Engine
	service  *service.Service

	grpcListener, httpListener net.Listener
}

// build makes everything that needs no network.
func (s *server) build(files []config.File) error {
	rules, err := s.loadRules(files)
	if err != nil {
		return err
	}
	if err := s.buildEngine(); err != nil {
		return err
	}
	if rules != nil {
		s.engine.Use(rules)
	}
	s.service = service.New(s.engine, s.serviceOptions())
	return nil
}

func (s *server) buildEngine() error {
	set := s.settings
	opts := &ratelimit.Options{
		NearLimitRatio:             set.NearLimitRatio,
		CounterKeyPrefix:           set.CacheKeyPrefix,
		ExpiryJitter:               time.Duration(max(set.ExpirationJitter, 0)) * time.Second,
		StopIncrementWhenOverLimit: set.StopIncrement,
		ShadowMode:                 set.ShadowMode,
		QuotaMode:                  set.QuotaMode,
		Metadata:                   set.DynamicMetadata,
		Log:                        s.log,
	}
	if set.NearLimitRatio == 0 {
		opts.NearLimitRatio = -1 // to the engine 0 means the default
	}
	if set.LocalCacheSize > 0 {
		cache, err := localcache.New(set.LocalCacheSize, nil)
		if err != nil {
			return fmt.Errorf("LOCAL_CACHE_SIZE_IN_BYTES: %w", err)
		}
		opts.OverLimitCache = cache
	}
	s.log.Info("counters are embedded in this process", "max_bytes", set.EmbeddedMaxBytes)
	s.engine = ratelimit.New(memstore.New(&memstore.Options{MaxBytes: set.EmbeddedMaxBytes}), opts)
	return nil
}

func (s *server) serviceOptions() *service.Options {
	set := s.settings
	opts := &service.Options{
		DynamicMetadata: set.DynamicMetadata,
		OnError: func(ctx context.Context, err error) {
			if ratelimit.KindOf(err) != ratelimit.Invalid {
				s.log.ErrorContext(ctx, "rate limit call failed", "err", err)
			}
		},
	}
	if set.ResponseHeaders {
		opts.Headers = &service.HeaderNames{Limit: set.LimitHeader, Remaining: set.RemainingHeader, Reset: set.ResetHeader}
	}
	return opts
}

// ListenError says that an address can't be listened on.
type ListenError struct {
	Setting string // the setting that names the port: GRPC_PORT or PORT
	Err     error  // names the address
}

// Error names the address, the reason and the setting.
func (e *ListenError) Error() string {
	return fmt.Sprintf("%v: set %s to a free port, or the host to an address of this machine", e.Err, e.Setting)
}

// Unwrap is Err.
func (e *ListenError) Unwrap() error { return e.Err }

// listen opens both listeners or none.
func (s *server) listen(ctx context.Context) error {
	open := func(host string, port int, variable string) (net.Listener, error) {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return nil, &ListenError{Setting: variable, Err: err}
		}
		return l, nil
	}
	var err error
	if s.grpcListener, err = open(s.settings.GRPCHost, s.settings.GRPCPort, "GRPC_PORT"); err != nil {
		return err
	}
	if s.httpListener, err = open(s.settings.Host, s.settings.Port, "PORT"); err != nil {
		s.grpcListener.Close()
		return err
	}
	return nil
}

// serve serves until ctx ends, then winds up.
func (s *server) serve(ctx context.Context, listening func(Addresses)) error {
	group, groupCtx := errgroup.WithContext(ctx)
	grpcServer := s.grpcServer()
	group.Go(func() error { return grpcServer.Serve(s.grpcListener) })
	group.Go(func() error { return s.windUp(groupCtx, grpcServer) })
	group.Go(func() error { return s.serveHTTP(groupCtx) })
	s.health.Set(true)
	if listening != nil {
		listening(Addresses{GRPC: s.grpcListener.Addr(), HTTP: s.httpListener.Addr()})
	}
	return group.Wait()
}

func (s *server) grpcServer() *grpc.Server {
	g := grpc.NewServer(
		grpc.ForceServerCodecV2(service.Codec()),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge:      s.settings.GRPCMaxConnectionAge,
			MaxConnectionAgeGrace: s.settings.GRPCMaxConnectionAgeGrace,
		}),
	)
	s.service.Register(g)
	s.health.Register(g)
	return g
}

// handshakeTimeout is how long a new connection may be silent. The library waits for
// such connections before it stops, whatever the deadline.
const handshakeTimeout = 5 * time.Second

// maxStreams bounds the calls that one connection can have under way. A proxy
// shares one connection among many requests, so the bound is high.
const maxStreams = 10_000

// serveHTTP serves until ctx ends and requests are answered or cut off.
func (s *server) serveHTTP(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("/json", s.service.JSON())
	mux.Handle("/healthcheck", s.health)
	err := httpx.Serve(ctx, s.httpListener, mux, &httpx.ServeOptions{
		DrainDelay:   s.settings.ShutdownDrainDelay,
		DrainTimeout: s.settings.ShutdownTimeout,
		Log:          s.log,
	})
	if err != nil && ctx.Err() != nil {
		s.log.Warn("HTTP requests did not finish in time", "err", err)
		return nil
	}
	return err
}
