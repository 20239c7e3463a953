package prom

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// builtin is the mapping of the specification's table.
type builtin struct{ milliseconds bool }

const (
	limitPrefix = "ratelimit.service.rate_limit."
	limitMetric = "ratelimit_service_rate_limit_"
)

// limitHelp has the statistics of a limit that are mapped.
var limitHelp = map[string]string{
	"total_hits":   "Hits of a limit, counted before the counter store is asked.",
	"within_limit": "Hits that fitted together with their whole call.",
	"near_limit":   "Hits above the near-limit ratio that still fitted.",
	"over_limit":   "Hits that did not fit.",
	"shadow_mode":  "Hits that did not fit and passed because the rule is in shadow mode.",
}

// single is a row of the table for one metric: the statistic's name is before and after
// with one part between them that becomes the label; without a label, it is before.
type single struct {
	before, after string
	metric, label string
	help          string
}

var singles = []single{
	{
		"ratelimit.service.call.should_rate_limit.", "",
		"ratelimit_service_should_rate_limit_error", "err_type",
		"Decision calls that failed, by what failed.",
	},
	{
		"ratelimit_server.", ".total_requests",
		"ratelimit_service_total_requests", "grpc_method",
		"Calls of the service.",
	},
	{
		"ratelimit.service.config_load_success", "",
		"ratelimit_service_config_load_success", "",
		"Configurations that were loaded.",
	},
	{
		"ratelimit.service.config_load_error", "",
		"ratelimit_service_config_load_error", "",
		"Configurations that could not be loaded.",
	},
}

var responseTime = single{
	"ratelimit_server.", ".response_time",
	"ratelimit_service_response_time_seconds", "grpc_method",
	"Time to answer a call.",
}

// match finds the part of the name that the label holds.
func (s *single) match(name string) (part string, ok bool) {
	if s.label == "" {
		return "", name == s.before
	}
	if len(name) < len(s.before)+len(s.after) ||
		!strings.HasPrefix(name, s.before) || !strings.HasSuffix(name, s.after) {
		return "", false
	}
	part = name[len(s.before) : len(name)-len(s.after)]
	return part, !strings.Contains(part, ".")
}

func (s *single) target(part string) target {
	t := target{metric: s.metric, help: s.help, kind: counter, factor: 1}
	if s.label != "" {
		t.labels = []label{{s.label, part}}
	}
	return t
}

func (b builtin) target(name string, sort mapper.MetricType) (target, error) {
	switch sort {
	case mapper.MetricTypeCounter:
		if t, ok := limitTarget(name); ok {
			return t, nil
		}
		for i := range singles {
			if part, ok := singles[i].match(name); ok {
				return singles[i].target(part), nil
			}
		}
	case mapper.MetricTypeObserver:
		if part, ok := responseTime.match(name); ok {
			return b.responseTime(part), nil
		}
	}
	return unmapped(name, sort), nil
}

// limitTarget gives each part of a statistics key a label of its own.
func limitTarget(name string) (target, bool) {
	key, ok := strings.CutPrefix(name, limitPrefix)
	if !ok {
		return target{}, false
	}
	end := strings.LastIndexByte(key, '.')
	if end < 0 {
		return target{}, false
	}
	stat := key[end+1:]
	help, ok := limitHelp[stat]
	parts := strings.Split(key[:end], ".")
	if !ok || len(parts) < 2 {
		return target{}, false
	}
	t := target{metric: limitMetric + stat, help: help, kind: counter, factor: 1}
	t.labels = append(make([]label, 0, len(parts)), label{"domain", parts[0]})
	for i, part := range parts[1:] {
		t.labels = append(t.labels, label{"key" + strconv.Itoa(i+1), part})
	}
	return t, true
}

func (b builtin) responseTime(method string) target {
	t := responseTime.target(method)
	t.kind, t.unit, t.histogram.Buckets = histogram, time.Second, secondBuckets()
	if b.milliseconds {
		t.unit, t.histogram.Buckets = time.Millisecond, millisecondBuckets()
	}
	return t
}

// secondBuckets are the boundaries that the reference service has, which are the
// library's own, and finer ones below.
func secondBuckets() []float64 {
	return append([]float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025}, prometheus.DefBuckets...)
}

// millisecondBuckets are the same in milliseconds, and those of the reference
// service, which takes the boundaries for milliseconds as they are.
func millisecondBuckets() []float64 {
	all := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
	all = append(all, prometheus.DefBuckets...)
	slices.Sort(all)
	return slices.Compact(all)
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
	for stat, help := range limitHelp {
		all = append(all, target{metric: limitMetric + stat, help: help, kind: counter})
	}
	for i := range singles {
		all = append(all, singles[i].target(""))
	}
	return all
}
