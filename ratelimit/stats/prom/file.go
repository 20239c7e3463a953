package prom

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// fileMapping is a mapping in the form of the statsd exporter.
type fileMapping struct{ m *mapper.MetricMapper }

func newMapping(opts *Options, log *slog.Logger) (mapping, error) {
	if opts.MapperFile == "" && opts.Mapping == nil {
		return builtin{opts.ResponseTimeAsMilliseconds}, nil
	}
	text, from, err := mappingText(opts)
	if err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	m, err := parse(text, log)
	if err != nil {
		return nil, fmt.Errorf("prom: %s: %w", from, err)
	}
	if opts.ResponseTimeAsMilliseconds {
		log.Warn("response times are shown as the mapping file says, and not in milliseconds because of the setting", "from", from)
	}
	return fileMapping{m}, nil
}

const maxMapping = 1 << 20

func mappingText(opts *Options) (text []byte, from string, err error) {
	if opts.MapperFile == "" {
		text, from = opts.Mapping, "mapping"
	} else {
		if opts.Mapping != nil {
			return nil, "", errors.New("both a mapping file and a mapping are given: give one")
		}
		from = "mapping file " + opts.MapperFile
		if text, err = readFile(opts.MapperFile); err != nil {
			return nil, "", fmt.Errorf("%s: %w", from, err)
		}
	}
	if len(text) > maxMapping {
		return nil, "", fmt.Errorf("%s: is longer than %d bytes", from, maxMapping)
	}
	return text, from, nil
}

// readFile reads no more than shows that a file is too long.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMapping+1))
}

func (f fileMapping) target(name string, sort mapper.MetricType) (target, error) {
	m, labels, ok := f.m.GetMapping(valid(name), sort)
	if !ok {
		to := unmapped(name, sort)
		to.ttl = f.m.Defaults.Ttl
		f.shape(&to, &mapper.MetricMapping{}, sort)
		return to, nil
	}
	if m.Action == mapper.ActionTypeDrop {
		return target{}, errDropped
	}
	to := target{metric: escape(m.Name), help: m.HelpText, shared: true, factor: 1, ttl: m.Ttl}
	if to.metric == "" {
		return target{}, fmt.Errorf("the mapping with match %q gives it a metric without a name", m.Match)
	}
	if to.help == "" {
		to.help = "A statistic of the rate limit service, by its mapping file."
	}
	if m.Scale.Set {
		to.factor = m.Scale.Val
	}
	for l, value := range labels {
		to.labels = append(to.labels, label{l, value})
	}
	f.shape(&to, m, sort)
	if to.kind == counter && to.factor < 0 {
		return target{}, fmt.Errorf("the mapping with match %q scales a counter by %v: it would go down", m.Match, to.factor)
	}
	return to, nil
}

// shape makes the target a counter, a gauge, or what the mapping wants timers to be.
func (f fileMapping) shape(to *target, m *mapper.MetricMapping, sort mapper.MetricType) {
	switch sort {
	case mapper.MetricTypeCounter:
		to.kind = counter
		return
	case mapper.MetricTypeGauge:
		to.kind = gauge
		return
	}
	to.unit = time.Millisecond
	wanted := m.ObserverType
	if wanted == mapper.ObserverTypeDefault {
		wanted = f.m.Defaults.ObserverType
	}
	if wanted == mapper.ObserverTypeHistogram {
		to.kind, to.histogram = histogram, f.histogram(m)
	} else {
		to.kind, to.summary = summary, f.summary(m)
	}
}

func (f fileMapping) histogram(m *mapper.MetricMapping) prometheus.HistogramOpts {
	opts := f.m.Defaults.HistogramOptions // has buckets and all
	if own := m.HistogramOptions; own != nil {
		if len(own.Buckets) > 0 {
			opts.Buckets = own.Buckets
		}
		if own.NativeHistogramBucketFactor > 0 {
			opts.NativeHistogramBucketFactor = own.NativeHistogramBucketFactor
		}
		if own.NativeHistogramMaxBuckets > 0 {
			opts.NativeHistogramMaxBuckets = own.NativeHistogramMaxBuckets
		}
	}
	return prometheus.HistogramOpts{
		Buckets:                        opts.Buckets,
		NativeHistogramBucketFactor:    opts.NativeHistogramBucketFactor,
		NativeHistogramMaxBucketNumber: opts.NativeHistogramMaxBuckets,
	}
}

func (f fileMapping) summary(m *mapper.MetricMapping) prometheus.SummaryOpts {
	opts := f.m.Defaults.SummaryOptions
	if own := m.SummaryOptions; own != nil {
		quantiles := opts.Quantiles
		if opts = *own; len(opts.Quantiles) == 0 {
			opts.Quantiles = quantiles
		}
	}
	objectives := make(map[float64]float64, len(opts.Quantiles))
	for _, q := range opts.Quantiles {
		objectives[q.Quantile] = q.Error
	}
	return prometheus.SummaryOpts{
		Objectives: objectives, MaxAge: opts.MaxAge, AgeBuckets: opts.AgeBuckets, BufCap: opts.BufCap,
	}
}

func (f fileMapping) owns(label string) bool {
	for i := range f.m.Mappings {
		if _, ok := f.m.Mappings[i].Labels[label]; ok {
			return true
		}
	}
	return false
}

func (fileMapping) reserved() []target { return nil }
