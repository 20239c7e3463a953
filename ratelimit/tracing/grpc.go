package tracing

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc/stats"
)

// GRPC returns the handler that gives each call of a gRPC server its span. It is for
// grpc.StatsHandler. Calls of the health service get none.
func (t *Tracing) GRPC() stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.provider),
		otelgrpc.WithPropagators(t.propagators),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
		otelgrpc.WithFilter(traced),
	)
}

// maxMethod is how long the name of a method may be to become that of a span.
// Clients choose it freely: it is looked at before it is known to exist.
const maxMethod = 256

func traced(info *stats.RPCTagInfo) bool {
	name := info.FullMethodName
	return len(name) <= maxMethod && utf8.ValidString(name) && !strings.HasPrefix(name, "/grpc.health.v1.Health/")
}
