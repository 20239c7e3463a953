package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// backend holds the counter stores. Its functions may be nil.
type backend struct {
	store     ratelimit.Store
	perSecond ratelimit.Store             // nil without a separate store for per-second limits
	fallback  ratelimit.Store             // counts in memory; the store itself if that does
	start     func(context.Context) error // waits until the stores are reachable
	watch     []func(context.Context)     // run while the server serves
	close     func() error
}

func (s *Server) openBackend(ctx context.Context) (*backend, error) {
	if s.opts.Store != nil {
		return s.addFallback(&backend{store: s.opts.Store})
	}
	s.log.Info("counter store", "backend", s.settings.Backend, "because", s.settings.BackendReason)
	switch s.settings.Backend {
	case settings.Embedded:
		store, err := s.openMemory(false)
		if err != nil {
			return nil, err
		}
		return &backend{store: store, fallback: store, watch: []func(context.Context){s.watchMemory(store)}}, nil
	case settings.KVStore:
		return s.openKVStores()
	case settings.MemStore:
		return s.openMemStore(ctx)
	}
	return nil, fmt.Errorf("BACKEND_TYPE: unknown value %q: use %s, %s or %s", s.settings.Backend, settings.Embedded, settings.KVStore, settings.MemStore)
}

// guard adds spans and a fallback store to a backend.
func (s *Server) guard(b *backend, span string) (*backend, error) {
	if s.tracing != nil {
		b.store = traceStore(s.tracing, b.store, span, false)
		if b.perSecond != nil {
			b.perSecond = traceStore(s.tracing, b.perSecond, span, true)
		}
	}
	return s.addFallback(b)
}

func (s *Server) addFallback(b *backend) (*backend, error) {
	fallback, err := s.openMemory(true)
	if err != nil {
		return nil, err
	}
	b.fallback, b.watch = fallback, append(b.watch, s.watchMemory(fallback))
	return b, nil
}

// lease adds leases to the stores of a backend, whose additions must be atomic.
func (s *Server) lease(b *backend) (*backend, error) {
	if s.settings.Leases == settings.LeasesOff {
		return b, nil
	}
	opts := &leasestore.Options{All: s.settings.Leases == settings.AllLeases}
	var all []*leasestore.Leases
	var errs []error
	add := func(store *ratelimit.Store, prefix string) {
		if *store == nil {
			return
		}
		leases, err := leasestore.New(*store, opts)
		if err != nil {
			errs = append(errs, err)
			return
		}
		*store = leases.Store()
		all = append(all, leases)
		s.registry.Source(func(to stats.Reader) {
			l := leases.Stats()
			if l.Claims == 0 && l.Lost == 0 {
				return // until there have been any
			}
			to.Gauge(prefix+"keys", uint64(max(l.Keys, 0)))
			to.Gauge(prefix+"held_hits", l.Held)
			to.Counter(prefix+"claims", l.Claims)
			to.Counter(prefix+"claimed_hits", l.Claimed)
			to.Counter(prefix+"returned_hits", l.Returned)
			to.Counter(prefix+"lost_hits", l.Lost)
		})
	}
	add(&b.store, "ratelimit.leases.")
	add(&b.perSecond, "ratelimit.per_second_leases.")
	inner := b.close
	b.close = func() error {
		for _, leases := range all {
			if err := leases.Close(); err != nil {
				s.log.Warn("hits that were claimed stay in the counters until their windows end", "err", err)
			}
		}
		return inner()
	}
	return b, errors.Join(errs...)
}

// breakerStatistics reports the breakers of a store, one for each of its servers. The state
// is 1 while one of them is open.
func breakerStatistics(to stats.Reader, prefix string, open int64, opened, refused uint64) {
	to.Gauge(prefix+"state", uint64(min(max(open, 0), 1)))
	to.Counter(prefix+"opened", opened)
	to.Counter(prefix+"refused", refused)
}

// every calls do at intervals until the context ends.
func every(interval time.Duration, do func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do(ctx)
			case <-ctx.Done():
				return
			}
		}
	}
}

// clientTLS returns nil if TLS is off.
func (s *Server) clientTLS(on bool, files tlsfiles.ClientFiles) (*tls.Config, error) {
	if !on {
		return nil, nil
	}
	return tlsfiles.ClientConfig(files, &tlsfiles.Options{Log: s.log})
}

// kvStore is a redisstore: one server, a group with sentinels, or a cluster.
type kvStore interface {
	ratelimit.Store
	WaitReady(context.Context, *redisstore.Backoff) error
	Ping(context.Context) error
	Stats() redisstore.Stats
	Close() error
}

