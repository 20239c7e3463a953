package prom

import (
	"cmp"
	_ "embed"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/mapper"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// mapping determines the metrics of statistics.
type mapping interface {
	// target returns the metric of a statistic, or errDropped if it has none.
	target(name string, sort mapper.MetricType) (target, error)
	// owns reports whether the mapping has labels of that name.
	owns(label string) bool
	// reserved returns the metrics whose names no other statistic may use.
	reserved() []target
}

var errDropped = errors.New("dropped by the mapping")

// kind is the type of a metric, as in the TYPE lines of a scrape.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
	summary   kind = "summary"
)

// target is the metric and the labels that a statistic is shown as.
type target struct {
	metric string
	help   string // of a mapping file; empty means that of help.txt
	labels prometheus.Labels
	kind   kind
	shared bool    // chosen by a mapping file, so several statistics may have it
	factor float64 // applied to values

	ttl       time.Duration // 0 means none
	unit      time.Duration // of timers, before the factor
	histogram prometheus.HistogramOpts
	summary   prometheus.SummaryOpts
}

// helpText has a line for each metric of limits and of the server: a pattern of [path.Match] and what it counts.
//
//go:embed help.txt
var helpText string

// help describes a metric, for which no mapping file does.
func help(metric string, k kind) string {
	for line := range strings.Lines(helpText) {
		pattern, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ok, err := path.Match(pattern, metric); ok && err == nil {
			return text
		}
	}
	switch k {
	case counter:
		return "A counter that the program added under a name of its own: what it has counted since the start."
	case gauge:
		return "A gauge that the program added under a name of its own: its present value."
	}
	return "A timer that the program added under a name of its own: the durations that it recorded."
}

// unmapped returns the target of a statistic that no mapping matches. Timers are
// summaries in milliseconds unless the mapping file sets another default.
func unmapped(name string, sort mapper.MetricType) target {
	t := target{metric: cmp.Or(escape(name), "_"), factor: 1, kind: kind(sort)}
	if sort == mapper.MetricTypeObserver {
		t.kind, t.unit = summary, time.Millisecond
		t.summary.Objectives = map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}
	}
	return t
}

// escape returns a valid metric name. The library's function panics on two bytes that
// are not UTF-8.
func escape(name string) string { return mapper.EscapeMetricName(valid(name)) }

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// builtin is the mapping that is used without a mapping file (REFERENCE.md, 5.5).
type builtin struct{ milliseconds bool }

const limitMetric = "ratelimit_service_rate_limit_"

// limitStatistics are the statistics of a limit that are mapped.
var limitStatistics = []string{
	"total_hits", "within_limit", "near_limit", "over_limit", "shadow_mode", "total_negative_hits",
	"candidate_within_limit", "candidate_near_limit", "candidate_over_limit", limitGauge,
}

// rule maps the statistics that match a pattern, whose group becomes the label if there is one.
type rule struct {
	pattern       *regexp.Regexp
	metric, label string
}

var counterRules = []rule{
	{regexp.MustCompile(`^ratelimit\.service\.call\.should_rate_limit\.([^.]*)$`), "ratelimit_service_should_rate_limit_error", "err_type"},
	{regexp.MustCompile(`^ratelimit_server\.([^.]*)\.total_requests$`), "ratelimit_service_total_requests", "grpc_method"},
	{regexp.MustCompile(`^ratelimit\.service\.config_load_success$`), "ratelimit_service_config_load_success", ""},
	{regexp.MustCompile(`^ratelimit\.service\.config_load_error$`), "ratelimit_service_config_load_error", ""},
}

var responseTime = rule{regexp.MustCompile(`^ratelimit_server\.([^.]*)\.response_time$`), "ratelimit_service_response_time_seconds", "grpc_method"}

func (r *rule) target(value string) target {
	t := target{metric: r.metric, kind: counter, factor: 1}
	if r.label != "" {
		t.labels = prometheus.Labels{r.label: value}
	}
	return t
}

func (b builtin) target(name string, sort mapper.MetricType) (target, error) {
	if t, ok := limitTarget(name); ok && string(t.kind) == string(sort) {
		return t, nil
	}
	switch sort {
	case mapper.MetricTypeCounter:
		for i := range counterRules {
			if m := counterRules[i].pattern.FindStringSubmatch(name); m != nil {
				return counterRules[i].target(m[len(m)-1]), nil
			}
		}
	case mapper.MetricTypeObserver:
		if m := responseTime.pattern.FindStringSubmatch(name); m != nil {
			return b.responseTime(m[1]), nil
		}
	}
	return unmapped(name, sort), nil
}

// limitTarget gives each part of a statistics key its own label.
func limitTarget(name string) (target, bool) {
	key, ok := strings.CutPrefix(name, stats.LimitPrefix)
	if !ok {
		return target{}, false
	}
	parts := strings.Split(key, ".")
	stat := parts[len(parts)-1]
	if !slices.Contains(limitStatistics, stat) || len(parts) < 3 {
		return target{}, false
	}
	labels := prometheus.Labels{"domain": parts[0]}
	for i, part := range parts[1 : len(parts)-1] {
		labels["key"+strconv.Itoa(i+1)] = part
	}
	t := target{metric: limitMetric + stat, kind: counter, factor: 1, labels: labels}
	if stat == limitGauge {
		t.kind = gauge
	}
	return t, true
}

// limitGauge is the only statistic of a limit that is no counter.
const limitGauge = "limit"

func (b builtin) responseTime(method string) target {
	t := responseTime.target(method)
	t.kind = histogram
	if b.milliseconds {
		// The reference service uses the boundaries for seconds as milliseconds.
		all := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
		all = append(all, prometheus.DefBuckets...)
		slices.Sort(all)
		t.unit, t.histogram.Buckets = time.Millisecond, slices.Compact(all)
		return t
	}
	// The boundaries of the reference service, and finer ones below them.
	fine := []float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025}
	t.unit, t.histogram.Buckets = time.Second, append(fine, prometheus.DefBuckets...)
	return t
}

func (builtin) owns(label string) bool {
	switch label {
	case "domain", "err_type", "grpc_method":
		return true
	}
	number, ok := strings.CutPrefix(label, "key")
	_, err := strconv.ParseUint(number, 10, 64)
	return ok && err == nil
}

func (b builtin) reserved() []target {
	all := []target{b.responseTime("")}
	for _, stat := range limitStatistics {
		t, _ := limitTarget(stats.LimitPrefix + "domain.key." + stat)
		all = append(all, t)
	}
	for i := range counterRules {
		all = append(all, counterRules[i].target(""))
	}
	return all
}
