package ratelimit

import (
	"log/slog"
	"strings"
	"sync"
)

// requestStats finds the counters of names that come with requests: unknown
// domains, overrides, runtime values in statistics keys. A client can invent any
// number of those, so only so many get counters of their own; the rest are folded
// into one name, "other".
type requestStats struct {
	stats  Stats
	max    int
	log    *slog.Logger
	folded *Counter

	mu      sync.RWMutex
	limits  map[string]*LimitStats
	domains map[string]*Counter
	// What the others are folded into, once there are any: by domain, and for all
	// unknown domains.
	otherLimits  map[string]*LimitStats
	otherDomains *Counter
	// told says which kind of name the log has been told about.
	toldLimits, toldDomains bool
}

const (
	otherName = "other"
	// A longer name is folded at once, so that the bound on names bounds bytes too.
	maxStatsName = 1024
)

func newRequestStats(stats Stats, maxNames int, log *slog.Logger) *requestStats {
	folded := new(Counter)
	if f, ok := stats.(ExtendedStats); ok {
		folded = f.FoldedNames()
	}
	return &requestStats{
		stats:       stats,
		max:         maxNames,
		log:         log,
		folded:      folded,
		limits:      make(map[string]*LimitStats),
		domains:     make(map[string]*Counter),
		otherLimits: make(map[string]*LimitStats),
	}
}

// limit returns the counters of key, or those of "<domain>.other". The domain is
// a configured one, so there are not too many of the latter.
func (r *requestStats) limit(domain string, key []byte) *LimitStats {
	r.mu.RLock()
	s := r.knownLimit(domain, key)
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s = r.knownLimit(domain, key); s != nil {
		return s
	}
	if r.folds(len(r.limits), len(key)) {
		r.tell(&r.toldLimits, "statistics key", domain)
		s = r.stats.Limit(sanitised(domain + "." + otherName))
		r.otherLimits[strings.Clone(domain)] = s
		return counted(r, s)
	}
	s = r.stats.Limit(string(key))
	r.limits[string(key)] = s
	return s
}

// knownLimit is nil if the name is a new one. Folded names are known, too, so that
// a flood of them costs neither memory nor the lock.
func (r *requestStats) knownLimit(domain string, key []byte) *LimitStats {
	if s := r.limits[string(key)]; s != nil || !r.folds(len(r.limits), len(key)) {
		return s
	}
	return counted(r, r.otherLimits[domain])
}

// domainNotFound returns the counter of an unknown domain, or that of "other".
func (r *requestStats) domainNotFound(domain string) *Counter {
	r.mu.RLock()
	c := r.knownDomain(domain)
	r.mu.RUnlock()
	if c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c = r.knownDomain(domain); c != nil {
		return c
	}
	if r.folds(len(r.domains), len(domain)) {
		r.tell(&r.toldDomains, "unknown domain", otherName)
		r.otherDomains = r.stats.DomainNotFound(otherName)
		return counted(r, r.otherDomains)
	}
	c = r.stats.DomainNotFound(sanitised(domain))
	r.domains[strings.Clone(domain)] = c // the domain may be a part of a call's buffer
	return c
}

func (r *requestStats) knownDomain(domain string) *Counter {
	if c := r.domains[domain]; c != nil || !r.folds(len(r.domains), len(domain)) {
		return c
	}
	return counted(r, r.otherDomains)
}

// counted counts that a name was folded into what is returned, if it is there yet.
func counted[T any](r *requestStats, other *T) *T {
	if other != nil {
		r.folded.Add(1)
	}
	return other
}

// folds reports whether a new name of this length is one too many.
func (r *requestStats) folds(names, length int) bool {
	return length > maxStatsName || names >= r.max
}

func sanitised(name string) string {
	b := []byte(name)
	sanitiseMetric(b)
	return string(b)
}

func (r *requestStats) tell(told *bool, what, domain string) {
	if *told {
		return
	}
	*told = true
	r.log.Warn("too many names come with requests; further ones are counted together under \"other\"",
		"kind", what, "domain", domain, "names", r.max, "longest", maxStatsName)
}
