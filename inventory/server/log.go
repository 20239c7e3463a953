package server

import (
	"io"
	"log/slog"
)

// NewLog returns a logger with LOG_LEVEL and LOG_FORMAT that writes to w.
func NewLog(w io.Writer, s *Settings) *slog.Logger {
	opts := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
