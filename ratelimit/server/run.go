package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

const (
	handshakeTimeout = 5 * time.Second // for TLS and HTTP/2 on a new gRPC connection
	// Idle clients are asked for a sign of life, so that those that have vanished do not
	// occupy a connection, and may ask too.
	keepaliveAfter   = 2 * time.Minute
	keepaliveTimeout = 20 * time.Second
	keepaliveMinTime = 10 * time.Second
	// Buffers of a connection: calls are small, and connections may be many.
	connectionBuffer = 16 << 10
	// Goroutines that handle calls one after the other. One for each call would copy its stack each time, as that grows,
	// which takes a sixth of a call. While all are busy, further calls have their own.
	streamWorkers      = 64
	operationalTimeout = time.Second     // for open requests of the debug and scrape listeners at shutdown
	configWarningAfter = 2 * time.Second // of waiting for a configuration
)

// run opens the operational listeners and starts everything that decisions need, then
// serves decisions, and ends all in reverse order: the debug and scrape listeners respond,
// and statistics are pushed, until the last call has ended.
func (s *Server) run(ctx context.Context) error {
	endpoints := []endpoint{tcp("DEBUG_PORT", s.settings.DebugHost, s.settings.DebugPort)}
	if s.scrape != nil {
		endpoints = append(endpoints, endpoint{"SCRAPE_ADDR", "tcp", s.settings.ScrapeAddr})
	}
	operational, err := listen(ctx, endpoints...)
	if err != nil {
		return unlessDone(ctx, err)
	}
	addresses := Addresses{Debug: operational[0].Addr()}
	tasks := append([]func(context.Context){
		s.source,
		func(ctx context.Context) { s.serveOperational(ctx, "debug", operational[0], s.debugHandler()) },
	}, s.sinks...)
	if s.scrape != nil {
		addresses.Scrape = operational[1].Addr()
		tasks = append(tasks, func(ctx context.Context) { s.serveOperational(ctx, "scrape", operational[1], s.scrape) })
	}
	if s.console != nil {
		tasks = append(tasks, s.console.Sample)
	}
	if s.certs != nil {
		tasks = append(tasks, s.watchCertificates)
	}
	tasks = append(tasks, s.backend.watch...)
	s.addresses.Store(&addresses)
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var group sync.WaitGroup
	for _, task := range tasks {
		group.Go(func() { task(background) })
	}
	err = s.runDecisions(ctx, addresses)
	stop()
	group.Wait()
	return err
}

// unlessDone returns err unless ctx has ended, which is then the cause.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// maxOperational limits the pages for operators that are written at the same time: some are
// as large as the statistics, and are in memory until the client has read them.
const maxOperational = 8

// serveOperational serves a listener for operators until ctx ends. Its failure does not end
// the server. Open requests are cut off soon: recording a profile may take minutes.
func (s *Server) serveOperational(ctx context.Context, name string, l net.Listener, h http.Handler) {
	err := s.serveHTTP(ctx, l, atMost(maxOperational, h), &httpx.ServeOptions{
		WriteTimeout: maxProfile + time.Minute, DrainTimeout: operationalTimeout,
	})
	if err != nil && ctx.Err() == nil {
		s.log.Error("a listener failed; rate limit decisions are not affected", "listener", name, "err", err)
	}
}

// atMost responds with 503 to requests beyond n at the same time.
func atMost(n int, h http.Handler) http.Handler {
	permits := make(chan struct{}, n)
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		select {
		case permits <- struct{}{}:
		default:
			w.Header().Set("Retry-After", "1")
			return httpx.Errorf(http.StatusServiceUnavailable, "more than %d requests at the same time: try again later", n)
		}
		defer func() { <-permits }()
		h.ServeHTTP(w, r)
		return nil
	})
}

// serveHTTP serves a listener until ctx ends, with the probes and limits of all HTTP listeners. Scripts and probes may request the
// paths anyHost under any name of the server.
func (s *Server) serveHTTP(ctx context.Context, l net.Listener, h http.Handler, opts *httpx.ServeOptions, anyHost ...string) error {
	names := slices.Concat(s.settings.AllowedHosts, kubernetesNames("/etc/resolv.conf"))
	hosts, err := httpx.NewHosts(l.Addr(), &httpx.HostsOptions{Names: names, Setting: "ALLOWED_HOSTS"})
	if err != nil {
		_ = l.Close()
		return fmt.Errorf("ALLOWED_HOSTS: %w", err)
	}
	budget := httpx.NewBudget(&httpx.BudgetOptions{Bytes: s.settings.HTTPMaxBytesInFlight})
	opts.MaxConnections, opts.MaxConnectionsPerAddress = s.settings.HTTPMaxConnections, s.settings.HTTPMaxConnectionsPerAddress
	opts.Log = s.log
	var access httpx.Middleware
	if s.opts.AccessLog {
		access = httpx.AccessLog(s.log, nil)
	}
	chain := httpx.Chain(httpx.Probes(s.ready), httpx.DrainBody, access, httpx.SecurityHeaders(nil), httpx.Recover(s.log), budget.Middleware(nil), protectHosts(hosts, anyHost))
	return httpx.Serve(ctx, l, chain(h), opts)
}

