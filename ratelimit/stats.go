package ratelimit

import (
	"log/slog"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

// ExtendedStats is a Stats that counts more than the statistics of limits.
type ExtendedStats interface {
	Stats
	// Release is called once for each call of Limit for a configured limit that is no
	// longer in use, after those of the new rules have been requested, and for a name of
	// requests that makes room for others. Calls in progress may still count in it for a
	// moment.
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
	TotalHits               uint64 // all hits, counted even if the store fails
	WithinLimit             uint64 // hits that fitted together with their whole call
	NearLimit               uint64 // hits above the near-limit ratio that still fitted
	OverLimit               uint64 // hits that did not fit
	OverLimitWithLocalCache uint64 // those of OverLimit that found in the over-limit cache
	ShadowMode              uint64 // those of OverLimit that a rule's shadow mode let pass
	// TotalNegativeHits are the hits to subtract, counted before the store is called. More than
	// 1<<33 at once, which empty any counter, are not counted.
	TotalNegativeHits uint64
}

// LimitStats are the live counters of one statistics key. They are spread over
// several cache lines so that cores counting at the same time do not wait for
// each other. Make them with NewLimitStats.
type LimitStats struct {
	stripes   []stripe
	candidate atomic.Pointer[LimitStats]
	limit     atomic.Uint64 // see Limit, plus 1; 0 for none
	folded    bool          // of several names
}

// stripe is one core's share, alone on its cache line.
type stripe struct {
	total, within, near, over, cached, shadow, negative atomic.Uint64
	// passed hits count as total and within, in one addition.
	passed atomic.Uint64
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
		passed := l.passed.Load()
		c.TotalHits += l.total.Load() + passed
		c.WithinLimit += l.within.Load() + passed
		c.NearLimit += l.near.Load()
		c.OverLimit += l.over.Load()
		c.OverLimitWithLocalCache += l.cached.Load()
		c.ShadowMode += l.shadow.Load()
		c.TotalNegativeHits += l.negative.Load()
	}
	return c
}

// Limit returns the RequestsPerUnit of the configured limit that was last counted here. It reports false if there was none,
// as for limits of requests.
func (s *LimitStats) Limit() (requestsPerUnit uint32, ok bool) {
	n := s.limit.Load()
	return uint32(n - 1), n > 0
}

func (s *LimitStats) setLimit(requestsPerUnit uint32) {
	if n := uint64(requestsPerUnit) + 1; s.limit.Load() != n && !s.folded {
		s.limit.Store(n)
	}
}

// LimitStats returns the active rules, nil if there are none, and the counters of their limits, in the
// order of [Ruleset.Limits]. A limit whose statistics key depends on the request has none here, and
// without Options.Stats there are none at all.
func (e *Engine) LimitStats() (*Ruleset, []*LimitStats) {
	u := e.inUse.Load()
	if u == nil {
		return nil, nil
	}
	return u.rules, slices.Clone(u.stats)
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
	now    func() time.Time
	log    *slog.Logger
	folded *Counter
	start  time.Time // that of used

	mu           sync.RWMutex
	limits       map[string]*domainStats // by domain; configured ones only
	loggedLimits bool                    // that there were too many

	domainsMu     sync.Mutex
	domains       map[string]*Counter // unknown ones
	loggedDomains bool
}

// domainStats are the names of a domain.
type domainStats struct {
	names map[string]*nameStats
	other *LimitStats   // of further names, once there are any
	sweep time.Duration // when unused names may be dropped again
}

// nameStats are the counters of a name.
type nameStats struct {
	*LimitStats
	used atomic.Int64 // seconds
}

// unusedAfter bounds the time for which an unused name is kept. A name that is dropped is still
// exported for a while (see ExtendedStats), so a shorter time would let a flood of names hold
// more memory than the bound allows for.
const unusedAfter = 5 * time.Minute

const (
	otherName = "other"
	// A longer name is folded at once, so that the bound on names bounds bytes too.
	maxStatsName = 1024
)

