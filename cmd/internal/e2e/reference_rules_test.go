//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	controlplane "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

// features has a rule for each feature of the configuration.
const features = `domain: shop
descriptors:
  - key: shadowed
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: route
    value: /api*
    share_threshold: true
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: agent
    value: bot*
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: agent
    value: botanist
    rate_limit: {unlimited: true}
  - key: tenant
    detailed_metric: true
    rate_limit: {unit: year, requests_per_unit: 5}
  - key: region
    value: eu*
    value_to_metric: true
    descriptors:
      - key: zone
        rate_limit: {unit: year, requests_per_unit: 5}
  - key: broad
    rate_limit: {name: broad, unit: year, requests_per_unit: 1}
  - key: narrow
    rate_limit: {name: narrow, unit: year, requests_per_unit: 9, replaces: [{name: broad}]}
  - key: weighted
    rate_limit: {unit: year, requests_per_unit: 10}
  - key: allowed
`

func withRedis(t *testing.T, more map[string]string) map[string]string {
	t.Helper()
	environ := map[string]string{"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": redistest.Start(t, nil).Addr}
	maps.Copy(environ, more)
	return environ
}

func TestReferenceRules(t *testing.T) {
	t.Parallel()
	l := limit(t, map[string]string{"shop.yaml": features}, withRedis(t, nil))
	for _, step := range []struct{ descriptors, want string }{
		{"shadowed=a", "OK; OK 0/1 YEAR"},
		{"shadowed=a", "OK; OK 0/1 YEAR"}, // over, but in shadow mode
		{"route=/api/a", "OK; OK 1/2 YEAR"},
		{"route=/api/b", "OK; OK 0/2 YEAR"}, // the wildcard shares its counter
		{"route=/api/c", "OVER_LIMIT; OVER_LIMIT 0/2 YEAR"},
		{"route=/other", "OK; OK"},
		{"agent=bot1", "OK; OK 0/1 YEAR"},
		{"agent=bot2", "OK; OK 0/1 YEAR"}, // this one does not
		{"agent=bot1", "OVER_LIMIT; OVER_LIMIT 0/1 YEAR"},
		{"agent=botanist", "OK; OK 4294967295"},
		{"allowed=x", "OK; OK"},
		{"tenant=acme", "OK; OK 4/5 YEAR"},
		{"region=eu-west,zone=b", "OK; OK 4/5 YEAR"},
		{"region=us,zone=b", "OK; OK"},
		{"broad=x", "OK; OK 0/1 YEAR"},
		{"broad=x;narrow=x", "OK; OK; OK 8/9 YEAR"},
		{"broad=x", "OVER_LIMIT; OVER_LIMIT 0/1 YEAR"},
	} {
		in := &ratelimitv3.RateLimitRequest{Domain: "shop"}
		for d := range strings.SplitSeq(step.descriptors, ";") {
			in.Descriptors = append(in.Descriptors, descriptor(strings.Split(d, ",")...))
		}
		require.Equal(t, step.want, l.send(in), step.descriptors)
	}
	require.Equal(t, []int{2, 1, 1}, l.counts("shop.shadowed", "total_hits", "over_limit", "shadow_mode"))
	require.Equal(t, []int{3, 1}, l.counts("shop.route_/api*", "total_hits", "over_limit"))
	require.Equal(t, []int{1}, l.counts("shop.tenant_acme", "total_hits"))
	require.Equal(t, []int{1}, l.counts("shop.region_eu-west.zone", "total_hits"))

	// The hits of a request, those of a descriptor, and none at all, which only reads.
	in := &ratelimitv3.RateLimitRequest{Domain: "shop", HitsAddend: 4, Descriptors: descriptors("weighted=w")}
	require.Equal(t, "OK; OK 6/10 YEAR", l.send(in))
	in.Descriptors[0].HitsAddend = wrapperspb.UInt64(5)
	require.Equal(t, "OK; OK 1/10 YEAR", l.send(in))
	in.Descriptors[0].HitsAddend = wrapperspb.UInt64(0)
	require.Equal(t, "OK; OK 1/10 YEAR", l.send(in))
	in.Descriptors[0].HitsAddend = wrapperspb.UInt64(3)
	require.Equal(t, "OVER_LIMIT; OVER_LIMIT 0/10 YEAR", l.send(in))
	require.Equal(t, []int{12, 2, 2}, l.counts("shop.weighted", "total_hits", "over_limit", "near_limit"))
	l.terminate()
}

