package prom

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/statsd_exporter/pkg/mapper"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// statistic identifies a counter or a gauge of the registry.
type statistic struct {
	name string
	sort mapper.MetricType
}

// entry holds the state of a counter or a gauge in the exporter.
type entry struct {
	series  *series // nil if it is not shown
	factor  float64
	ttl     time.Duration
	value   uint64
	changed time.Time
	scrape  uint64 // the last one that read it
}

// timer holds the state of a timer in the exporter.
type timer struct {
	series  *series
	ttl     time.Duration
	count   uint64
	changed time.Time
}

// scrape reads the registry once. It is a stats.Reader.
type scrape struct {
	*Exporter
	number uint64
	now    time.Time
	known  int // statistics that were read before
	fresh  []reading
}

// reading is a statistic that was read for the first time.
type reading struct {
	statistic
	value uint64
}

// Describe sends nothing: the metrics depend on the statistics.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect reads the registry and sends a metric for each series.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	for _, m := range e.collect() {
		to <- m
	}
}

func (e *Exporter) collect() []prometheus.Metric {
	e.scraping.Lock()
	defer e.scraping.Unlock()
	e.scrapes++
	s := &scrape{Exporter: e, number: e.scrapes, now: e.now()}
	complete := s.read()
	e.mu.Lock()
	defer e.mu.Unlock()
	if complete && s.known < len(e.entries) {
		s.forget()
	}
	s.admit()
	return s.metrics()
}

// read reports whether all statistics were read. If a source panics, statistics that
// were not read keep their values.
func (s *scrape) read() (complete bool) {
	defer func() {
		if p := recover(); p != nil {
			complete = false
			s.scrapeLog.warn(fmt.Sprintf("panic while statistics were read: %v", p), "stack", string(debug.Stack()))
		}
	}()
	s.registry.Read(s)
	return true
}

// Counter receives a counter. Counters of limits are ignored while they are 0.
func (s *scrape) Counter(name string, total uint64) {
	if total > 0 || !strings.HasPrefix(name, stats.LimitPrefix) {
		s.receive(statistic{name, mapper.MetricTypeCounter}, total)
	}
}

// Gauge receives a gauge.
func (s *scrape) Gauge(name string, value uint64) {
	s.receive(statistic{name, mapper.MetricTypeGauge}, value)
}

func (s *scrape) receive(of statistic, value uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.entries[of]
	if n == nil {
		s.fresh = append(s.fresh, reading{of, value})
		return
	}
	if n.scrape == s.number {
		return // the second time in one reading
	}
	s.known++
	n.scrape = s.number
	counts := of.sort == mapper.MetricTypeCounter
	if counts && value < n.value && n.series != nil { // forgotten and recreated
		n.series.gone += float64(n.value) * n.factor
	}
	if value != n.value || !counts { // a gauge never expires
		n.value, n.changed = value, s.now
	}
}

// forget drops what the registry has forgotten. Counts remain in a series that others
// share, because a counter must not go down.
func (s *scrape) forget() {
	for of, n := range s.entries {
		if n.scrape == s.number {
			continue
		}
		delete(s.entries, of)
		if n.series == nil {
			continue
		}
		if of.sort == mapper.MetricTypeCounter {
			n.series.gone += float64(n.value) * n.factor
		}
		s.table.release(n.series)
	}
}

// admit assigns series to new statistics, in the order of their names, so that the
// result does not depend on the order of a map.
func (s *scrape) admit() {
	slices.SortFunc(s.fresh, func(a, b reading) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(string(a.sort), string(b.sort)))
	})
	var failed uint64
	var first string
	var why error
	for _, f := range s.fresh {
		if s.entries[f.statistic] != nil {
			continue // the second time in one reading
		}
		n := &entry{value: f.value, changed: s.now, scrape: s.number}
		s.entries[f.statistic] = n
		to, err := s.mapping.target(f.name, f.sort)
		if err == nil {
			n.factor, n.ttl = to.factor, to.ttl
			n.series, err = s.table.claim(&to, f.name)
		}
		if err != nil && !errors.Is(err, errDropped) {
			if failed++; failed == 1 {
				first, why = f.name, err
			}
		}
	}
	if failed > 0 {
		s.report(failed, first, why)
	}
}

// metrics adds up the statistics of each series.
func (s *scrape) metrics() []prometheus.Metric {
	for _, of := range s.table.series {
		of.value, of.live = of.gone, false
	}
	for _, n := range s.entries {
		if n.series != nil {
			n.series.value += float64(n.value) * n.factor
			n.series.live = n.series.live || n.ttl == 0 || s.now.Sub(n.changed) <= n.ttl
		}
	}
	for _, t := range s.timers {
		t.series.live = t.series.live || t.ttl == 0 || s.recent(t)
	}
	all := make([]prometheus.Metric, 0, len(s.table.series))
	samples := make([]sample, 0, len(s.table.series))
	for _, of := range s.table.series {
		switch {
		case !of.live:
		case of.observer != nil:
			all = append(all, of.observer)
		default:
			samples = append(samples, sample{of, of.value})
			all = append(all, &samples[len(samples)-1])
		}
	}
	return all
}

func (s *scrape) recent(t *timer) bool {
	var m dto.Metric
	if err := t.series.observer.Write(&m); err != nil {
		return true // the scrape reports the error
	}
	if n := m.GetHistogram().GetSampleCount() + m.GetSummary().GetSampleCount(); n != t.count {
		t.count, t.changed = n, s.now
	}
	return s.now.Sub(t.changed) <= t.ttl
}

// observe is called by the registry, locked, for each of its timers.
func (e *Exporter) observe(name string) func(time.Duration) {
	to, err := e.mapping.target(name, mapper.MetricTypeObserver)
	if errors.Is(err, errDropped) {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var s *series
	if err == nil {
		s, err = e.table.claim(&to, name)
	}
	if err != nil {
		e.report(1, name, err)
		return nil
	}
	e.timers = append(e.timers, &timer{series: s, ttl: to.ttl, changed: e.now()})
	return func(d time.Duration) {
		// Divided, not multiplied, so that a duration equal to a bucket's boundary is in that bucket.
		s.observer.Observe(float64(d) / float64(to.unit) * to.factor)
	}
}

// report logs that statistics are not shown, and the reason for one of them.
func (e *Exporter) report(n uint64, name string, err error) {
	e.conflicts.Add(n)
	e.log.Warn("statistics are left out of the scrape", "count", n, "one", name, "error", err)
}
