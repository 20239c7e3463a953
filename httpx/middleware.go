package httpx

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Middleware wraps a handler. It is an alias, so that any router accepts it.
type Middleware = func(http.Handler) http.Handler

// around returns middleware that calls f for each request.
func around(f func(next http.Handler, w http.ResponseWriter, r *http.Request)) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(next, w, r) })
	}
}

// Chain combines middleware. The first is the outermost: it sees the request first and the
// response last. Nil is skipped, so that optional middleware can be written in place.
func Chain(middleware ...Middleware) Middleware {
	return func(h http.Handler) http.Handler {
		for _, m := range slices.Backward(middleware) {
			if m != nil {
				h = m(h)
			}
		}
		return h
	}
}

// StandardOptions configures [Standard]. Nil means the defaults.
type StandardOptions struct {
	// Log receives a record of each request. Default, when nil: slog.Default receives panics
	// and responses with a status from 500 only.
	Log *slog.Logger
	// Origins are the web origins that may use the service. Default: the service's own host.
	Origins *Origins
	// Hosts are the hosts that the service answers for. Default: all.
	Hosts *Hosts
	// Clients finds the client address for the log and the budget. Default: the peer of the
	// connection.
	Clients *Clients
	// Budget bounds the memory of requests in progress. Default: a budget of its own with the
	// defaults of NewBudget. Chains of one process may share one.
	Budget *Budget
	// Limit is middleware that limits the request rate; Check is middleware that inspects
	// requests. Either may be nil.
	Limit, Check Middleware
	// MaxBody is the maximum size of a body in bytes. Default: [DefaultBodyLimit].
	MaxBody int64
	// Repeatable are the query parameters that may occur more than once. One with a slash is a path below which all may.
	// Default, when nil: sortby and tags.
	Repeatable []string
	// RequestID, Security and Gzip configure that middleware.
	RequestID *RequestIDOptions
	Security  *SecurityOptions
	Gzip      *GzipOptions
	// CORS has further headers for pages of other origins.
	CORS *CORSOptions
	// RenderError writes the responses to errors. Default: the form of [WriteError].
	RenderError func(w http.ResponseWriter, r *http.Request, e *Error)
}

// Standard returns the middleware chain of this module's services. From the outside, with the
// reason for each position:
//
//	DrainBody        first, to act after the response, which the others observe
//	RenderErrors     before anything that may respond with an error
//	ResponseTime     to measure everything and to be on every response
//	RequestID        before anything that logs or responds with an id
//	AccessLog        outside of everything that responds, to see what was sent
//	SecurityHeaders  before the first middleware that may respond
//	Gzip             outside of Recover, so that the response to a panic is compressed too,
//	                 and inside AccessLog, which counts the bytes sent
//	Recover          outside of everything that may panic
//	CORS             before the first refusal, which a page of an allowed origin must be able
//	                 to read, and before Limit, because preflights are not counted
//	Budget           before anything is buffered, also by the limiter
//	Limit            before expensive work, and before Protect, so that requests it refuses
//	                 are counted
//	Protect          before anything is read: first that of Hosts, then that of Origins
//	SingleParams     before Check, which reads the query
//	BodyLimit        before the first middleware that reads a body
//	Check            last: the handler sees what Check has accepted
//
// Each works alone in any router; a service with other needs composes its own [Chain].
func Standard(opts *StandardOptions) Middleware {
	o := *cmp.Or(opts, &StandardOptions{})
	if o.Repeatable == nil {
		o.Repeatable = []string{"sortby", "tags"}
	}
	if o.Origins == nil {
		o.Origins, _ = NewOrigins(nil) // cannot fail for an empty list
	}
	o.Budget = cmp.Or(o.Budget, NewBudget(nil))
	var hosts Middleware
	if o.Hosts != nil {
		hosts = o.Hosts.Protect
	}
	return Chain(
		DrainBody,
		RenderErrors(o.RenderError),
		ResponseTime,
		RequestID(o.RequestID),
		AccessLog(o.Log, &AccessLogOptions{Clients: o.Clients, OnlyFailures: o.Log == nil}),
		SecurityHeaders(o.Security),
		Gzip(o.Gzip),
		Recover(o.Log),
		o.Origins.corsWith(o.CORS),
		o.Budget.Middleware(o.Clients),
		o.Limit,
		hosts,
		o.Origins.Protect,
		SingleParams(o.Repeatable...),
		BodyLimit(o.MaxBody),
		o.Check,
	)
}

