package tracing

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Names of the spans within a call (REFERENCE.md, 8.6).
const (
	SpanShouldRateLimit = "ShouldRateLimit Execution" // a decision
	SpanRedis           = "Redis Pipeline Execution"  // a call of the key-value store
	SpanMemcached       = "Memcached Fetch Execution" // a call of the memory-cache store
)

// MaxText limits strings in attributes and errors, in bytes; what is longer is cut. It
// bounds the memory of spans that wait, since clients decide how long a request is.
const MaxText = 4096

// StartSpan starts a span below the one in ctx. The returned context is for the calls
// within. The returned function ends the span, with an error if err is not nil. It
// must be called once; further calls have no effect.
//
// attrs returns the attributes, and is only called if the span is recorded; it may be
// nil. Numbers that are no int64 or float64 become text. Strings are retained until the span was sent, so
// they must not be in memory that is reused.
func (t *Tracing) StartSpan(ctx context.Context, name string, attrs func() []slog.Attr) (context.Context, func(err error)) {
	if t.skips(ctx) {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name)
	if !span.IsRecording() {
		return ctx, func(error) {}
	}
	if attrs != nil {
		span.SetAttributes(attributes(attrs())...)
	}
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, limited(err.Error()))
		}
		span.End()
	}
}

// skips reports whether a span below the one in ctx would not be sampled: the sampler
// follows the parent.
func (t *Tracing) skips(ctx context.Context) bool {
	if parent := trace.SpanContextFromContext(ctx); parent.IsValid() {
		return !parent.IsSampled()
	}
	return t.never
}

// attributes returns attrs in the types of the library.
func attributes(attrs []slog.Attr) []attribute.KeyValue {
	list := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		value, key := a.Value.Resolve(), attribute.Key(limited(a.Key))
		switch v := value.Any().(type) {
		case bool:
			list[i] = key.Bool(v)
		case int64:
			list[i] = key.Int64(v)
		case float64:
			list[i] = key.Float64(v)
		default:
			list[i] = key.String(limited(value.String()))
		}
	}
	return list
}

// limited returns a string that is not too long and valid UTF-8, without which the
// whole batch could not be encoded.
func limited(s string) string { return shorten(s, MaxText) }

// shorten cuts s after a complete character. The result does not retain a longer
// string in memory.
func shorten(s string, limit int) string {
	if cut := printable.Cut(s, limit); len(cut) < len(s) {
		s = strings.Clone(cut)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Store returns inner with a span around each of its calls. The span has the number of
// hits and, for [SpanRedis] and [SpanMemcached], the attributes of the reference
// service. Methods that inner does not have return errors.ErrUnsupported.
func (t *Tracing) Store(inner ratelimit.Store, name string) ratelimit.Store {
	return &store{inner, t, name, "pipeline length", "perSecondPipeline length"}
}

// PerSecondStore is Store for the second of two stores, which holds the limits per
// second: the length of its pipeline is called perSecondPipeline length.
func (t *Tracing) PerSecondStore(inner ratelimit.Store, name string) ratelimit.Store {
	return &store{inner, t, name, "perSecondPipeline length", "pipeline length"}
}

type store struct {
	inner      ratelimit.Store
	tracing    *Tracing
	name       string
	own, other string // attributes of the pipelines of this and of the other store
}

// Add calls the inner store.
func (s *store) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.span(ctx, hits, s.inner.Add)
}

// AddUnlessOver calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.ConditionalStore.
func (s *store) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	inner, ok := s.inner.(ratelimit.ConditionalStore)
	if !ok {
		return errors.ErrUnsupported
	}
	return s.span(ctx, hits, inner.AddUnlessOver)
}

// Subtract calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.SubtractStore.
func (s *store) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	inner, ok := s.inner.(ratelimit.SubtractStore)
	if !ok {
		return errors.ErrUnsupported
	}
	return s.span(ctx, hits, inner.Subtract)
}

// Charge calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.ChargeStore.
func (s *store) Charge(ctx context.Context, charges []ratelimit.Charge) (err error) {
	inner, ok := s.inner.(ratelimit.ChargeStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case s.tracing.skips(ctx) || len(charges) == 0:
		return inner.Charge(ctx, charges)
	}
	ctx, end := s.start(ctx, len(charges), len(charges))
	defer func() { end(err) }()
	return inner.Charge(ctx, charges)
}

// Update calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.LedgerStore.
func (s *store) Update(ctx context.Context, key []byte, change func([]byte) ([]byte, time.Duration)) (err error) {
	inner, ok := s.inner.(ratelimit.LedgerStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case s.tracing.skips(ctx) || key == nil:
		return inner.Update(ctx, key, change)
	}
	ctx, end := s.start(ctx, 1, 1)
	defer func() { end(err) }()
	return inner.Update(ctx, key, change)
}

// Now implements ratelimit.ClockStore, by the clock of the inner store.
func (s *store) Now() time.Time {
	if inner, ok := s.inner.(ratelimit.ClockStore); ok {
		return inner.Now()
	}
	return time.Now()
}

// Supports asks the inner store.
func (s *store) Supports(a ratelimit.Algorithm) error { return a.SupportedBy(s.inner) }

// span makes the call within a span, which ends even if the call panics.
func (s *store) span(ctx context.Context, hits []ratelimit.Hit, call func(context.Context, []ratelimit.Hit) error) (err error) {
	if s.tracing.skips(ctx) {
		return call(ctx, hits)
	}
	ctx, end := s.start(ctx, len(hits), 2*len(hits)) // a hit is two commands: its addition and its expiry
	defer func() { end(err) }()
	return call(ctx, hits)
}

// start starts the span of a call with so many hits, which are so many commands of Redis.
func (s *store) start(ctx context.Context, hits, commands int) (context.Context, func(error)) {
	return s.tracing.StartSpan(ctx, s.name, func() []slog.Attr {
		attrs := []slog.Attr{slog.Int("hits", hits)}
		switch s.name {
		case SpanRedis:
			attrs = append(attrs, slog.Int(s.own, commands), slog.Int(s.other, 0))
		case SpanMemcached:
			attrs = append(attrs, slog.Int("keysToGet length", hits))
		}
		return attrs
	})
}
