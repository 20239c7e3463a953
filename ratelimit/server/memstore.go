package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
	"github.com/ashlar-go/ashlar/ratelimit/tracing"
)

// openMemStore makes the memory-cache store. An SRV record is looked up at once: what
// nodes there are decides where counters are.
func (s *Server) openMemStore() (*backend, error) {
	store, err := s.newMemStore()
	if err != nil {
		return nil, fmt.Errorf("memory-cache store (MEMSTORE_*): %w", err)
	}
	s.registry.Source(memStoreStatistics(store))
	b := &backend{
		store: store,
		start: func(ctx context.Context) error { s.pingMemStore(ctx, store); return nil },
		watch: s.watchNodes(store),
		close: func() error { return s.closeMemStore(store) },
	}
	s.traced(b, tracing.SpanMemcached)
	s.guard(b)
	return b, nil
}

func (s *Server) newMemStore() (*memcachestore.Store, error) {
	set := s.settings
	opts := &memcachestore.Options{MaxIdleConns: set.MemStoreMaxIdleConns, Log: s.log}
	if set.MemStoreTLS {
		config, err := s.memStoreTLS()
		if err != nil {
			return nil, err
		}
		opts.TLS = config
	}
	if set.MemStoreSRV != "" {
		return memcachestore.NewSRV(context.Background(), set.MemStoreSRV, set.MemStoreSRVRefresh, opts)
	}
	return memcachestore.New(set.MemStoreHostPort, opts)
}

func (s *Server) memStoreTLS() (*tls.Config, error) {
	set := s.settings
	return tlsfiles.ClientConfig(tlsfiles.ClientFiles{
		CACert: set.MemStoreCACert, Cert: set.MemStoreClientCert, Key: set.MemStoreClientKey,
		SkipHostnameVerification: set.MemStoreSkipHostname,
	}, &tlsfiles.Options{Log: s.log})
}

// pingMemStore says in the log if nodes are away. The server starts all the same, as the
// reference service does: other nodes may have the counters that are asked for.
func (s *Server) pingMemStore(ctx context.Context, store *memcachestore.Store) {
	if err := store.Ping(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("memory-cache store", "err", err)
	}
}

// watchNodes makes the counter store a component of health that is unhealthy while no
// node gives an answer; one that is away takes its counters along and no others, and every
// instance sees it, so to be unhealthy for it would turn all of them off. The reference
// service is never healthy with this kind of store (reference 1.10).
func (s *Server) watchNodes(store *memcachestore.Store) func(context.Context) {
	component := s.health.Component("counter store", true)
	return every(nodeCheck, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, nodeCheck)
		defer cancel()
		err := store.Ping(ctx)
		away := 0
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			away = len(list.Unwrap()) // one for each node
		}
		nodes := len(slices.Compact(slices.Sorted(slices.Values(store.Nodes()))))
		component.Set(away < nodes, fmt.Sprintf("%d of %d nodes give no answer", away, nodes))
	})
}

// nodeCheck is how often nodes are asked, and how long they have for the answer.
const nodeCheck = 2 * time.Second

// lastIncrements is how long the end waits for increments that are under way.
const lastIncrements = 5 * time.Second

func (s *Server) closeMemStore(store *memcachestore.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), lastIncrements)
	defer cancel()
	if err := store.Close(ctx); err != nil {
		s.log.Warn("memory-cache store", "err", err)
	}
	return nil
}

// memStoreStatistics are those of reference 1.10, with tags in its form, and ours.
func memStoreStatistics(store *memcachestore.Store) func(stats.Reader) {
	const prefix = "ratelimit.memcache."
	tagged := func(name, code string) string { return stats.Tagged(prefix+name, stats.Tag{Name: "code", Value: code}) }
	return func(to stats.Reader) {
		s := store.Stats()
		for _, c := range []struct {
			name  string
			codes memcachestore.Codes
		}{{"multiget", s.MultiGet}, {"increment", s.Increment}, {"add", s.Add}} {
			to.Counter(tagged(c.name, "success"), c.codes.Success)
			to.Counter(tagged(c.name, "error"), c.codes.Error)
			to.Counter(tagged(c.name, "miss"), c.codes.Miss)
			to.Counter(tagged(c.name, "not_stored"), c.codes.NotStored)
		}
		to.Counter(prefix+"keys_requested", s.KeysRequested)
		to.Counter(prefix+"keys_found", s.KeysFound)
		to.Counter(prefix+"increments_held", s.Held)
		to.Counter(prefix+"hits_lost", s.Lost)
		to.Gauge(prefix+"increments_pending", uint64(max(s.Pending, 0)))
	}
}