// TestReferenceOptions runs the same two calls with settings that change what is counted or what
// clients see of it.
func TestReferenceOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		environ       map[string]string
		first, second string // for counters of 1/1 and 1/10
		wide          string // the next call on the second one
	}{
		{"none", nil, "OK; OK 0/1 YEAR; OK 9/10 YEAR", "OVER_LIMIT; OVER_LIMIT 0/1 YEAR; OK 8/10 YEAR", "OK; OK 7/10 YEAR"},
		{
			"shadow mode",
			map[string]string{"SHADOW_MODE": "true"},
			"OK; OK 0/1 YEAR; OK 9/10 YEAR", "OK; OVER_LIMIT 0/1 YEAR; OK 8/10 YEAR", "OK; OK 7/10 YEAR",
		},
		{
			"stop increment",
			map[string]string{"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT": "true"},
			"OK; OK 0/1 YEAR; OK 9/10 YEAR", "OVER_LIMIT; OVER_LIMIT 0/1 YEAR; OK 9/10 YEAR", "OK; OK 8/10 YEAR",
		},
		{
			"stop increment with the local cache",
			map[string]string{"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT": "true", "LOCAL_CACHE_SIZE_IN_BYTES": "1000000"},
			"OK; OK 0/1 YEAR; OK 9/10 YEAR", "OVER_LIMIT; OVER_LIMIT 0/1 YEAR; OK 9/10 YEAR", "OK; OK 8/10 YEAR",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rules := "domain: shop\ndescriptors:\n  - {key: one, rate_limit: {unit: year, requests_per_unit: 1}}\n  - {key: ten, rate_limit: {unit: year, requests_per_unit: 10}}\n"
			l := limit(t, map[string]string{"shop.yaml": rules}, withRedis(t, tt.environ))
			require.Equal(t, tt.first, l.ask("shop", descriptor("one=x"), descriptor("ten=x")))
			require.Equal(t, tt.second, l.ask("shop", descriptor("one=x"), descriptor("ten=x")))
			require.Equal(t, tt.wide, l.ask("shop", descriptor("ten=x")))
			if tt.environ["SHADOW_MODE"] != "" {
				require.Equal(t, 1, l.statistic("ratelimit.service.global_shadow_mode"))
			}
			l.terminate()
		})
	}
}

// TestReferenceReload changes, adds and removes domains while the server runs, and checks the response
// headers of each limit.
func TestReferenceReload(t *testing.T) {
	t.Parallel()
	const rule = "domain: %s\ndescriptors:\n  - key: client\n    rate_limit: {unit: year, requests_per_unit: %d}\n"
	l := limit(t, map[string]string{"shop.yaml": fmt.Sprintf(rule, "shop", 5)}, withRedis(t, map[string]string{
		"RUNTIME_WATCH_ROOT": "false", "LIMIT_RESPONSE_HEADERS_ENABLED": "true",
	}))
	headers := func(domain string) string {
		in := &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: descriptors("client=x")}
		out, err := l.client.ShouldRateLimit(t.Context(), in)
		require.NoError(t, err)
		var text []string
		for _, h := range out.GetResponseHeadersToAdd() {
			if h.GetKey() != "RateLimit-Reset" {
				text = append(text, h.GetKey()+" "+h.GetValue())
			}
		}
		return strings.Join(text, ", ")
	}
	require.Equal(t, "RateLimit-Limit 5, RateLimit-Remaining 4", headers("shop"))
	dir := filepath.Join(l.root(), "config")
	write := func(name, text string) {
		temporary := filepath.Join(l.root(), name+".tmp")
		require.NoError(t, os.WriteFile(temporary, []byte(text), 0o600))
		require.NoError(t, os.Rename(temporary, filepath.Join(dir, name)))
	}
	write("shop.yaml", fmt.Sprintf(rule, "shop", 1_000_000))
	eventually(t, "the limit is raised", func() bool { return strings.HasPrefix(headers("shop"), "RateLimit-Limit 1000000, ") })
	require.NotEqual(t, "RateLimit-Remaining 999999", headers("shop"), "the count continues")
	write("bank.yaml", fmt.Sprintf(rule, "bank", 7))
	eventually(t, "a domain is added", func() bool { return headers("bank") != "" })
	write("bank.yaml", "domain: [broken")
	eventually(t, "the error is counted", func() bool { return l.statistic("ratelimit.service.config_load_error") == 1 })
	require.Contains(t, headers("bank"), "RateLimit-Limit 7, ", "the previous configuration stays active")
	require.NoError(t, os.Remove(filepath.Join(dir, "bank.yaml")))
	eventually(t, "a domain is removed", func() bool { return headers("bank") == "" })
	eventually(t, "the configuration is valid again", func() bool { return l.statistic("ratelimit.service.config_load_ok") == 1 })
	l.signal(15)
	require.Zero(t, l.code())
}

