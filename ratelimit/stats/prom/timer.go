package prom

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// observer is a histogram or a summary.
type observer interface {
	prometheus.Metric
	prometheus.Observer
}

func newObserver(f *family, labels []label, to *target) observer {
	all := make(prometheus.Labels, len(labels))
	for _, l := range labels {
		all[l.name] = l.value
	}
	switch to.kind {
	case histogram:
		opts := to.histogram
		opts.Name, opts.Help, opts.ConstLabels = f.name, f.help, all
		return prometheus.NewHistogram(opts)
	case summary:
		opts := to.summary
		opts.Name, opts.Help, opts.ConstLabels = f.name, f.help, all
		return prometheus.NewSummary(opts)
	}
	return nil
}

// timer is a timer of the registry.
type timer struct {
	series *series
	ttl    time.Duration

	// The rest belongs to the readings, under Exporter.mu.
	count   uint64
	changed time.Time
}

// observe is called by the registry, locked, for each of its timers.
func (e *Exporter) observe(name string) func(time.Duration) {
	to, err := e.names.target(name, mapper.MetricTypeObserver)
	switch {
	case err == nil:
		return e.follow(name, &to)
	case !errors.Is(err, errDropped):
		e.report(1, name, err)
	}
	return nil
}

func (e *Exporter) follow(name string, to *target) func(time.Duration) {
	s, err := e.table.claim(to, name)
	if err != nil {
		e.report(1, name, err)
		return nil
	}
	e.timersMu.Lock()
	defer e.timersMu.Unlock()
	e.timers = append(e.timers, &timer{series: s, ttl: to.ttl, changed: e.now()})
	return func(d time.Duration) { s.observer.Observe(to.value(d)) }
}

// readTimers shows all timers that have not been silent for too long.
func (r *round) readTimers() {
	r.e.timersMu.Lock()
	timers := r.e.timers[:len(r.e.timers):len(r.e.timers)]
	r.e.timersMu.Unlock()
	for _, t := range timers {
		r.show(t.series, 0, t.ttl == 0 || r.recent(t))
	}
}

func (r *round) recent(t *timer) bool {
	var m dto.Metric
	if err := t.series.observer.Write(&m); err != nil {
		return true // the scrape will say why
	}
	if n := m.GetHistogram().GetSampleCount() + m.GetSummary().GetSampleCount(); n != t.count {
		t.count, t.changed = n, r.now
	}
	return r.now.Sub(t.changed) <= t.ttl
}
