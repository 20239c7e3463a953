package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/internal/tracing"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// buildEngine builds the counter stores, the engine and the service.
func (s *Server) buildEngine(ctx context.Context) error {
	b, err := s.openBackend(ctx)
	if err != nil {
		return err
	}
	s.backend = b
	set := s.settings
	opts := &ratelimit.Options{
		Stats:                      s.registry,
		MaxRequestStats:            set.MaxStatisticsNames,
		SanitizeMetricDots:         set.SanitizeMetricDots,
		OverrideValues:             true,
		NearLimitRatio:             set.NearLimitRatio,
		CounterKeyPrefix:           set.CacheKeyPrefix,
		CounterKeyFormat:           ratelimit.KeyFormat(set.CounterKeyFormat),
		ExpiryJitter:               time.Duration(max(set.ExpirationJitter, 0)) * time.Second,
		PerSecond:                  b.perSecond,
		OnStoreFailure:             ratelimit.FailurePolicy(set.OnStoreFailure),
		Fallback:                   b.fallback,
		OnFallback:                 s.storeFailed,
		StopIncrementWhenOverLimit: set.StopIncrement,
		ShadowMode:                 set.ShadowMode,
		QuotaMode:                  set.QuotaMode,
		Metadata:                   set.DynamicMetadata,
		TopKeys:                    set.TopKeys,
		Log:                        s.log,
	}
	if set.NearLimitRatio == 0 {
		opts.NearLimitRatio = ratelimit.NearLimitAlways
	}
	if set.LocalCacheSize > 0 {
		if s.cache, err = localcache.New(set.LocalCacheSize, nil); err != nil {
			return fmt.Errorf("LOCAL_CACHE_SIZE_IN_BYTES: %w", err)
		}
		opts.OverLimitCache = s.cache
		s.registry.Source(s.cacheStatistics)
	}
	if s.engine, err = ratelimit.New(b.store, opts); err != nil {
		return err
	}
	serviceOpts := &service.Options{
		DynamicMetadata: set.DynamicMetadata, OnError: s.callFailed, Calls: s.method("ShouldRateLimit"),
		MaxDescriptors: set.MaxDescriptors, MaxEntries: set.MaxEntries, MaxBodyBytes: set.JSONMaxBodyBytes,
		Timeout: set.RequestTimeout, MaxConcurrent: set.MaxConcurrentRequests, AllHeaders: set.AllDescriptorsHeaders,
	}
	if set.ResponseHeaders {
		serviceOpts.Headers = &ratelimit.HeaderNames{Limit: set.LimitHeader, Remaining: set.RemainingHeader, Reset: set.ResetHeader}
	}
	if set.RequestHeaders {
		serviceOpts.RequestHeaders = &ratelimit.HeaderNames{Limit: set.RequestLimitHeader, Remaining: set.RequestRemainingHeader, Reset: set.RequestResetHeader}
	}
	if s.opts.AccessLog || s.log.Enabled(ctx, slog.LevelDebug) {
		serviceOpts.OnDecision = s.decided
	}
	if s.tracing != nil {
		serviceOpts.Spans = s.tracing
	}
	s.service = service.New(s.engine, serviceOpts)
	return nil
}

// buildQuota builds the quota service if it is enabled.
func (s *Server) buildQuota(context.Context) (err error) {
	if !s.settings.QuotaEnabled {
		return nil
	}
	opts := &quota.Options{TTL: s.settings.QuotaTTL, ShadowMode: s.settings.ShadowMode, OnError: s.callFailed}
	if clock, ok := s.backend.store.(ratelimit.ClockStore); ok {
		opts.Now = clock.Now
	}
	if s.quota, err = quota.New(s.engine, opts); err != nil {
		return fmt.Errorf("QUOTA_TTL: %w", err)
	}
	return nil
}

