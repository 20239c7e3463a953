package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
	"github.com/ashlar-go/ashlar/ratelimit/tracing"
)

// kvStore is a store of redisstore: in one server, a group with sentinels, or a cluster.
type kvStore interface {
	ratelimit.Store
	WaitReady(context.Context, *redisstore.Backoff) error
	Ping(context.Context) error
	Stats() redisstore.Stats
	Close() error
}

// openKVStore makes the key-value store, and with KVSTORE_PERSECOND a second one.
func (s *Server) openKVStore() (*backend, error) {
	kvs := []*settings.KV{&s.settings.KVStore}
	names := []string{"redis_pool", "redis_per_second_pool"}
	if s.settings.UsePerSecond {
		kvs = append(kvs, &s.settings.KVStorePerSecond)
	}
	var stores []kvStore
	shut := func() error { return closeAll(stores) }
	for i, kv := range kvs {
		store, err := s.newKVStore(kv)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("key-value store (%s): %w", []string{"KVSTORE_*", "KVSTORE_PERSECOND_*"}[i], err), shut())
		}
		stores = append(stores, store)
		s.registry.Source(poolStatistics("ratelimit."+names[i]+".", store))
	}
	b := &backend{store: stores[0], close: shut, start: func(ctx context.Context) error { return s.awaitKVStores(ctx, stores) }}
	if len(stores) > 1 {
		b.perSecond = stores[1]
	}
	if s.settings.KVStoreHealthCheck {
		b.watch = s.watchConnections(stores)
	}
	s.traced(b, tracing.SpanRedis)
	s.guard(b)
	return b, nil
}

func closeAll(stores []kvStore) error {
	var errs []error
	for _, store := range stores {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

func (s *Server) newKVStore(kv *settings.KV) (kvStore, error) {
	opts := &redisstore.Options{
		Auth:           kv.Auth,
		PoolSize:       kv.PoolSize,
		OnEmpty:        onEmpty(kv.PoolOnEmpty),
		OnEmptyWait:    kv.PoolOnEmptyWait,
		Timeout:        kv.Timeout,
		PipelineWindow: kv.PipelineWindow,
		Parallelism:    kv.PipelineParallelism,
		Log:            s.log,
	}
	if kv.PoolOnEmptyWait == 0 {
		opts.OnEmptyWait = -1 // to the store 0 means the default
	}
	if kv.TLS {
		config, err := s.kvStoreTLS()
		if err != nil {
			return nil, err
		}
		opts.TLS = config
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

// kvStoreTLS is what both stores are connected with.
func (s *Server) kvStoreTLS() (*tls.Config, error) {
	set := s.settings
	return tlsfiles.ClientConfig(tlsfiles.ClientFiles{
		CACert: set.KVStoreCACert, Cert: set.KVStoreClientCert, Key: set.KVStoreClientKey,
		SkipHostnameVerification: set.KVStoreSkipHostname,
	}, &tlsfiles.Options{Log: s.log})
}

func onEmpty(behaviour string) redisstore.OnEmpty {
	switch behaviour {
	case settings.PoolError:
		return redisstore.Fail
	case settings.PoolWait:
		return redisstore.Wait
	}
	return redisstore.Create
}

// awaitKVStores waits for one store after the other, as long as
// KVSTORE_STARTUP_MAX_ELAPSED_TIME allows. The end of ctx is no error: the server was
// told to end.
func (s *Server) awaitKVStores(ctx context.Context, stores []kvStore) error {
	backoff := &redisstore.Backoff{
		Initial: s.settings.KVStoreStartupInitial, Max: s.settings.KVStoreStartupMax, MaxElapsed: s.settings.KVStoreStartupMaxElapsed,
	}
	addresses := []string{"KVSTORE_URL " + s.settings.KVStore.URL, "KVSTORE_PERSECOND_URL " + s.settings.KVStorePerSecond.URL}
	for i, store := range stores {
		if err := store.WaitReady(ctx, backoff); err != nil && ctx.Err() == nil {
			return fmt.Errorf("key-value store (%s): %w", addresses[i], err)
		}
	}
	return nil
}

// poolStatistics are those of reference 1.9.
func poolStatistics(prefix string, store kvStore) func(stats.Reader) {
	return func(to stats.Reader) {
		s := store.Stats()
		to.Gauge(prefix+"cx_active", uint64(max(s.Active, 0)))
		to.Counter(prefix+"cx_total", s.Total)
		to.Counter(prefix+"cx_local_close", s.Closed)
	}
}

// watchConnections makes the counter store a component of health that is unhealthy
// while there is no connection to one of the stores (specification, "States and
// transitions"). A server that gets no calls because it is unhealthy opens none either,
// so it is asked to here.
func (s *Server) watchConnections(stores []kvStore) func(context.Context) {
	component := s.health.Component("counter store", true)
	check := func(ctx context.Context) {
		for _, store := range stores {
			if store.Stats().Active > 0 {
				continue
			}
			ctx, cancel := context.WithTimeout(ctx, connectionCheck)
			err := store.Ping(ctx)
			cancel()
			if err != nil {
				component.Set(false, "there is no connection: "+err.Error())
				return
			}
		}
		component.Set(true, "connected")
	}
	return every(connectionCheck, check)
}

// connectionCheck is how often connections are looked at.
const connectionCheck = time.Second
