package tracing_test

import (
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/internal/tracing"
)

func TestMain(m *testing.M) {
	// The tests must not depend on the environment that they are run in.
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "OTEL_") {
			os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

// protocols lists the values of Options.Protocol.
var protocols = []string{"http", "grpc"}

// span is a span that has arrived.
type span struct {
	*wire.Span
	attrs    map[string]any
	resource map[string]any
}

func (s span) trace() string  { return hex.EncodeToString(s.GetTraceId()) }
func (s span) parent() string { return hex.EncodeToString(s.GetParentSpanId()) }
func (s span) id() string     { return hex.EncodeToString(s.GetSpanId()) }
func (s span) failed() bool   { return s.GetStatus().GetCode() == wire.Status_STATUS_CODE_ERROR }

// receiver is a real OTLP receiver, of one protocol.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	addr string

	mu      sync.Mutex
	spans   []span
	headers []map[string][]string // by request, names in lower case
	batches int
	refuse  string // the response instead of accepting spans
	types   []string
}

// accept handles one request.
func (r *receiver) accept(in *collector.ExportTraceServiceRequest, headers map[string][]string) (refuse string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
	r.headers = append(r.headers, headers)
	if r.refuse != "" {
		return r.refuse
	}
	for _, rs := range in.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				r.spans = append(r.spans, span{s, values(s.GetAttributes()), values(rs.GetResource().GetAttributes())})
			}
		}
	}
	return ""
}

// values returns attributes by name.
func values(list []*common.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			m[kv.GetKey()] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			m[kv.GetKey()] = v.BoolValue
		default:
			m[kv.GetKey()] = kv.GetValue()
		}
	}
	return m
}

func (r *receiver) setRefuse(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = text
}

func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.batches
}

// all returns the spans that have arrived.
func (r *receiver) all() []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]span(nil), r.spans...)
}

// named returns the only span of that name.
func (r *receiver) named(t *testing.T, name string) span {
	t.Helper()
	var found []span
	for _, s := range r.all() {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, "spans called %q", name)
	return found[0]
}

// ServeHTTP receives over HTTP.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || req.Method != http.MethodPost || req.URL.Path != "/v1/traces" {
		http.Error(w, "POST /v1/traces", http.StatusNotFound)
		return
	}
	in := &collector.ExportTraceServiceRequest{}
	r.mu.Lock()
	r.types = append(r.types, req.Header.Get("Content-Type"))
	r.mu.Unlock()
	if req.Header.Get("Content-Type") == "application/x-protobuf" {
		if err := proto.Unmarshal(body, in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	headers := map[string][]string{}
	for name, value := range req.Header {
		headers[strings.ToLower(name)] = value
	}
	if refuse := r.accept(in, headers); refuse != "" {
		http.Error(w, refuse, http.StatusBadRequest)
	}
}

// Export receives over gRPC.
func (r *receiver) Export(ctx context.Context, in *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if refuse := r.accept(in, md); refuse != "" {
		return nil, &refusal{refuse}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// receive starts a receiver and sets the endpoint in the environment.
func receive(t testing.TB, protocol string) *receiver {
	t.Helper()
	r := &receiver{}
	if protocol == "http" {
		s := httptest.NewServer(r)
		t.Cleanup(s.Close)
		r.addr = s.Listener.Addr().String()
	} else {
		g := grpc.NewServer()
		collector.RegisterTraceServiceServer(g, r)
		r.addr = serveGRPC(t, g)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+r.addr)
	return r
}

// serveGRPC serves on a free port until the test ends.
func serveGRPC(t testing.TB, g *grpc.Server) string {
	t.Helper()
	l := listen(t)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		<-served
	})
	return l.Addr().String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// start returns a Tracing that is shut down at the end of the test, if not before.
func start(t testing.TB, rate float64, opts *tracing.Options) *tracing.Tracing {
	t.Helper()
	if opts == nil {
		opts = &tracing.Options{}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	tr, err := tracing.New(context.Background(), rate, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = tr.Shutdown(ctx) // most were shut down and checked before
	})
	return tr
}

// flush shuts tr down, so that all spans have arrived.
func flush(t testing.TB, tr *tracing.Tracing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for a busy machine
	defer cancel()
	require.NoError(t, tr.Shutdown(ctx))
}
