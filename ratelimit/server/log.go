package server

import (
	"io"
	"log/slog"
	"os"

	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

// NewLog returns a logger by LOG_LEVEL and LOG_FORMAT that writes to the standard
// error stream.
func NewLog(s *settings.Settings) *slog.Logger { return NewLogTo(os.Stderr, s) }

// NewLogTo is NewLog with another place to write to.
func NewLogTo(w io.Writer, s *settings.Settings) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		level = slog.LevelWarn // settings.Parse has checked it
	}
	opts := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "json" {
		opts.ReplaceAttr = logstashKeys
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// logstashKeys are the names of the specification ("Logs").
func logstashKeys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.MessageKey:
		a.Key = "@message"
	case slog.TimeKey:
		a.Key = "@timestamp"
	}
	return a
}
