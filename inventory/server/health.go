package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// pingTimeout limits a health check of the database.
const pingTimeout = 2 * time.Second

// withHealth adds the probes, without rate limit and access log: they come every few seconds from one address.
func (s *Server) withHealth(api http.Handler) http.Handler {
	probes := s.probes()
	// Not a http.ServeMux, which would redirect paths such as //x without the headers of api.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if probe := probes[r.URL.Path]; probe != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			probe.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// probes returns the handlers of the probes by their paths.
func (s *Server) probes() map[string]http.Handler {
	chain := httpx.Chain(httpx.ResponseTime, httpx.RequestID(nil), httpx.SecurityHeaders(nil))
	ready := chain(httpx.HandlerFunc(s.health))
	return map[string]http.Handler{"/healthz": ready, "/readyz": ready, "/livez": chain(httpx.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) error {
			return httpx.WriteJSON(w, http.StatusOK, httpx.Confirm("The process is alive"))
		}))}
}

// health responds 200 if the database responds and the server is not shutting down, and 503 otherwise.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	if s.draining.Load() {
		return &httpx.Error{Status: http.StatusServiceUnavailable, Message: "The server is shutting down", Header: http.Header{"Retry-After": {"5"}}}
	}
	if p, ok := s.store.(records.Pinger); ok {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		if err := p.Ping(ctx); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the database does not respond", slog.Any("err", err))
			message := "The database does not respond"
			if known, ok := errors.AsType[*records.Error](err); ok {
				message = known.Message // may say more, such as that the database is damaged
			}
			return &httpx.Error{
				Status: http.StatusServiceUnavailable, Message: message,
				Header: http.Header{"Retry-After": {"5"}}, Err: err,
			}
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, httpx.Confirm("The inventory is healthy"))
}