// runDecisions waits for the counter store and a configuration, then serves decisions until
// ctx ends.
func (s *Server) runDecisions(ctx context.Context, addresses Addresses) error {
	endpoints := []endpoint{tcp("GRPC_PORT", s.settings.GRPCHost, s.settings.GRPCPort), tcp("PORT", s.settings.Host, s.settings.Port)}
	if path := s.settings.GRPCUDS; path != "" {
		endpoints[0] = endpoint{"GRPC_UDS", "unix", path}
	}
	// An address that can't be used is reported now, not after the wait.
	tried, err := listen(ctx, endpoints...)
	if err != nil {
		return unlessDone(ctx, err)
	}
	if err := closeAll(tried); err != nil {
		return err
	}
	if s.backend.start != nil {
		if err := s.backend.start(ctx); err != nil {
			return err
		}
	}
	if !s.awaitConfiguration(ctx) {
		return nil
	}
	listeners, err := listen(ctx, endpoints...)
	if err != nil {
		return unlessDone(ctx, err)
	}
	addresses.GRPC, addresses.HTTP = listeners[0].Addr(), listeners[1].Addr()
	s.addresses.Store(&addresses)
	return s.serveDecisions(ctx, listeners[0], listeners[1], func() {
		attributes := []any{"grpc", addresses.GRPC, "http", addresses.HTTP, "debug", addresses.Debug}
		if addresses.Scrape != nil {
			attributes = append(attributes, "scrape", addresses.Scrape)
		}
		s.log.Info("listening", attributes...)
		if s.opts.Listening != nil {
			s.opts.Listening(addresses)
		}
	})
}

// serveDecisions serves both listeners until ctx ends and the drain delay has passed, or
// until one of them fails.
func (s *Server) serveDecisions(ctx context.Context, grpcListener, httpListener net.Listener, listening func()) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, serving := errgroup.WithContext(serving) // ends when a listener fails
	connections := newConnections(grpcListener, connectionLimits{
		connections: s.settings.GRPCMaxConnections, perAddress: s.settings.GRPCMaxConnectionsPerAddress,
		bytes: s.settings.GRPCMaxBytesInFlight, messageTimeout: s.settings.GRPCMessageTimeout,
	}, s.registry, s.log)
	g := s.grpcServer(connections)
	group.Go(func() error {
		connections.watch(serving)
		return nil
	})
	group.Go(func() error {
		if err := g.Serve(connections); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-serving.Done()
		s.shutDownGRPC(g, connections)
		return nil
	})
	group.Go(func() error { return s.serveJSON(serving, httpListener) })
	group.Go(func() error {
		defer stop()
		select {
		case <-ctx.Done():
		case <-serving.Done():
			return nil
		}
		s.reportTerminated(false, "the server is shutting down")
		select {
		case <-time.After(s.settings.ShutdownDrainDelay):
		case <-serving.Done():
		}
		return nil
	})
	listening()
	return group.Wait()
}

// awaitConfiguration reports false if ctx ended first (REFERENCE.md, 8.3).
func (s *Server) awaitConfiguration(ctx context.Context) bool {
	if s.settings.ForceStart {
		return ctx.Err() == nil
	}
	warning := time.NewTimer(configWarningAfter)
	defer warning.Stop()
	for {
		select {
		case <-s.configured:
			return true
		case <-ctx.Done():
			return false
		case <-warning.C:
			s.log.Warn("waiting for a configuration before serving; to start without one, set FORCE_START_WITHOUT_INITIAL_CONFIG=true")
		}
	}
}

