package server

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/tracing"
)

func (s *Server) buildTracing() error {
	set := s.settings
	if !set.TracingEnabled {
		return nil
	}
	t, err := tracing.New(context.Background(), set.TracingSamplingRate, &tracing.Options{
		Protocol:          set.TracingExporterProtocol,
		ServiceName:       set.TracingServiceName,
		ServiceNamespace:  set.TracingServiceNamespace,
		ServiceInstanceID: set.TracingServiceInstanceID,
		Log:               s.log,
	})
	if err != nil {
		return err
	}
	s.tracing = t
	return nil
}

// traced are the stores of a backend with a span around each call.
func (s *Server) traced(b *backend, name string) {
	if s.tracing == nil {
		return
	}
	b.store = s.tracing.Store(b.store, name)
	if b.perSecond != nil {
		b.perSecond = s.tracing.PerSecondStore(b.perSecond, name)
	}
}

// lastSpans is how long the end waits for spans that have not been sent.
const lastSpans = 5 * time.Second

func (s *Server) endTracing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
	defer cancel()
	if err := s.tracing.Shutdown(ctx); err != nil {
		s.log.Warn("not all spans could be sent", "err", err)
	}
}

// abandon ends what New began before it failed.
func (s *Server) abandon() {
	if s.tracing != nil {
		s.endTracing(context.Background())
	}
	s.closeBackend()
}
