package stats

import (
	"cmp"
	"maps"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options configure a Registry. A nil *Options means all defaults.
type Options struct {
	// Keep is the time for which the counters of a limit are retained after the engine stops
	// using them, if these are not too many: see [Registry.Release]. It should be longer than a call may take and than the time between
	// two readings of any sink. Default: 10 minutes.
	Keep time.Duration
	// Now is the clock that Keep is measured by. Default: time.Now.
	Now func() time.Time
}

// Registry holds statistics by name. It is safe for concurrent use. Every method that
// takes a name returns the same statistic for the same name.
type Registry struct {
	keep time.Duration
	now  func() time.Time

	counters sync.Map // of *ratelimit.Counter by name
	gauges   sync.Map // of *Gauge by name

	mu           sync.RWMutex
	limits       map[string]*limit
	timers       map[string]*Timer
	retired      []retired // in the order of their release
	sources      []func(Reader)
	observations []*observation
}

var _ ratelimit.ExtendedStats = (*Registry)(nil)

// New returns an empty Registry. opts may be nil.
func New(opts *Options) *Registry {
	opts = cmp.Or(opts, &Options{})
	r := &Registry{
		keep:   cmp.Or(opts.Keep, 10*time.Minute),
		now:    opts.Now,
		limits: make(map[string]*limit),
		timers: make(map[string]*Timer),
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// Gauge is a value that goes up and down, such as a number of connections. The zero
// value is ready to use.
type Gauge struct{ n atomic.Uint64 }

// Set replaces the value.
func (g *Gauge) Set(n uint64) { g.n.Store(n) }

// Add changes the value by n, which may be negative.
func (g *Gauge) Add(n int64) { g.n.Add(uint64(n)) }

// Load returns the value.
func (g *Gauge) Load() uint64 { return g.n.Load() }

// Counter returns the counter of a name, tags included: see [Tagged].
func (r *Registry) Counter(name string) *ratelimit.Counter {
	return named[ratelimit.Counter](&r.counters, name)
}

// Gauge returns the gauge of a name.
func (r *Registry) Gauge(name string) *Gauge { return named[Gauge](&r.gauges, name) }

func named[T any](all *sync.Map, name string) *T {
	s, ok := all.Load(name)
	if !ok {
		s, _ = all.LoadOrStore(name, new(T))
	}
	return s.(*T)
}

// Timer returns the timer of a name.
func (r *Registry) Timer(name string) *Timer {
	r.mu.RLock()
	t := r.timers[name]
	r.mu.RUnlock()
	if t != nil {
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t = r.timers[name]; t == nil {
		t = &Timer{shards: make([]shard, min(1<<bits.Len(uint(runtime.GOMAXPROCS(0)-1)), 16))}
		t.observers.Store(new([]observer))
		for _, o := range r.observations {
			t.observe(name, o)
		}
		r.timers[name] = t
	}
	return t
}

// Timers returns all timers by name.
func (r *Registry) Timers() map[string]*Timer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return maps.Clone(r.timers)
}

// GlobalShadowMode returns the counter of decisions that global shadow mode turned to OK.
func (r *Registry) GlobalShadowMode() *ratelimit.Counter {
	return r.Counter("ratelimit.service.global_shadow_mode")
}

// FoldedNames returns the counter of hits and requests that were counted under "other",
// because there were too many names.
func (r *Registry) FoldedNames() *ratelimit.Counter {
	return r.Counter("ratelimit.service.folded_names")
}

// Fallback returns the counter "ratelimit.service.store_failure.<policy>": descriptors
// that the policy decided because their store had failed.
func (r *Registry) Fallback(policy ratelimit.FailurePolicy) *ratelimit.Counter {
	return r.Counter("ratelimit.service.store_failure." + string(policy))
}

// DomainNotFound returns the counter of requests for a domain without rules.
func (r *Registry) DomainNotFound(domain string) *ratelimit.Counter {
	return r.Counter(LimitPrefix + domain + ".domain_not_found")
}