// decided logs a decision.
func (s *Server) decided(ctx context.Context, r *ratelimit.Request, d *ratelimit.Decision) {
	s.logCall(ctx, func() []any {
		return []any{"domain", printable.Truncate(r.Domain, maxAccessText), "descriptors", shortDescriptors(r.Descriptors), "code", d.Code.String()}
	})
	if s.log.Enabled(ctx, slog.LevelDebug) {
		s.logDecision(ctx, r, d)
	}
}

// cacheStatistics are gauges, totals included, as in the reference service
// (REFERENCE.md, 5.1).
func (s *Server) cacheStatistics(to stats.Reader) {
	c := s.cache.Stats()
	gauge := func(name string, value uint64) { to.Gauge("ratelimit.localcache."+name, value) }
	gauge("evacuateCount", c.EvacuateCount)
	gauge("expiredCount", c.ExpiredCount)
	gauge("entryCount", c.EntryCount)
	gauge("averageAccessTime", uint64(max(c.AverageAccessTime, 0)))
	gauge("hitCount", c.HitCount)
	gauge("missCount", c.MissCount)
	gauge("lookupCount", c.LookupCount)
	gauge("overwriteCount", c.OverwriteCount)
}

// callFailed counts and logs a failed call. Invalid requests are not logged: a caller could
// flood the log with them.
func (s *Server) callFailed(ctx context.Context, err error) {
	s.logCall(ctx, func() []any { return []any{"error", printable.Truncate(err.Error(), maxText)} })
	if ratelimit.KindOf(err) == ratelimit.StoreFailure {
		s.storeFailed(ctx, err)
		return
	}
	s.serviceErrors.Add(1)
	if ratelimit.KindOf(err) != ratelimit.Invalid {
		s.logFailure(ctx, err)
	} else if s.log.Enabled(ctx, slog.LevelDebug) {
		if suppressed, ok := s.decisionLog.allow(maxDecisions); ok {
			s.log.DebugContext(ctx, "invalid request", "err", err, "others_since_last", suppressed)
		}
	}
}

// storeFailed counts and logs a failure of the store, whether or not a failure policy
// decided the call.
func (s *Server) storeFailed(ctx context.Context, err error) {
	s.storeErrors.Add(1)
	s.logFailure(ctx, err)
}

func (s *Server) logFailure(ctx context.Context, err error) {
	if suppressed, ok := s.errorLog.allow(1); ok {
		s.log.ErrorContext(ctx, "rate limit call failed", "err", err, "others_since_last", suppressed)
	}
}

func (s *Server) buildTracing(ctx context.Context) (err error) {
	s.tracing, err = tracing.Start(ctx, &s.settings.Tracing, s.log)
	return err
}

// buildTLS reads the certificates of the gRPC listener.
func (s *Server) buildTLS(context.Context) (err error) {
	set := s.settings
	if !set.GRPCServerUseTLS {
		return nil
	}
	s.certs, err = tlsfiles.NewServer(tlsfiles.Files{
		Cert: set.GRPCServerTLSCert, Key: set.GRPCServerTLSKey, ClientCA: set.GRPCClientTLSCACert, ClientSAN: set.GRPCClientTLSSAN,
	}, &tlsfiles.Options{Log: s.log})
	if err != nil {
		return fmt.Errorf("TLS of the gRPC listener (GRPC_SERVER_TLS_CERT, GRPC_SERVER_TLS_KEY, GRPC_CLIENT_TLS_CACERT):\n%w", err)
	}
	return nil
}

// watchCertificates reloads the TLS files when they change, until ctx ends. As in the
// reference service, loading them at the start counts as an attempt.
func (s *Server) watchCertificates(ctx context.Context) {
	attempts := s.registry.Counter("certs.load_attempts")
	failures := s.registry.Counter("certs.load_failures")
	s.registry.Gauge("certs.num_values").Set(2)
	attempts.Add(1)
	s.certs.Watch(ctx, func(err error) {
		attempts.Add(1)
		if err != nil {
			s.log.Error("TLS files can't be reloaded; the previous ones stay active", "err", err)
			failures.Add(1)
			return
		}
		s.log.Info("TLS files reloaded")
	})
}
