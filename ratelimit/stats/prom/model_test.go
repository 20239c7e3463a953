package prom_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

// names generates names whose parts are easily confused in a scrape.
func names() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b", "_", "-", "--", ".", ".", ".", "..", "", "\xff", "\xc3", "é", "\n", `"`, `\`, "9", "=", ".__t=v",
		"total_hits", "over_limit", "over_limit_with_local_cache", "domain_not_found", "_sum", "_count", "_bucket", "_counter", "_gauge",
	})
	prefix := rapid.SampledFrom([]string{
		"ratelimit.service.rate_limit.d.", "ratelimit.service.rate_limit.", "ratelimit.service.call.should_rate_limit.",
		"ratelimit_server.", "ratelimit.service.config_load_error", "x", "drop.", "m.", "m.a.",
	})
	suffix := rapid.SampledFrom([]string{"", ".total_hits", ".over_limit", ".total_requests", ".response_time"})
	return rapid.Custom(func(t *rapid.T) string {
		return prefix.Draw(t, "prefix") + strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "") + suffix.Draw(t, "suffix")
	})
}

// registryModel holds what a registry should show, and is its source.
type registryModel struct {
	counters, gauges map[string]uint64
	timers           map[string]uint64 // numbers of durations
}

func newRegistryModel(registry *stats.Registry) *registryModel {
	m := &registryModel{map[string]uint64{}, map[string]uint64{}, map[string]uint64{}}
	registry.Source(func(to stats.Reader) {
		for name, n := range m.counters {
			to.Counter(name, n)
		}
		for name, n := range m.gauges {
			to.Gauge(name, n)
		}
	})
	return m
}

func (m *registryModel) change(t *rapid.T, registry *stats.Registry) {
	name, n := m.name(t), uint64(rapid.IntRange(0, 9).Draw(t, "n"))
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0, 1:
		m.counters[name] += n
	case 2:
		m.gauges[name] = n
	case 3:
		for _, name := range slices.Sorted(maps.Keys(m.counters)) { // sorted, so that a seed is reproducible
			if rapid.Bool().Draw(t, "forget") {
				delete(m.counters, name)
			}
		}
	default:
		registry.Timer(name).Record(time.Millisecond)
		m.timers[name]++
	}
}

// name returns a new name, or one that resembles another in a scrape.
func (m *registryModel) name(t *rapid.T) string {
	known := slices.Concat(slices.Sorted(maps.Keys(m.counters)), slices.Sorted(maps.Keys(m.gauges)), slices.Sorted(maps.Keys(m.timers)))
	if len(known) == 0 || rapid.Bool().Draw(t, "new") {
		return names().Draw(t, "name")
	}
	name := rapid.SampledFrom(known).Draw(t, "known")
	from := rapid.SampledFrom([]string{".", "_", "-", "\xff", "\xc3", "a"}).Draw(t, "from")
	to := rapid.SampledFrom([]string{".", "_", "-", "\xff", "\xc3", "..", "_count", "_sum"}).Draw(t, "to")
	if at := strings.LastIndex(name, from); at >= 0 {
		return name[:at] + to + name[at+len(from):]
	}
	return name + to
}

func sum(of map[string]float64) (total float64) {
	for _, n := range of {
		total += n
	}
	return total
}

// No statistic is merged with another or lost, whatever the names.
func TestStatisticsAreNotMerged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		registry := stats.New(nil)
		m := newRegistryModel(registry)
		e, log := exporter(t, registry, prom.Options{})
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.change(t, registry)
			families := parsed(t, e)
			series, total := 1, 0.0 // the exporter's counter
			for name, n := range m.counters {
				if n > 0 || !strings.HasPrefix(name, "ratelimit.service.rate_limit.") {
					series, total = series+1, total+float64(n)
				}
			}
			counters, gauges := ofKind(families, dto.MetricType_COUNTER), ofKind(families, dto.MetricType_GAUGE)
			require.Len(t, counters, series, "%v of %q", counters, m.counters)
			require.Equal(t, total, sum(counters), "%v", counters)
			require.Len(t, gauges, len(m.gauges), "%v of %q", gauges, m.gauges)
			var recorded, shown uint64
			observed := 0
			for _, n := range m.timers {
				recorded += n
			}
			for _, f := range families {
				for _, sample := range f.GetMetric() {
					if n := sample.GetHistogram().GetSampleCount() + sample.GetSummary().GetSampleCount(); n > 0 {
						shown, observed = shown+n, observed+1
					}
				}
			}
			require.Equal(t, recorded, shown)
			require.Equal(t, len(m.timers), observed)
		}
		require.Empty(t, log.String())
	})
}

// Only what a mapping file drops is missing, and no counter goes down.
func TestNothingIsLostWithAMapping(t *testing.T) {
	mapping := []byte(`
mappings:
- {match: "drop.*", match_metric_type: counter, name: x, action: drop}
- {match: '^m\.([^.]*)(.*)$', match_type: regex, match_metric_type: counter, name: merged, labels: {part: $1}}
`)
	rapid.Check(t, func(t *rapid.T) {
		registry := stats.New(nil)
		m := newRegistryModel(registry)
		e, log := exporter(t, registry, prom.Options{Mapping: mapping})
		var before map[string]float64
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			m.change(t, registry)
			counters := ofKind(parsed(t, e), dto.MetricType_COUNTER)
			least := 0.0
			for name, n := range m.counters {
				if rest, ok := strings.CutPrefix(name, "drop."); !ok || strings.Contains(rest, ".") {
					least += float64(n)
				}
			}
			require.GreaterOrEqual(t, sum(counters), least, "forgotten counts may remain in a sum: %v", counters)
			for name, n := range before {
				if now, ok := counters[name]; ok && strings.HasPrefix(name, "merged") {
					require.GreaterOrEqual(t, now, n, name)
				}
			}
			before = counters
		}
		require.NotContains(t, log.String(), "left out")
	})
}
