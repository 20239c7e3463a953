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

	"github.com/ashlar-go/ashlar/ratelimit/tracing"
)

// hanging is a receiver that takes requests and never answers.
type hanging struct {
	collector.UnimplementedTraceServiceServer
	asked chan struct{} // gets a value for each request
	left  chan struct{} // gets one for each that the client has given up
}

// ServeHTTP hangs until the client gives up.
func (h *hanging) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then the server sees the client leave
	h.hang(r.Context())
}

// Export hangs until the client gives up.
func (h *hanging) Export(ctx context.Context, _ *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	h.hang(ctx)
	return nil, ctx.Err()
}

func (h *hanging) hang(ctx context.Context) {
	note(h.asked)
	<-ctx.Done()
	note(h.left)
}

// note adds a value unless there are plenty.
func note(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func hang(t *testing.T, protocol string) *hanging {
	t.Helper()
	h := &hanging{asked: make(chan struct{}, 100), left: make(chan struct{}, 100)}
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

func TestShutdownGivesUpOnHangingReceiver(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			h := hang(t, protocol)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			tr := start(t, 1, &tracing.Options{Protocol: protocol})
			for range 2000 { // more batches than one
				_, end := tr.StartSpan(context.Background(), "s", nil)
				end(nil)
			}
			<-h.asked
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := tr.Shutdown(ctx)
			assert.Less(t, time.Since(began), 8*time.Second, "the export went on until its own timeout")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Regexp(t, `^tracing: shutdown: \d+ spans were not delivered`, err.Error())
		})
	}
}

func TestShutdownWithContextThatIsOver(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			hang(t, protocol)
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
	hang(t, "http")
	tr := start(t, 1, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { assert.NoError(t, tr.Shutdown(context.Background())) })
	}
	wg.Wait()
}

// A queue that is full drops spans and holds up nobody.
func TestFullQueueBlocksNobody(t *testing.T) {
	h := hang(t, "http")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "2")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	tr := start(t, 1, nil)
	_, end := tr.StartSpan(context.Background(), "s", nil)
	end(nil)
	<-h.asked // from here on nothing leaves the queue
	for range 100 {
		_, end := tr.StartSpan(context.Background(), "s", nil)
		end(nil)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, tr.Shutdown(ctx), "3 spans were not delivered", "one on its way, two in the queue")
}
