// Package logformat makes the logs of servers, which have one form in all of them (LOG_FORMAT):
//
//	log := logformat.New(os.Stderr, slog.LevelInfo, "json")
//
// In text a record is a line of key=value pairs, those of slog.TextHandler. In JSON it is an object with the members
// @timestamp, level (debug, info, warning, error) and @message, as envoyproxy/ratelimit has them. Durations are texts with
// a unit in both, such as 1.5ms.
package logformat

import (
	"io"
	"log/slog"
	"strings"
)

// New returns a logger that writes to w, in JSON if the format is json.
func New(w io.Writer, level slog.Level, format string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format != "json" {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	names := map[string]string{slog.MessageKey: "@message", slog.TimeKey: "@timestamp"}
	opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String()) // a number of nanoseconds otherwise
		}
		if len(groups) > 0 {
			return a
		}
		if name := names[a.Key]; name != "" {
			a.Key = name
		}
		if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey {
			a.Value = slog.StringValue(strings.ToLower(level.String()))
			if level == slog.LevelWarn {
				a.Value = slog.StringValue("warning")
			}
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}
