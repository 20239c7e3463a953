package tracing

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ashlar-go/ashlar/internal/printable"
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
	if t.Skips(ctx) {
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

// StartChild is StartSpan for calls that belong to a trace. Others, such as those of jobs in the background, get no span.
func (t *Tracing) StartChild(ctx context.Context, name string, attrs func() []slog.Attr) (context.Context, func(err error)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error) {}
	}
	return t.StartSpan(ctx, name, attrs)
}

// Skips reports whether a span below the one in ctx would not be sampled: the sampler
// follows the parent.
func (t *Tracing) Skips(ctx context.Context) bool {
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
