package prom

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Describe describes nothing: which metrics there are depends on the statistics.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect reads the registry and sends a metric for each series.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	for _, m := range e.read() {
		to <- m
	}
}

func (e *Exporter) read() []prometheus.Metric {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.round++
	r := &round{e: e, number: e.round, now: e.now()}
	if r.readRegistry() {
		r.sweep(e.counters, r.met[0])
		r.sweep(e.gauges, r.met[1])
	} else {
		r.repeat(e.counters)
		r.repeat(e.gauges)
	}
	r.admit()
	r.readTimers()
	return r.metrics()
}

// report says that so many statistics are not shown, and why one of them is not.
func (e *Exporter) report(n uint64, name string, why error) {
	e.conflicts.Add(n)
	e.log.Warn("statistics are left out of the scrape", "count", n, "one", name, "why", why)
}

func (r *round) metrics() []prometheus.Metric {
	all := make([]prometheus.Metric, 0, len(r.shown))
	samples := make([]sample, 0, len(r.shown))
	for _, s := range r.shown {
		switch {
		case !s.live:
		case s.observer != nil:
			all = append(all, s.observer)
		default:
			samples = append(samples, sample{s, s.value})
			all = append(all, &samples[len(samples)-1])
		}
	}
	return all
}

// sample is a counter or gauge as it was read.
type sample struct {
	series *series
	value  float64
}

func (m *sample) Desc() *prometheus.Desc { return m.series.family.desc }

func (m *sample) Write(to *dto.Metric) error {
	to.Label = m.series.labels.pairs
	if m.series.family.kind == counter {
		to.Counter = &dto.Counter{Value: &m.value}
	} else {
		to.Gauge = &dto.Gauge{Value: &m.value}
	}
	return nil
}
