package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// spanReceiver receives OTLP spans over HTTP.
type spanReceiver struct {
	mu      sync.Mutex
	spans   []*trace.Span
	service string
}

func (r *spanReceiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	in := &collector.ExportTraceServiceRequest{}
	if err != nil || proto.Unmarshal(body, in) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range in.GetResourceSpans() {
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				r.service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
}

// Calls over gRPC and HTTP produce spans that are children of the caller's span.
func TestTracing(t *testing.T) {
	receiver := &spanReceiver{}
	backend := httptest.NewServer(receiver)
	defer backend.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.URL)
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"TRACING_ENABLED": "true", "TRACING_SERVICE_NAME": "limits",
	}).start()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent)
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(ctx, ask("d", "bob"))
	require.NoError(t, err)
	req, err := http.NewRequest("POST", "http://"+r.addr.HTTP.String()+"/json", strings.NewReader(`{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"carol"}]}]}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("b3", "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	r.end() // sends what has not been sent

	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	require.Equal(t, "limits", receiver.service)
	byTrace := map[string][]string{}
	for _, s := range receiver.spans {
		byTrace[string(s.GetTraceId()[:2])] = append(byTrace[string(s.GetTraceId()[:2])], s.GetName())
		if s.GetName() != "ShouldRateLimit Execution" {
			continue
		}
		attrs := map[string]string{}
		for _, a := range s.GetAttributes() {
			attrs[a.GetKey()] = a.GetValue().GetStringValue()
		}
		require.Equal(t, "d", attrs["domain"])
		require.Contains(t, attrs["request string"], `entries:{key:"client" value:"`)
	}
	require.ElementsMatch(t, []string{
		"envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", "ShouldRateLimit Execution",
	}, byTrace["\x0a\xf7"], "the trace of the gRPC caller")
	require.ElementsMatch(t, []string{
		"POST /json", "NewJsonHandler Remaining Execution", "ShouldRateLimit Execution",
	}, byTrace["\x80\xf1"], "the trace of the HTTP caller")
}
