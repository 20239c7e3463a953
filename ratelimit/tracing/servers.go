package tracing

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/propagators/b3"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"
)

// GRPC returns the handler that starts a span for each call of a gRPC server, for
// grpc.StatsHandler. Calls of the health service have none.
func (t *Tracing) GRPC() stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.provider),
		otelgrpc.WithPropagators(t.propagators),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
		otelgrpc.WithFilter(traced),
	)
}

// maxMethod limits the name of a method that becomes the name of a span. Clients choose
// it freely: it is known before the method is found.
const maxMethod = 256

func traced(info *stats.RPCTagInfo) bool {
	name := info.FullMethodName
	return len(name) <= maxMethod && utf8.ValidString(name) && !strings.HasPrefix(name, "/grpc.health.v1.Health/")
}

// HTTP starts a span for each request that next serves. The name of the span is the
// method and, if next is or was found by an http.ServeMux, the path of the pattern:
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

// record serves a request and ends its span.
func record(next http.Handler, w http.ResponseWriter, r *http.Request, span trace.Span) {
	sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	finished := false
	defer func() {
		span.SetName(spanName(r)) // now the pattern is known
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(method(r)), semconv.URLPath(limited(r.URL.Path)))
		if route := route(r); route != "" {
			span.SetAttributes(semconv.HTTPRoute(route))
		}
		switch {
		case !finished:
			span.SetStatus(codes.Error, "the handler panicked")
		case sw.status >= http.StatusInternalServerError:
			span.SetStatus(codes.Error, http.StatusText(sw.status))
		}
		if finished {
			span.SetAttributes(semconv.HTTPResponseStatusCode(sw.status))
		}
		span.End()
	}()
	next.ServeHTTP(sw, r)
	finished = true
}

// spanName contains nothing that clients choose freely.
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

// otherMethod stands for unknown methods in the semantic conventions.
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

// route returns the path of the pattern that r matched: "/json" of "POST example.com/json".
func route(r *http.Request) string {
	if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 {
		return r.Pattern[slash:]
	}
	return ""
}

// statusWriter records the status of a response, which is 200 if none was written.
type statusWriter struct {
	http.ResponseWriter
	status int
	final  bool // the header was written
}

// WriteHeader records the status, unless it is informational.
func (w *statusWriter) WriteHeader(status int) {
	if !w.final && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status, w.final = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes the header first if it was not written.
func (w *statusWriter) Write(p []byte) (int, error) {
	w.final = true
	return w.ResponseWriter.Write(p)
}

// FlushError implements the interface that http.ResponseController uses.
func (w *statusWriter) FlushError() error {
	w.final = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (w *statusWriter) Flush() { _ = w.FlushError() }

// Unwrap returns the underlying writer for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// propagators read in this order; later ones take precedence.
func propagators() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(b3.New(), propagation.TraceContext{}, quietBaggage{})
}

// quietBaggage is the baggage propagator, except that it does not report malformed
// headers of clients to the library's global handler. The well-formed members of such a
// header stay unchanged, like in the library.
type quietBaggage struct{ propagation.Baggage }

// Extract reads the header baggage.
func (quietBaggage) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	const header = "baggage"
	value := carrier.Get(header)
	if several, ok := carrier.(propagation.ValuesGetter); ok {
		value = strings.Join(several.Values(header), ",")
	}
	if value == "" {
		return ctx
	}
	bag, _ := baggage.Parse(value) // rejects what is longer than 8,192 bytes
	if bag.Len() == 0 {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, bag)
}
