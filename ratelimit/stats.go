package ratelimit

import (
	"log/slog"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Stats provides the counters of an Engine. The engine requests those of configured limits
// when rules are activated, and those of names that come with requests when they first
// occur; the number of the latter is bounded by Options.MaxRequestStats.
//
// The same name must always give the same counters. Calls may come from any
// goroutine.
type Stats interface {
	// Limit returns the counters of one statistics key, such as
	// "mongo_cps.database_users".
	Limit(key string) *LimitStats
	// DomainNotFound returns the counter of requests for a domain without rules.
	DomainNotFound(domain string) *Counter
	// GlobalShadowMode returns the counter of decisions that Options.ShadowMode
	// turned to OK.
	GlobalShadowMode() *Counter
}

// ExtendedStats is a Stats that takes part in more than the statistics of limits.
type ExtendedStats interface {
	Stats
	// Release is called once for each call of Limit for a configured limit that is no
	// longer in use, after those of the new rules have been requested. Calls in progress may
	// still count in it for a moment.
	Release(key string)
	// FoldedNames returns the counter of descriptors and domains that were counted
	// under "other", because too many names came with requests. It is called once.
	FoldedNames() *Counter
	// Fallback returns the counter of descriptors that a policy decided because their
	// store had failed. It is called once for each policy but FailError.
	Fallback(policy FailurePolicy) *Counter
}

// Counter counts upward. The zero value is ready for use.
type Counter struct{ n atomic.Uint64 }

// Add counts n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Load returns the count.
func (c *Counter) Load() uint64 { return c.n.Load() }

// LimitCounts are the hits of one statistics key by result
// (REFERENCE.md, 4.1 and 5.1).
type LimitCounts struct {
	TotalHits               uint64 // all hits, counted before the store is called
	WithinLimit             uint64 // hits that fitted together with their whole call
	NearLimit               uint64 // hits above the near-limit ratio that still fitted
	OverLimit               uint64 // hits that did not fit
	OverLimitWithLocalCache uint64 // those of OverLimit that found in the over-limit cache
	ShadowMode              uint64 // those of OverLimit that a rule's shadow mode let pass
}

// LimitStats are the live counters of one statistics key. They are spread over
// several cache lines so that cores counting at the same time do not wait for
// each other. Make them with NewLimitStats.
type LimitStats struct{ stripes []stripe }

// stripe is one core's share, alone on its cache line.
type stripe struct {
	total, within, near, over, cached, shadow atomic.Uint64
	_                                         [16]byte
}

// NewLimitStats returns counters at zero: 64 bytes for each stripe. There are more
// stripes than processors, up to twice as many, and 32 at the most.
func NewLimitStats() *LimitStats {
	n := 1 << bits.Len(uint(runtime.GOMAXPROCS(0)))
	return &LimitStats{stripes: make([]stripe, min(n, 32))}
}

// Load sums the counts. While calls are counting it may see one of a call's
// counts and not yet another.
func (s *LimitStats) Load() LimitCounts {
	var c LimitCounts
	for i := range s.stripes {
		l := &s.stripes[i]
		c.TotalHits += l.total.Load()
		c.WithinLimit += l.within.Load()
		c.NearLimit += l.near.Load()
		c.OverLimit += l.over.Load()
		c.OverLimitWithLocalCache += l.cached.Load()
		c.ShadowMode += l.shadow.Load()
	}
	return c
}

func (s *LimitStats) stripe(n uint32) *stripe {
	return &s.stripes[int(n)&(len(s.stripes)-1)]
}

// add leaves untouched what does not change: an atomic addition of zero costs as
// much as any other. In shadow mode what was over the limit passed all the same.
func (l *stripe) add(c LimitCounts, shadow bool) {
	if c.WithinLimit != 0 {
		l.within.Add(c.WithinLimit)
	}
	if c.NearLimit != 0 {
		l.near.Add(c.NearLimit)
	}
	if c.OverLimit == 0 {
		return
	}
	l.over.Add(c.OverLimit)
	if c.OverLimitWithLocalCache != 0 {
		l.cached.Add(c.OverLimitWithLocalCache)
	}
	if shadow {
		l.shadow.Add(c.OverLimit)
	}
}

// requestStats holds the counters of names that come with requests: unknown domains,
// overrides, values in statistics keys. Clients can invent any number of those, so only a
// bounded number have counters of their own; the rest are counted as "other".
type requestStats struct {
	stats  Stats
	max    int
	log    *slog.Logger
	folded *Counter

	mu      sync.RWMutex
	limits  map[string]*LimitStats
	domains map[string]*Counter
	// Counters of the rest, once there are any: by domain, and for all unknown domains.
	otherLimits  map[string]*LimitStats
	otherDomains *Counter
	// The kinds of names that have been logged.
	loggedLimits, loggedDomains bool
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
		r.warnOnce(&r.loggedLimits, "statistics key", domain)
		s = r.stats.Limit(sanitised(domain + "." + otherName))
		r.otherLimits[strings.Clone(domain)] = s
		return counted(r, s)
	}
	s = r.stats.Limit(string(key))
	r.limits[string(key)] = s
	return s
}

// knownLimit returns nil for a new name. Folded names are known too, so that a flood of
// them costs neither memory nor the lock.
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
		r.warnOnce(&r.loggedDomains, "unknown domain", otherName)
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

// counted counts a folded name, unless other does not exist yet.
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

func (r *requestStats) warnOnce(logged *bool, what, domain string) {
	if *logged {
		return
	}
	*logged = true
	r.log.Warn("too many names in requests: further ones are counted together as \"other\"",
		"kind", what, "domain", domain, "names", r.max, "longest", maxStatsName)
}
