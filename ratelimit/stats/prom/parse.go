package prom

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/statsd_exporter/pkg/mapper"
)

// Files that were written for older versions of the format have other words for two
// things, the reference service's own default among them.
var (
	oldKey   = regexp.MustCompile(`(?m)(^|[\s{,])timer_type(\s*:)`)
	oldValue = regexp.MustCompile(`(?m)((?:^|[\s{,])match_metric_type\s*:\s*["']?)timer\b`)
)

// parse reads a mapping file, and refuses what would panic, or hang, only when a
// statistic is met.
func parse(text []byte, log *slog.Logger) (*mapper.MetricMapper, error) {
	text = oldKey.ReplaceAll(text, []byte("${1}observer_type$2"))
	text = oldValue.ReplaceAll(text, []byte("${1}observer"))
	m := &mapper.MetricMapper{Logger: log}
	if err := m.InitFromYAMLString(string(text)); err != nil {
		return nil, hinted(err)
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

// hinted adds what would be right to errors that don't say it.
func hinted(err error) error {
	for _, h := range []struct{ about, hint string }{
		{"field buckets not found", "buckets go under histogram_options"},
		{"field quantiles not found", "quantiles go under summary_options"},
		{"invalid match:", "a glob is words of letters, digits, _ and -, or *, with dots between them; for all else set match_type: regex"},
		{"invalid label key:", "letters, digits and _, at least two, the first no digit"},
	} {
		if strings.Contains(err.Error(), h.about) {
			return fmt.Errorf("%w (%s)", err, h.hint)
		}
	}
	return err
}

func check(m *mapper.MetricMapping) error {
	for name := range m.Labels {
		if name == "le" || name == "quantile" || strings.HasPrefix(name, "__") {
			return fmt.Errorf("label %s: the name has a meaning of its own in a scrape: choose another", name)
		}
	}
	if m.Scale.Set && !finite(m.Scale.Val) {
		return fmt.Errorf("scale %v: must be a number", m.Scale.Val)
	}
	if m.Ttl < 0 {
		return fmt.Errorf("ttl %v: must not be negative", m.Ttl)
	}
	if m.HistogramOptions != nil {
		if err := checkHistogram(m.HistogramOptions); err != nil {
			return err
		}
	}
	if m.SummaryOptions != nil {
		return checkSummary(m.SummaryOptions)
	}
	return nil
}

// Bounds of what a histogram or summary may take.
const (
	maxBuckets       = 1000
	maxNativeBuckets = 10_000
	maxQuantiles     = 100
	maxAgeBuckets    = 100
	maxBufCap        = 100_000
)

func checkHistogram(o *mapper.HistogramOptions) error {
	if len(o.Buckets) > maxBuckets {
		return fmt.Errorf("%d buckets: at most %d", len(o.Buckets), maxBuckets)
	}
	for i, b := range o.Buckets {
		if math.IsNaN(b) || i > 0 && b <= o.Buckets[i-1] {
			return fmt.Errorf("bucket %d is %v: buckets must be numbers, each above the one before", i+1, b)
		}
	}
	if f := o.NativeHistogramBucketFactor; f != 0 && (!finite(f) || f <= 1) {
		return fmt.Errorf("native_histogram_bucket_factor %v: must be above 1", f)
	}
	if o.NativeHistogramMaxBuckets > maxNativeBuckets {
		return fmt.Errorf("native_histogram_max_buckets %d: at most %d", o.NativeHistogramMaxBuckets, maxNativeBuckets)
	}
	return nil
}

func checkSummary(o *mapper.SummaryOptions) error {
	if len(o.Quantiles) > maxQuantiles {
		return fmt.Errorf("%d quantiles: at most %d", len(o.Quantiles), maxQuantiles)
	}
	seen := make(map[float64]bool, len(o.Quantiles))
	for i, q := range o.Quantiles {
		if !(q.Quantile >= 0 && q.Quantile <= 1) || !(q.Error >= 0 && q.Error <= 1) {
			return fmt.Errorf("quantile %d is %v with error %v: both must be from 0 to 1", i+1, q.Quantile, q.Error)
		}
		if seen[q.Quantile] {
			return fmt.Errorf("quantile %v is there twice", q.Quantile)
		}
		seen[q.Quantile] = true
	}
	if o.MaxAge != 0 && o.MaxAge < time.Second {
		return fmt.Errorf("max_age %v: must be at least 1s", o.MaxAge)
	}
	if o.AgeBuckets > maxAgeBuckets {
		return fmt.Errorf("age_buckets %d: at most %d", o.AgeBuckets, maxAgeBuckets)
	}
	if o.BufCap > maxBufCap {
		return fmt.Errorf("buf_cap %d: at most %d", o.BufCap, maxBufCap)
	}
	return nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
