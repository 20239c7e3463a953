package server

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// run starts what decisions need, then the decisions, and ends them in the opposite
// order: the debug and scrape listeners answer, and statistics are sent, until the
// last call has been answered.
func (s *Server) run(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	operations, err := s.openOperations(ctx)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	s.addresses.Store(&Addresses{Debug: operations.debug.Addr(), Scrape: operations.scrapeAddr()})
	var helpers errgroup.Group
	for _, help := range s.helpers(operations) {
		helpers.Go(func() error { help(background); return nil })
	}
	err = s.decide(ctx, operations)
	stop()
	helpers.Wait()
	return err
}

// helpers are what runs beside the decisions. A helper that fails says so in the log;
// decisions go on without it.
func (s *Server) helpers(o *operations) []func(context.Context) {
	all := []func(context.Context){
		s.follow,
		func(ctx context.Context) { s.serveOperations(ctx, "debug", o.debug, s.debugHandler()) },
	}
	if o.scrape != nil {
		all = append(all, func(ctx context.Context) { s.serveOperations(ctx, "scrape", o.scrape, s.scrape) })
	}
	if s.certs != nil {
		all = append(all, s.watchCertificates)
	}
	if s.backend.watch != nil {
		all = append(all, s.backend.watch)
	}
	return append(all, s.sinks...)
}

// decide waits for the counter store and a configuration, opens the listeners for
// decisions and serves until ctx ends.
func (s *Server) decide(ctx context.Context, o *operations) error {
	if err := s.tryDecisions(ctx); err != nil {
		return unlessEnded(ctx, err)
	}
	if err := s.startBackend(ctx); err != nil {
		return err
	}
	if !s.awaitConfiguration(ctx) {
		return nil
	}
	d, err := s.openDecisions(ctx)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, failing := errgroup.WithContext(serving)
	g := s.grpcServer()
	group.Go(func() error { return serveGRPC(g, d.grpc) })
	group.Go(func() error { return s.windUp(failing, g) })
	group.Go(func() error { return s.serveHTTP(failing, d.http) })
	group.Go(func() error {
		s.awaitEnd(ctx, failing)
		stop()
		return nil
	})
	s.listening(o, d)
	return group.Wait()
}

// awaitConfiguration reports false if ctx ended first (specification, "States and
// transitions"; ruling 10).
func (s *Server) awaitConfiguration(ctx context.Context) bool {
	if s.settings.ForceStart {
		return ctx.Err() == nil
	}
	select {
	case <-s.configured:
		return true
	case <-time.After(waitingIsWorthALine):
		s.log.Warn("waiting for a configuration before decisions are served; FORCE_START_WITHOUT_INITIAL_CONFIG=true would not wait")
	case <-ctx.Done():
		return false
	}
	select {
	case <-s.configured:
		return true
	case <-ctx.Done():
		return false
	}
}

const waitingIsWorthALine = 2 * time.Second

// awaitEnd waits for the end of ctx, turns unhealthy and lets all go on for the drain
// delay. If a listener fails there is no point in any of it.
func (s *Server) awaitEnd(ctx, failing context.Context) {
	select {
	case <-ctx.Done():
	case <-failing.Done():
		return
	}
	s.termination.Fail("the server was told to end")
	select {
	case <-time.After(s.settings.ShutdownDrainDelay):
	case <-failing.Done():
	}
}

// windUp waits for the end of ctx and ends the gRPC server: no new calls, and at the
// deadline none at all. The HTTP server does the same at the same time.
func (s *Server) windUp(ctx context.Context, g *grpc.Server) error {
	<-ctx.Done()
	s.probe.Close()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		g.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-time.After(s.settings.ShutdownTimeout):
		s.log.Warn("gRPC calls did not finish in time", "timeout", s.settings.ShutdownTimeout)
		g.Stop()
		<-stopped
	}
	return nil
}

func (s *Server) listening(o *operations, d *decisions) {
	a := Addresses{GRPC: d.grpc.Addr(), HTTP: d.http.Addr(), Debug: o.debug.Addr(), Scrape: o.scrapeAddr()}
	s.addresses.Store(&a)
	s.log.Info("listening", "grpc", a.GRPC, "http", a.HTTP, "debug", a.Debug, "scrape", a.Scrape)
	if s.opts.Listening != nil {
		s.opts.Listening(a)
	}
}
