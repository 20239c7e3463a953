//go:build unix

package e2e_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// TestMetricsExist checks that ratelimitd exports every metric and label in the alerts, in the
// dashboard and in OPERATIONS.md.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	text := scrape(t)
	metric := regexp.MustCompile(`\b(?:ratelimit|certs|process|go|runtime)_[a-zA-Z_]+(?:\.\+[a-z_]+)?`)
	page := content(t, filepath.Join(checkout, "cmd/ratelimitd/OPERATIONS.md"))
	for _, name := range regexp.MustCompile("`("+metric.String()+")`").FindAllStringSubmatch(page, -1) {
		require.True(t, regexp.MustCompile(`(?m)^`+name[1]+`(_bucket)?[{ ]`).MatchString(text), name[1])
	}
	for _, expr := range expressions(t) {
		series := ""
		for _, name := range metric.FindAllString(expr, -1) {
			lines := regexp.MustCompile(`(?m)^`+name+`[{ ].*$`).FindAllString(text, -1)
			require.NotEmpty(t, lines, "unknown metric %s in %s", name, expr)
			series += strings.Join(lines, "\n")
		}
		if series == "" {
			continue // the series that Prometheus adds
		}
		for _, label := range regexp.MustCompile(`[{,]\s*(\w+)\s*=~?\s*("[^"]*")|by \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
			for name := range strings.SplitSeq(label[1]+label[3], ",") {
				if name = strings.TrimSpace(name); !slices.Contains([]string{"", "job", "instance", "__name__"}, name) {
					require.True(t, strings.Contains(series, name+`="`), "%s: %s", expr, name)
				}
			}
			if label[1] != "job" && label[1] != "__name__" && label[2] != "" && !strings.ContainsAny(label[2], "|.*$") {
				require.True(t, strings.Contains(series, label[1]+"="+label[2]), "%s: %s=%s", expr, label[1], label[2])
			}
		}
	}
}

// expressions returns the expressions of the alerts and of the dashboard.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	var alerts struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(content(t, filepath.Join(checkout, "cmd/ratelimitd/deploy/alerts.yaml"))), &alerts))
	for _, rule := range alerts.Groups[0].Rules {
		all = append(all, rule.Expr)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(content(t, filepath.Join(checkout, "cmd/ratelimitd/deploy/dashboard.json"))), &dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	require.Greater(t, len(all), 20)
	return all
}

// scrapedLimits has limits of each kind, in windows that do not end during the test.
const scrapedLimits = `domain: shop
descriptors:
- key: client
  rate_limit: {unit: year, requests_per_unit: 5, candidate: {requests_per_unit: 3}}
- key: leased
  rate_limit: {unit: year, requests_per_unit: 1000000, lease: true}
- key: path
  shadow_mode: true
  rate_limit: {unit: year, requests_per_unit: 1}
  descriptors:
  - key: client
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 5, candidate: {requests_per_unit: 3}}
- key: second
  rate_limit: {unit: second, requests_per_unit: 100}
`

// scrape returns the metrics of servers with each kind of counter store, after requests of each kind.
func scrape(t *testing.T) (text string) {
	t.Helper()
	redis, second, authority := redistest.Start(t, nil), redistest.Start(t, nil), certstest.NewAuthority(t)
	cert, key := authority.Write(t.TempDir(), "server", "localhost")
	for _, environ := range []map[string]string{
		{"KVSTORE_URL": redis.Addr, "KVSTORE_PERSECOND": "true", "KVSTORE_PERSECOND_URL": second.Addr, "ON_STORE_FAILURE": "local"},
		{"BACKEND_TYPE": "memstore", "MEMSTORE_HOST_PORT": "127.0.0.1:" + servertest.FreePort(t)},
		{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": key},
	} {
		scrapeAddr := "127.0.0.1:" + servertest.FreePort(t)
		for name, value := range map[string]string{"DISABLE_STATS": "false", "USE_PUSHSTATS": "false", "USE_SCRAPE": "true", "SCRAPE_ADDR": scrapeAddr, "LOCAL_CACHE_SIZE_IN_BYTES": "1000000"} {
			environ[name] = value
		}
		s := serve(t, map[string]string{"shop.yaml": scrapedLimits}, environ)
		client := ratelimitv3.NewRateLimitServiceClient(dial(t, s.grpc))
		send := func(n int, request *ratelimitv3.RateLimitRequest) {
			for range n {
				_, _ = client.ShouldRateLimit(t.Context(), request) // some are invalid
			}
		}
		if environ["GRPC_SERVER_USE_TLS"] == "" {
			both := newRequest("shop", "path", "x")
			both.Descriptors[0].Entries = append(both.Descriptors[0].Entries, newRequest("shop", "client", "x").Descriptors[0].Entries...)
			send(7, both)
			both.Descriptors[0].IsNegativeHits = true
			send(1, both)
			for _, key := range []string{"client", "path", "second"} {
				send(7, newRequest("shop", key, "x"))
			}
			send(1, newRequest("nobody", "client", "x"))
			send(1, newRequest("shop", "client"))
			send(500, newRequest("shop", "leased", "x")) // in less than a second a lease is worth it
			if environ["KVSTORE_URL"] != "" {
				redis.Kill()
			}
			send(2, newRequest("shop", "client", "x"))
		}
		code, metrics := httpDo(t, http.MethodGet, "http://"+scrapeAddr+"/metrics", "")
		require.Equal(t, http.StatusOK, code)
		text += metrics
		for _, path := range []string{"/", "/stats", "/rlconfig", "/topkeys", "/debug/pprof/"} {
			code, _ := httpDo(t, http.MethodGet, "http://"+s.debug+path, "")
			require.Equal(t, http.StatusOK, code, path)
		}
	}
	return text
}
