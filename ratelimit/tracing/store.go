package tracing

import (
	"context"
	"log/slog"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Store returns inner with a span of that name around each of its calls. The span
// has the number of hits, and what the reference service tells about [SpanRedis]
// and [SpanMemcached]. The store that is returned is a ratelimit.ConditionalStore
// exactly if inner is.
func (t *Tracing) Store(inner ratelimit.Store, name string) ratelimit.Store {
	return t.store(inner, name, false)
}

// PerSecondStore is Store for the second of two stores, the one that keeps the
// limits per second: the length of its pipeline is told as perSecondPipeline.
func (t *Tracing) PerSecondStore(inner ratelimit.Store, name string) ratelimit.Store {
	return t.store(inner, name, true)
}

func (t *Tracing) store(inner ratelimit.Store, name string, perSecond bool) ratelimit.Store {
	s := store{inner: inner, tracing: t, name: name, perSecond: perSecond}
	if conditional, ok := inner.(ratelimit.ConditionalStore); ok {
		return &conditionalStore{store: s, inner: conditional}
	}
	return &s
}

type store struct {
	inner     ratelimit.Store
	tracing   *Tracing
	name      string
	perSecond bool
}

// Add is the inner store's.
func (s *store) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if s.tracing.skips(ctx) {
		return s.inner.Add(ctx, hits)
	}
	return s.span(ctx, hits, s.inner.Add)
}

type conditionalStore struct {
	store
	inner ratelimit.ConditionalStore
}

// AddUnlessOver is the inner store's.
func (s *conditionalStore) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	if s.tracing.skips(ctx) {
		return s.inner.AddUnlessOver(ctx, hits)
	}
	return s.span(ctx, hits, s.inner.AddUnlessOver)
}

// span makes the call within a span, which ends even if the call panics.
func (s *store) span(ctx context.Context, hits []ratelimit.Hit, call func(context.Context, []ratelimit.Hit) error) (err error) {
	ctx, end := s.tracing.StartSpan(ctx, s.name, func() []slog.Attr { return s.attrs(len(hits)) })
	defer func() { end(err) }()
	return call(ctx, hits)
}

// commandsPerHit is what a hit adds to a pipeline: its addition and its expiry.
const commandsPerHit = 2

func (s *store) attrs(hits int) []slog.Attr {
	attrs := []slog.Attr{slog.Int("hits", hits)}
	switch s.name {
	case SpanRedis:
		mine, other := "pipeline length", "perSecondPipeline length"
		if s.perSecond {
			mine, other = other, mine
		}
		attrs = append(attrs, slog.Int(mine, commandsPerHit*hits), slog.Int(other, 0))
	case SpanMemcached:
		attrs = append(attrs, slog.Int("keysToGet length", hits))
	}
	return attrs
}
