package server

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

// serveHTTP serves decisions and health until ctx ends and requests are answered or
// cut off.
func (s *Server) serveHTTP(ctx context.Context, l net.Listener) error {
	json := s.service.JSON()
	if s.tracing != nil {
		json = s.tracing.HTTP(json)
	}
	mux := http.NewServeMux()
	mux.Handle("/json", json)
	mux.Handle("/healthcheck", s.probe)
	err := httpx.Serve(ctx, l, mux, &httpx.ServeOptions{
		DrainTimeout: s.settings.ShutdownTimeout,
		Log:          s.log,
	})
	if err != nil && ctx.Err() != nil {
		s.log.Warn("HTTP requests did not finish in time", "err", err)
		return nil
	}
	return err
}

// serveOperations serves one of the listeners for those who run the server, until ctx
// ends. They are cut off soon: a profile that is being taken may last for minutes.
func (s *Server) serveOperations(ctx context.Context, name string, l net.Listener, h http.Handler) {
	err := httpx.Serve(ctx, l, h, &httpx.ServeOptions{
		WriteTimeout: longestProfile + time.Minute,
		DrainTimeout: time.Second,
		Log:          s.log,
	})
	if err != nil && ctx.Err() == nil {
		s.log.Error("a listener failed; decisions go on without it", "listener", name, "err", err)
	}
}
