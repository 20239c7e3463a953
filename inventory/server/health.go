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
