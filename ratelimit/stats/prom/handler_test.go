package prom_test

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	registry := stats.New(nil)
	e, _ := exporter(t, registry, prom.Options{})
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Stats: registry, ShadowMode: true})
	engine.Use(rules(t, "api", "client"))
	for range 12 {
		decide(t, engine, "api", "client")
	}
	decide(t, engine, "nowhere", "client")
	for name, n := range map[string]uint64{
		"ratelimit.service.rate_limit.api.client.path_/.over_limit":                  4,
		"ratelimit.service.rate_limit.api.client.path_/.method_GET.over_limit":       5,
		"ratelimit.service.rate_limit.api.client.path_/.over_limit_with_local_cache": 3,
		"ratelimit.service.call.should_rate_limit.service_error":                     1,
		"ratelimit.service.config_load_success":                                      2,
		"ratelimit.service.config_load_error":                                        0,
		"ratelimit_server.ShouldRateLimit.total_requests":                            13,
	} {
		registry.Counter(name).Add(n)
	}
	registry.Gauge("ratelimit.redis_pool.cx_active").Set(10)
	timer := registry.Timer("ratelimit_server.ShouldRateLimit.response_time")
	for _, d := range []time.Duration{40, 90, 300, 20_000} {
		timer.Record(d * time.Microsecond)
	}
	path := filepath.Join("testdata", "scrape.golden")
	got := text(t, e)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestHandler(t *testing.T) {
	registry := stats.New(nil)
	registry.Counter("ratelimit.service.config_load_success").Add(1)
	e, _ := exporter(t, registry, prom.Options{})

	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"), method)
	}
	plain := get(e)
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", plain.Header().Get("Content-Type"))

	packed := get(e, "Accept-Encoding", "gzip")
	assert.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
	unpack, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(unpack)
	require.NoError(t, err)
	assert.Equal(t, plain.Body.String(), string(body))
}

// In OpenMetrics the counter would be called ratelimit_service_config_load_success_total.
func TestNamesDoNotDependOnAccept(t *testing.T) {
	registry := stats.New(nil)
	registry.Counter("ratelimit.service.config_load_success").Add(1)
	e, _ := exporter(t, registry, prom.Options{})
	for _, accept := range []string{
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		"application/openmetrics-text", "*/*", "nonsense", "",
	} {
		assert.Contains(t, get(e, "Accept", accept).Body.String(), "\nratelimit_service_config_load_success 1\n", accept)
	}
	w := get(e, "Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	assert.Contains(t, w.Body.String(), "ratelimit_service_config_load_success")
	assert.Contains(t, w.Header().Get("Content-Type"), "protobuf")
}

// Many scrapers, or ones that stall, must not exhaust memory.
func TestScrapesAreBounded(t *testing.T) {
	registry := stats.New(nil)
	inside, leave := make(chan struct{}, 100), make(chan struct{})
	registry.Source(func(stats.Reader) {
		inside <- struct{}{}
		<-leave
	})
	e, _ := exporter(t, registry, prom.Options{})
	codes := make(chan int)
	for range 20 {
		go func() { codes <- get(e).Code }()
	}
	<-inside
	for range 16 {
		assert.Equal(t, http.StatusServiceUnavailable, <-codes)
	}
	close(leave)
	for range 4 {
		assert.Equal(t, http.StatusOK, <-codes)
	}
}

func TestScrapesWhileCounting(t *testing.T) {
	registry := stats.New(nil)
	e, log := exporter(t, registry, prom.Options{})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				registry.Counter(fmt.Sprintf("ratelimit.service.rate_limit.d.k_%d.total_hits", i)).Add(1)
				registry.Timer(fmt.Sprintf("ratelimit_server.M%d.response_time", i%7)).Record(time.Duration(worker))
				registry.Gauge("ratelimit.g").Set(uint64(i))
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for range 20 {
				assert.Equal(t, http.StatusOK, get(e).Code)
			}
		})
	}
	all.Wait()
	body := text(t, e)
	assert.Equal(t, 200, strings.Count(body, "} 4\n"))
	assert.Contains(t, body, `ratelimit_service_response_time_seconds_count{grpc_method="M0"} 116`)
	assert.Empty(t, log.String())
}

// A source that panics affects only its own statistics, which keep their values.
func TestPanicOfASource(t *testing.T) {
	registry := stats.New(nil)
	bad := false
	registry.Counter("c").Add(1)
	registry.Source(func(to stats.Reader) {
		if bad {
			panic("broken source")
		}
		to.Gauge("s.g", 7)
	})
	e, log := exporter(t, registry, prom.Options{})
	assert.Equal(t, []string{"c 1", "s_g 7"}, samples(t, e))
	bad = true
	registry.Counter("c").Add(1)
	for range 2 {
		assert.Equal(t, []string{"c 2", "s_g 7"}, samples(t, e))
	}
	assert.Equal(t, 1, strings.Count(log.String(), "broken source"), "logged once, not at each scrape")
	bad = false
	assert.Equal(t, []string{"c 2", "s_g 7"}, samples(t, e))
}
