package prom_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

// A statistic of any name is shown, and the scrape is valid.
func FuzzName(f *testing.F) {
	for _, name := range []string{
		"", "a", "9", "a--b", "\xff\xff", "\xff\xffa", "ratelimit.service.rate_limit.d.k.total_hits", "ratelimit.service.rate_limit.d.\xff\xfe.total_hits",
		"ratelimit_server.\n.response_time", "a.__b=c", "é.ü",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		registry := stats.New(nil)
		registry.Counter(name).Add(3)
		registry.Gauge(name).Set(4)
		e, log := exporter(t, registry, prom.Options{})
		registry.Timer(name).Record(time.Second)
		shown := 0
		for _, family := range parsed(t, e) {
			shown += len(family.GetMetric())
		}
		want := 4 // with the exporter's counter
		if name == prom.ConflictsName {
			want--
		}
		require.Equal(t, want, shown, log.String())
	})
}

// Any mapping file is rejected by New or works.
func FuzzMapping(f *testing.F) {
	for _, mapping := range []string{
		"", "mappings:\n- {match: a.*, name: b_$1}", "mappings:\n- {match: '(.*)', match_type: regex, name: $1, labels: {ab: $2}}",
		"defaults: {observer_type: histogram, histogram_options: {buckets: [1, .inf]}}", "defaults: {ttl: 1s, summary_options: {max_age: 1s}}",
		"mappings:\n- {match: a.*.*, name: 'b${99999999999999999999}', scale: 1e308}", "mappings:\n- {match: '*.b', name: x, timer_type: histogram}",
		"defaults: {glob_disable_ordering: true}\nmappings:\n- {match: a.*, name: x}\n- {match: '*.b', name: y, action: drop}",
	} {
		f.Add([]byte(mapping), "a.b")
	}
	f.Fuzz(func(t *testing.T, mapping []byte, name string) {
		if len(mapping) > 1<<12 {
			return
		}
		registry := stats.New(nil)
		registry.Counter(name).Add(3)
		registry.Gauge(name).Set(4)
		registry.Timer(name)
		e, err := prom.New(registry, &prom.Options{
			Mapping: append([]byte{}, mapping...), NoRuntimeMetrics: true, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return
		}
		registry.Timer(name).Record(time.Second)
		parsed(t, e)
	})
}
