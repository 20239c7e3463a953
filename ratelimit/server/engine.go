package server

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

func (s *Server) buildEngine() error {
	b, err := s.openBackend()
	if err != nil {
		return err
	}
	s.backend = b
	set := s.settings
	opts := &ratelimit.Options{
		Stats:                      s.registry,
		NearLimitRatio:             set.NearLimitRatio,
		CounterKeyPrefix:           set.CacheKeyPrefix,
		ExpiryJitter:               time.Duration(max(set.ExpirationJitter, 0)) * time.Second,
		PerSecond:                  b.perSecond,
		OnStoreFailure:             ratelimit.FailurePolicy(set.OnStoreFailure),
		Fallback:                   b.fallback,
		OnFallback:                 s.storeFailed,
		StopIncrementWhenOverLimit: set.StopIncrement,
		ShadowMode:                 set.ShadowMode,
		QuotaMode:                  set.QuotaMode,
		Metadata:                   set.DynamicMetadata,
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
	s.engine = ratelimit.New(b.store, opts)
	return nil
}

// cacheStatistics are gauges, totals included, as in the reference service (1.14).
func (s *Server) cacheStatistics(to stats.Reader) {
	c := s.cache.Stats()
	for _, g := range []struct {
		name  string
		value uint64
	}{
		{"evacuateCount", c.EvacuateCount},
		{"expiredCount", c.ExpiredCount},
		{"entryCount", c.EntryCount},
		{"averageAccessTime", uint64(max(c.AverageAccessTime, 0))},
		{"hitCount", c.HitCount},
		{"missCount", c.MissCount},
		{"lookupCount", c.LookupCount},
		{"overwriteCount", c.OverwriteCount},
	} {
		to.Gauge("ratelimit.localcache."+g.name, g.value)
	}
}

func (s *Server) buildService() error {
	set := s.settings
	opts := &service.Options{
		DynamicMetadata: set.DynamicMetadata,
		OnError:         s.failed,
		Calls:           s.method("ShouldRateLimit"),
	}
	if set.ResponseHeaders {
		opts.Headers = &ratelimit.HeaderNames{Limit: set.LimitHeader, Remaining: set.RemainingHeader, Reset: set.ResetHeader}
	}
	if s.tracing != nil {
		opts.Spans = s.tracing
	}
	s.service = service.New(s.engine, opts)
	return nil
}

// failed counts and logs a call that failed. What is the caller's fault is not worth
// a line: a caller could fill the log with it.
func (s *Server) failed(ctx context.Context, err error) {
	if ratelimit.KindOf(err) == ratelimit.StoreFailure {
		s.storeFailed(ctx, err)
		return
	}
	s.counts.serviceErrors.Add(1)
	if ratelimit.KindOf(err) != ratelimit.Invalid {
		s.complain(ctx, err)
	}
}

// storeFailed counts and logs a call that the store failed, whether or not a policy
// decided it all the same.
func (s *Server) storeFailed(ctx context.Context, err error) {
	s.counts.storeErrors.Add(1)
	s.complain(ctx, err)
}

func (s *Server) complain(ctx context.Context, err error) {
	if held, due := s.complaint.due(time.Now()); due {
		s.log.ErrorContext(ctx, "rate limit call failed", "err", err, "others_since_last", held)
	}
}
