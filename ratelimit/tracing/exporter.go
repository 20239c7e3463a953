package tracing

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter is an OTLP exporter whose failures end in a log and not in the library's
// global handler, and which can be told to give up.
type exporter struct {
	next   sdktrace.SpanExporter
	report *report
	close  func() // lets go of the connections

	quit   context.Context // over when it is time to give up
	giveUp context.CancelFunc
}

func newExporter(ctx context.Context, o Options, env *environment) (*exporter, error) {
	client, closeClient := newClient(o.Protocol, env)
	next, err := otlptrace.New(ctx, client)
	if err != nil {
		closeClient()
		return nil, err
	}
	e := &exporter{next: next, report: newReport(o, env.secrets), close: closeClient}
	e.quit, e.giveUp = context.WithCancel(context.Background())
	return e, nil
}

// newClient returns the client of a protocol and what closes its connections, as
// far as it doesn't do that itself.
func newClient(protocol string, env *environment) (otlptrace.Client, func()) {
	if protocol == "grpc" {
		return otlptracegrpc.NewClient(), func() {}
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: env.timeout}).DialContext,
		TLSClientConfig:       env.tls,
		TLSHandshakeTimeout:   env.timeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   1, // batches are sent one after the other
		IdleConnTimeout:       time.Minute,
		ExpectContinueTimeout: time.Second,
	}
	client := &http.Client{Transport: transport, Timeout: env.timeout}
	return otlptracehttp.NewClient(otlptracehttp.WithHTTPClient(client)), transport.CloseIdleConnections
}

var errGivenUp = errors.New("the shutdown's time is up")

// ExportSpans sends the spans or logs why not. It never fails: there is nobody who
// could do better.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if e.quit.Err() != nil {
		e.report.failed(len(spans), errGivenUp)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.quit, cancel)
	defer stop()
	if err := e.next.ExportSpans(ctx, spans); err != nil {
		e.report.failed(len(spans), err)
	} else {
		e.report.delivered()
	}
	return nil
}

// Shutdown closes the connections. All exports have ended by then.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer e.giveUp()
	defer e.close()
	return e.next.Shutdown(ctx)
}

// lost is how many spans were not delivered so far.
func (e *exporter) lost() uint64 { return e.report.total() }
