package tracing_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/tracing"
)

func TestSpansArrive(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := receive(t, protocol)
			tr := start(t, 1, &tracing.Options{
				Protocol: protocol, ServiceName: "limits", ServiceNamespace: "edge", ServiceInstanceID: "i-1",
			})
			ctx, endOuter := tr.StartSpan(context.Background(), "decision", func() []slog.Attr {
				return []slog.Attr{slog.String("domain", "d"), slog.String("request string", "...")}
			})
			_, endInner := tr.StartSpan(ctx, "store", nil)
			endInner(errors.New("store is gone"))
			endOuter(nil)
			flush(t, tr)

			outer, inner := r.named(t, "decision"), r.named(t, "store")
			assert.Equal(t, map[string]any{"domain": "d", "request string": "..."}, outer.attrs)
			assert.Empty(t, outer.parent())
			assert.False(t, outer.failed())
			assert.Equal(t, outer.trace(), inner.trace())
			assert.Equal(t, outer.id(), inner.parent())
			assert.True(t, inner.failed())
			assert.Equal(t, "store is gone", inner.GetStatus().GetMessage())
			assert.Equal(t, wire.Span_SPAN_KIND_INTERNAL, inner.GetKind())
			for key, want := range map[string]any{
				"service.name": "limits", "service.namespace": "edge", "service.instance.id": "i-1", "telemetry.sdk.language": "go",
			} {
				assert.Equal(t, want, outer.resource[key], key)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	r := receive(t, "http")
	t.Setenv("OTEL_SERVICE_NAME", "not this one")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=h%2C1,service.name=nor this")
	ids := map[any]bool{}
	for range 2 {
		tr := start(t, 1, nil)
		_, end := tr.StartSpan(context.Background(), "s", nil)
		end(nil)
		flush(t, tr)
	}
	require.Len(t, r.all(), 2, "the default protocol is http")
	for _, s := range r.all() {
		assert.Equal(t, "ashlar", s.resource["service.name"])
		assert.Equal(t, "h,1", s.resource["host.name"])
		assert.NotContains(t, s.resource, "service.namespace")
		id := s.resource["service.instance.id"]
		assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		ids[id] = true
	}
	assert.Len(t, ids, 2, "each instance has an id of its own")
}

func TestNewRefuses(t *testing.T) {
	long := strings.Repeat("n", tracing.MaxText+1)
	for _, c := range []struct {
		name string
		rate float64
		opts tracing.Options
		want []string
	}{
		{"rate below 0", -0.1, tracing.Options{}, []string{"sampling rate of -0.1", "from 0", "to 1"}},
		{"rate above 1", 1.01, tracing.Options{}, []string{"sampling rate of 1.01"}},
		{"rate not a number", math.NaN(), tracing.Options{}, []string{"sampling rate of NaN"}},
		{"rate infinite", math.Inf(1), tracing.Options{}, []string{"sampling rate of +Inf"}},
		{"protocol", 1, tracing.Options{Protocol: "udp"}, []string{`protocol "udp"`, `"http" or "grpc"`}},
		{"protocol in capitals", 1, tracing.Options{Protocol: "HTTP"}, []string{`protocol "HTTP"`}},
		{"name", 1, tracing.Options{ServiceName: "\xff"}, []string{"service.name", "UTF-8"}},
		{"namespace", 1, tracing.Options{ServiceNamespace: long}, []string{"service.namespace", "4096"}},
		{"id", 1, tracing.Options{ServiceInstanceID: "\xc3("}, []string{"service.instance.id"}},
		{"all at once", 2, tracing.Options{Protocol: "x", ServiceName: "\xff"}, []string{"rate", "protocol", "service.name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, err := tracing.New(context.Background(), c.rate, &c.opts)
			require.Error(t, err)
			assert.Nil(t, tr)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestNewFailsIfContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tracing.New(ctx, 1, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNothingIsGlobal(t *testing.T) {
	receive(t, "http")
	provider, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	tr := start(t, 1, nil)
	assert.Equal(t, provider, otel.GetTracerProvider())
	assert.Equal(t, propagator, otel.GetTextMapPropagator())
	_, s := otel.Tracer("other").Start(context.Background(), "s")
	assert.False(t, s.IsRecording(), "the global tracer records")
	flush(t, tr)
}

func TestProviderIsForOthers(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	_, s := tr.Provider().Tracer("other").Start(context.Background(), "by another tracer")
	s.End()
	flush(t, tr)
	r.named(t, "by another tracer")
}

func TestSpansAfterShutdownAreDropped(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	_, endLate := tr.StartSpan(context.Background(), "open", nil)
	flush(t, tr)
	endLate(nil)
	_, end := tr.StartSpan(context.Background(), "late", nil)
	end(nil)
	flush(t, tr)
	assert.Empty(t, r.all())
}

func TestAbsentReceiverDelaysNothing(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			l := listen(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
			require.NoError(t, l.Close())
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			var log logtest.Log
			tr := start(t, 1, &tracing.Options{Protocol: protocol, Log: log.Logger()})
			for range 10_000 { // several times the queue
				_, end := tr.StartSpan(context.Background(), "s", nil)
				end(nil)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			err := tr.Shutdown(ctx)
			assert.Contains(t, log.String(), "trace spans were not delivered")
			if protocol == "grpc" { // which waits for the receiver until ctx ends
				require.ErrorContains(t, err, "spans were not delivered")
			}
		})
	}
}
