package stats

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// Timer records durations. Any number of goroutines may call Record.
type Timer struct {
	shards    []shard
	observers atomic.Pointer[[]observer] // never nil
}

// shard is the part of a timer that some of the goroutines write to. The padding
// keeps two shards from sharing a cache line.
type shard struct {
	Histogram
	_ [64]byte
}

// observer receives the durations of one timer, on behalf of a call of Observe.
type observer struct {
	receive func(time.Duration)
	of      *observation
}

// observation is the argument of a call of Observe.
type observation func(name string) func(time.Duration)

// Record records one duration. A negative one counts as 0.
func (t *Timer) Record(d time.Duration) {
	d = max(d, 0)
	t.shards[int(rand.Uint32())&(len(t.shards)-1)].Record(d)
	for _, o := range *t.observers.Load() {
		o.receive(d)
	}
}

// Histogram returns a copy of everything that was recorded.
func (t *Timer) Histogram() *Histogram {
	h := new(Histogram)
	for i := range t.shards {
		h.Merge(&t.shards[i].Histogram)
	}
	return h
}

// Summary summarises what was recorded.
func (t *Timer) Summary() Summary { return t.Histogram().Summary() }

// observe starts an observation of t. The registry is locked.
func (t *Timer) observe(name string, o *observation) {
	if receive := (*o)(name); receive != nil {
		t.observers.Store(new(append(slices.Clip(*t.observers.Load()), observer{receive, o})))
	}
}

// Observe passes on the durations of all timers, existing and future, until the
// returned function is called. It calls start with the name of each timer, and the
// function that start returns with each duration recorded from then on; nil ignores
// the timer. start must not use the registry. The function that it returns runs on
// the path of a decision: it must be quick, must not block, and must be safe for
// concurrent use. It may be called for a moment after Observe was ended.
func (r *Registry) Observe(start func(name string) func(time.Duration)) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := new(observation(start))
	r.observations = append(r.observations, o)
	for name, t := range r.timers {
		t.observe(name, o)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.observations = slices.DeleteFunc(r.observations, func(other *observation) bool { return other == o })
		for _, t := range r.timers {
			others := slices.DeleteFunc(slices.Clone(*t.observers.Load()), func(other observer) bool { return other.of == o })
			t.observers.Store(&others)
		}
	}
}
