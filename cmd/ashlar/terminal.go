package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxLines is the number of requests shown in a second. The others are counted.
const maxLines = 20

// terminal writes log records as lines for people: one for each request, call, reload or problem.
type terminal struct {
	to    io.Writer
	color bool

	mu     sync.Mutex
	second int64       // of the last request
	shown  int         // requests of that second
	more   uint64      // those that were not shown
	timer  *time.Timer // says how many, when the second has ended
}

// newTerminal returns a log for the standard error of a program. It has colors on a terminal, unless
// NO_COLOR is set.
func newTerminal(env cli.Env) *terminal {
	color := cli.Color("auto").On(cli.Env{Environ: env.Environ, Stdout: env.Stderr})
	return &terminal{to: env.Stderr, color: color}
}

// admits reports whether a request gets a line.
func (t *terminal) admits(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if second := now.Unix(); second != t.second {
		t.sum(now)
		t.second, t.shown = second, 0
	}
	if t.shown < maxLines {
		t.shown++
		return true
	}
	if t.more++; t.more == 1 {
		t.timer = time.AfterFunc(now.Truncate(time.Second).Add(time.Second).Sub(now), t.flush)
	}
	return false
}

// flush says how many requests were not shown so far.
func (t *terminal) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum(time.Now())
}

// sum does what flush does. It requires the lock.
func (t *terminal) sum(now time.Time) {
	if t.more == 0 {
		return
	}
	t.timer.Stop()
	t.line(now, "", cli.Paint(t.color, "2", "and "+commas(t.more)+" more"))
	t.more = 0
}

// line writes a line. It requires the lock.
func (t *terminal) line(at time.Time, system, text string) {
	_, _ = fmt.Fprintf(t.to, "%s %s %s\n", cli.Paint(t.color, "2", at.Format(time.TimeOnly)), cli.Paint(t.color, "36", fmt.Sprintf("%-9s", system)), text)
}

// commas formats a number for people.
func commas(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
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
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.attrs = slices.Concat(l.attrs, attrs)
	return &next
}

func (l *lines) WithGroup(string) slog.Handler { return l } // nobody logs in groups

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	values := make(map[string]slog.Value, len(attrs))
	for _, a := range attrs {
		values[a.Key] = a.Value
	}
	text := ""
	switch {
	case r.Message == "request" && values["status"].Kind() == slog.KindInt64:
		if uninteresting(values) || !l.admits(r.Time) {
			return nil
		}
		text = l.request(values)
	case r.Message == "call":
		if !l.admits(r.Time) {
			return nil
		}
		text = l.call(values)
	default:
		text = l.message(r, attrs)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line(r.Time, l.system, text)
	return nil
}

// quiet are the ends of paths whose requests pages repeat by themselves: those that succeed are not shown.
var quiet = []string{"/numbers", "/live", "/rates.json", "/keys", "/console/health", "/healthz", "/healthcheck"}

// uninteresting reports whether a request is not worth a line.
func uninteresting(values map[string]slog.Value) bool {
	path := values["path"].String()
	return values["status"].Int64() < 400 &&
		(strings.Contains(path, "/assets/") || slices.ContainsFunc(quiet, func(end string) bool { return strings.HasSuffix(path, end) }))
}

// request formats the record of an HTTP request.
func (l *lines) request(values map[string]slog.Value) string {
	status := values["status"].Int64()
	text := fmt.Sprintf("%s %-6s %s %s", cli.Paint(l.color, statusColor(status), fmt.Sprint(status)), values["method"], values["path"], l.took(values))
	if failure, ok := values["error"]; ok {
		text += " " + cli.Paint(l.color, statusColor(status), failure.String())
	}
	return text
}

// call formats the record of a decision over gRPC.
func (l *lines) call(values map[string]slog.Value) string {
	if failure, ok := values["error"]; ok {
		return fmt.Sprintf("%s %s %s %s", cli.Paint(l.color, "31", "failed "), values["method"], l.took(values), cli.Paint(l.color, "31", cli.Printable(failure.String())))
	}
	result := cli.Paint(l.color, "32", "allowed")
	if values["code"].String() != ratelimit.OK.String() {
		result = cli.Paint(l.color, "33", "refused")
	}
	return fmt.Sprintf("%s %s %s %s %s", result, values["method"], cli.Printable(values["domain"].String()), cli.Printable(values["descriptors"].String()), l.took(values))
}

// took formats how long a request took.
func (l *lines) took(values map[string]slog.Value) string {
	d := values["duration"]
	if d.Kind() != slog.KindDuration {
		return ""
	}
	return cli.Paint(l.color, "2", d.Duration().Round(10*time.Microsecond).String())
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
