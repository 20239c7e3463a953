package tracing_test

import (
	"context"
	"log/slog"
	"testing"
)

// modes lists the ways in which a span is sampled.
var modes = []struct {
	name string
	rate float64
	ctx  context.Context
}{
	{"off", 0, context.Background()},
	{"parent not sampled", 1, remote(false)},
	{"sampled", 1, context.Background()},
}

func BenchmarkStartSpan(b *testing.B) {
	attrs := func() []slog.Attr { return []slog.Attr{slog.String("domain", "d")} }
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			receive(b, "http")
			tr := start(b, m.rate, nil)
			b.ReportAllocs()
			for b.Loop() {
				_, end := tr.StartSpan(m.ctx, "decision", attrs)
				end(nil)
			}
		})
	}
}
