package server

import (
	"io"
	"log/slog"
)

// NewLog makes a logger that writes to w, by LOG_LEVEL and LOG_FORMAT.
func NewLog(w io.Writer, s *Settings) *slog.Logger {
	opts := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