func (s *Server) grpcServer(connections *connections) *grpc.Server {
	creds := insecure.NewCredentials()
	if s.certs != nil {
		creds = credentials.NewTLS(s.certs.Config("h2"))
	}
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(service.Codec()),
		grpc.Creds(countingCredentials{creds}),
		grpc.MaxRecvMsgSize(s.settings.GRPCMaxMessageBytes),
		grpc.MaxHeaderListSize(uint32(s.settings.GRPCMaxHeaderBytes)),
		grpc.MaxConcurrentStreams(uint32(s.settings.GRPCMaxConcurrentStreams)),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.ReadBufferSize(connectionBuffer),
		grpc.WriteBufferSize(connectionBuffer),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinTime, PermitWithoutStream: true}),
		// The library adds jitter of 10% either way to the age.
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: s.settings.GRPCMaxConnectionAge, MaxConnectionAgeGrace: s.settings.GRPCMaxConnectionAgeGrace,
			Time: keepaliveAfter, Timeout: keepaliveTimeout,
		}),
	}
	if s.tracing != nil {
		opts = append(opts, grpc.StatsHandler(s.tracing.GRPC()))
	}
	if s.opts.AccessLog {
		opts = append(opts, grpc.UnaryInterceptor(beginCall))
	}
	g := grpc.NewServer(opts...)
	s.service.Register(g)
	s.health.probe.Register(g)
	if s.quota != nil {
		s.quota.Register(g)
	}
	s.registerCounters(g)
	return g
}

// shutDownGRPC refuses new calls, and cuts off open ones after SHUTDOWN_TIMEOUT.
func (s *Server) shutDownGRPC(g *grpc.Server, l *connections) {
	s.health.probe.Close() // health watches would never end
	if s.quota != nil {
		_ = s.quota.Close() // nor would streams of quotas
	}
	l.abort()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		g.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-time.After(s.settings.ShutdownTimeout):
		s.log.Warn("gRPC calls did not finish in time and were cut off", "timeout", s.settings.ShutdownTimeout)
		g.Stop()
		<-stopped
	}
}

// serveJSON serves decisions and health over HTTP until ctx ends, and cuts off open requests
// after SHUTDOWN_TIMEOUT.
func (s *Server) serveJSON(ctx context.Context, l net.Listener) error {
	json := s.service.JSON()
	if s.settings.GRPCClientTLSCACert != "" && s.settings.GRPCServerUseTLS && !s.settings.JSONWithoutCertificate {
		json = httpx.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
			return httpx.Errorf(http.StatusForbidden, "clients need a certificate, which only gRPC can check: use gRPC, or set JSON_WITHOUT_CLIENT_CERTIFICATE=true")
		})
	}
	if s.tracing != nil {
		json = s.tracing.HTTP(json)
	}
	mux := http.NewServeMux()
	mux.Handle("/json", json)
	mux.Handle("/healthcheck", s.health.probe)
	err := s.serveHTTP(ctx, l, mux, &httpx.ServeOptions{DrainTimeout: s.settings.ShutdownTimeout}, "/json", "/healthcheck")
	if err != nil && ctx.Err() != nil {
		s.log.Warn("HTTP requests did not finish in time and were cut off", "err", err)
		return nil
	}
	return err
}

// Addresses are those of the listeners of a server.
type Addresses struct {
	GRPC, HTTP, Debug net.Addr
	Scrape            net.Addr // nil unless USE_SCRAPE is true
}

// ListenError is returned by Run if an address can't be listened on.
type ListenError struct {
	Setting string // the setting to change: GRPC_PORT, GRPC_UDS, PORT, DEBUG_PORT or SCRAPE_ADDR
	Err     error  // contains the address
}

// Error names the address, the reason and the setting.
func (e *ListenError) Error() string {
	advice := "to a free port, or the host to an address of this machine"
	switch e.Setting {
	case "GRPC_UDS":
		advice = "to an unused path in a writable directory"
	case "SCRAPE_ADDR":
		advice = "to host:port with a free port and an address of this machine"
	}
	return fmt.Sprintf("%v: set %s %s", e.Err, e.Setting, advice)
}

// Unwrap returns Err.
func (e *ListenError) Unwrap() error { return e.Err }

// endpoint is an address to listen on.
type endpoint struct{ setting, network, address string }

func tcp(setting, host string, port int) endpoint {
	return endpoint{setting, "tcp", net.JoinHostPort(host, strconv.Itoa(port))}
}

// listen opens all endpoints or none.
func listen(ctx context.Context, endpoints ...endpoint) ([]net.Listener, error) {
	var all []net.Listener
	for _, e := range endpoints {
		var l net.Listener
		var err error
		if e.network == "unix" {
			err = removeStale(e.address)
		}
		if err == nil {
			l, err = new(net.ListenConfig).Listen(ctx, e.network, e.address)
		}
		if err != nil {
			_ = closeAll(all)
			return nil, &ListenError{Setting: e.setting, Err: err}
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll[C interface{ Close() error }](all []C) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// removeStale removes a socket without a listener, left behind by a killed server.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another process listens on %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
