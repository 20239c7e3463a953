package prom

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	topKeyHits     = "ratelimit_top_key_hits"
	topKeyRefusals = "ratelimit_top_key_refusals"

	maxTopSeries = 1000 // of each metric
	maxTopLabel  = 128  // bytes
)

// topKeys is a collector of the busiest keys.
type topKeys struct {
	read           func() *ratelimit.TopKeys
	perRule        int
	hits, refusals *prometheus.Desc
}

// registerTopKeys adds the metrics of Options.TopKeys.
func (e *Exporter) registerTopKeys(registry prometheus.Registerer, opts *Options) error {
	if opts.TopKeys == nil || opts.TopKeysPerRule <= 0 {
		return nil
	}
	labels := []string{"domain", "rule", "key"}
	gauge := dto.MetricType_GAUGE.Enum()
	e.table.reserve([]*dto.MetricFamily{{Name: new(topKeyHits), Type: gauge}, {Name: new(topKeyRefusals), Type: gauge}})
	return prometheus.WrapRegistererWith(e.tagsExcept(labels...), registry).Register(&topKeys{
		opts.TopKeys, opts.TopKeysPerRule,
		prometheus.NewDesc(topKeyHits, "Estimated hits of the busiest keys of a rule in the current minute and the one before.", labels, nil),
		prometheus.NewDesc(topKeyRefusals, "Estimated hits over the limit of the keys with the most, in the current minute and the one before.", labels, nil),
	})
}

// Describe implements prometheus.Collector.
func (t *topKeys) Describe(to chan<- *prometheus.Desc) {
	to <- t.hits
	to <- t.refusals
}

// Collect implements prometheus.Collector.
func (t *topKeys) Collect(to chan<- prometheus.Metric) {
	top := t.read()
	if top == nil {
		return
	}
	t.send(to, t.hits, top, func(r *ratelimit.RuleKeys) []ratelimit.KeyCount { return r.ByHits })
	t.send(to, t.refusals, top, func(r *ratelimit.RuleKeys) []ratelimit.KeyCount { return r.ByRefusals })
}

// send sends the series with the greatest counts. Those whose labels are equal once they are cut
// are added up.
func (t *topKeys) send(to chan<- prometheus.Metric, desc *prometheus.Desc, top *ratelimit.TopKeys, keys func(*ratelimit.RuleKeys) []ratelimit.KeyCount) {
	counts := make(map[[3]string]uint64)
	for i := range top.Rules {
		r := &top.Rules[i]
		all := keys(r)
		for _, k := range all[:min(t.perRule, len(all))] {
			counts[topLabels(r, &k)] += k.Count
		}
	}
	greatest := slices.SortedFunc(maps.Keys(counts), func(a, b [3]string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	for _, labels := range greatest[:min(len(greatest), maxTopSeries)] {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(counts[labels]), labels[:]...)
	}
}

// topLabels returns the labels of a key: domain, rule and key, cut and made printable.
func topLabels(r *ratelimit.RuleKeys, k *ratelimit.KeyCount) [3]string {
	rule := printable.Join(r.Path, ".", func(e ratelimit.Entry) string {
		if e.Value == "" {
			return e.Key
		}
		return e.Key + "_" + e.Value
	})
	key := printable.Join(k.Entries, ",", func(e ratelimit.Entry) string { return e.Key + "=" + e.Value })
	labels := [...]string{cmp.Or(r.Domain, k.Domain), rule, key}
	for i := range labels {
		labels[i] = printable.Truncate(labels[i], maxTopLabel)
	}
	return labels
}
