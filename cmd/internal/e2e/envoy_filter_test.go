//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// envoyRules has limits per year, because tests must not depend on the time of day.
const envoyRules = `domain: shop
descriptors:
  - key: client
    rate_limit: {name: per-client, unit: year, requests_per_unit: 3}
  - {key: many, rate_limit: {unit: year, requests_per_unit: 10}}
  - {key: few, rate_limit: {unit: year, requests_per_unit: 10}}
  - {key: overridden, rate_limit: {unit: year, requests_per_unit: 1000}}
  - {key: shadow, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: cheap, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: dear, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 3}}
  - {key: connection, rate_limit: {unit: year, requests_per_unit: 2}}
  - {key: load, rate_limit: {unit: year, requests_per_unit: 4000000000}}
`

// yearWindow is what Envoy writes behind a limit per year.
const yearWindow = ";w=31536000"

// envoyRoutes are the routes of the tests of features.
func envoyRoutes() []string {
	hits := func(number int, more, key string) string {
		return fmt.Sprintf(`{actions: [%s], hits_addend: {number: %d%s}}`, by(key), number, more)
	}
	return []string{
		limitedBy("/client", byClient),
		limitedAs("/hits", hits(4, "", "many"), hits(1, "", "few")),
		limitedAs("/refund", hits(3, ", is_negative_hits: true", "many")),
		limitedAs("/many", hits(0, "", "many")),
		limitedAs("/few", hits(0, "", "few")),
		limitedAs("/cost", `{actions: [`+by("few")+`], hits_addend: {format: "%REQ(x-cost)%"}}`),
		limitedAs("/used", `{actions: [`+by("few")+`], apply_on_stream_done: true, hits_addend: {format: "%RESP(x-used)%"}}`),
		`{match: {path: /overridden}, route: {cluster: backend, rate_limits: [{actions: [` + by("overridden") + `], ` +
			`limit: {dynamic_metadata: {metadata_key: {key: plans, path: [{key: limit}]}}}}]}}`,
		limitedBy("/shadow", by("shadow")),
		limitedBy("/quota", by("cheap"), by("dear")),
		`{match: {path: /unlimited}, route: {cluster: backend}}`,
		`{match: {path: /metadata}, response_headers_to_add: [{header: {key: x-domain, value: "%DYNAMIC_METADATA(envoy.filters.http.ratelimit:domain)%"}}], ` +
			`route: {cluster: backend, rate_limits: [{actions: [` + byLoad + `]}]}}`,
	}
}

