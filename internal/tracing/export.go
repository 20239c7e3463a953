package tracing

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter is an OTLP exporter whose exports can be aborted. Instead of passing failures to
// the library's global handler, it logs when exports begin to fail, once a minute while they
// fail, and when they succeed again.
type exporter struct {
	next  sdktrace.SpanExporter
	quit  context.Context // ends when exports must be aborted
	abort context.CancelFunc
	log   *slog.Logger
	now   func() time.Time
	mask  *strings.Replacer // of secrets, which a receiver may have sent back

	all atomic.Uint64 // spans lost since the start

	mu      sync.Mutex
	lost    uint64 // spans lost since exports began to fail
	failing bool
	logged  time.Time
}

func newExporter(ctx context.Context, o *Options, secrets []string) (*exporter, error) {
	client := otlptracehttp.NewClient()
	if o.Protocol == "grpc" {
		client = otlptracegrpc.NewClient()
	}
	next, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	var pairs []string
	// The replacer uses the first match, and one secret may be a prefix of another.
	longest := func(a, b string) int { return len(b) - len(a) }
	for _, secret := range slices.SortedFunc(slices.Values(secrets), longest) {
		pairs = append(pairs, secret, "***")
	}
	e := &exporter{next: next, log: o.Log, now: o.Now, mask: strings.NewReplacer(pairs...)}
	e.quit, e.abort = context.WithCancel(context.Background())
	return e, nil
}

var errAborted = errors.New("the time for the shutdown is over")

// ExportSpans sends the spans or logs the failure. It returns no error, which the
// library would log a second time.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.quit.Err() != nil {
		e.failed(len(spans), errAborted)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.quit, cancel)()
	if err := e.next.ExportSpans(ctx, spans); err != nil {
		e.failed(len(spans), err)
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failing {
		e.log.Info("trace spans are delivered again", "lost", e.lost)
		e.failing, e.lost = false, 0
	}
	return nil
}

// Shutdown closes the connections. All exports have ended by then.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer e.abort()
	return e.next.Shutdown(ctx)
}

const (
	// repeatAfter is the time between two log lines about a receiver that fails.
	repeatAfter = time.Minute
	// maxReason limits an error in the log, in bytes. Errors quote the receiver.
	maxReason = 500
)

func (e *exporter) failed(spans int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all.Add(uint64(spans))
	e.lost += uint64(spans)
	now := e.now()
	if e.failing && now.Sub(e.logged) < repeatAfter {
		return
	}
	e.failing, e.logged = true, now
	e.log.Warn("trace spans were not delivered", "err", shorten(e.mask.Replace(err.Error()), maxReason), "lost", e.lost)
}
