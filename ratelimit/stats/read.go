package stats

import (
	"maps"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Reader receives statistics. Timers are not among them: see [Registry.Timers] and
// [Registry.Observe].
type Reader interface {
	// Counter receives a total since the start. The name, tags included, is the same
	// string at each reading.
	Counter(name string, total uint64)
	// Gauge receives a current value.
	Gauge(name string, value uint64)
}

// Source adds statistics that are held elsewhere, such as those of a cache or of the
// Go runtime: each reading calls read. Names must differ from those of other
// statistics and must be the same at each reading: a name that is missing counts as
// forgotten. read must be quick and safe for concurrent use.
func (r *Registry) Source(read func(Reader)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources = append(r.sources, read)
}

// Read passes all counters and gauges to a Reader, zeros included, in no particular
// order. The registry is not locked meanwhile, so a slow Reader does not delay counting.
func (r *Registry) Read(to Reader) { r.read(to, true) }

// ReadCounted is Read without the counters of limits that are zero, which nearly all of many thousands are.
func (r *Registry) ReadCounted(to Reader) { r.read(to, false) }

func (r *Registry) read(to Reader, zeros bool) {
	r.mu.Lock()
	r.forget(r.now())
	limits := slices.Collect(maps.Values(r.limits))
	sources := slices.Clip(r.sources)
	r.mu.Unlock()
	for _, l := range limits {
		l.read(to, zeros)
	}
	r.counters.Range(func(name, counter any) bool {
		to.Counter(name.(string), counter.(*ratelimit.Counter).Load())
		return true
	})
	r.gauges.Range(func(name, gauge any) bool {
		to.Gauge(name.(string), gauge.(*Gauge).Load())
		return true
	})
	for _, read := range sources {
		read(to)
	}
}