// TestEnvoyFilter sends requests through the HTTP filter of Envoy: with counters in Redis and in the process, the same
// requests are refused, with the same headers.
func TestEnvoyFilter(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	store := redistest.Start(t, nil)
	servers, listeners, clusters := map[string]*server{}, []envoyListener(nil), []envoyCluster(nil)
	for name, environ := range map[string]map[string]string{"embedded": {}, "Redis": {"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr}} {
		environ["LIMIT_RESPONSE_HEADERS_ENABLED"], environ["RESPONSE_DYNAMIC_METADATA"] = "true", "true"
		servers[name] = serve(t, map[string]string{"shop.yaml": envoyRules}, environ)
		listeners = append(listeners, envoyListener{
			Name: name, Service: name, Deny: true, Routes: envoyRoutes(), Options: []string{"enable_x_ratelimit_headers: DRAFT_VERSION_03", "enable_retry_after_header: true"},
			Before: []string{`{name: plan, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config, ` +
				`metadata: [{metadata_namespace: plans, value: {limit: {requests_per_unit: 2, unit: YEAR}}}]}}`},
		})
		clusters = append(clusters, envoyCluster{Name: name, Addrs: []string{servers[name].grpc}})
	}
	e := startEnvoy(t, listeners, clusters)
	for name, s := range servers {
		t.Run(name, func(t *testing.T) {
			f := &filter{t: t, e: e, listener: name, s: s}
			f.refuses()
			f.counts()
			f.decides()
		})
	}
	for name := range servers {
		require.Zero(t, e.stat(`cluster.backend.ratelimit.`+name+`.error`))
	}
	year, counters := ratelimit.Year.Window(time.Now().Unix()), counted(t, store)
	for key, want := range map[string]int{"client_ann": 4, "client_bob": 1, "many_x": 5, "few_x": 15, "overridden_x": 3, "shadow_x": 3, "cheap_x": 4, "dear_x": 4} {
		require.Equal(t, want, counters[fmt.Sprintf("shop_%s_%d", key, year)], key)
	}
}

// filter sends requests to one listener.
type filter struct {
	t        *testing.T
	e        *envoyProxy
	listener string
	s        *server
}

// codes requires the status codes of requests for a path, and returns the headers of the last response.
func (f *filter) codes(path string, want ...int) http.Header {
	f.t.Helper()
	var codes []int
	var header http.Header
	for range want {
		code, h := f.e.get(f.t, f.listener, path)
		codes, header = append(codes, code), h
	}
	require.Equal(f.t, want, codes, path)
	return header
}

// remaining returns the remaining hits of a route that adds none.
func (f *filter) remaining(path string) string {
	f.t.Helper()
	return f.codes(path, http.StatusOK).Get("X-Ratelimit-Remaining")
}

// refuses reaches the limit of a client, whose headers Envoy and ratelimitd write.
func (f *filter) refuses() {
	t := f.t
	t.Helper()
	for i, want := range []int{200, 200, 200, 429} {
		code, header := f.e.get(t, f.listener, "/client", "x-client: ann")
		require.Equal(t, want, code, "request %d", i)
		left := fmt.Sprint(max(0, 2-i))
		require.Equal(t, "3, 3"+yearWindow+`;name="per-client"`, header.Get("X-Ratelimit-Limit"))
		require.Equal(t, []string{left, "3", left}, []string{header.Get("X-Ratelimit-Remaining"), header.Get("Ratelimit-Limit"), header.Get("Ratelimit-Remaining")})
		require.Regexp(t, `^[1-9]\d*$`, header.Get("X-Ratelimit-Reset"))
		require.Regexp(t, `^[1-9]\d*$`, header.Get("Ratelimit-Reset"))
		refused := want == http.StatusTooManyRequests
		require.Equal(t, refused, header.Get("X-Envoy-Ratelimited") == "true")
		require.Equal(t, refused, header.Get("Retry-After") != "" && header.Get("Retry-After") == header.Get("X-Ratelimit-Reset"))
		require.NotEqual(t, refused, header.Get("X-Used") == "5", "only what is within the limit reaches the backend")
	}
	code, _ := f.e.get(t, f.listener, "/client", "x-client: bob")
	require.Equal(t, http.StatusOK, code, "another client")
	header := f.codes("/client", 200) // without the header, Envoy has no descriptor
	require.Empty(t, header.Get("X-Ratelimit-Limit"))
	require.Empty(t, f.codes("/unlimited", 200).Get("Ratelimit-Limit"))
	require.Equal(t, "shop", f.codes("/metadata", 200).Get("X-Domain"))
}

// counts adds other numbers of hits than one, one for each descriptor, and gives hits back.
func (f *filter) counts() {
	t := f.t
	t.Helper()
	f.codes("/hits", 200, 200)
	require.Equal(t, []string{"2", "8"}, []string{f.remaining("/many"), f.remaining("/few")}, "8 and 2 of 10")
	f.codes("/refund", 200)
	require.Equal(t, "5", f.remaining("/many"), "5 of 10")
	code, header := f.e.get(t, f.listener, "/cost", "x-cost: 3")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "5", header.Get("X-Ratelimit-Remaining"), "5 of 10")
	f.codes("/used", 200) // the backend says 5
	eventually(t, "what the response cost is counted", func() bool { return f.remaining("/few") == "0" })
	code, _ = f.e.get(t, f.listener, "/cost", "x-cost: 5")
	require.Equal(t, http.StatusTooManyRequests, code)
}

// decides uses a limit from dynamic metadata, and rules in shadow mode and in quota mode.
func (f *filter) decides() {
	t := f.t
	t.Helper()
	header := f.codes("/overridden", 200, 200, 429)
	require.True(t, strings.HasPrefix(header.Get("X-Ratelimit-Limit"), "2, 2"+yearWindow), header)
	header = f.codes("/shadow", 200, 200, 200)
	require.Equal(t, "0", header.Get("X-Ratelimit-Remaining"))
	header = f.codes("/quota", 200, 200, 200, 429)
	require.Equal(t, "1, 1"+yearWindow+", 3"+yearWindow, header.Get("X-Ratelimit-Limit"), "both are over")
	_, stats := httpDo(t, http.MethodGet, "http://"+f.s.debug+"/stats", "")
	require.Equal(t, 2, number(t, stats, `(?m)^ratelimit\.service\.rate_limit\.shop\.shadow\.shadow_mode: (\d+)$`))
}
