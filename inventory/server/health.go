package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
)

// pingTimeout is how long the database may take to answer a health check.
const pingTimeout = 2 * time.Second

// withHealth adds /healthz, which is neither limited nor logged: whoever asks does so
// every few seconds, and from one address.
func (s *Server) withHealth(api http.Handler) http.Handler {
	health := httpx.Chain(httpx.ResponseTime, httpx.RequestID(nil), httpx.SecurityHeaders(nil))(httpx.HandlerFunc(s.health))
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", health)
	mux.Handle("/", api)
	return mux
}

// health answers 200 as long as the database does, else 503.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	if p, ok := s.store.(inventory.Pinger); ok {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		if err := p.Ping(ctx); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the database does not answer", slog.Any("err", err))
			return &httpx.Error{
				Status: http.StatusServiceUnavailable, Message: "The database does not answer",
				Header: http.Header{"Retry-After": {"5"}}, Err: err,
			}
		}
	}
	return httpx.WriteJSON(w, http.StatusOK, httpx.Confirm("The inventory answers"))
}
