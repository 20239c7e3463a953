package prom_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

func TestMappingFile(t *testing.T) {
	const mapping = `
defaults:
  observer_type: histogram
  histogram_options: {buckets: [1, 2]}
mappings:
- match: ratelimit.service.rate_limit.*.*.over_limit
  name: over
  help: What did not fit.
  labels: {domain: "$1", job: "limits_$2"}
- match: 'ratelimit\.service\.rate_limit\.([^.]+)\.(.+)\.over_limit_with_local_cache'
  match_type: regex
  name: cached
  labels: {domain: $1, key: $2}
- match: ratelimit.*.cx_active
  match_metric_type: gauge
  name: active
- match: ratelimit.*.cx_active
  match_metric_type: counter
  name: active_counted
- match: ratelimit.kilo
  name: kilo
  scale: 1000
- match: secret.*
  name: secret
  action: drop
- match: t.seconds
  name: t_seconds
  scale: 0.001
  histogram_options: {buckets: [0.0005, 0.001]}
- match: t.quantiles
  name: t_quantiles
  observer_type: summary
  summary_options: {quantiles: [{quantile: 0.25, error: 0.01}]}
`
	registry := stats.New(nil)
	for name, n := range map[string]uint64{
		"ratelimit.service.rate_limit.d.k_v.over_limit":                        1,
		"ratelimit.service.rate_limit.d.a.b.over_limit_with_local_cache":       2,
		"ratelimit.redis_pool.cx_active":                                       3,
		"ratelimit.kilo":                                                       4,
		"secret.a":                                                             5,
		"ratelimit_server.M.total_requests":                                    6, // without the built-in mapping
		"ratelimit.service.rate_limit.d.over_limit":                            7,
		"ratelimit.service.rate_limit.d.a_" + strings.Repeat("x", 3) + ".near": 8,
	} {
		registry.Counter(name).Add(n)
	}
	registry.Gauge("ratelimit.redis_pool.cx_active").Set(9)
	e, log := exporter(t, registry, prom.Options{Mapping: []byte(mapping)})
	for _, name := range []string{"t.seconds", "t.quantiles", "t.other", "secret.timer"} {
		registry.Timer(name).Record(700 * time.Microsecond)
	}
	assert.ElementsMatch(t, []string{
		`over{domain="d",job="limits_k_v"} 1`,
		`cached{domain="d",key="a.b"} 2`,
		`active 9`,
		`active_counted 3`,
		`kilo 4000`,
		`ratelimit_server_M_total_requests 6`,
		`ratelimit_service_rate_limit_d_over_limit 7`,
		`ratelimit_service_rate_limit_d_a_xxx_near 8`,
		`t_seconds_bucket{le="0.0005"} 0`, `t_seconds_bucket{le="0.001"} 1`, `t_seconds_bucket{le="+Inf"} 1`, `t_seconds_sum 0.0007`, `t_seconds_count 1`,
		`t_quantiles{quantile="0.25"} 0.7`, `t_quantiles_sum 0.7`, `t_quantiles_count 1`,
		`t_other_bucket{le="1"} 1`, `t_other_bucket{le="2"} 1`, `t_other_bucket{le="+Inf"} 1`, `t_other_sum 0.7`, `t_other_count 1`,
	}, samples(t, e))
	assert.Contains(t, text(t, e), "# HELP over What did not fit.\n# TYPE over counter\n")
	assert.NotContains(t, log.String(), "left out")
}

