package ratelimit

import (
	"log/slog"
	"sync"
)

// requestStats finds the counters of names that come with requests: unknown
// domains, overrides, runtime values in statistics keys. A client can invent any
// number of those, so only so many get counters of their own; the rest are folded
// into one name, "other".
type requestStats struct {
	stats Stats
	max   int
	log   *slog.Logger

	mu      sync.RWMutex
	limits  map[string]*LimitStats
	domains map[string]*Counter
	// told says which kind of name the log has been told about.
	toldLimits, toldDomains bool
}

const (
	otherName = "other"
	// A longer name is folded at once, so that the bound on names bounds bytes too.
	maxStatsName = 1024
)

func newRequestStats(stats Stats, maxNames int, log *slog.Logger) *requestStats {
	return &requestStats{
		stats:   stats,
		max:     maxNames,
		log:     log,
		limits:  make(map[string]*LimitStats),
		domains: make(map[string]*Counter),
	}
}

// limit returns the counters of key, or those of "<domain>.other". The domain is
// a configured one, so there are not too many of the latter.
func (r *requestStats) limit(domain string, key []byte) *LimitStats {
	r.mu.RLock()
	s := r.limits[string(key)]
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s = r.limits[string(key)]; s != nil {
		return s
	}
	if len(key) > maxStatsName || len(r.limits) >= r.max {
		r.tell(&r.toldLimits, "statistics key", domain)
		return r.stats.Limit(domain + "." + otherName)
	}
	s = r.stats.Limit(string(key))
	r.limits[string(key)] = s
	return s
}

// domainNotFound returns the counter of an unknown domain, or that of "other".
func (r *requestStats) domainNotFound(domain string) *Counter {
	r.mu.RLock()
	c := r.domains[domain]
	r.mu.RUnlock()
	if c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c = r.domains[domain]; c != nil {
		return c
	}
	if len(domain) > maxStatsName || len(r.domains) >= r.max {
		r.tell(&r.toldDomains, "unknown domain", otherName)
		return r.stats.DomainNotFound(otherName)
	}
	name := []byte(domain)
	sanitiseMetric(name)
	c = r.stats.DomainNotFound(string(name))
	r.domains[string([]byte(domain))] = c // a copy: the domain may be a part of a call's buffer
	return c
}

func (r *requestStats) tell(told *bool, what, domain string) {
	if *told {
		return
	}
	*told = true
	r.log.Warn("too many names come with requests; further ones are counted together under \"other\"",
		"kind", what, "domain", domain, "names", r.max, "longest", maxStatsName)
}
