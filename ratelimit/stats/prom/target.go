package prom

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// mapping says what becomes of statistics.
type mapping interface {
	// target is where a statistic goes. The error is errDropped if it is to go nowhere.
	target(name string, sort mapper.MetricType) (target, error)
	// owns tells whether the mapping has labels of that name.
	owns(label string) bool
	// reserved are the metrics whose names no other statistic may take.
	reserved() []target
}

var errDropped = errors.New("dropped by the mapping")

// kind is what a metric is, as in the TYPE lines of a scrape.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
	summary   kind = "summary"
)

// target is the metric and labels that a statistic is shown as.
type target struct {
	metric string
	help   string
	labels []label
	kind   kind
	shared bool    // a mapping file chose it, so other statistics may go there too
	factor float64 // what values are multiplied by

	ttl       time.Duration // 0: no end
	unit      time.Duration // of timers, before the factor
	histogram prometheus.HistogramOpts
	summary   prometheus.SummaryOpts
}

// value is what a duration is shown as.
func (t *target) value(d time.Duration) float64 {
	// A division rounds right, so that a duration of exactly a bucket's boundary is in it.
	return float64(d) / float64(t.unit) * t.factor
}

const unmappedHelp = "A statistic without a mapping: its name, with underscores for what a metric's name may not hold."

// unmapped is the target of a statistic that no mapping knows. Timers are summaries in
// milliseconds unless the file says otherwise.
func unmapped(name string, sort mapper.MetricType) target {
	t := target{metric: cmp.Or(escape(name), "_"), help: unmappedHelp, factor: 1}
	switch sort {
	case mapper.MetricTypeCounter:
		t.kind = counter
	case mapper.MetricTypeGauge:
		t.kind = gauge
	default:
		t.kind, t.unit = summary, time.Millisecond
		t.summary.Objectives = map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}
	}
	return t
}

// escape makes a metric's name. The library's own function panics on two bytes that
// are not UTF-8.
func escape(name string) string {
	return mapper.EscapeMetricName(valid(name))
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