// openKVStores opens the key-value store, and the one of per-second limits.
func (s *Server) openKVStores() (*backend, error) {
	var stores []kvStore
	for _, c := range []struct {
		on                        bool
		kv                        *settings.KV
		settings, prefix, breaker string
	}{
		{true, &s.settings.KVStore, "KVSTORE_*", "ratelimit.redis_pool.", "ratelimit.store_breaker."},
		{s.settings.UsePerSecond, &s.settings.KVStorePerSecond, "KVSTORE_PERSECOND_*", "ratelimit.redis_per_second_pool.", "ratelimit.per_second_store_breaker."},
	} {
		if !c.on {
			continue
		}
		store, err := s.newKVStore(c.kv)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("key-value store (%s): %w", c.settings, err), closeAll(stores))
		}
		stores = append(stores, store)
		s.registry.Source(func(to stats.Reader) {
			pool := store.Stats()
			to.Gauge(c.prefix+"cx_active", uint64(max(pool.Active, 0)))
			to.Counter(c.prefix+"cx_total", pool.Total)
			to.Counter(c.prefix+"cx_local_close", pool.Closed)
			breakerStatistics(to, c.breaker, pool.Suspended, pool.Suspensions, pool.Refused)
		})
	}
	b := &backend{
		store: stores[0],
		start: func(ctx context.Context) error { return s.awaitKVStores(ctx, stores) },
		close: func() error { return closeAll(stores) },
	}
	if len(stores) > 1 {
		b.perSecond = stores[1]
	}
	if s.settings.KVStoreHealthCheck {
		b.watch = append(b.watch, s.watchConnections(stores))
	}
	if _, err := s.guard(b, spanRedis); err != nil {
		return nil, err
	}
	return s.lease(b)
}

func (s *Server) newKVStore(kv *settings.KV) (kvStore, error) {
	set, kv := s.settings, kv.Resolved()
	config, err := s.clientTLS(kv.TLS, tlsfiles.ClientFiles{
		CACert: set.KVStoreCACert, Cert: set.KVStoreClientCert, Key: set.KVStoreClientKey, SkipHostnameVerification: set.KVStoreSkipHostname,
	})
	if err != nil {
		return nil, err
	}
	auth, err := kv.ReadAuth()
	if err != nil {
		return nil, err
	}
	opts := &redisstore.Options{
		Auth:           auth,
		Database:       kv.Database,
		PoolSize:       kv.PoolSize,
		OnEmpty:        map[string]redisstore.OnEmpty{settings.PoolError: redisstore.Fail, settings.PoolWait: redisstore.Wait}[kv.PoolOnEmpty],
		OnEmptyWait:    kv.PoolOnEmptyWait,
		Timeout:        min(kv.Timeout, cmp.Or(kv.OpTimeout, kv.Timeout)),
		PipelineWindow: kv.PipelineWindow,
		Parallelism:    kv.PipelineParallelism,
		TLS:            config,
		Log:            s.log,

		// 0 means never in the settings, and the default in the options.
		BreakerFailures: cmp.Or(set.BreakerFailures, redisstore.Never), BreakerWait: set.BreakerWait, BreakerMaxWait: set.BreakerMaxWait,
	}
	if kv.SocketType != settings.SocketUnix {
		opts.Network = kv.SocketType
	}
	if kv.PoolOnEmptyWait == 0 {
		opts.OnEmptyWait = redisstore.NoWait // 0 would mean the default
	}
	master, nodes := kv.Nodes()
	switch kv.Type {
	case settings.Sentinel:
		opts.SentinelAuth = kv.SentinelAuth
		return redisstore.NewSentinel(master, nodes, opts)
	case settings.Cluster:
		return redisstore.NewCluster(nodes, opts)
	}
	return redisstore.New(nodes[0], opts)
}

// awaitKVStores waits for one store after the other, for KVSTORE_STARTUP_MAX_ELAPSED_TIME
// at most. The end of ctx is not an error.
func (s *Server) awaitKVStores(ctx context.Context, stores []kvStore) error {
	backoff := &redisstore.Backoff{
		Initial: s.settings.KVStoreStartupInitial, Max: s.settings.KVStoreStartupMax, MaxElapsed: s.settings.KVStoreStartupMaxElapsed,
	}
	addresses := []string{"KVSTORE_URL " + s.settings.KVStore.Resolved().URL, "KVSTORE_PERSECOND_URL " + s.settings.KVStorePerSecond.Resolved().URL}
	for i, store := range stores {
		if err := store.WaitReady(ctx, backoff); err != nil && ctx.Err() == nil {
			return fmt.Errorf("key-value store (%s): %w", addresses[i], err)
		}
	}
	return nil
}

// connectionCheck is the interval of checks for connections.
const connectionCheck = time.Second

