package tracing_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/trace"

	"github.com/ashlar-go/ashlar/internal/tracing"
)

type resolved struct{}

// LogValue implements slog.LogValuer.
func (resolved) LogValue() slog.Value { return slog.IntValue(7) }

func TestAttributes(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	_, end := tr.StartSpan(context.Background(), "s", func() []slog.Attr {
		return []slog.Attr{
			slog.String("string", "ü"), slog.Int("int", -3), slog.Uint64("big", math.MaxUint64),
			slog.Float64("float", 0.5), slog.Bool("bool", true), slog.Duration("duration", 1500*time.Millisecond),
			slog.Any("any", []int{1, 2}),
			slog.Any("nil", nil), slog.Any("resolved", resolved{}), slog.Any("error", errors.New("e")),
			slog.String("bad", "a\xffb"),
		}
	})
	end(nil)
	flush(t, tr)
	assert.Equal(t, map[string]any{
		"string": "ü", "int": int64(-3), "big": "18446744073709551615",
		"float": 0.5, "bool": true, "duration": "1.5s", "any": "[1 2]",
		"nil": "<nil>", "resolved": int64(7), "error": "e",
		"bad": "a\uFFFDb",
	}, r.named(t, "s").attrs)
}

func TestTextIsCut(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	long := "x" + strings.Repeat("é", tracing.MaxText) // MaxText is within a character
	_, end := tr.StartSpan(context.Background(), "s", func() []slog.Attr { return []slog.Attr{slog.String("long", long)} })
	end(errors.New(long))
	flush(t, tr)
	s := r.named(t, "s")
	for _, text := range []string{s.attrs["long"].(string), s.GetStatus().GetMessage()} {
		assert.Len(t, text, tracing.MaxText-1)
		assert.True(t, utf8.ValidString(text))
		assert.True(t, strings.HasPrefix(long, text))
	}
}

func TestEndTwice(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	_, end := tr.StartSpan(context.Background(), "s", nil)
	end(nil)
	end(errors.New("too late"))
	flush(t, tr)
	assert.False(t, r.named(t, "s").failed())
}

// remote returns a context with a parent in another process.
func remote(sampled bool) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: true,
	}))
}

func TestSampling(t *testing.T) {
	for _, c := range []struct {
		name        string
		rate        float64
		ctx         context.Context
		least, most int
	}{
		{"all", 1, context.Background(), 200, 200},
		{"none", 0, context.Background(), 0, 0},
		{"a share", 0.5, context.Background(), 20, 180}, // outside once in 10^30 runs
		{"none, but the parent is", 0, remote(true), 200, 200},
		{"all, but the parent is not", 1, remote(false), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t, "http")
			tr := start(t, c.rate, nil)
			read := 0
			for range 200 {
				ctx, end := tr.StartSpan(c.ctx, "outer", func() []slog.Attr { read++; return nil })
				_, endInner := tr.StartSpan(ctx, "inner", nil)
				endInner(nil)
				end(nil)
			}
			flush(t, tr)
			assert.GreaterOrEqual(t, read, c.least)
			assert.LessOrEqual(t, read, c.most)
			assert.Len(t, r.all(), 2*read, "traces are recorded completely or not at all, and attributes are read only if they are")
		})
	}
}

func TestUnsampledAllocatesNothing(t *testing.T) {
	receive(t, "http")
	attrs := func() []slog.Attr { t.Error("attributes were read"); return nil }
	for _, c := range []struct {
		name string
		rate float64
		ctx  context.Context
	}{
		{"rate 0", 0, context.Background()},
		{"parent not sampled", 1, remote(false)},
	} {
		tr := start(t, c.rate, nil)
		got, end := tr.StartSpan(c.ctx, "s", attrs)
		end(errors.New("e"))
		assert.Equal(t, c.ctx, got, c.name)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_, end := tr.StartSpan(c.ctx, "s", attrs)
			end(nil)
		}), c.name)
	}
}
