package prom

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// fileMapping is a mapping in the format of the statsd exporter.
type fileMapping struct{ m *mapper.MetricMapper }

func newMapping(opts *Options, log *slog.Logger) (mapping, error) {
	if opts.Mapping == nil {
		return builtin{opts.ResponseTimeAsMilliseconds}, nil
	}
	m, err := parse(opts.Mapping, log)
	if err != nil {
		return nil, fmt.Errorf("prom: mapping: %w", err)
	}
	if opts.ResponseTimeAsMilliseconds {
		log.Warn("response times are shown as the mapping file defines them; the setting for milliseconds has no effect")
	}
	return fileMapping{m}, nil
}

const maxMapping = 1 << 20

func (f fileMapping) target(name string, sort mapper.MetricType) (target, error) {
	m, labels, ok := f.m.GetMapping(valid(name), sort)
	if !ok {
		to := unmapped(name, sort)
		to.ttl = f.m.Defaults.Ttl
		f.setKind(&to, &mapper.MetricMapping{}, sort)
		return to, nil
	}
	if m.Action == mapper.ActionTypeDrop {
		return target{}, errDropped
	}
	to := target{metric: escape(m.Name), help: m.HelpText, labels: labels, shared: true, factor: 1, ttl: m.Ttl}
	if to.metric == "" {
		return target{}, fmt.Errorf("the mapping with match %q gives it a metric without a name", m.Match)
	}
	if to.help == "" {
		to.help = fmt.Sprintf("Statistics whose names match %s, by the mapping file. Its field help can say more.", m.Match)
	}
	if m.Scale.Set {
		to.factor = m.Scale.Val
	}
	f.setKind(&to, m, sort)
	if to.kind == counter && to.factor < 0 {
		return target{}, fmt.Errorf("the mapping with match %q scales a counter by %v: it would go down", m.Match, to.factor)
	}
	return to, nil
}

// setKind makes the target a counter, a gauge, or what the mapping wants timers to be.
func (f fileMapping) setKind(to *target, m *mapper.MetricMapping, sort mapper.MetricType) {
	to.unit = time.Millisecond
	switch {
	case sort != mapper.MetricTypeObserver:
		to.kind = kind(sort)
	case cmp.Or(m.ObserverType, f.m.Defaults.ObserverType) == mapper.ObserverTypeHistogram:
		to.kind, to.histogram = histogram, f.histogram(m)
	default:
		to.kind, to.summary = summary, f.summary(m)
	}
}

// histogram completes the options of a mapping, of which the library completes a part.
func (f fileMapping) histogram(m *mapper.MetricMapping) prometheus.HistogramOpts {
	all := f.m.Defaults.HistogramOptions
	own := cmp.Or(m.HistogramOptions, &all)
	if len(own.Buckets) > 0 {
		all.Buckets = own.Buckets
	}
	return prometheus.HistogramOpts{
		Buckets:                        all.Buckets,
		NativeHistogramBucketFactor:    cmp.Or(own.NativeHistogramBucketFactor, all.NativeHistogramBucketFactor),
		NativeHistogramMaxBucketNumber: cmp.Or(own.NativeHistogramMaxBuckets, all.NativeHistogramMaxBuckets),
	}
}

func (f fileMapping) summary(m *mapper.MetricMapping) prometheus.SummaryOpts {
	all := &f.m.Defaults.SummaryOptions
	own := cmp.Or(m.SummaryOptions, all)
	quantiles := own.Quantiles
	if len(quantiles) == 0 {
		quantiles = all.Quantiles
	}
	objectives := make(map[float64]float64, len(quantiles))
	for _, q := range quantiles {
		objectives[q.Quantile] = q.Error
	}
	return prometheus.SummaryOpts{Objectives: objectives, MaxAge: own.MaxAge, AgeBuckets: own.AgeBuckets, BufCap: own.BufCap}
}

func (f fileMapping) owns(label string) bool {
	return slices.ContainsFunc(f.m.Mappings, func(m mapper.MetricMapping) bool {
		_, ok := m.Labels[label]
		return ok
	})
}

func (fileMapping) reserved() []target { return nil }

// Files for older versions of the format have other words for two things; the default
// file of the reference service is one.
var (
	oldKey   = regexp.MustCompile(`(?m)(^|[\s{,])timer_type(\s*:)`)
	oldValue = regexp.MustCompile(`(?m)((?:^|[\s{,])match_metric_type\s*:\s*["']?)timer\b`)
)

