package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

const manyRules = `domain: b
descriptors:
  - key: path
    value: /v1*
    shadow_mode: true
    rate_limit: {unit: second, requests_per_unit: 3, name: first}
    descriptors:
      - key: user
        quota_mode: true
        rate_limit: {unit: week, requests_per_unit: 9, replaces: [{name: first}]}
  - key: free
    rate_limit: {unlimited: true}
  - key: whitelisted
`

func TestDebugPages(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig, "b.yaml": manyRules}, nil).start()
	code, index := r.getAt(r.addr.Debug, "/")
	require.Equal(t, 200, code)
	lines := strings.Split(strings.TrimSpace(index), "\n")
	for i, path := range []string{"/console/", "/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/trace", "/healthz", "/rlconfig", "/stats", "/topkeys"} {
		require.True(t, strings.HasPrefix(lines[i], path+": "), "line %d is %q", i, lines[i])
		if path != "/debug/pprof/profile" && path != "/debug/pprof/trace" {
			code, _ := r.getAt(r.addr.Debug, path)
			require.Equal(t, 200, code, path)
		}
	}
	require.Len(t, lines, 8)
	code, elsewhere := r.getAt(r.addr.Debug, "/elsewhere")
	require.Equal(t, 404, code)
	require.Equal(t, index, elsewhere)

	_, page := r.getAt(r.addr.Debug, "/rlconfig")
	require.Equal(t, `b.free: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false
b.path_/v1*: unit=SECOND requests_per_unit=3, shadow_mode: true, quota_mode: false
b.path_/v1*.user: unit=WEEK requests_per_unit=9, shadow_mode: false, quota_mode: true
d.client: unit=YEAR requests_per_unit=2, shadow_mode: false, quota_mode: false
`, page)
	_, page = r.getAt(r.addr.Debug, "/rlconfig?format=json")
	var shown struct {
		Limits []struct {
			Key, Domain, Unit, Name string
			Requests                int `json:"requests_per_unit"`
			Unlimited               bool
			Replaces                []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(page), &shown))
	require.Len(t, shown.Limits, 4)
	require.True(t, shown.Limits[0].Unlimited)
	require.Equal(t, "first", shown.Limits[1].Name)
	require.Equal(t, []string{"first"}, shown.Limits[2].Replaces)
	code, page = r.getAt(r.addr.Debug, "/rlconfig?format=xml")
	require.Equal(t, 400, code)
	require.Contains(t, page, "use text or json")
	r.end()
}

// The page of rules shows algorithms, and the log of decisions too.
func TestAlgorithmsShown(t *testing.T) {
	const rules = `domain: d
descriptors:
  - {key: bucket, rate_limit: {unit: minute, requests_per_unit: 100, algorithm: token_bucket, burst: 20}}
  - {key: jobs, rate_limit: {unit: hour, requests_per_unit: 10, limit_type: concurrency}}
  - {key: slide, rate_limit: {unit: year, requests_per_unit: 9, algorithm: sliding_window, unit_multiplier: 2, candidate: {requests_per_unit: 5}}}
`
	r := prepare(t, map[string]string{"d.yaml": rules}, map[string]string{"LOG_LEVEL": "DEBUG"}).start()
	_, page := r.getAt(r.addr.Debug, "/rlconfig")
	require.Equal(t, `d.bucket: unit=MINUTE requests_per_unit=100 algorithm=token_bucket burst=20, shadow_mode: false, quota_mode: false
d.jobs: unit=HOUR requests_per_unit=10 limit_type=concurrency, shadow_mode: false, quota_mode: false
d.slide: unit=YEAR requests_per_unit=9 algorithm=sliding_window unit_multiplier=2 candidate=5, shadow_mode: false, quota_mode: false
`, page)
	_, page = r.getAt(r.addr.Debug, "/rlconfig?format=json")
	for _, want := range []string{`"algorithm":"token_bucket","burst":20`, `"limit_type":"concurrency"`, `"algorithm":"sliding_window"`, `"candidate":5`} {
		require.Contains(t, page, want)
	}
	request := &ratelimitv3.RateLimitRequest{Domain: "d"}
	for _, key := range []string{"bucket", "jobs", "slide"} {
		request.Descriptors = append(request.Descriptors, &commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: key, Value: "x"}}})
	}
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), request)
	require.NoError(t, err)
	for _, want := range []string{
		"OK, 19 left of a token_bucket with 100 per minute", "OK, 9 of 10 at the same time left", "OK, 8 of 9 per 2 years left",
	} {
		require.Contains(t, r.log.String(), want)
	}
	r.end()
}