func newRequestStats(stats Stats, opts *Options) *requestStats {
	r := &requestStats{
		stats:   stats,
		max:     opts.MaxRequestStats,
		now:     opts.Now,
		log:     opts.Log,
		folded:  new(Counter),
		limits:  make(map[string]*domainStats),
		domains: make(map[string]*Counter),
	}
	if f, ok := stats.(ExtendedStats); ok {
		r.folded = f.FoldedNames()
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.start = r.now()
	return r
}

// limit returns the counters of key, or those of "<domain>.other". The domain is
// a configured one, so there are not too many of the latter.
func (r *requestStats) limit(domain string, key []byte) *LimitStats {
	now := r.now().Sub(r.start)
	r.mu.RLock()
	s := r.knownLimit(r.limits[domain], key, now)
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.limits[domain]
	if d == nil {
		d = &domainStats{names: make(map[string]*nameStats)}
		r.limits[strings.Clone(domain)] = d
	}
	r.dropUnused(d, now)
	if s = r.knownLimit(d, key, now); s != nil {
		return s
	}
	if r.folds(len(d.names), len(key)) {
		r.warnOnce(&r.loggedLimits, "statistics key", domain)
		if d.other == nil {
			d.other = r.stats.Limit(sanitised(domain + "." + otherName))
			d.other.folded = true
		}
		return r.counted(d.other)
	}
	n := &nameStats{LimitStats: r.stats.Limit(string(key))}
	n.used.Store(int64(now / time.Second))
	d.names[string(key)] = n
	return n.LimitStats
}

// knownLimit returns nil for a new name. Folded names are known too, so that a flood of
// them costs neither memory nor the lock, until unused names may be dropped.
func (r *requestStats) knownLimit(d *domainStats, key []byte, now time.Duration) *LimitStats {
	if d == nil {
		return nil
	}
	if n := d.names[string(key)]; n != nil {
		if second := int64(now / time.Second); n.used.Load() != second {
			n.used.Store(second)
		}
		return n.LimitStats
	}
	if !r.folds(len(d.names), len(key)) || len(key) <= maxStatsName && now >= d.sweep {
		return nil
	}
	return r.counted(d.other)
}

// dropUnused drops the names that were not used for unusedAfter, if the domain has no room.
func (r *requestStats) dropUnused(d *domainStats, now time.Duration) {
	if len(d.names) < r.max || now < d.sweep {
		return
	}
	d.sweep = now + unusedAfter/30 // a sweep reads all names
	released, _ := r.stats.(ExtendedStats)
	for key, n := range d.names {
		if now-time.Duration(n.used.Load())*time.Second <= unusedAfter {
			continue
		}
		delete(d.names, key)
		if released != nil {
			released.Release(key)
		}
	}
}

// keepDomains drops the names of all other domains than those of the rules, which may be nil.
func (r *requestStats) keepDomains(rules *Ruleset) {
	release := func(string) {}
	if s, ok := r.stats.(ExtendedStats); ok {
		release = s.Release
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, d := range r.limits {
		if rules != nil && rules.domain(name) != nil {
			continue
		}
		delete(r.limits, name)
		for key := range d.names {
			release(key)
		}
		if d.other != nil {
			release(sanitised(name + "." + otherName))
		}
	}
}

// domainNotFound returns the counter of an unknown domain, or that of "other".
func (r *requestStats) domainNotFound(domain string) *Counter {
	r.domainsMu.Lock()
	defer r.domainsMu.Unlock()
	c := r.domains[domain]
	switch {
	case c != nil:
	case r.folds(len(r.domains), len(domain)):
		r.warnOnce(&r.loggedDomains, "unknown domain", otherName)
		r.folded.Add(1)
		c = r.stats.DomainNotFound(otherName)
	default:
		c = r.stats.DomainNotFound(sanitised(domain))
		r.domains[strings.Clone(domain)] = c // the domain may be a part of a call's buffer
	}
	return c
}

// counted counts a folded name, unless other does not exist yet.
func (r *requestStats) counted(other *LimitStats) *LimitStats {
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

// Candidate returns the counters of the limit on trial ([Limit.Candidate]), nil if the limit had
// none since the start. Of its LimitCounts, WithinLimit, NearLimit and OverLimit are used.
func (s *LimitStats) Candidate() *LimitStats { return s.candidate.Load() }

// openCandidate returns them, and creates them before the first use.
func (s *LimitStats) openCandidate() *LimitStats {
	c := s.candidate.Load()
	if c == nil {
		s.candidate.CompareAndSwap(nil, NewLimitStats())
		c = s.candidate.Load()
	}
	return c
}