// root returns the RUNTIME_ROOT of the server.
func (l *limiter) root() string {
	for _, variable := range l.cmd.Env {
		if root, ok := strings.CutPrefix(variable, "RUNTIME_ROOT="); ok {
			return root
		}
	}
	return ""
}

// TestReferenceDiscovery follows a configuration server from one version to the next.
func TestReferenceDiscovery(t *testing.T) {
	t.Parallel()
	snapshots := cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	g := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, controlplane.NewServer(ctx, snapshots, nil))
	var done sync.WaitGroup
	done.Go(func() { _ = g.Serve(listener) })
	t.Cleanup(func() {
		cancel()
		g.Stop()
		done.Wait()
	})
	publish := func(version string, domains ...string) {
		var resources []types.Resource
		for i, name := range domains {
			resources = append(resources, &configv3.RateLimitConfig{Name: name, Domain: name, Descriptors: []*configv3.RateLimitDescriptor{
				{Key: "client", RateLimit: &configv3.RateLimitPolicy{Unit: 6, RequestsPerUnit: uint32(20 + i)}}, // 6 is YEAR
			}})
		}
		s, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
		require.NoError(t, err)
		require.NoError(t, snapshots.SetSnapshot(ctx, "test-node", s))
	}
	publish("1", "shop", "bank")
	l := limit(t, nil, withRedis(t, map[string]string{
		"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_NODE_ID": "test-node", "CONFIG_GRPC_XDS_SERVER_URL": listener.Addr().String(),
	}))
	require.Equal(t, "OK; OK 19/20 YEAR", l.ask("shop", descriptor("client=x")))
	require.Equal(t, "OK; OK 20/21 YEAR", l.ask("bank", descriptor("client=x")))
	publish("2", "museum", "shop")
	eventually(t, "the configuration changes", func() bool { return l.ask("bank", descriptor("client=y")) == "OK; OK" })
	require.Equal(t, "OK; OK 19/21 YEAR", l.ask("shop", descriptor("client=x")), "the count continues")
	l.terminate()
}

// TestReferenceStoreFails stops the store: calls fail with an error, and the health follows the
// connection if the settings say so.
func TestReferenceStoreFails(t *testing.T) {
	t.Parallel()
	store := redistest.Start(t, nil)
	l := limit(t, map[string]string{"shop.yaml": limits}, map[string]string{
		"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION": "true",
	})
	require.Equal(t, "OK; OK 19/20 YEAR", l.ask("shop", descriptor("client=x")))
	require.True(t, l.healthy())
	store.Kill()
	eventually(t, "it becomes unhealthy", func() bool { return !l.healthy() })
	in := &ratelimitv3.RateLimitRequest{Domain: "shop", Descriptors: descriptors("client=x")}
	_, err := l.client.ShouldRateLimit(t.Context(), in)
	require.ErrorContains(t, err, "rate limit counter store failed")
	require.Positive(t, l.statistic("ratelimit.service.call.should_rate_limit.redis_error"))
	code, _ := httpDo(t, http.MethodPost, "http://"+l.http+"/json", shopJSON("x"))
	require.Equal(t, http.StatusServiceUnavailable, code)
	l.signal(15)
	require.Zero(t, l.code())
}
