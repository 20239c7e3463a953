package modeltest

import (
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// recordedStats is a Stats whose counters can be read.
type recordedStats struct {
	mu      sync.Mutex
	limits  map[string]*ratelimit.LimitStats
	domains map[string]*ratelimit.Counter
	shadow  ratelimit.Counter
}

func newRecordedStats() *recordedStats {
	return &recordedStats{limits: make(map[string]*ratelimit.LimitStats), domains: make(map[string]*ratelimit.Counter)}
}

func (s *recordedStats) Limit(key string) *ratelimit.LimitStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limits[key] == nil {
		s.limits[key] = ratelimit.NewLimitStats()
	}
	return s.limits[key]
}

func (s *recordedStats) DomainNotFound(domain string) *ratelimit.Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.domains[domain] == nil {
		s.domains[domain] = new(ratelimit.Counter)
	}
	return s.domains[domain]
}

func (s *recordedStats) GlobalShadowMode() *ratelimit.Counter { return &s.shadow }

// counts returns the counts that are not zero, by name.
func (s *recordedStats) counts() map[string]ratelimit.LimitCounts {
	all := make(map[string]ratelimit.LimitCounts)
	for key, l := range s.limits {
		// Hits that were given back are tested elsewhere.
		c := l.Load()
		c = ratelimit.LimitCounts{
			TotalHits: c.TotalHits, WithinLimit: c.WithinLimit, NearLimit: c.NearLimit, OverLimit: c.OverLimit,
			OverLimitWithLocalCache: c.OverLimitWithLocalCache, ShadowMode: c.ShadowMode,
		}
		if c != (ratelimit.LimitCounts{}) {
			all[key] = c
		}
	}
	return all
}

func (s *recordedStats) notFound() map[string]uint64 {
	all := make(map[string]uint64)
	for key, c := range s.domains {
		all[key] = c.Load()
	}
	return all
}

// forgetfulCache is an OverLimitCache that expires by the clock of the script.
type forgetfulCache struct {
	now   func() time.Time
	until map[string]time.Time
}

func (c *forgetfulCache) Contains(key []byte) (over, read bool) {
	return c.now().Before(c.until[string(key)]), false
}

func (c *forgetfulCache) Add(key []byte, ttl time.Duration) {
	c.until[string(key)] = c.now().Add(ttl)
}

func (c *forgetfulCache) Remove(key []byte) { delete(c.until, string(key)) }