// watchConnections makes the server unhealthy while one of the stores has no connection
// (REFERENCE.md, 8.3). It opens connections itself: an unhealthy server receives no calls
// that would.
func (s *Server) watchConnections(stores []kvStore) func(context.Context) {
	report := s.AddComponent("counter store", true)
	return every(connectionCheck, func(ctx context.Context) {
		for _, store := range stores {
			ctx, cancel := context.WithTimeout(ctx, connectionCheck)
			err := store.Ping(ctx)
			cancel()
			if err != nil && store.Stats().Active == 0 {
				report(false, "no connection: "+err.Error())
				return
			}
		}
		report(true, "connected")
	})
}

// openMemStore opens the memcached store. It looks up the SRV record at once: the nodes
// determine where counters are.
func (s *Server) openMemStore(ctx context.Context) (*backend, error) {
	store, err := s.newMemStore(ctx)
	if err != nil {
		return nil, fmt.Errorf("memcached store (MEMSTORE_*): %w", err)
	}
	s.registry.Source(memStoreStatistics(store))
	return s.guard(&backend{
		store: store,
		start: func(ctx context.Context) error {
			// Like the reference service, the server starts without some of its nodes.
			if err := store.Ping(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("memcached nodes do not respond", "err", err)
			}
			return nil
		},
		watch: []func(context.Context){s.watchNodes(store)},
		close: func() error {
			if err := store.Close(); err != nil {
				s.log.Warn("not all increments reached memcached", "err", err)
			}
			return nil
		},
	}, spanMemcached)
}

// lastIncrementsTimeout limits how long the shutdown waits for pending increments.
const lastIncrementsTimeout = 5 * time.Second

func (s *Server) newMemStore(ctx context.Context) (*memcachestore.Store, error) {
	set := s.settings
	config, err := s.clientTLS(set.MemStoreTLS, tlsfiles.ClientFiles{
		CACert: set.MemStoreCACert, Cert: set.MemStoreClientCert, Key: set.MemStoreClientKey, SkipHostnameVerification: set.MemStoreSkipHostname,
	})
	if err != nil {
		return nil, err
	}
	opts := &memcachestore.Options{
		MaxIdleConns: set.MemStoreMaxIdleConns, CloseTimeout: lastIncrementsTimeout, TLS: config, Log: s.log,
		BreakerFailures: cmp.Or(set.BreakerFailures, memcachestore.Never), BreakerWait: set.BreakerWait, BreakerMaxWait: set.BreakerMaxWait,
	}
	if set.MemStoreSRV != "" {
		return memcachestore.NewSRV(ctx, set.MemStoreSRV, set.MemStoreSRVRefresh, opts)
	}
	return memcachestore.New(set.MemStoreHostPort, opts)
}

// nodeCheck is the interval of checks of the nodes, and their timeout.
const nodeCheck = 2 * time.Second

// watchNodes makes the server unhealthy while no node responds. A single node that fails
// affects only its own counters, and is seen by all servers: if it made them unhealthy,
// none would be left. (The reference service is never healthy with this kind of store.)
func (s *Server) watchNodes(store *memcachestore.Store) func(context.Context) {
	report := s.AddComponent("counter store", true)
	return every(nodeCheck, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, nodeCheck)
		defer cancel()
		err := store.Ping(ctx)
		failed := 0
		if list, ok := err.(interface{ Unwrap() []error }); ok {
			failed = len(list.Unwrap()) // one for each node
		}
		nodes := len(slices.Compact(slices.Sorted(slices.Values(store.Nodes()))))
		report(failed < nodes, fmt.Sprintf("%d of %d nodes do not respond", failed, nodes))
	})
}

// memStoreStatistics are those of the reference service, and some of our own
// (REFERENCE.md, 5.1).
func memStoreStatistics(store *memcachestore.Store) func(stats.Reader) {
	const prefix = "ratelimit.memcache."
	return func(to stats.Reader) {
		s := store.Stats()
		for _, c := range []struct {
			name  string
			codes memcachestore.Codes
		}{{"multiget", s.MultiGet}, {"increment", s.Increment}, {"add", s.Add}, {"decrement", s.Decrement}, {"cas", s.CompareAndSwap}} {
			count := func(code string, n uint64) {
				to.Counter(stats.Tagged(prefix+c.name, stats.Tag{Name: "code", Value: code}), n)
			}
			count("success", c.codes.Success)
			count("error", c.codes.Error)
			count("miss", c.codes.Miss)
			count("not_stored", c.codes.NotStored)
			if c.name == "cas" {
				count("conflict", c.codes.Conflict)
			}
		}
		breakerStatistics(to, "ratelimit.store_breaker.", s.Suspended, s.Suspensions, s.Refused)
		to.Counter(prefix+"keys_requested", s.KeysRequested)
		to.Counter(prefix+"keys_found", s.KeysFound)
		to.Counter(prefix+"increments_held", s.Held)
		to.Counter(prefix+"hits_lost", s.Lost)
		to.Gauge(prefix+"increments_pending", uint64(max(s.Pending, 0)))
	}
}
