package tracing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Options are the choices of a Tracing. The zero value, like nil, is fit for use.
type Options struct {
	// Protocol is how spans are sent: "http" or "grpc" (TRACING_EXPORTER_PROTOCOL).
	// Default: "http".
	Protocol string
	// ServiceName names the service that spans are of (TRACING_SERVICE_NAME).
	// Default: "RateLimit".
	ServiceName string
	// ServiceNamespace is what the name is unique in (TRACING_SERVICE_NAMESPACE).
	// Default: none.
	ServiceNamespace string
	// ServiceInstanceID tells the instances of a service apart
	// (TRACING_SERVICE_INSTANCE_ID). Default: a random version 4 UUID.
	ServiceInstanceID string
	// Log is told when spans can't be delivered, and when they can again. Default:
	// slog.Default().
	Log *slog.Logger
	// Now is the clock by which log lines are kept apart. Default: time.Now.
	Now func() time.Time
}

// shutdownTimeout bounds a Shutdown whose context has no deadline.
const shutdownTimeout = 10 * time.Second

// Tracing makes spans and sends them. Make one with New and end it with Shutdown.
// Any number of goroutines may use it.
type Tracing struct {
	provider    *sdktrace.TracerProvider
	tracer      trace.Tracer
	propagators propagation.TextMapPropagator
	exporter    *exporter
	never       bool // no trace that begins here is sampled

	once sync.Once
	err  error // of the shutdown
}

// New starts sending spans. samplingRate is the share of traces that are recorded,
// of those that begin here, from 0 to 1 (TRACING_SAMPLING_RATE, whose default is 1):
// where a caller's trace is continued, the caller has decided. opts may be nil.
//
// Where spans are sent is read from the environment, see the package comment. The
// error names everything that is wrong with the arguments and the environment.
// Whether somebody listens there is not looked at: New does not wait for a network.
func New(ctx context.Context, samplingRate float64, opts *Options) (*Tracing, error) {
	o := opts.withDefaults()
	env, envErr := readEnvironment(o.Protocol)
	if err := errors.Join(checkRate(samplingRate), o.check(), envErr); err != nil {
		return nil, err
	}
	common, err := o.resource(ctx)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	exporter, err := newExporter(ctx, o, env)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(samplingRate))),
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(common),
	)
	return &Tracing{
		provider:    provider,
		tracer:      provider.Tracer(scope),
		propagators: propagators(),
		exporter:    exporter,
		never:       samplingRate == 0,
	}, nil
}

// scope is the name under which spans are made.
const scope = "github.com/ashlar-go/ashlar/ratelimit/tracing"

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Protocol == "" {
		r.Protocol = "http"
	}
	if r.ServiceName == "" {
		r.ServiceName = "RateLimit"
	}
	if r.ServiceInstanceID == "" {
		r.ServiceInstanceID = newInstanceID()
	}
	if r.Log == nil {
		r.Log = slog.Default()
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	return r
}

// newInstanceID returns a random UUID, version 4 (RFC 9562, section 5.4).
func newInstanceID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func checkRate(rate float64) error {
	if rate >= 0 && rate <= 1 { // no NaN is
		return nil
	}
	return fmt.Errorf("tracing: sampling rate of %v: must be a number from 0 (no trace) to 1 (every trace)", rate)
}

// check refuses what can't be sent. Text that is not UTF-8 would spoil every batch.
func (o *Options) check() error {
	var errs []error
	if o.Protocol != "http" && o.Protocol != "grpc" {
		errs = append(errs, fmt.Errorf(`tracing: protocol %q: use "http" or "grpc"`, shorten(o.Protocol, 40)))
	}
	for _, text := range []struct{ name, value string }{
		{"service name", o.ServiceName},
		{"service namespace", o.ServiceNamespace},
		{"service instance id", o.ServiceInstanceID},
	} {
		if !utf8.ValidString(text.value) || len(text.value) > MaxText {
			errs = append(errs, fmt.Errorf("tracing: %s: must be valid UTF-8 of at most %d bytes", text.name, MaxText))
		}
	}
	return errors.Join(errs...)
}

// resource is what all spans have in common. What the environment says in
// OTEL_RESOURCE_ATTRIBUTES is added by the library.
func (o *Options) resource(ctx context.Context) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{semconv.ServiceName(o.ServiceName), semconv.ServiceInstanceID(o.ServiceInstanceID)}
	if o.ServiceNamespace != "" {
		attrs = append(attrs, semconv.ServiceNamespace(o.ServiceNamespace))
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...))
}

// Provider makes tracers for instrumentation that is not part of this package.
func (t *Tracing) Provider() trace.TracerProvider { return t.provider }

// Propagators read and write the headers in which traces pass from one service to
// the next. They read W3C trace context, B3 and W3C baggage, and write the first, B3
// in its single header, and the last.
func (t *Tracing) Propagators() propagation.TextMapPropagator { return t.propagators }

// Shutdown sends what is waiting, closes the connections and returns when nothing
// runs any more. It gives up when ctx ends, or after 10 seconds if ctx has no
// deadline; the error says how many spans could not be delivered. Spans that end
// later are dropped. Further calls change nothing and return the same.
func (t *Tracing) Shutdown(ctx context.Context) error {
	t.once.Do(func() { t.err = t.shutdown(ctx) })
	return t.err
}

func (t *Tracing) shutdown(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, shutdownTimeout)
		defer cancel()
	}
	before := t.exporter.lost()
	stop := context.AfterFunc(ctx, t.exporter.giveUp)
	defer stop()
	// The library looks at the context before it stops anything, and would leave
	// everything running if it had ended.
	err := t.provider.Shutdown(context.WithoutCancel(ctx))
	if n := t.exporter.lost() - before; n > 0 {
		err = errors.Join(fmt.Errorf("%d spans were not delivered", n), ctx.Err(), err)
	}
	if err != nil {
		return fmt.Errorf("tracing: shutdown: %w", err)
	}
	return nil
}