// /stats shows counters, gauges and timers, by name (REFERENCE.md, 5.1).
func TestStatisticsPage(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"LOCAL_CACHE_SIZE_IN_BYTES": "1000000", "SHADOW_MODE": "true"}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	for range 4 {
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "a"))
		require.NoError(t, err)
	}
	_, err := client.ShouldRateLimit(t.Context(), ask("nowhere", "a"))
	require.NoError(t, err)
	_, err = client.ShouldRateLimit(t.Context(), ask("", "a"))
	require.Error(t, err)
	_, err = healthv1.NewHealthClient(r.dial()).Check(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	_, page := r.getAt(r.addr.Debug, "/stats")
	for _, want := range []string{
		"ratelimit.service.rate_limit.d.client.total_hits: 4",
		"ratelimit.service.rate_limit.d.client.over_limit: 2",
		"ratelimit.service.rate_limit.d.client.over_limit_with_local_cache: 1",
		"ratelimit.service.rate_limit.d.client.within_limit: 2",
		"ratelimit.service.rate_limit.d.client.near_limit: 1",
		"ratelimit.service.rate_limit.d.client.shadow_mode: 0",
		"ratelimit.service.rate_limit.nowhere.domain_not_found: 1",
		"ratelimit.service.global_shadow_mode: 2",
		"ratelimit.service.config_load_success: ",
		"ratelimit.service.config_load_error: 0",
		"ratelimit.service.call.should_rate_limit.service_error: 1",
		"ratelimit.service.call.should_rate_limit.redis_error: 0",
		"ratelimit_server.ShouldRateLimit.total_requests: 6",
		"ratelimit_server.ShouldRateLimit.response_time: count=6 ",
		"ratelimit_server.Check.total_requests: 1",
		"ratelimit.localcache.hitCount: 1",
		"ratelimit.localcache.entryCount: 1",
		"ratelimit.go.numGoroutine: ",
		"runtime.load_attempts: ",
		"runtime.num_values: 1",
	} {
		require.Contains(t, page, "\n"+want)
	}
	r.end()
}

// Text of clients adds no lines to /stats and to the log, and no escape sequences of terminals.
func TestControlCharacters(t *testing.T) {
	const rules = "domain: d\ndescriptors:\n  - key: client\n    detailed_metric: true\n    rate_limit: {unit: year, requests_per_unit: 2}\n"
	r := prepare(t, map[string]string{"d.yaml": rules}, map[string]string{"LOG_LEVEL": "DEBUG", "SANITIZE_DESCRIPTOR_METRIC_DOTS": "true"}).start()
	const text = "a.b\nfaked: 1\r\x1b[31m\u009b2J\x7f"
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	for _, domain := range []string{"d", text} {
		_, err := client.ShouldRateLimit(t.Context(), ask(domain, text))
		require.NoError(t, err)
	}
	_, page := r.getAt(r.addr.Debug, "/stats")
	require.Contains(t, page, "ratelimit.service.rate_limit.d.client_a_b_faked_ 1__[31m__2J_.total_hits: 1\n")
	require.Contains(t, page, "ratelimit.service.rate_limit.a.b_faked_ 1__[31m__2J_.domain_not_found: 1\n")
	for _, shown := range []string{page, r.log.String()} {
		require.NotContains(t, shown, "\nfaked")
		require.NotRegexp(t, "[\\x00-\\x09\\x0b-\\x1f\\x7f\\x{80}-\\x{9f}]", shown)
	}
	r.end()
}

func TestProfiles(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	code, page := r.getAt(r.addr.Debug, "/debug/pprof/")
	require.Equal(t, 200, code)
	require.Contains(t, page, "/debug/pprof/heap?debug=1")
	_, page = r.getAt(r.addr.Debug, "/debug/pprof/goroutine?debug=1")
	require.Contains(t, page, "goroutine profile: total")
	for _, path := range []string{"/debug/pprof/heap", "/debug/pprof/profile?seconds=0.05"} {
		code, page = r.getAt(r.addr.Debug, path)
		require.Equal(t, 200, code)
		unzipped, err := gzip.NewReader(strings.NewReader(page))
		require.NoError(t, err, "%s is not a profile", path)
		data, err := io.ReadAll(unzipped)
		require.NoError(t, err)
		require.NotEmpty(t, data)
	}
	code, page = r.getAt(r.addr.Debug, "/debug/pprof/trace?seconds=0.01")
	require.Equal(t, 200, code)
	require.True(t, bytes.HasPrefix([]byte(page), []byte("go 1.")), "not a trace: %.20q", page)
	code, _ = r.getAt(r.addr.Debug, "/debug/pprof/nothing")
	require.Equal(t, 404, code)
	for _, seconds := range []string{"0", "-1", "1e9", "NaN", "x"} {
		code, page = r.getAt(r.addr.Debug, "/debug/pprof/profile?seconds="+seconds)
		require.Equal(t, 400, code, seconds)
		require.Contains(t, page, "at most 300")
	}
	r.end()
}

// The server registers nothing with http.DefaultServeMux of the embedding program, except
// /debug/vars: the library of the scrape metrics imports expvar.
func TestNoGlobalHandlers(t *testing.T) {
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/stats", "/metrics"} {
		req, err := http.NewRequest("GET", path, nil)
		require.NoError(t, err)
		_, pattern := http.DefaultServeMux.Handler(req)
		require.Empty(t, pattern, "the server's packages register %s with http.DefaultServeMux", path)
	}
}