// parse reads a mapping file. It rejects what would panic, or never return, only when
// a statistic is mapped.
func parse(data []byte, log *slog.Logger) (*mapper.MetricMapper, error) {
	if len(data) > maxMapping {
		return nil, fmt.Errorf("is longer than %d bytes", maxMapping)
	}
	data = oldKey.ReplaceAll(data, []byte("${1}observer_type$2"))
	data = oldValue.ReplaceAll(data, []byte("${1}observer"))
	m := &mapper.MetricMapper{Logger: log}
	if err := m.InitFromYAMLString(string(data)); err != nil {
		return nil, withHint(err)
	}
	if err := errors.Join(checkHistogram(&m.Defaults.HistogramOptions), checkSummary(&m.Defaults.SummaryOptions)); err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	for i := range m.Mappings {
		if err := check(&m.Mappings[i]); err != nil {
			return nil, fmt.Errorf("mapping %d (match %q): %w", i+1, m.Mappings[i].Match, err)
		}
	}
	return m, nil
}

// withHint adds the correct form to errors that do not state it.
func withHint(err error) error {
	for part, hint := range map[string]string{
		"field buckets not found":   "buckets go under histogram_options",
		"field quantiles not found": "quantiles go under summary_options",
		"invalid match:":            "a glob is words of letters, digits, _ and -, or *, with dots between them; for all else set match_type: regex",
		"invalid label key:":        "letters, digits and _, at least two, the first no digit",
	} {
		if strings.Contains(err.Error(), part) {
			return fmt.Errorf("%w (%s)", err, hint)
		}
	}
	return err
}

func check(m *mapper.MetricMapping) error {
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		if name == "le" || name == "quantile" || strings.HasPrefix(name, "__") {
			return fmt.Errorf("label %s: the name is reserved by Prometheus: choose another", name)
		}
	}
	if m.Scale.Set && !finite(m.Scale.Val) {
		return fmt.Errorf("scale %v: must be a number", m.Scale.Val)
	}
	if m.Ttl < 0 {
		return fmt.Errorf("ttl %v: must not be negative", m.Ttl)
	}
	return errors.Join(checkHistogram(m.HistogramOptions), checkSummary(m.SummaryOptions))
}

func checkHistogram(o *mapper.HistogramOptions) error {
	if o == nil {
		return nil
	}
	for i, b := range o.Buckets {
		if math.IsNaN(b) || i > 0 && b <= o.Buckets[i-1] {
			return fmt.Errorf("bucket %d is %v: buckets must be numbers, each above the one before", i+1, b)
		}
	}
	if f := o.NativeHistogramBucketFactor; f != 0 && (!finite(f) || f <= 1) {
		return fmt.Errorf("native_histogram_bucket_factor %v: must be above 1", f)
	}
	return atMost([]bound{
		{"buckets", len(o.Buckets), 1000}, {"native_histogram_max_buckets", int(o.NativeHistogramMaxBuckets), 10_000},
	})
}

func checkSummary(o *mapper.SummaryOptions) error {
	if o == nil {
		return nil
	}
	for i, q := range o.Quantiles {
		switch {
		case !(q.Quantile >= 0 && q.Quantile <= 1) || !(q.Error >= 0 && q.Error <= 1):
			return fmt.Errorf("quantile %d is %v with error %v: both must be from 0 to 1", i+1, q.Quantile, q.Error)
		case slices.ContainsFunc(o.Quantiles[:i], func(before mapper.MetricObjective) bool { return before.Quantile == q.Quantile }):
			return fmt.Errorf("duplicate quantile %v", q.Quantile)
		}
	}
	if o.MaxAge != 0 && o.MaxAge < time.Second {
		return fmt.Errorf("max_age %v: must be at least 1s", o.MaxAge)
	}
	return atMost([]bound{
		{"quantiles", len(o.Quantiles), 100}, {"age_buckets", int(o.AgeBuckets), 100}, {"buf_cap", int(o.BufCap), 100_000},
	})
}

// bound is a number of a histogram or summary, and the largest one.
type bound struct {
	name    string
	n, most int
}

// atMost bounds the memory that a histogram or summary may allocate.
func atMost(all []bound) error {
	for _, b := range all {
		if b.n > b.most {
			return fmt.Errorf("%s %d: at most %d", b.name, b.n, b.most)
		}
	}
	return nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
