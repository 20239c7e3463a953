package server_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

// Each metric that a server writes by itself says in words of its own what it counts.
func TestHelpOfMetrics(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, nil)
	authority, dir := certstest.NewAuthority(t), t.TempDir()
	cert, key := authority.Write(dir, "server", "localhost")
	for name, environ := range map[string]map[string]string{
		"memory": {"LOCAL_CACHE_SIZE_IN_BYTES": "100000", "SCRAPE_TOP_KEYS": "5", "GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": key},
		"redis": {
			"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": redis.Addr, "LEASES": "all",
			"REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": redis.Addr, "REDIS_PERSECOND_SOCKET_TYPE": "tcp",
		},
		"memcached": {"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": memcachetest.Start(t, nil).Addr},
	} {
		t.Run(name, func(t *testing.T) {
			maps.Copy(environ, map[string]string{"DISABLE_STATS": "false", "USE_PUSHSTATS": "false", "USE_SCRAPE": "true", "SCRAPE_ADDR": "127.0.0.1:0"})
			r := prepare(t, map[string]string{"d.yaml": twoUnits}, environ).start()
			conn := r.dial()
			if name == "memory" {
				secure, err := grpc.NewClient(r.addr.GRPC.String(), grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(authority.Pool(), "localhost")))
				require.NoError(t, err)
				defer secure.Close()
				conn = secure
			}
			request := ask("d", "x")
			request.Descriptors = append(request.Descriptors, ask("d", "x").GetDescriptors()...)
			request.Descriptors[1].Entries[0].Key = "burst"
			client := ratelimitv3.NewRateLimitServiceClient(conn)
			for _, domain := range []string{"d", "d", "d", "d", "unknown"} {
				request.Domain = domain
				_, err := client.ShouldRateLimit(t.Context(), request)
				require.NoError(t, err)
			}
			statistics := r.srv.Statistics()
			for _, event := range []string{"refused_connections", "closed_connections", "expired_messages"} {
				statistics.Counter("ratelimit.grpc." + event).Add(1)
			}
			statistics.Counter("orders.placed").Add(1)
			statistics.Gauge("orders.open").Set(1)
			statistics.Timer("orders.time").Record(1)

			_, page := r.getAt(r.addr.Scrape, "/metrics")
			help := make(map[string]string)
			for _, line := range regexp.MustCompile(`(?m)^# HELP (\S+) (.*)$`).FindAllStringSubmatch(page, -1) {
				help[line[1]] = line[2]
			}
			for _, line := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
				metric := line[1]
				text, ok := help[metric]
				assert.True(t, ok, "%s has no help", metric)
				own := strings.ToLower(strings.ReplaceAll(metric, "_", ""))
				words := 0
				for _, word := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c < 'a' || c > 'z' }) {
					if len(word) > 2 && !strings.Contains(own, word) {
						words++
					}
				}
				assert.GreaterOrEqual(t, words, 1, "%s: %s", metric, text)
				if !strings.HasPrefix(metric, "orders_") {
					for _, kind := range []string{"placed", "open", "time"} {
						assert.NotEqual(t, help["orders_"+kind], text, metric)
					}
				}
			}
			require.Greater(t, len(help), 50)
			r.end()
		})
	}
}
