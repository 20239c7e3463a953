package stats

import (
	"maps"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// limitPrefix begins the names of the statistics of limits (REFERENCE.md, 5.1).
const limitPrefix = "ratelimit.service.rate_limit."

// limitSuffixes end the names of the statistics of one limit.
var limitSuffixes = [...]string{
	".total_hits", ".over_limit", ".near_limit", ".over_limit_with_local_cache", ".within_limit", ".shadow_mode",
	".total_negative_hits",
}

// limit holds the counters of one statistics key and their names.
type limit struct {
	stats    *ratelimit.LimitStats
	key      string
	names    [len(limitSuffixes)]string
	uses     int       // calls of Limit that were not released
	released time.Time // when uses has become 0
}

// read passes the statistics of the limit to a Reader.
func (l *limit) read(to Reader) {
	c := l.stats.Load()
	for i, n := range [...]uint64{c.TotalHits, c.OverLimit, c.NearLimit, c.OverLimitWithLocalCache, c.WithinLimit, c.ShadowMode, c.TotalNegativeHits} {
		to.Counter(l.names[i], n)
	}
	if candidate := l.stats.Candidate(); candidate != nil { // few limits have one, so its names are not kept
		c, name := candidate.Load(), limitPrefix+l.key
		to.Counter(name+".candidate_over_limit", c.OverLimit)
		to.Counter(name+".candidate_near_limit", c.NearLimit)
		to.Counter(name+".candidate_within_limit", c.WithinLimit)
	}
}

// Limit returns the counters of a statistics key.
func (r *Registry) Limit(key string) *ratelimit.LimitStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limits[key]
	if l == nil {
		l = &limit{stats: ratelimit.NewLimitStats(), key: key}
		for i, suffix := range limitSuffixes {
			l.names[i] = limitPrefix + key + suffix
		}
		r.limits[key] = l
	}
	l.uses++
	return l.stats
}

// Release ends one caller's use of the counters of key. When the last one has ended,
// they are retained for Options.Keep and then forgotten.
func (r *Registry) Release(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if l := r.limits[key]; l != nil && l.uses > 0 {
		if l.uses--; l.uses == 0 {
			l.released = now
		}
	}
	if now.Sub(r.swept) >= r.keep/10 {
		r.forget(now)
	}
}

// forget drops limits that were released long enough ago and not used since.
func (r *Registry) forget(now time.Time) {
	r.swept = now
	maps.DeleteFunc(r.limits, func(_ string, l *limit) bool { return l.uses == 0 && now.Sub(l.released) >= r.keep })
}
