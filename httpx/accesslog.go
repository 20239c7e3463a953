package httpx

import (
	"cmp"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// AccessLogOptions configures [AccessLog]. Nil means the defaults.
type AccessLogOptions struct {
	// Clients finds the client address. Default: the peer of the connection.
	Clients *Clients
	// OnlyFailures logs responses with a status from 500 only.
	OnlyFailures bool
}

// AccessLog is middleware that logs one record for each response: method, path, status, bytes
// of the body as sent, duration, client, request_id and, if there was one, the error with its
// cause, and what [LogAttrs] adds. The level is Error from status 500, else Info. A nil log means slog.Default.
//
// Values chosen by a client are escaped and truncated, so that no log handler can be made to
// begin a new line. The query is left out, because search terms may be private.
func AccessLog(log *slog.Logger, opts *AccessLogOptions) Middleware {
	o := *cmp.Or(opts, &AccessLogOptions{})
	log = cmp.Or(log, slog.Default())
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		own, start := wrap(w), time.Now()
		status := http.StatusInternalServerError // for a panic, whatever was sent before it
		defer func() { o.record(log, own, r, status, time.Since(start)) }()
		next.ServeHTTP(own, r)
		if status = own.status; status == 0 {
			status = http.StatusOK // net/http responds like this if the handler wrote nothing
		}
	})
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
	client, bytes := loggable(r.RemoteAddr), w.bytes
	if addr := o.Clients.Addr(r); addr.IsValid() {
		client = addr.String()
	}
	if r.Method == http.MethodHead {
		bytes = 0 // net/http drops the body
	}
	attrs := [8]slog.Attr{
		slog.String("method", loggable(r.Method)),
		slog.String("path", loggedPath(r)),
		slog.Int("status", status),
		slog.Int64("bytes", bytes),
		slog.Duration("duration", took),
		slog.String("client", client),
		slog.String("request_id", RequestIDFrom(r.Context())),
	}
	n := 7
	if w.err != nil {
		attrs[n] = slog.String("error", loggable(w.err.Error()))
		n++
	}
	// Not LogAttrs, which would look up the source line: it is always this one.
	rec := slog.NewRecord(time.Now(), level, "request", 0)
	rec.AddAttrs(attrs[:n]...)
	rec.AddAttrs(w.attrs...)
	_ = log.Handler().Handle(r.Context(), rec)
}

// LogAttrs adds attributes to the record of [AccessLog] about the request that w responds to, such as its route or its
// user. Strings are escaped and truncated. Without AccessLog around the handler it does nothing.
func LogAttrs(w http.ResponseWriter, attrs ...slog.Attr) {
	for own := range writers(w) {
		for _, a := range attrs {
			if a.Value.Kind() == slog.KindString {
				a.Value = slog.StringValue(loggable(a.Value.String()))
			}
			own.attrs = append(own.attrs, a)
		}
	}
}

const (
	maxLogged  = 1024 // bytes of one value in a log record
	maxPrinted = 64   // bytes of a client's value in an error message
)

// loggedPath returns the path as it stands in a request line, where control characters and
// spaces are escaped.
func loggedPath(r *http.Request) string { return loggable(r.URL.EscapedPath()) }

// loggable truncates a string and escapes what is not printable.
func loggable(s string) string {
	if len(s) > maxLogged {
		s = printable.Cut(s, maxLogged) + "..."
	}
	if strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0 {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// writer observes a response. Neighbouring middleware shares one.
type writer struct {
	http.ResponseWriter
	start  time.Time   // set by ResponseTime
	status int         // 0 until the final header is sent
	bytes  int64       // of the body
	err    error       // passed to WriteError
	attrs  []slog.Attr // of LogAttrs

	reserved *reservation // set by Budget
}

// wrap returns w if it is a writer, or a new one around it.
func wrap(w http.ResponseWriter) *writer {
	if own, ok := w.(*writer); ok {
		return own
	}
	return &writer{ResponseWriter: w}
}

// WriteHeader records the status, unless it is informational.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
		w.setResponseTime()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts bytes, and sends the header first if necessary.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// FlushError sends buffered data, for http.ResponseController.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// setResponseTime sets X-Response-Time in ASCII: the unit of time.Duration's own form may be µs.
func (w *writer) setResponseTime() {
	if !w.start.IsZero() {
		ms := float64(time.Since(w.start)) / float64(time.Millisecond)
		w.Header().Set("X-Response-Time", strconv.FormatFloat(ms, 'f', 3, 64)+"ms")
	}
}

// recordError gives an error to all writers around a response. It reports whether one of them
// has sent the header already.
func recordError(w http.ResponseWriter, err error) (sent bool) {
	for own := range writers(w) {
		own.err = err
		sent = sent || own.status != 0
	}
	return sent
}

// writers returns the writers of this package that w wraps, from the outside in.
func writers(w http.ResponseWriter) iter.Seq[*writer] {
	return func(yield func(*writer) bool) {
		for w != nil {
			if own, ok := w.(*writer); ok && !yield(own) {
				return
			}
			outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
			if !ok {
				return
			}
			w = outer.Unwrap()
		}
	}
}
