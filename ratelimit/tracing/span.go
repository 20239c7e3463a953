package tracing

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Names of the spans within a call (reference 1.17).
const (
	SpanShouldRateLimit = "ShouldRateLimit Execution"          // a decision
	SpanRedis           = "Redis Pipeline Execution"           // a call of the key-value store
	SpanMemcached       = "Memcached Fetch Execution"          // a call of the memory-cache store
	SpanJSON            = "NewJsonHandler Remaining Execution" // an answer being written as JSON
)

// MaxText is how many bytes of text an attribute or an error has at most; what is
// longer is cut. It bounds the memory of spans that wait, since clients decide how
// long a request is.
const MaxText = 4096

// StartSpan starts a span of that name below the one in ctx. The context that it
// returns is for the calls within, and the function ends the span: with an error if
// err is not nil. It must be called, once; more calls change nothing.
//
// attrs says what is to be attached, and is only called if the span is recorded; it
// may be nil. Groups become names with dots. The text is kept until the span has been
// sent, so it must not lie in memory that is used again.
func (t *Tracing) StartSpan(ctx context.Context, name string, attrs func() []slog.Attr) (context.Context, func(err error)) {
	if t.skips(ctx) {
		return ctx, endNothing
	}
	ctx, span := t.tracer.Start(ctx, name)
	if !span.IsRecording() {
		return ctx, endNothing
	}
	if attrs != nil {
		span.SetAttributes(attributes(nil, "", attrs())...)
	}
	return ctx, func(err error) { end(span, err) }
}

// skips reports whether it is plain that a span below the one in ctx would not be
// sampled: the sampler does as the parent does.
func (t *Tracing) skips(ctx context.Context) bool {
	parent := trace.SpanContextFromContext(ctx)
	if parent.IsValid() {
		return !parent.IsSampled()
	}
	return t.never
}

func endNothing(error) {}

func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, text(err.Error()))
	}
	span.End()
}

// attributes appends attrs, each with prefix before its name, to the list.
func attributes(list []attribute.KeyValue, prefix string, attrs []slog.Attr) []attribute.KeyValue {
	for _, a := range attrs {
		list = appendAttribute(list, prefix, a)
	}
	return list
}

func appendAttribute(list []attribute.KeyValue, prefix string, a slog.Attr) []attribute.KeyValue {
	value := a.Value.Resolve()
	key := attribute.Key(text(prefix + a.Key))
	switch value.Kind() {
	case slog.KindGroup:
		if a.Key != "" { // as with slog, a group without a name is none
			prefix += a.Key + "."
		}
		return attributes(list, prefix, value.Group())
	case slog.KindBool:
		return append(list, key.Bool(value.Bool()))
	case slog.KindInt64:
		return append(list, key.Int64(value.Int64()))
	case slog.KindUint64:
		if n := value.Uint64(); n <= math.MaxInt64 {
			return append(list, key.Int64(int64(n)))
		}
	case slog.KindFloat64:
		return append(list, key.Float64(value.Float64()))
	case slog.KindTime:
		return append(list, key.String(value.Time().Format(time.RFC3339Nano)))
	}
	return append(list, key.String(text(value.String())))
}

// text makes a string fit to be sent: valid UTF-8, which the protocol insists on for
// the whole batch, and not too long.
func text(s string) string { return shorten(s, MaxText) }

// shorten cuts s after a whole character. What it returns does not keep a longer
// string in memory.
func shorten(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = strings.Clone(s[:limit])
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
