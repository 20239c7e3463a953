package tracing

import (
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// HTTP gives each request that next serves its span. The span is called by the
// method and, if an http.ServeMux has found next or is next, the pattern's path:
// "POST /json". Statuses from 500 up, and panics, are errors of the span.
func (t *Tracing) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := t.propagators.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		if t.skips(ctx) {
			next.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		ctx, span := t.tracer.Start(ctx, spanName(r), trace.WithSpanKind(trace.SpanKindServer))
		r = r.WithContext(ctx)
		if span.IsRecording() {
			record(next, w, r, span)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

// record serves a request and tells its span of it.
func record(next http.Handler, w http.ResponseWriter, r *http.Request, span trace.Span) {
	watched := &statusWriter{ResponseWriter: w}
	finished := false
	defer func() {
		span.SetName(spanName(r)) // by now the pattern is known
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(method(r)), semconv.URLPath(text(r.URL.Path)))
		if route := route(r); route != "" {
			span.SetAttributes(semconv.HTTPRoute(route))
		}
		switch {
		case !finished:
			span.SetStatus(codes.Error, "the handler panicked")
		case watched.code() >= http.StatusInternalServerError:
			span.SetStatus(codes.Error, http.StatusText(watched.code()))
		}
		if finished {
			span.SetAttributes(semconv.HTTPResponseStatusCode(watched.code()))
		}
		span.End()
	}()
	next.ServeHTTP(watched, r)
	finished = true
}

// spanName is made of what clients can't make up.
func spanName(r *http.Request) string {
	name := method(r)
	if name == otherMethod {
		name = "HTTP"
	}
	if route := route(r); route != "" {
		name += " " + route
	}
	return name
}

// otherMethod stands for methods that nobody knows, by the conventions for spans.
const otherMethod = "_OTHER"

func method(r *http.Request) string {
	known := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace,
	}
	if slices.Contains(known, r.Method) {
		return r.Method
	}
	return otherMethod
}

// route is the path of the pattern that r matched: "/json" of "POST example.com/json".
func route(r *http.Request) string {
	slash := strings.IndexByte(r.Pattern, '/')
	if slash < 0 {
		return ""
	}
	return r.Pattern[slash:]
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int // 0 until the final header is on its way
}

// WriteHeader notes the status, unless it only announces another.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends the header first, if that has not been done.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// FlushError sends what is there, for http.ResponseController.
func (w *statusWriter) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is for those who ask for an http.Flusher.
func (w *statusWriter) Flush() { _ = w.FlushError() }

// Unwrap leads http.ResponseController to what lies below.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// code is the status once the handler has returned: one that wrote nothing has
// answered 200.
func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}
