package tracing_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/internal/tracing"
)

// stalled is a receiver that accepts requests and never responds.
type stalled struct {
	collector.UnimplementedTraceServiceServer
	received chan struct{} // receives a value for each request
	canceled chan struct{} // receives a value for each request that the client cancelled
}

// ServeHTTP blocks until the client cancels.
func (h *stalled) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then the server notices a disconnect
	h.block(r.Context())
}

// Export blocks until the client cancels.
func (h *stalled) Export(ctx context.Context, _ *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	h.block(ctx)
	return nil, ctx.Err()
}

func (h *stalled) block(ctx context.Context) {
	note(h.received)
	<-ctx.Done()
	note(h.canceled)
}

// note sends a value unless the channel is full.
func note(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func stall(t *testing.T, protocol string) *stalled {
	t.Helper()
	h := &stalled{received: make(chan struct{}, 100), canceled: make(chan struct{}, 100)}
	if protocol == "http" {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
		return h
	}
	g := grpc.NewServer()
	collector.RegisterTraceServiceServer(g, h)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+serveGRPC(t, g))
	return h
}

func TestShutdownAbortsStalledExport(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			h := stall(t, protocol)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			tr := start(t, 1, &tracing.Options{Protocol: protocol})
			for range 2000 { // more than one batch
				_, end := tr.StartSpan(context.Background(), "s", nil)
				end(nil)
			}
			<-h.received
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := tr.Shutdown(ctx)
			assert.Less(t, time.Since(began), 8*time.Second, "the export went on until its own timeout")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Regexp(t, `\d+ spans`, err.Error())
		})
	}
}

func TestShutdownAfterContextHasEnded(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			stall(t, protocol)
			tr := start(t, 1, &tracing.Options{Protocol: protocol})
			_, end := tr.StartSpan(context.Background(), "s", nil)
			end(nil)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			err := tr.Shutdown(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "1 spans were not delivered")
			assert.Equal(t, err, tr.Shutdown(context.Background()), "a second call")
		})
	}
}

func TestShutdownOfNothing(t *testing.T) {
	stall(t, "http")
	tr := start(t, 1, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { assert.NoError(t, tr.Shutdown(context.Background())) })
	}
	wg.Wait()
}

// A full queue drops spans and does not block.
func TestFullQueueDoesNotBlock(t *testing.T) {
	h := stall(t, "http")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "2")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	tr := start(t, 1, nil)
	_, end := tr.StartSpan(context.Background(), "s", nil)
	end(nil)
	<-h.received // from here on nothing leaves the queue
	for range 100 {
		_, end := tr.StartSpan(context.Background(), "s", nil)
		end(nil)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, tr.Shutdown(ctx), "3 spans", "one on its way, two in the queue")
}
