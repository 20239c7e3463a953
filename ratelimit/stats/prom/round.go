package prom

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// entry is a counter or gauge of the registry.
type entry struct {
	series  *series // nil if it is not shown
	counter bool
	factor  float64
	ttl     time.Duration
	round   uint64 // the last that came across it
	value   uint64
	changed time.Time
}

// round is one reading. It is a stats.Reader.
type round struct {
	e      *Exporter
	number uint64
	now    time.Time
	met    [2]int // counters and gauges that were known before
	fresh  []reading
	shown  []*series
}

// reading is a statistic that was met for the first time.
type reading struct {
	name  string
	sort  mapper.MetricType
	value uint64
}

// readRegistry tells whether all could be read. A source of statistics that panics must
// not take the others with it.
func (r *round) readRegistry() (whole bool) {
	defer func() {
		if p := recover(); p != nil {
			whole = false
			r.e.trouble.warn(fmt.Sprintf("panic while statistics were read: %v", p), "stack", string(debug.Stack()))
		}
	}()
	r.e.registry.Read(r)
	return true
}

// repeat shows what was not read as it was before.
func (r *round) repeat(entries map[string]*entry) {
	for _, n := range entries {
		if n.round != r.number {
			n.round = r.number
			r.take(n, n.value)
		}
	}
}

// Counter takes a counter's reading. The counter of a limit is not looked at before
// it has counted anything.
func (r *round) Counter(name string, total uint64) {
	if total == 0 && strings.HasPrefix(name, limitPrefix) {
		return
	}
	if known := r.e.counters[name]; known != nil {
		r.meet(known, total, &r.met[0])
		return
	}
	r.fresh = append(r.fresh, reading{name, mapper.MetricTypeCounter, total})
}

// Gauge takes a gauge's reading.
func (r *round) Gauge(name string, value uint64) {
	if known := r.e.gauges[name]; known != nil {
		r.meet(known, value, &r.met[1])
		return
	}
	r.fresh = append(r.fresh, reading{name, mapper.MetricTypeGauge, value})
}

func (r *round) meet(n *entry, value uint64, met *int) {
	if n.round == r.number {
		return // a source that tells a name twice
	}
	n.round = r.number
	*met++
	r.take(n, value)
}

// take adds a reading to its series.
func (r *round) take(n *entry, value uint64) {
	if n.series == nil {
		return
	}
	if n.counter && value < n.value { // it was forgotten and begun anew between two readings
		r.bury(n)
	}
	if value != n.value || !n.counter { // a gauge is news whatever it says
		n.value, n.changed = value, r.now
	}
	r.show(n.series, float64(value)*n.factor, n.ttl == 0 || r.now.Sub(n.changed) <= n.ttl)
}

// show adds a value to what the series shows, if anything in it is live.
func (r *round) show(s *series, value float64, live bool) {
	if s.round != r.number {
		s.round, s.value, s.live = r.number, s.gone, false
		r.shown = append(r.shown, s)
	}
	s.value += value
	s.live = s.live || live
}

// bury keeps what a counter had counted that is no more.
func (r *round) bury(n *entry) {
	count := float64(n.value) * n.factor
	n.series.gone += count
	if n.series.round == r.number {
		n.series.value += count
	}
}

// sweep lets go of what the registry has forgotten. What it had counted stays in a
// series that others are part of: a counter must not go down.
func (r *round) sweep(entries map[string]*entry, met int) {
	if met == len(entries) {
		return
	}
	for name, n := range entries {
		if n.round == r.number {
			continue
		}
		delete(entries, name)
		if n.series == nil {
			continue
		}
		if n.counter {
			r.bury(n)
		}
		r.e.table.release(n.series)
	}
}

// admit gives the statistics that are new their series, in the order of their names:
// who comes first must not depend on the order of a map.
func (r *round) admit() {
	slices.SortFunc(r.fresh, func(a, b reading) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(string(a.sort), string(b.sort)))
	})
	var failed uint64
	var first reading
	var why error
	for _, f := range r.fresh {
		if err := r.enter(f); err != nil {
			if failed++; failed == 1 {
				first, why = f, err
			}
		}
	}
	if failed > 0 {
		r.e.report(failed, first.name, why)
	}
}

func (r *round) enter(f reading) error {
	entries := r.e.counters
	if f.sort == mapper.MetricTypeGauge {
		entries = r.e.gauges
	}
	if entries[f.name] != nil {
		return nil // a source that tells a name twice
	}
	n := &entry{counter: f.sort == mapper.MetricTypeCounter, round: r.number, changed: r.now}
	entries[f.name] = n
	to, err := r.e.names.target(f.name, f.sort)
	if errors.Is(err, errDropped) {
		return nil
	}
	if err != nil {
		return err
	}
	n.factor, n.ttl = to.factor, to.ttl
	if n.series, err = r.e.table.claim(&to, f.name); err != nil {
		return err
	}
	r.take(n, f.value)
	return nil
}