// ResponseTime is middleware that sets X-Response-Time on every response: the time until the
// header was sent, in milliseconds, such as "0.412ms".
func ResponseTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := wrap(w)
		own.start = time.Now()
		next.ServeHTTP(own, r)
		if own.status == 0 {
			own.setResponseTime() // net/http sends the header now
		}
	})
}

// RequestIDOptions configures [RequestID]. Nil means the defaults.
type RequestIDOptions struct {
	// New returns a new id. Default: 128 random bits as 26 letters and digits.
	New func() string
}

// maxRequestID is the maximum length of a client's request id in bytes.
const maxRequestID = 128

type requestIDKey struct{}

// RequestID is middleware that gives each request an id: a valid X-Request-ID header of the
// request, or a new id. It is returned in X-Request-ID, shown in error bodies and logged. Valid
// ids have 1 to 128 letters, digits and characters of "._:-", because they end up in logs and
// in the headers of other systems.
//
// A request that has an id from an outer RequestID keeps it.
func RequestID(opts *RequestIDOptions) Middleware {
	newID := rand.Text
	if opts != nil && opts.New != nil {
		newID = opts.New
	}
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		id := RequestIDFrom(r.Context())
		if id == "" {
			if id = r.Header.Get("X-Request-Id"); !validRequestID(id) {
				id = newID()
			}
			r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
		}
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r)
	})
}

// RequestIDFrom returns the id of the request that the context belongs to, or "" without
// [RequestID].
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// WithRequestID returns the context of a request whose id is another one, such as that of several requests which are one change
// to whoever sends them. An invalid id, see [RequestID], leaves it as it is.
func WithRequestID(ctx context.Context, id string) context.Context {
	if !validRequestID(id) {
		return ctx
	}
	return context.WithValue(ctx, requestIDKey{}, id)
}

func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(c rune) bool {
		letterOrDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letterOrDigit && !strings.ContainsRune("._:-", c)
	})
}

// Recover is middleware that responds to a panic with a 500 and logs it with its stack. A nil
// log means slog.Default. If the response has begun, the connection is closed, so that the
// client does not take half a response for a whole one. http.ErrAbortHandler is passed on.
func Recover(log *slog.Logger) Middleware {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		own := wrap(w)
		defer func() {
			if value := recover(); value != nil {
				handlePanic(own, r, log, value)
			}
		}()
		next.ServeHTTP(own, r)
	})
}

func handlePanic(w *writer, r *http.Request, log *slog.Logger, value any) {
	if value == http.ErrAbortHandler {
		panic(value)
	}
	log = cmp.Or(log, slog.Default())
	log.ErrorContext(r.Context(), "panic", "value", loggable(fmt.Sprint(value)), "method", loggable(r.Method),
		"path", loggedPath(r), "request_id", RequestIDFrom(r.Context()), "stack", string(debug.Stack()))
	sent := w.status != 0
	WriteError(w, r, fmt.Errorf("panic: %v", value))
	if sent {
		panic(http.ErrAbortHandler)
	}
}

// SecurityOptions configures [SecurityHeaders]. Nil means the defaults.
type SecurityOptions struct {
	// ContentSecurityPolicy for responses that set none. Default: that of an API, whose
	// responses load nothing and cannot be framed.
	ContentSecurityPolicy string
	// OverTLS reports whether the client reached the service over TLS; then
	// Strict-Transport-Security is sent. Default: whether this connection uses TLS, which
	// is wrong behind a proxy that terminates it.
	OverTLS func(*http.Request) bool
}

const (
	apiPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	oneYear   = "max-age=31536000; includeSubDomains"
)

