package stats

import (
	"maps"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Reader is told statistics. Timers are told to those who observe them, and their
// summaries are in [Registry.Snapshot].
type Reader interface {
	// Counter tells a count since the start. The name, tags included, is the same
	// string at each reading.
	Counter(name string, total uint64)
	// Gauge tells a present value.
	Gauge(name string, value uint64)
}

// Source has read called at each reading, to tell of statistics that are kept
// elsewhere, such as those of a cache or of the Go runtime. Names must not be those of
// other statistics, and have to be the same at each reading: one that is left out counts
// as forgotten. read must be quick, and safe for use by several goroutines.
func (r *Registry) Source(read func(Reader)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources = append(r.sources, read)
}

// Read tells to all counters and gauges, zeros included, in no particular order. The
// registry is not locked meanwhile: nobody who counts waits for a slow reader.
func (r *Registry) Read(to Reader) {
	c := r.catch()
	for _, l := range c.limits {
		for i, n := range counts(l.stats.Load()) {
			to.Counter(l.names[i], n)
		}
	}
	for name, counter := range c.counters {
		to.Counter(name, counter.Load())
	}
	for name, gauge := range c.gauges {
		to.Gauge(name, gauge.Load())
	}
	for _, read := range c.sources {
		read(to)
	}
}

// contents is what a registry holds at a moment.
type contents struct {
	limits   []*limit
	counters map[string]*ratelimit.Counter
	gauges   map[string]*Gauge
	timers   map[string]*Timer
	sources  []func(Reader)
}

// catch copies what there is, which takes milliseconds when it is much. Look-ups go on
// meanwhile.
func (r *Registry) catch() contents {
	r.mu.Lock()
	r.forget(r.now())
	r.mu.Unlock()

	r.mu.RLock()
	defer r.mu.RUnlock()
	c := contents{
		limits:   make([]*limit, 0, len(r.limits)),
		counters: make(map[string]*ratelimit.Counter, len(r.counters)),
		gauges:   make(map[string]*Gauge, len(r.gauges)),
		timers:   make(map[string]*Timer, len(r.timers)),
		sources:  r.sources[:len(r.sources):len(r.sources)],
	}
	for _, l := range r.limits {
		c.limits = append(c.limits, l)
	}
	maps.Copy(c.counters, r.counters)
	maps.Copy(c.gauges, r.gauges)
	maps.Copy(c.timers, r.timers)
	return c
}
