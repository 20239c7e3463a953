package service_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// unsampled is a tracer that samples nothing.
type unsampled struct{}

func (unsampled) StartSpan(ctx context.Context, _ string, _ func() []slog.Attr) (context.Context, func(error)) {
	return ctx, func(error) {}
}

type discarded struct{}

func (discarded) Record(time.Duration) {}

// BenchmarkShouldRateLimit measures a decision without a network, with each option off and on.
func BenchmarkShouldRateLimit(b *testing.B) {
	for _, c := range []struct {
		name string
		opts service.Options
	}{
		{"plain", service.Options{}},
		{"timed", service.Options{Calls: discarded{}}},
		{"traced, not sampled", service.Options{Spans: unsampled{}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := service.New(newEngine(b, nil, nil), &c.opts)
			in := ask("a")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.ShouldRateLimit(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