// SecurityHeaders is middleware that sets these headers before the handler runs, so that the
// handler may change them:
//
//	Content-Security-Policy, X-Frame-Options      load nothing, no framing
//	X-Content-Type-Options: nosniff
//	Referrer-Policy: no-referrer
//	Permissions-Policy                            no camera, microphone, location
//	Cross-Origin-Opener/Resource-Policy           same-origin
//	X-Permitted-Cross-Domain-Policies: none
//	Cache-Control: no-store
//	Strict-Transport-Security                     over TLS only
//
// X-XSS-Protection is not sent, because browsers no longer have what it controlled.
func SecurityHeaders(opts *SecurityOptions) Middleware {
	o := *cmp.Or(opts, &SecurityOptions{})
	o.ContentSecurityPolicy = cmp.Or(o.ContentSecurityPolicy, apiPolicy)
	if o.OverTLS == nil {
		o.OverTLS = func(r *http.Request) bool { return r.TLS != nil }
	}
	// The values are shared by all responses. Their capacity is 1, so that adding to one copies it.
	headers := []struct {
		canonical string
		values    []string
	}{
		{"Cache-Control", []string{"no-store"}},
		{"Content-Security-Policy", []string{o.ContentSecurityPolicy}},
		{"Cross-Origin-Opener-Policy", []string{"same-origin"}},
		{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
		{"Permissions-Policy", []string{"camera=(), geolocation=(), microphone=()"}},
		{"Referrer-Policy", []string{"no-referrer"}},
		{"X-Content-Type-Options", []string{"nosniff"}},
		{"X-Frame-Options", []string{"DENY"}},
		{"X-Permitted-Cross-Domain-Policies", []string{"none"}},
	}
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for i := range headers {
			h[headers[i].canonical] = headers[i].values
		}
		if o.OverTLS(r) {
			h.Set("Strict-Transport-Security", oneYear)
		}
		next.ServeHTTP(w, r)
	})
}

// DefaultBodyLimit is the default maximum size of a body: 1 MiB.
const DefaultBodyLimit = 1 << 20

// BodyLimit is middleware that responds with 413 to a request with a Content-Length above limit
// bytes. Reading a longer body fails with an error that [WriteError] renders as 413 too. 0 means
// [DefaultBodyLimit].
func BodyLimit(limit int64) Middleware {
	limit = cmp.Or(limit, DefaultBodyLimit)
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > limit {
			w.Header().Set("Connection", "close") // do not read the rest
			WriteError(w, r, tooLarge(limit))
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			r = withBody(r, http.MaxBytesReader(w, r.Body, limit))
		}
		next.ServeHTTP(w, r)
	})
}

// maxParams is the maximum number of query parameters.
const maxParams = 1000

// SingleParams is middleware that responds with 400 to a query in which a parameter occurs more
// than once, unless it or the beginning of the path is named here, and to a malformed query. Programs differ in which of two
// values they use, so one of them would be ignored.
func SingleParams(repeatable ...string) Middleware {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			if err := checkParams(r.URL, repeatable); err != nil {
				WriteError(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// checkParams reports the first repeated parameter in the order of the query.
func checkParams(u *url.URL, repeatable []string) error {
	query := u.RawQuery
	below := func(name string) bool { return strings.HasPrefix(name, "/") && strings.HasPrefix(u.Path, name) }
	if strings.Count(query, "&") >= maxParams {
		return Errorf(http.StatusBadRequest, "Too many query parameters: send at most %d", maxParams)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Errorf(http.StatusBadRequest,
			"Malformed query string: write %%25 for %%, %%26 for & and %%3B for ; within a value")
	}
	for pair := range strings.SplitSeq(query, "&") {
		raw, _, _ := strings.Cut(pair, "=")
		name, _ := url.QueryUnescape(raw) // ParseQuery has accepted it
		if len(values[name]) > 1 && !slices.Contains(repeatable, name) && !slices.ContainsFunc(repeatable, below) {
			return repeatedParameter(name)
		}
	}
	return nil
}
