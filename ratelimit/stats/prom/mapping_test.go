package prom_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

// The mappings that REFERENCE.md, 5.5 lists, and names that resemble them.
func TestBuiltinMapping(t *testing.T) {
	for _, c := range []struct{ statistic, want string }{
		{"ratelimit.service.rate_limit.d.k_v.near_limit", `ratelimit_service_rate_limit_near_limit{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.over_limit", `ratelimit_service_rate_limit_over_limit{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.total_hits", `ratelimit_service_rate_limit_total_hits{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.within_limit", `ratelimit_service_rate_limit_within_limit{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.shadow_mode", `ratelimit_service_rate_limit_shadow_mode{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.total_negative_hits", `ratelimit_service_rate_limit_total_negative_hits{domain="d",key1="k_v"} 7`},

		{"ratelimit.service.rate_limit.d.k_v.l_w.near_limit", `ratelimit_service_rate_limit_near_limit{domain="d",key1="k_v",key2="l_w"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.l_w.over_limit", `ratelimit_service_rate_limit_over_limit{domain="d",key1="k_v",key2="l_w"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.l_w.total_hits", `ratelimit_service_rate_limit_total_hits{domain="d",key1="k_v",key2="l_w"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.l_w.within_limit", `ratelimit_service_rate_limit_within_limit{domain="d",key1="k_v",key2="l_w"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.l_w.shadow_mode", `ratelimit_service_rate_limit_shadow_mode{domain="d",key1="k_v",key2="l_w"} 7`},

		{"ratelimit.service.call.should_rate_limit.redis_error", `ratelimit_service_should_rate_limit_error{err_type="redis_error"} 7`},
		{"ratelimit_server.ShouldRateLimit.total_requests", `ratelimit_service_total_requests{grpc_method="ShouldRateLimit"} 7`},
		{"ratelimit.service.config_load_success", `ratelimit_service_config_load_success 7`},
		{"ratelimit.service.config_load_error", `ratelimit_service_config_load_error 7`},

		{"ratelimit.service.rate_limit.d.k_v.candidate_over_limit", `ratelimit_service_rate_limit_candidate_over_limit{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.candidate_within_limit", `ratelimit_service_rate_limit_candidate_within_limit{domain="d",key1="k_v"} 7`},
		{"ratelimit.service.rate_limit.d.k_v.candidate_near_limit", `ratelimit_service_rate_limit_candidate_near_limit{domain="d",key1="k_v"} 7`},

		// Deeper keys have more labels.
		{"ratelimit.service.rate_limit.d.a.b.c.over_limit", `ratelimit_service_rate_limit_over_limit{domain="d",key1="a",key2="b",key3="c"} 7`},
		{"ratelimit.service.rate_limit.d.a.b.c.e.over_limit", `ratelimit_service_rate_limit_over_limit{domain="d",key1="a",key2="b",key3="c",key4="e"} 7`},
		{"ratelimit.service.rate_limit.d.wild_*.over_limit", `ratelimit_service_rate_limit_over_limit{domain="d",key1="wild_*"} 7`},
		{`ratelimit.service.rate_limit.d.a_"\.over_limit`, `ratelimit_service_rate_limit_over_limit{domain="d",key1="a_\"\\"} 7`},

		// Without a mapping.
		{"ratelimit.service.rate_limit.d.k_v.over_limit_with_local_cache", `ratelimit_service_rate_limit_d_k_v_over_limit_with_local_cache 7`},
		{"ratelimit.service.rate_limit.my-domain.domain_not_found", `ratelimit_service_rate_limit_my_domain_domain_not_found 7`},
		{"ratelimit.service.global_shadow_mode", `ratelimit_service_global_shadow_mode 7`},
		{"ratelimit.redis_pool.cx_total", `ratelimit_redis_pool_cx_total 7`},
		{"ratelimit.localcache.hitCount", `ratelimit_localcache_hitCount 7`},
		{"ratelimit.memcache.multiget.__code=success", `ratelimit_memcache_multiget___code_success 7`},
		{"ratelimit.service.rate_limit.d.over_limit", `ratelimit_service_rate_limit_d_over_limit 7`},
		{"ratelimit.service.call.should_rate_limit.a.b", `ratelimit_service_call_should_rate_limit_a_b 7`},
		{"ratelimit_server.a.b.total_requests", `ratelimit_server_a_b_total_requests 7`},
		{"ratelimit_server.total_requests", `ratelimit_server_total_requests 7`},
	} {
		registry := stats.New(nil)
		registry.Counter(c.statistic).Add(7)
		e, _ := exporter(t, registry, prom.Options{})
		assert.Equal(t, []string{c.want}, samples(t, e), c.statistic)
	}
}

// The statistics of leases keep their names, and say what they are.
func TestLeaseHelp(t *testing.T) {
	for _, prefix := range []string{"ratelimit.leases.", "ratelimit.per_second_leases."} {
		for _, name := range []string{"claims", "claimed_hits", "returned_hits", "lost_hits"} {
			registry := stats.New(nil)
			registry.Counter(prefix + name).Add(7)
			e, _ := exporter(t, registry, prom.Options{})
			page := text(t, e)
			metric := strings.ReplaceAll(prefix, ".", "_") + name
			assert.Contains(t, page, metric+" 7")
			assert.Regexp(t, "# HELP "+metric+" .*(claimed|ahead)", page)
		}
	}
}

func TestGaugesKeepTheirNames(t *testing.T) {
	registry := stats.New(nil)
	registry.Gauge("ratelimit.redis_pool.cx_active").Set(3)
	registry.Gauge("ratelimit.localcache.entryCount")
	e, _ := exporter(t, registry, prom.Options{})
	assert.Equal(t, []string{"ratelimit_localcache_entryCount 0", "ratelimit_redis_pool_cx_active 3"}, samples(t, e))
	assert.Contains(t, text(t, e), "# TYPE ratelimit_redis_pool_cx_active gauge\n")
}

// Unused limits are omitted, but rate() must see the first error.
func TestCountersOfLimitsAppearWhenCounted(t *testing.T) {
	registry := stats.New(nil)
	registry.Limit("api.client")
	registry.DomainNotFound("other")
	registry.Counter("ratelimit.service.config_load_error")
	e, _ := exporter(t, registry, prom.Options{})
	assert.Equal(t, []string{"ratelimit_service_config_load_error 0"}, samples(t, e))
	registry.DomainNotFound("other").Add(1)
	assert.Contains(t, samples(t, e), "ratelimit_service_rate_limit_other_domain_not_found 1")
}

func TestResponseTimes(t *testing.T) {
	registry := stats.New(nil)
	e, _ := exporter(t, registry, prom.Options{})
	timer := registry.Timer("ratelimit_server.ShouldRateLimit.response_time")
	timer.Record(80 * time.Microsecond)
	timer.Record(5 * time.Millisecond) // equal to a boundary
	timer.Record(time.Minute)
	const name = `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le=`
	want := []string{
		name + `"5e-05"} 0`, name + `"0.0001"} 1`, name + `"0.00025"} 1`, name + `"0.0005"} 1`, name + `"0.001"} 1`, name + `"0.0025"} 1`,
		name + `"0.005"} 2`, name + `"0.01"} 2`, name + `"0.025"} 2`, name + `"0.05"} 2`, name + `"0.1"} 2`, name + `"0.25"} 2`,
		name + `"0.5"} 2`, name + `"1"} 2`, name + `"2.5"} 2`, name + `"5"} 2`, name + `"10"} 2`, name + `"+Inf"} 3`,
		`ratelimit_service_response_time_seconds_sum{grpc_method="ShouldRateLimit"} 60.00508`,
		`ratelimit_service_response_time_seconds_count{grpc_method="ShouldRateLimit"} 3`,
	}
	assert.Equal(t, want, samples(t, e))
}

// The name and the boundaries are those of the reference service.
func TestResponseTimesAsMilliseconds(t *testing.T) {
	registry := stats.New(nil)
	e, _ := exporter(t, registry, prom.Options{ResponseTimeAsMilliseconds: true})
	registry.Timer("ratelimit_server.ShouldRateLimit.response_time").Record(2500 * time.Microsecond)
	lines := samples(t, e)
	const name = `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le=`
	assert.Contains(t, lines, name+`"0.005"} 0`)
	assert.Contains(t, lines, name+`"1"} 0`)
	assert.Contains(t, lines, name+`"2.5"} 1`)
	assert.Contains(t, lines, name+`"10000"} 1`)
	assert.Contains(t, lines, `ratelimit_service_response_time_seconds_sum{grpc_method="ShouldRateLimit"} 2.5`)
}

func TestTags(t *testing.T) {
	registry := stats.New(nil)
	registry.Limit("api.client")
	registry.Counter("ratelimit.service.rate_limit.api.client.over_limit").Add(1)
	registry.Counter("ratelimit.service.global_shadow_mode").Add(2)
	e, _ := exporter(t, registry, prom.Options{Tags: []stats.Tag{
		{Name: "zone", Value: "a\xff"}, {Name: "my-team", Value: "x"}, {Name: "domain", Value: "y"}, {Name: "__raw", Value: "z"}, {Name: "none"},
	}})
	registry.Timer("ratelimit_server.M.response_time").Record(time.Second)
	lines := samples(t, e)
	assert.Contains(t, lines, `ratelimit_service_rate_limit_over_limit{domain="api",key1="client",my_team="x",tag__raw="z",tag_domain="y",zone="a�"} 1`)
	assert.Contains(t, lines, `ratelimit_service_global_shadow_mode{my_team="x",tag__raw="z",tag_domain="y",zone="a�"} 2`)
	assert.Contains(t, lines, `ratelimit_service_response_time_seconds_count{grpc_method="M",my_team="x",tag__raw="z",tag_domain="y",zone="a�"} 1`)
}

func TestTagsAreLabelsOfTheRuntimeToo(t *testing.T) {
	e, err := prom.New(stats.New(nil), &prom.Options{Tags: []stats.Tag{{Name: "version", Value: "7"}, {Name: "zone", Value: "a"}}})
	require.NoError(t, err)
	body := text(t, e)
	assert.Contains(t, body, "\ngo_goroutines{zone=\"a\"} ")
	assert.Contains(t, body, `ratelimit_service_scrape_conflicts{version="7",zone="a"} 0`)
	assert.Equal(t, 1, strings.Count(body, "\ngo_info{"), "it has its own label version")
}

func TestBadTags(t *testing.T) {
	for want, tags := range map[string][]stats.Tag{
		"prom: tag 2":           {{Name: "a", Value: "b"}, {Value: "c"}},
		`"a-b" and "a.b"`:       {{Name: "a-b", Value: "c"}, {Name: "a.b", Value: "d"}},
		`"key1" and "tag_key1"`: {{Name: "key1", Value: "c"}, {Name: "tag_key1", Value: "d"}},
	} {
		_, err := prom.New(stats.New(nil), &prom.Options{Tags: tags})
		assert.ErrorContains(t, err, want)
	}
}
