package stats

import (
	"cmp"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options are the choices of a Registry. A nil *Options is the zero one.
type Options struct {
	// Keep is for how long the counters of a limit are kept when the engine no longer
	// uses them. It should be longer than a call may take and than the time between two
	// readings of any sink. Default, when 0: 10 minutes.
	Keep time.Duration
	// Now is the clock that Keep is measured by. Default: time.Now.
	Now func() time.Time
}

// Registry holds statistics by name. It is safe for use by any number of
// goroutines. Whatever is asked for by a name is the same each time.
type Registry struct {
	keep time.Duration
	now  func() time.Time

	mu       sync.RWMutex
	limits   map[string]*limit
	counters map[string]*ratelimit.Counter
	gauges   map[string]*Gauge
	timers   map[string]*Timer
	released []release // in the order of their times
	sources  []func(Reader)
	watchers []*watcher
}

var (
	_ ratelimit.Stats         = (*Registry)(nil)
	_ ratelimit.StatsReleaser = (*Registry)(nil)
	_ ratelimit.StatsFolder   = (*Registry)(nil)
	_ ratelimit.StatsFallback = (*Registry)(nil)
)

// New returns a Registry without statistics. opts may be nil.
func New(opts *Options) *Registry {
	if opts == nil {
		opts = &Options{}
	}
	r := &Registry{
		keep:     cmp.Or(opts.Keep, 10*time.Minute),
		now:      opts.Now,
		limits:   make(map[string]*limit),
		counters: make(map[string]*ratelimit.Counter),
		gauges:   make(map[string]*Gauge),
		timers:   make(map[string]*Timer),
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// Names of single statistics that the engine counts in.
const (
	// GlobalShadowModeName counts decisions that global shadow mode turned to OK.
	GlobalShadowModeName = "ratelimit.service.global_shadow_mode"
	// FoldedNamesName counts hits and requests whose name was one too many, and was
	// folded into "other".
	FoldedNamesName = "ratelimit.service.folded_names"
)

// Counter returns the counter of a name, tags included: see [Tagged].
func (r *Registry) Counter(name string) *ratelimit.Counter {
	return named(r, r.counters, name, func() *ratelimit.Counter { return new(ratelimit.Counter) })
}

// Gauge returns the gauge of a name.
func (r *Registry) Gauge(name string) *Gauge {
	return named(r, r.gauges, name, func() *Gauge { return new(Gauge) })
}

// Timer returns the timer of a name.
func (r *Registry) Timer(name string) *Timer {
	return named(r, r.timers, name, func() *Timer {
		t := newTimer()
		for _, w := range r.watchers {
			w.observe(name, t)
		}
		return t
	})
}

// GlobalShadowMode is the counter of GlobalShadowModeName.
func (r *Registry) GlobalShadowMode() *ratelimit.Counter { return r.Counter(GlobalShadowModeName) }

// FoldedNames is the counter of FoldedNamesName.
func (r *Registry) FoldedNames() *ratelimit.Counter { return r.Counter(FoldedNamesName) }

// Fallback is the counter "ratelimit.service.store_failure.<policy>": descriptors that
// the policy decided, because their store had failed.
func (r *Registry) Fallback(policy ratelimit.FailurePolicy) *ratelimit.Counter {
	return r.Counter("ratelimit.service.store_failure." + string(policy))
}

// DomainNotFound is the counter of requests for a domain without rules.
func (r *Registry) DomainNotFound(domain string) *ratelimit.Counter {
	return r.Counter(limitPrefix + domain + ".domain_not_found")
}

// named finds a statistic, or makes it while the registry is locked.
func named[T any](r *Registry, all map[string]*T, name string, create func() *T) *T {
	r.mu.RLock()
	s := all[name]
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s = all[name]; s == nil {
		s = create()
		all[name] = s
	}
	return s
}
