package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ashlar-go/ashlar/internal/tracing"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Names of the spans of stores (REFERENCE.md, 8.6).
const (
	spanRedis     = "Redis Pipeline Execution"  // a call of the key-value store
	spanMemcached = "Memcached Fetch Execution" // a call of the memory-cache store
)

// traceStore returns inner with a span around each of its calls. The span has the number of
// hits and, for spanRedis and spanMemcached, the attributes of the reference
// service. perSecond is that inner is the second of two stores, which holds the limits per second.
// Methods that inner does not have return errors.ErrUnsupported.
func traceStore(t *tracing.Tracing, inner ratelimit.Store, name string, perSecond bool) ratelimit.Store {
	s := &tracedStore{inner, t, name, "pipeline length", "perSecondPipeline length"}
	if perSecond {
		s.own, s.other = s.other, s.own
	}
	return s
}

type tracedStore struct {
	inner      ratelimit.Store
	tracing    *tracing.Tracing
	name       string
	own, other string // attributes of the pipelines of this and of the other store
}

// Add calls the inner store.
func (s *tracedStore) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.span(ctx, hits, s.inner.Add)
}

// AddUnlessOver calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.ConditionalStore.
func (s *tracedStore) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	inner, ok := s.inner.(ratelimit.ConditionalStore)
	if !ok {
		return errors.ErrUnsupported
	}
	return s.span(ctx, hits, inner.AddUnlessOver)
}

// Subtract calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.SubtractStore.
func (s *tracedStore) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	inner, ok := s.inner.(ratelimit.SubtractStore)
	if !ok {
		return errors.ErrUnsupported
	}
	return s.span(ctx, hits, inner.Subtract)
}

// Charge calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.ChargeStore.
func (s *tracedStore) Charge(ctx context.Context, charges []ratelimit.Charge) (err error) {
	inner, ok := s.inner.(ratelimit.ChargeStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case s.tracing.Skips(ctx) || len(charges) == 0:
		return inner.Charge(ctx, charges)
	}
	ctx, end := s.start(ctx, len(charges), len(charges))
	defer func() { end(err) }()
	return inner.Charge(ctx, charges)
}

// Update calls the inner store. It returns errors.ErrUnsupported if that is no
// ratelimit.LedgerStore.
func (s *tracedStore) Update(ctx context.Context, key []byte, change func([]byte) ([]byte, time.Duration)) (err error) {
	inner, ok := s.inner.(ratelimit.LedgerStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case s.tracing.Skips(ctx) || key == nil:
		return inner.Update(ctx, key, change)
	}
	ctx, end := s.start(ctx, 1, 1)
	defer func() { end(err) }()
	return inner.Update(ctx, key, change)
}

// Now implements ratelimit.ClockStore, by the clock of the inner store.
func (s *tracedStore) Now() time.Time {
	if inner, ok := s.inner.(ratelimit.ClockStore); ok {
		return inner.Now()
	}
	return time.Now()
}

// Supports asks the inner store.
func (s *tracedStore) Supports(a ratelimit.Algorithm) error { return a.SupportedBy(s.inner) }

// span makes the call within a span, which ends even if the call panics.
func (s *tracedStore) span(ctx context.Context, hits []ratelimit.Hit, call func(context.Context, []ratelimit.Hit) error) (err error) {
	if s.tracing.Skips(ctx) {
		return call(ctx, hits)
	}
	ctx, end := s.start(ctx, len(hits), 2*len(hits)) // a hit is two commands: its addition and its expiry
	defer func() { end(err) }()
	return call(ctx, hits)
}

// start starts the span of a call with so many hits, which are so many commands of Redis.
func (s *tracedStore) start(ctx context.Context, hits, commands int) (context.Context, func(error)) {
	return s.tracing.StartSpan(ctx, s.name, func() []slog.Attr {
		attrs := []slog.Attr{slog.Int("hits", hits)}
		switch s.name {
		case spanRedis:
			attrs = append(attrs, slog.Int(s.own, commands), slog.Int(s.other, 0))
		case spanMemcached:
			attrs = append(attrs, slog.Int("keysToGet length", hits))
		}
		return attrs
	})
}
