package server

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/breaker"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// backend is where counters live. Its functions may be nil.
type backend struct {
	store     ratelimit.Store
	perSecond ratelimit.Store             // nil if limits per second have no store of their own
	fallback  ratelimit.Store             // nil if the store can't be out of reach
	start     func(context.Context) error // waits until the stores can be used
	watch     func(context.Context)       // runs beside the decisions
	close     func() error
}

// openBackend makes the stores that BACKEND_TYPE names, or takes that of the options.
func (s *Server) openBackend() (*backend, error) {
	if s.opts.Store != nil {
		return &backend{store: s.opts.Store}, nil
	}
	s.log.Info("counters", "backend", s.settings.Backend, "because", s.settings.BackendReason)
	switch s.settings.Backend {
	case settings.Embedded:
		return &backend{store: memstore.New(&memstore.Options{MaxBytes: s.settings.EmbeddedMaxBytes})}, nil
	case settings.KVStore:
		return s.openKVStore()
	case settings.MemStore:
		return s.openMemStore()
	}
	return nil, fmt.Errorf("BACKEND_TYPE %q: use %s, %s or %s", s.settings.Backend, settings.Embedded, settings.KVStore, settings.MemStore)
}

// every does something at intervals until its context ends.
func every(interval time.Duration, do func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do(ctx)
			case <-ctx.Done():
				return
			}
		}
	}
}

// guard puts a breaker before each store, with its state as a statistic, and gives the
// backend a store to fall back on.
func (s *Server) guard(b *backend) {
	b.fallback = memstore.New(&memstore.Options{MaxBytes: s.settings.EmbeddedMaxBytes})
	if s.settings.BreakerFailures == 0 {
		return
	}
	b.store = s.breaker("ratelimit.store_breaker.", b.store)
	if b.perSecond != nil {
		b.perSecond = s.breaker("ratelimit.per_second_store_breaker.", b.perSecond)
	}
}

func (s *Server) breaker(prefix string, store ratelimit.Store) ratelimit.Store {
	guarded, b := breaker.New(store, &breaker.Options{
		Failures: s.settings.BreakerFailures, Wait: s.settings.BreakerWait, MaxWait: s.settings.BreakerMaxWait, Log: s.log,
	})
	s.registry.Source(func(to stats.Reader) {
		to.Gauge(prefix+"state", uint64(b.State()))
		to.Counter(prefix+"opened", b.Opened())
		to.Counter(prefix+"refused", b.Refused())
	})
	return guarded
}

// startBackend waits until the stores can be used, as long as ctx lasts.
func (s *Server) startBackend(ctx context.Context) error {
	if s.backend.start == nil {
		return nil
	}
	return s.backend.start(ctx)
}

func (s *Server) closeBackend() error {
	if s.backend == nil || s.backend.close == nil {
		return nil
	}
	return s.backend.close()
}