// Statistics that a file maps to one series are added up, also when one is forgotten.
func TestSharedSeries(t *testing.T) {
	registry := stats.New(nil)
	a := uint64(5)
	registry.Source(func(to stats.Reader) {
		if a > 0 {
			to.Counter("c.a", a)
		}
	})
	registry.Counter("c.b").Add(2)
	registry.Gauge("g.a").Set(3)
	registry.Gauge("g.b").Set(4)
	registry.Counter("sum.c").Add(100) // no mapping, but the same name
	e, _ := exporter(t, registry, prom.Options{Mapping: []byte(`
mappings:
- {match: "c.*", name: sum_c}
- {match: "g.*", name: sum_g}
- {match: "t.*", name: sum_t}
`)})
	registry.Timer("t.a").Record(time.Millisecond)
	registry.Timer("t.b").Record(2 * time.Millisecond)
	want := []string{
		`sum_c 7`, `sum_c{statistic="sum.c"} 100`, `sum_g 7`,
		`sum_t{quantile="0.5"} 1`, `sum_t{quantile="0.9"} 2`, `sum_t{quantile="0.99"} 2`, `sum_t_sum 3`, `sum_t_count 2`,
	}
	assert.ElementsMatch(t, want, samples(t, e))
	a = 0
	assert.ElementsMatch(t, want, samples(t, e), "after one of the statistics was forgotten")
	registry.Counter("c.b").Add(1)
	assert.Contains(t, samples(t, e), `sum_c 8`)
	a = 10
	assert.Contains(t, samples(t, e), `sum_c 18`)
}

// A statistic that cannot be shown does not affect others.
func TestConflicts(t *testing.T) {
	registry := stats.New(nil)
	registry.Counter("a.counter").Add(1)
	registry.Gauge("a.gauge").Set(2)
	registry.Counter("n.x").Add(3)
	registry.Counter("plain").Add(4)
	e, log := exporter(t, registry, prom.Options{Mapping: []byte(`
mappings:
- {match: "a.*", name: a}
- {match: "n.*", name: n, scale: -1}
- {match: "t.*", name: plain_c}
- {match: "(.*)nameless", match_type: regex, name: $2}
- {match: "u.*", name: plain_c_sum}
`)})
	registry.Timer("t.x").Record(time.Second)
	registry.Counter("u.x").Add(1)
	registry.Counter("nameless").Add(1)
	lines := samples(t, e)
	assert.Contains(t, lines, "a 1")
	assert.Contains(t, lines, "plain 4")
	assert.Contains(t, lines, "plain_c_count 1")
	assert.NotContains(t, strings.Join(lines, "\n"), " 3")
	assert.Contains(t, text(t, e), "\nratelimit_service_scrape_conflicts 4\n")
	assert.Equal(t, 1, log.Count("level=WARN"), "logged once, not at each scrape: %s", log)
	assert.Contains(t, log.String(), `count=4 one=a.gauge`)
}

func TestTimeToLive(t *testing.T) {
	now := time.Unix(0, 0)
	registry := stats.New(nil)
	counter, timer := registry.Counter("c.a"), registry.Timer("t.a")
	counter.Add(1)
	registry.Gauge("g.a").Set(1)
	e, _ := exporter(t, registry, prom.Options{
		Now:     func() time.Time { return now },
		Mapping: []byte("defaults: {ttl: 1m, observer_type: histogram, histogram_options: {buckets: [1]}}\nmappings:\n- {match: t.a, name: t}\n"),
	})
	timer.Record(time.Second)
	assert.Contains(t, samples(t, e), "c_a 1")
	assert.Contains(t, samples(t, e), "t_count 1")
	now = now.Add(50 * time.Second)
	counter.Add(1)
	assert.Contains(t, samples(t, e), "c_a 2")
	now = now.Add(50 * time.Second)
	assert.Equal(t, []string{"c_a 2", "g_a 1"}, samples(t, e), "the timer has expired")
	now = now.Add(50 * time.Second)
	assert.Equal(t, []string{"g_a 1"}, samples(t, e), "a gauge does not expire")
	counter.Add(1)
	timer.Record(time.Second)
	assert.Contains(t, samples(t, e), "c_a 3")
	assert.Contains(t, samples(t, e), "t_count 2")
}

