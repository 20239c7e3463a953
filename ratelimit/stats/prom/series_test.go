package prom_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func TestSimilarNamesAreDistinct(t *testing.T) {
	const prefix = "ratelimit.service.rate_limit."
	registry := stats.New(nil)
	for i, name := range []string{
		"x.a.b", "x.a_b", "x.a-b", // equal when escaped
		prefix + "d.a.over_limit", prefix + "d.a..over_limit", // an empty label equals a missing one
		prefix + "d.a\xff.near_limit", prefix + "d.a\xfe.near_limit", prefix + "d.a\xff\xff\xff.near_limit", // not UTF-8
	} {
		registry.Counter(name).Add(uint64(i + 1))
	}
	e, _ := exporter(t, registry, prom.Options{})
	assert.ElementsMatch(t, []string{
		`x_a_b 3`, // the first in alphabetical order
		`x_a_b{statistic="x.a.b"} 1`,
		`x_a_b{statistic="x.a_b"} 2`,
		`ratelimit_service_rate_limit_over_limit{domain="d",key1="a",statistic="ratelimit.service.rate_limit.d.a.over_limit"} 4`,
		`ratelimit_service_rate_limit_over_limit{domain="d",key1="a"} 5`,
		`ratelimit_service_rate_limit_near_limit{domain="d",key1="a�",statistic="\"ratelimit.service.rate_limit.d.a\\xff.near_limit\""} 6`,
		`ratelimit_service_rate_limit_near_limit{domain="d",key1="a�"} 7`,
		`ratelimit_service_rate_limit_near_limit{domain="d",key1="a�",statistic="\"ratelimit.service.rate_limit.d.a\\xff\\xff\\xff.near_limit\""} 8`,
	}, samples(t, e))
	// A series that is in use is not reassigned.
	registry.Counter("x.a+b").Add(9)
	lines := samples(t, e)
	assert.Contains(t, lines, `x_a_b 3`)
	assert.Contains(t, lines, `x_a_b{statistic="x.a+b"} 9`)
}

// The label that distinguishes statistics may be in use for something else.
func TestLabelNamedStatistic(t *testing.T) {
	registry := stats.New(nil)
	registry.Counter("x.a").Add(1)
	registry.Counter("x-a").Add(2)
	registry.Counter("y.a").Add(3)
	e, log := exporter(t, registry, prom.Options{Mapping: []byte(
		"mappings:\n- {match: y.a, name: x_a, labels: {statistic: x.a}}\n"), Tags: []stats.Tag{{Name: "statistic", Value: "tag"}}})
	assert.ElementsMatch(t, []string{
		`x_a{tag_statistic="tag"} 2`,
		`x_a{statistic="x.a",tag_statistic="tag"} 1`,
		`x_a{statistic="y.a",tag_statistic="tag"} 3`,
	}, samples(t, e))
	assert.Empty(t, log.String())
}

func TestClashingKindsAreDistinct(t *testing.T) {
	registry := stats.New(nil)
	registry.Counter("a.b").Add(1)
	registry.Gauge("a-b").Set(2)
	registry.Gauge("a.b").Set(3)
	registry.Gauge("ratelimit.service.config.load.error").Set(4) // not the counter of the built-in mapping
	e, log := exporter(t, registry, prom.Options{})
	registry.Timer("t.x").Record(time.Second)
	registry.Counter("t.x.sum").Add(5)
	registry.Counter("ratelimit.service.response.time.seconds.bucket").Add(6) // as lines of the histogram
	lines := samples(t, e)
	for _, want := range []string{
		`a_b_counter 1`, `a_b 2`, `a_b{statistic="a.b"} 3`, `ratelimit_service_config_load_error_gauge 4`,
		`t_x_sum 1000`, `t_x_count 1`, `t_x_sum_counter 5`,
		`ratelimit_service_response_time_seconds_bucket_counter 6`,
	} {
		assert.Contains(t, lines, want)
	}
	parsed(t, e)
	assert.Empty(t, log.String())
}

// Metrics of the runtime are not mixed with statistics.
func TestRuntimeNamesAreReserved(t *testing.T) {
	registry := stats.New(nil)
	registry.Gauge("go.goroutines").Set(1_000_000)
	e, err := prom.New(registry, nil)
	require.NoError(t, err)
	body := text(t, e)
	assert.Contains(t, body, "\ngo_goroutines_gauge 1e+06\n")
	assert.NotContains(t, body, "\ngo_goroutines 1e+06\n")
	assert.Contains(t, body, "\npromhttp_metric_handler_requests_total{code=\"200\"} 0\n")
	assert.Contains(t, body, "\nprocess_resident_memory_bytes ")
}

