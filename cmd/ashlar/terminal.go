package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// terminal writes log records as lines for people: one for each request, reload or problem.
type terminal struct {
	mu    sync.Mutex
	to    io.Writer
	color bool
}

// newTerminal returns a log for the standard error of a program. It has colors on a terminal, unless
// NO_COLOR is set.
func newTerminal(env cli.Env) *terminal {
	color := cli.Color("auto").On(cli.Env{Environ: env.Environ, Stdout: env.Stderr})
	return &terminal{to: env.Stderr, color: color}
}

// log returns the log of a system.
func (t *terminal) log(system string) *slog.Logger {
	return slog.New(&lines{terminal: t, system: system})
}

// lines is a slog.Handler.
type lines struct {
	*terminal
	system string
	attrs  []slog.Attr
	group  string // of further attributes, with a final dot
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.attrs = append(l.attrs[:len(l.attrs):len(l.attrs)], l.named(attrs)...)
	return &next
}

func (l *lines) WithGroup(name string) slog.Handler {
	next := *l
	next.group += name + "."
	return &next
}

func (l *lines) named(attrs []slog.Attr) []slog.Attr {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = slog.Attr{Key: l.group + a.Key, Value: a.Value}
	}
	return all
}

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	attrs := l.attrs[:len(l.attrs):len(l.attrs)]
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, l.named([]slog.Attr{a})...)
		return true
	})
	text := l.message(r, attrs)
	if r.Message == "request" {
		if text = l.request(attrs); text == "" {
			return nil
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.to, "%s %s %s\n", cli.Paint(l.color, "2", r.Time.Format(time.TimeOnly)), cli.Paint(l.color, "36", fmt.Sprintf("%-9s", l.system)), text)
	return err
}

// quiet are the ends of paths whose requests pages repeat by themselves: those that succeed are not shown.
var quiet = []string{"/numbers", "/live", "/rates", "/healthz", "/healthcheck"}

// request formats the record of a request, or returns "" if it is not worth a line.
func (l *lines) request(attrs []slog.Attr) string {
	values := map[string]slog.Value{}
	for _, a := range attrs {
		values[a.Key] = a.Value
	}
	status, path := values["status"].Int64(), values["path"].String()
	if status < 400 {
		if strings.Contains(path, "/assets/") {
			return ""
		}
		for _, end := range quiet {
			if strings.HasSuffix(path, end) {
				return ""
			}
		}
	}
	text := fmt.Sprintf("%s %-6s %s %s", cli.Paint(l.color, statusColor(status), fmt.Sprint(status)), values["method"], path,
		cli.Paint(l.color, "2", values["duration"].Duration().Round(10*time.Microsecond).String()))
	if failure, ok := values["error"]; ok {
		text += " " + cli.Paint(l.color, statusColor(status), failure.String())
	}
	return text
}

func statusColor(status int64) string {
	switch {
	case status >= 500:
		return "31"
	case status >= 400:
		return "33"
	}
	return "32"
}

// message formats any other record.
func (l *lines) message(r slog.Record, attrs []slog.Attr) string {
	color, message := "1", cli.Printable(r.Message)
	switch {
	case r.Level >= slog.LevelError:
		color, message = "31", "ERROR "+message
	case r.Level >= slog.LevelWarn:
		color, message = "33", "WARN "+message
	}
	text := cli.Paint(l.color, color, message)
	for _, a := range attrs {
		text += fmt.Sprintf(" %s=%s", a.Key, cli.Printable(a.Value.Resolve().String()))
	}
	return text
}
