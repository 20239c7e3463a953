package tracing

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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
	noted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		finished := false
		defer func() {
			if !finished {
				trace.SpanFromContext(r.Context()).SetStatus(codes.Error, "the handler panicked")
			}
		}()
		next.ServeHTTP(w, r)
		finished = true
	})
	return otelhttp.NewHandler(noted, "",
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(t.propagators),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()),
	)
}

// Name names the span of the request that ctx belongs to after its route, such as "GET /devices/{id}", for a handler
// that is not found by an http.ServeMux. Without a span it does nothing.
func Name(ctx context.Context, method, route string) {
	span := trace.SpanFromContext(ctx)
	span.SetName(method + " " + route)
	span.SetAttributes(attribute.String("http.route", route))
}

// attributeLimiter cuts what clients choose in the attributes of a new span, and makes it valid UTF-8.
type attributeLimiter struct{}

// OnStart implements sdktrace.SpanProcessor.
func (attributeLimiter) OnStart(_ context.Context, span sdktrace.ReadWriteSpan) {
	for _, a := range span.Attributes() {
		if text := a.Value.String(); a.Value.Type() == attribute.STRING && limited(text) != text {
			span.SetAttributes(a.Key.String(limited(text)))
		}
	}
}

// OnEnd, Shutdown and ForceFlush implement sdktrace.SpanProcessor.
func (attributeLimiter) OnEnd(sdktrace.ReadOnlySpan)      {}
func (attributeLimiter) Shutdown(context.Context) error   { return nil }
func (attributeLimiter) ForceFlush(context.Context) error { return nil }
