package tracing_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/ashlar-go/ashlar/internal/tracing"
)

// within is a gRPC service whose calls start a span called "within". It uses the stubs
// of the collector.
type within struct {
	collector.UnimplementedTraceServiceServer
	tracing *tracing.Tracing
}

// Export starts the span.
func (s *within) Export(ctx context.Context, _ *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	_, end := s.tracing.StartSpan(ctx, "within", nil)
	end(nil)
	return &collector.ExportTraceServiceResponse{}, nil
}

// dial serves with the handler of tr and returns a connection, and a function that ends
// both: a call's span may end after its client has received the response.
func dial(t *testing.T, tr *tracing.Tracing) (*grpc.ClientConn, func()) {
	t.Helper()
	g := grpc.NewServer(grpc.StatsHandler(tr.GRPC()))
	collector.RegisterTraceServiceServer(g, &within{tracing: tr})
	healthv1.RegisterHealthServer(g, health.NewServer())
	conn, err := grpc.NewClient(serveGRPC(t, g), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	return conn, func() {
		require.NoError(t, conn.Close())
		g.GracefulStop()
	}
}

const exportSpan = "opentelemetry.proto.collector.trace.v1.TraceService/Export"

func TestGRPCContinuesTheCallersTrace(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t, "grpc")
			tr := start(t, 1, &tracing.Options{Protocol: "grpc"})
			conn, stop := dial(t, tr)
			ctx := metadata.NewOutgoingContext(context.Background(), metadata.New(c.headers))
			_, err := collector.NewTraceServiceClient(conn).Export(ctx, &collector.ExportTraceServiceRequest{})
			require.NoError(t, err)
			stop()
			flush(t, tr)
			checkContinued(t, r, exportSpan, c.trace, c.sampled)
			if c.sampled {
				assert.Equal(t, wire.Span_SPAN_KIND_SERVER, r.named(t, exportSpan).GetKind())
			}
		})
	}
}

func TestGRPCCallsWithoutSpans(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	conn, stop := dial(t, tr)
	ctx := context.Background()
	_, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	for _, method := range []string{"/service/" + strings.Repeat("m", 1000), "/service/\xff"} {
		in := &collector.ExportTraceServiceRequest{}
		require.Error(t, conn.Invoke(ctx, method, in, &collector.ExportTraceServiceResponse{}))
	}
	_, err = collector.NewTraceServiceClient(conn).Export(ctx, &collector.ExportTraceServiceRequest{})
	require.NoError(t, err)
	stop()
	flush(t, tr)
	assert.Len(t, r.all(), 2)
	r.named(t, exportSpan)
	r.named(t, "within")
}
