package stats

import (
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// LimitPrefix begins the names of the statistics of limits (REFERENCE.md, 5.1).
const LimitPrefix = "ratelimit.service.rate_limit."

// limitSuffixes end the names of the statistics of one limit.
var limitSuffixes = [...]string{
	".total_hits", ".over_limit", ".near_limit", ".over_limit_with_local_cache", ".within_limit", ".shadow_mode",
	".total_negative_hits",
}

// limitNames are the names of the statistics of one limit.
type limitNames [len(limitSuffixes)]string

// limit holds the counters of one statistics key.
type limit struct {
	stats    *ratelimit.LimitStats
	key      string
	names    atomic.Pointer[limitNames] // nil until something is counted: most of many limits never count
	uses     atomic.Int64               // calls of Limit that were not released; changed with the lock of the registry
	released time.Time                  // when uses has become 0
}

// read passes the statistics of the limit to a Reader, or those that are not zero.
func (l *limit) read(to Reader, zeros bool) {
	c := l.stats.Load()
	names := l.names.Load()
	if names == nil && (zeros || c != ratelimit.LimitCounts{}) {
		names = new(limitNames)
		for i, suffix := range limitSuffixes {
			names[i] = LimitPrefix + l.key + suffix
		}
		if c != (ratelimit.LimitCounts{}) {
			l.names.Store(names)
		}
	}
	for i, n := range [...]uint64{c.TotalHits, c.OverLimit, c.NearLimit, c.OverLimitWithLocalCache, c.WithinLimit, c.ShadowMode, c.TotalNegativeHits} {
		if zeros || n > 0 {
			to.Counter(names[i], n)
		}
	}
	if n, ok := l.stats.Limit(); ok && l.uses.Load() > 0 {
		to.Gauge(LimitPrefix+l.key+".limit", uint64(n))
	}
	if candidate := l.stats.Candidate(); candidate != nil { // few limits have one, so its names are not kept
		c, name := candidate.Load(), LimitPrefix+l.key
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
		r.limits[key] = l
	}
	l.uses.Add(1)
	return l.stats
}

// minRetired is the number of limits that are retained after their release, if not more than that are in use.
const minRetired = 1000

// retired is a limit that was released, and when.
type retired struct {
	*limit
	at time.Time
}

// Release ends one caller's use of the counters of key. When the last one has ended,
// they are retained for Options.Keep and then forgotten: earlier if more limits are retained
// than are in use, and more than 1,000. So a configuration whose names change with each load
// holds at most twice the memory of its names.
func (r *Registry) Release(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if l := r.limits[key]; l != nil && l.uses.Load() > 0 && l.uses.Add(-1) == 0 {
		l.released = now
		r.retired = append(r.retired, retired{l, now})
	}
	r.forget(now)
}

// forget drops limits that were released long enough ago and not used since, and the oldest if there are too many.
func (r *Registry) forget(now time.Time) {
	most := max(minRetired, len(r.limits)-len(r.retired))
	for len(r.retired) > 0 {
		switch l := r.retired[0]; {
		case l.uses.Load() > 0 || l.released != l.at: // used again
		case len(r.retired) > most || now.Sub(l.at) >= r.keep:
			if r.limits[l.key] == l.limit {
				delete(r.limits, l.key)
			}
		default:
			return
		}
		r.retired[0].limit = nil
		r.retired = r.retired[1:]
	}
}