// The exporter forgets what the registry forgets, and its series can be reused.
func TestForgottenStatisticsAreRemoved(t *testing.T) {
	now := time.Unix(0, 0)
	registry := stats.New(&stats.Options{Keep: time.Minute, Now: func() time.Time { return now }})
	e, _ := exporter(t, registry, prom.Options{})
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Stats: registry})
	engine.Use(rules(t, "d", "x"))
	decide(t, engine, "d", "x")
	registry.Counter("ratelimit.service.rate_limit.d.x..total_hits").Add(5)
	const plain, second = `ratelimit_service_rate_limit_total_hits{domain="d",key1="x"} `,
		`ratelimit_service_rate_limit_total_hits{domain="d",key1="x",statistic="ratelimit.service.rate_limit.d.x.total_hits"} `
	assert.Contains(t, samples(t, e), plain+"5")
	assert.Contains(t, samples(t, e), second+"1")
	engine.Use(rules(t, "d", "y"))
	now = now.Add(2 * time.Minute)
	assert.NotContains(t, text(t, e), second)
	decide(t, engine, "d", "y")
	assert.Contains(t, samples(t, e), plain+"5")
	assert.Contains(t, text(t, e), `total_hits{domain="d",key1="y"} 1`)
}

func TestReadingsAreMonotonic(t *testing.T) {
	registry := stats.New(nil)
	var total uint64
	registry.Source(func(to stats.Reader) {
		to.Counter("s.c", total)
		to.Counter("s.c", total) // twice in one reading
		to.Gauge("s.g", 2)
		to.Gauge("s.g", 2)
	})
	e, _ := exporter(t, registry, prom.Options{})
	for _, step := range []struct {
		total uint64
		want  string
	}{{3, "s_c 3"}, {5, "s_c 5"}, {1, "s_c 6"}, {1, "s_c 6"}, {4, "s_c 9"}} {
		total = step.total
		assert.Equal(t, []string{step.want, "s_g 2"}, samples(t, e))
	}
}

// The exporter can be registered with a program's own metrics.
func TestCollector(t *testing.T) {
	registry := stats.New(nil)
	registry.Counter("ratelimit.service.config_load_success").Add(1)
	e, _ := exporter(t, registry, prom.Options{})
	own := prometheus.NewPedanticRegistry()
	require.NoError(t, own.Register(e))
	families, err := own.Gather()
	require.NoError(t, err)
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
		_, err := expfmt.MetricFamilyToText(discard{}, f)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"ratelimit_service_config_load_success", "ratelimit_service_scrape_conflicts"}, names)
}

// The adapter bounds its series as the engine and the registry bound names.
func TestStatsOfAnEngine(t *testing.T) {
	counts, err := prom.NewStats(&prom.Options{Tags: []stats.Tag{{Name: "zone", Value: "a"}}, NoRuntimeMetrics: true})
	require.NoError(t, err)
	own := prometheus.NewPedanticRegistry()
	require.NoError(t, own.Register(counts))
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Stats: counts, MaxRequestStats: 10, ShadowMode: true})
	engine.Use(rules(t, "api", "client"))
	for i := range 30 {
		decide(t, engine, "api", "client")
		decide(t, engine, fmt.Sprint("unknown", i), "client")
	}
	engine.Use(rules(t, "api", "other"))
	families, err := own.Gather()
	require.NoError(t, err)
	require.Less(t, len(families), 30)
	lines := samples(t, counts.Exporter)
	for _, want := range []string{
		`ratelimit_service_rate_limit_total_hits{domain="api",key1="client",zone="a"} 30`,
		`ratelimit_service_rate_limit_over_limit{domain="api",key1="client",zone="a"} 20`,
		`ratelimit_service_global_shadow_mode{zone="a"} 20`,
		`ratelimit_service_folded_names{zone="a"} 20`,
		`ratelimit_service_rate_limit_other_domain_not_found{zone="a"} 20`,
		`ratelimit_service_store_failure_deny{zone="a"} 0`,
	} {
		assert.Contains(t, lines, want)
	}
}

// After Close the exporter is off the path of a call: it receives no durations, and
// the timer costs no more than without it.
func TestClosedExporterReceivesNothing(t *testing.T) {
	registry := stats.New(nil)
	e, _ := exporter(t, registry, prom.Options{})
	timer := registry.Timer("ratelimit_server.M.response_time")
	const count = `ratelimit_service_response_time_seconds_count{grpc_method="M"} `
	timer.Record(time.Second)
	assert.Contains(t, samples(t, e), count+"1")
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	timer.Record(time.Second)
	registry.Timer("ratelimit_server.N.response_time").Record(time.Second)
	assert.Contains(t, samples(t, e), count+"1")
	assert.NotContains(t, text(t, e), `"N"`)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
