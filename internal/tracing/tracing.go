package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/contrib/propagators/b3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// Options configure a Tracing. A nil *Options means all defaults.
type Options struct {
	// Protocol is "http" or "grpc" (TRACING_EXPORTER_PROTOCOL). Default: "http".
	Protocol string
	// ServiceName is the resource attribute service.name (TRACING_SERVICE_NAME).
	// Default: "ashlar".
	ServiceName string
	// ServiceNamespace is service.namespace, within which the name is unique
	// (TRACING_SERVICE_NAMESPACE). Default: none.
	ServiceNamespace string
	// ServiceInstanceID is service.instance.id, which identifies an instance of the
	// service (TRACING_SERVICE_INSTANCE_ID). Default: a random version 4 UUID.
	ServiceInstanceID string
	// Log receives failures of exports and their end. Default: slog.Default().
	Log *slog.Logger
	// Now is the clock that separates repeated log lines. Default: time.Now.
	Now func() time.Time
}

// shutdownTimeout limits a Shutdown whose context has no deadline.
const shutdownTimeout = 10 * time.Second

// Tracing creates spans and sends them. Create one with New and end it with Shutdown.
// It is safe for concurrent use.
type Tracing struct {
	provider    *sdktrace.TracerProvider
	tracer      trace.Tracer
	propagators propagation.TextMapPropagator
	exporter    *exporter
	never       bool // no trace that begins here is sampled

	once sync.Once
	err  error // of the shutdown
}

// New returns a Tracing. samplingRate is the fraction of the traces that begin here
// which are recorded, from 0 to 1 (TRACING_SAMPLING_RATE, default 1); if the caller has
// begun the trace, it has decided. opts may be nil.
//
// The destination of spans comes from the environment, see the package comment. The
// error lists everything that is wrong with the arguments and the environment. New does
// not connect.
func New(ctx context.Context, samplingRate float64, opts *Options) (*Tracing, error) {
	o := opts.withDefaults()
	var errs []error
	if !(samplingRate >= 0 && samplingRate <= 1) { // nor NaN
		errs = append(errs, fmt.Errorf("tracing: sampling rate of %v: use a number from 0 (no trace) to 1 (every trace)", samplingRate))
	}
	if o.Protocol != "http" && o.Protocol != "grpc" {
		errs = append(errs, fmt.Errorf(`tracing: protocol %q: use "http" or "grpc"`, shorten(o.Protocol, 40)))
	}
	attributes, err := o.resource(ctx)
	errs = append(errs, err)
	secrets, err := checkEnvironment(o.Protocol)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	exporter, err := newExporter(ctx, o, secrets)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(samplingRate))),
		sdktrace.WithSpanProcessor(attributeLimiter{}),
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(attributes),
	)
	return &Tracing{
		provider: provider,
		tracer:   provider.Tracer(scope),
		// They read in this order; later ones take precedence.
		propagators: propagation.NewCompositeTextMapPropagator(b3.New(), propagation.TraceContext{}, propagation.Baggage{}),
		exporter:    exporter,
		never:       samplingRate == 0,
	}, nil
}

// Start returns a Tracing as the settings say, nil if they turn it off. It is New with the errors of that.
func Start(ctx context.Context, s *settings.Tracing, log *slog.Logger) (*Tracing, error) {
	if !s.Enabled {
		return nil, nil
	}
	return New(ctx, s.SamplingRate, &Options{
		Protocol: s.Protocol, ServiceName: s.ServiceName, ServiceNamespace: s.ServiceNamespace, ServiceInstanceID: s.ServiceInstanceID, Log: log,
	})
}

// scope is the instrumentation scope of spans.
const scope = "github.com/ashlar-go/ashlar/internal/tracing"

func (o *Options) withDefaults() *Options {
	c := *cmp.Or(o, &Options{})
	c.Protocol = cmp.Or(c.Protocol, "http")
	c.ServiceName = cmp.Or(c.ServiceName, "ashlar")
	c.ServiceInstanceID = cmp.Or(c.ServiceInstanceID, uuid.NewString())
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return &c
}

// resource returns the attributes of all spans: those of OTEL_RESOURCE_ATTRIBUTES, and
// those of the options, which take precedence.
func (o *Options) resource(ctx context.Context) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{semconv.ServiceName(o.ServiceName), semconv.ServiceInstanceID(o.ServiceInstanceID)}
	if o.ServiceNamespace != "" {
		attrs = append(attrs, semconv.ServiceNamespace(o.ServiceNamespace))
	}
	all, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK(), resource.WithAttributes(attrs...))
	if err != nil { // without its message, which contains values
		return nil, errors.New(`tracing: OTEL_RESOURCE_ATTRIBUTES: use name=value,name=value, with values escaped as in a URL ("%2C" for a comma)`)
	}
	for _, a := range all.Attributes() {
		if name, value := string(a.Key), a.Value.String(); !utf8.ValidString(name+value) || len(value) > MaxText {
			return nil, fmt.Errorf("tracing: resource attribute %s: must be valid UTF-8 of at most %d bytes", shorten(name, 100), MaxText)
		}
	}
	return all, nil
}

// Provider returns the provider of tracers for other instrumentation.
func (t *Tracing) Provider() trace.TracerProvider { return t.provider }

// Propagators returns what reads and writes the headers that pass a trace to the next
// service: W3C trace context, B3 and W3C baggage. B3 is written as a single header.
func (t *Tracing) Propagators() propagation.TextMapPropagator { return t.propagators }

// Shutdown sends the spans that wait, ends the exporter and returns when its goroutines
// have ended. It aborts when ctx ends, or after 10 seconds if ctx has no deadline; the
// error states how many spans were not delivered. Spans that end later are dropped.
// Further calls have no effect and return the same error.
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
	before := t.exporter.all.Load()
	stop := context.AfterFunc(ctx, t.exporter.abort)
	defer stop()
	// If the context had ended, the library would stop nothing.
	err := t.provider.Shutdown(context.WithoutCancel(ctx))
	if n := t.exporter.all.Load() - before; n > 0 {
		err = errors.Join(fmt.Errorf("%d spans were not delivered", n), ctx.Err(), err)
	}
	if err != nil {
		return fmt.Errorf("tracing: shutdown: %w", err)
	}
	return nil
}
