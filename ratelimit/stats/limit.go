package stats

import (
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// limitPrefix stands before the statistics key of a limit (specification,
// "Statistics record").
const limitPrefix = "ratelimit.service.rate_limit."

// limitSuffixes are the statistics of one limit, in the order of counts.
var limitSuffixes = [...]string{
	".total_hits", ".over_limit", ".near_limit", ".over_limit_with_local_cache", ".within_limit", ".shadow_mode",
}

func counts(c ratelimit.LimitCounts) [len(limitSuffixes)]uint64 {
	return [...]uint64{c.TotalHits, c.OverLimit, c.NearLimit, c.OverLimitWithLocalCache, c.WithinLimit, c.ShadowMode}
}

// limit is the counters of one statistics key, with their names made once.
type limit struct {
	stats *ratelimit.LimitStats
	names [len(limitSuffixes)]string
	uses  int // how often Limit was called and not yet released
	ended int // how often uses has come down to 0
}

func newLimit(key string) *limit {
	l := &limit{stats: ratelimit.NewLimitStats()}
	// All names lie in one string: tens of thousands of rules have six of them each.
	var all []byte
	var ends [len(limitSuffixes)]int
	for i, suffix := range limitSuffixes {
		all = append(append(append(all, limitPrefix...), key...), suffix...)
		ends[i] = len(all)
	}
	text, start := string(all), 0
	for i, end := range ends {
		l.names[i] = text[start:end]
		start = end
	}
	return l
}

// Limit returns the counters of a statistics key.
func (r *Registry) Limit(key string) *ratelimit.LimitStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limits[key]
	if l == nil {
		l = newLimit(key)
		r.limits[key] = l
	}
	l.uses++
	return l.stats
}

// release is a key that nobody used any more at a time.
type release struct {
	key   string
	ended int // limit.ended then: if it is another by now, this release no longer counts
	at    time.Time
}

// Release says that one caller of Limit no longer uses the counters of key. When no
// one does, they are kept for Options.Keep and then forgotten.
func (r *Registry) Release(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if l := r.limits[key]; l != nil && l.uses > 0 {
		if l.uses--; l.uses == 0 {
			l.ended++
			r.released = append(r.released, release{key, l.ended, now})
		}
	}
	r.forget(now)
}

// forget drops what was released long enough ago and has not been used since.
func (r *Registry) forget(now time.Time) {
	for len(r.released) > 0 && now.Sub(r.released[0].at) >= r.keep {
		gone := r.released[0]
		r.released = r.released[1:]
		if l := r.limits[gone.key]; l != nil && l.uses == 0 && l.ended == gone.ended {
			delete(r.limits, gone.key)
		}
	}
}