// Files for the reference service may use keys of an older format.
func TestOlderKeys(t *testing.T) {
	registry := stats.New(nil)
	e, _ := exporter(t, registry, prom.Options{Mapping: []byte(`
mappings:
  - match: "ratelimit_server.*.response_time"
    name: "rt"
    timer_type: histogram
    match_metric_type: "timer"
    labels:
      grpc_method: "$1"
  - {match: "x", name: y, timer_type: "summary", match_metric_type: counter}
`)})
	registry.Timer("ratelimit_server.M.response_time").Record(time.Millisecond)
	registry.Counter("x").Add(1)
	assert.Contains(t, samples(t, e), `rt_bucket{grpc_method="M",le="1"} 1`)
	assert.Contains(t, samples(t, e), `y 1`)
}

func TestBadMappings(t *testing.T) {
	for _, c := range []struct{ mapping, want string }{
		{"mappings: {", "prom: mapping: yaml: line 1"},
		{"maps: []", "line 1: field maps not found"},
		{"mappings:\n- {match: a, name: b, buckets: [1]}", "(buckets go under histogram_options)"},
		{"mappings:\n- {match: a b, name: b}", "(a glob is"},
		{"mappings:\n- {match: a, name: b c}", "'b c'"},
		{"mappings:\n- {match: '(', match_type: regex, name: b}", "invalid regex ("},
		{"mappings:\n- {match: a, name: b, labels: {le: x}}", `mapping 1 (match "a"): label le`},
		{"mappings:\n- {match: a, name: b, labels: {x-y: x}}", "x-y (letters"},
		{"mappings:\n- {match: a, name: b}\n- {match: c, name: d, scale: .inf}", `mapping 2 (match "c"): scale +Inf`},
		{"mappings:\n- {match: a, name: b, ttl: -1s}", "ttl -1s"},
		{"mappings:\n- {match: a, name: b, observer_type: histogram, histogram_options: {buckets: [1, 2, 2]}}", "bucket 3 is 2"},
		{"defaults: {histogram_options: {buckets: [.nan]}}", "defaults: bucket 1 is NaN"},
		{"mappings:\n- {match: a, name: b, histogram_options: {native_histogram_bucket_factor: 0.5}}", "native_histogram_bucket_factor 0.5"},
		{"mappings:\n- {match: a, name: b, histogram_options: {native_histogram_max_buckets: 4000000000}}", "native_histogram_max_buckets 4000000000"},
		{"mappings:\n- {match: a, name: b, summary_options: {max_age: 1ns}}", "max_age 1ns"},
		{"mappings:\n- {match: a, name: b, summary_options: {age_buckets: 4000000000}}", "age_buckets 4000000000"},
		{"mappings:\n- {match: a, name: b, summary_options: {buf_cap: 4000000000}}", "buf_cap 4000000000"},
		{"mappings:\n- {match: a, name: b, summary_options: {quantiles: [{quantile: 2, error: 0}]}}", "quantile 1 "},
		{"defaults: {summary_options: {quantiles: [{quantile: 0.5}, {quantile: 0.5}]}}", "defaults: duplicate quantile 0.5"},
		{"mappings:\n- {match: a, name: b, observer_type: histogram, summary_options: {}}", "summary options"},
		{strings.Repeat("#", 1<<20+1), "prom: mapping: is longer"},
	} {
		_, err := prom.New(stats.New(nil), &prom.Options{Mapping: []byte(c.mapping)})
		assert.ErrorContains(t, err, c.want)
	}
}

// A setting that has no effect is logged.
func TestMillisecondsWithAMapping(t *testing.T) {
	var log logtest.Log
	_, err := prom.New(stats.New(nil), &prom.Options{
		Mapping: []byte("mappings: []"), ResponseTimeAsMilliseconds: true, Log: log.Logger(),
	})
	require.NoError(t, err)
	assert.Contains(t, log.String(), "level=WARN")
	assert.Contains(t, log.String(), "milliseconds")
}
