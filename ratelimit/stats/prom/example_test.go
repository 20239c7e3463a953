package prom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

func ExampleNew() {
	registry := stats.New(nil)
	exporter, err := prom.New(registry, &prom.Options{NoRuntimeMetrics: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", exporter.Handler())

	registry.Counter("ratelimit.service.rate_limit.api.client.path.over_limit").Add(3)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	fmt.Print(w.Body)
	// Output:
	// # HELP ratelimit_service_rate_limit_over_limit Hits that did not fit.
	// # TYPE ratelimit_service_rate_limit_over_limit counter
	// ratelimit_service_rate_limit_over_limit{domain="api",key1="client",key2="path"} 3
	// # HELP ratelimit_service_scrape_conflicts A statistic without a mapping: its name, with underscores for what a metric's name may not hold.
	// # TYPE ratelimit_service_scrape_conflicts counter
	// ratelimit_service_scrape_conflicts 0
}
