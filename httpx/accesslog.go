package httpx

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// AccessLogOptions are the choices of [AccessLog]. Nil means the defaults.
type AccessLogOptions struct {
	// Clients says who a request comes from. Default: the peer of the connection.
	Clients *Clients
	// OnlyFailures leaves out all answers but those with a status from 500.
	OnlyFailures bool
}

// AccessLog is a layer that writes one record for each request when it is answered:
// method, path, status, bytes of the body as sent, duration, client, request_id and,
// if there was one, the error with its cause. The level is Error from status 500,
// else Info. A nil log is slog.Default.
//
// Values that a client chose are escaped and cut before they reach the log, so that
// no log handler can be made to begin a new line. The query is left out: what is
// looked for may be private.
func AccessLog(log *slog.Logger, opts *AccessLogOptions) Middleware {
	o := AccessLogOptions{}
	if opts != nil {
		o = *opts
	}
	if log == nil {
		log = slog.Default()
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			own, start := watch(w), time.Now()
			// What it amounts to when a panic comes through, whatever was sent before.
			status := http.StatusInternalServerError
			defer func() { o.record(log, own, r, status, time.Since(start)) }()
			next.ServeHTTP(own, r)
			status = own.finished()
		})
	}
}

func (o *AccessLogOptions) record(log *slog.Logger, w *writer, r *http.Request, status int, took time.Duration) {
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	} else if o.OnlyFailures {
		return
	}
	if !log.Enabled(r.Context(), level) {
		return
	}
	attrs := [8]slog.Attr{
		slog.String("method", loggable(r.Method)),
		slog.String("path", loggedPath(r)),
		slog.Int("status", status),
		slog.Int64("bytes", sentBytes(w, r)),
		slog.Duration("duration", took),
		slog.String("client", o.client(r)),
		slog.String("request_id", RequestIDFrom(r.Context())),
	}
	n := len(attrs) - 1
	if w.err != nil {
		attrs[n] = slog.String("error", loggable(w.err.Error()))
		n++
	}
	// Made by hand, because LogAttrs looks up the line it is called from, which is always this.
	rec := slog.NewRecord(time.Now(), level, "request", 0)
	rec.AddAttrs(attrs[:n]...)
	_ = log.Handler().Handle(r.Context(), rec)
}

// sentBytes is how much of a body was sent: for HEAD nothing, whatever was written.
func sentBytes(w *writer, r *http.Request) int64 {
	if r.Method == http.MethodHead {
		return 0
	}
	return w.bytes
}

func (o *AccessLogOptions) client(r *http.Request) string {
	if addr := o.Clients.Addr(r); addr.IsValid() {
		return addr.String()
	}
	return loggable(r.RemoteAddr)
}

// maxLogged is how many bytes of one value reach a log.
const maxLogged = 1024

// loggedPath is the path as it stands in a request line, where control characters
// and blanks are escaped.
func loggedPath(r *http.Request) string { return loggable(r.URL.EscapedPath()) }

// loggable escapes what is not printable and cuts what is long.
func loggable(s string) string {
	if len(s) > maxLogged {
		s = s[:maxLogged] + "..."
	}
	if strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0 {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
