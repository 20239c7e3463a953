package prom_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
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
	// # HELP ratelimit_service_scrape_conflicts Statistics that are left out of this page, because a metric of another kind or with the same labels exists. The log has the reasons.
	// # TYPE ratelimit_service_scrape_conflicts counter
	// ratelimit_service_scrape_conflicts 0
}

// A program that uses the limiter in its own process registers its statistics with its
// own metrics.
func ExampleNewStats() {
	counts, err := prom.NewStats(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(counts)

	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Day}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Stats: counts})
	engine.Use(rules)
	request := ratelimit.Request{Domain: "shop", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "client", Value: "a"}}},
	}}
	for range 3 {
		if _, err := engine.Decide(context.Background(), &request); err != nil {
			fmt.Println(err)
		}
	}

	families, err := metrics.Gather()
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range families {
		if name := f.GetName(); strings.HasSuffix(name, "_limit_total_hits") || strings.HasSuffix(name, "_limit_over_limit") {
			m := f.GetMetric()[0]
			fmt.Println(name, m.GetLabel()[0].GetValue(), m.GetLabel()[1].GetValue(), m.GetCounter().GetValue())
		}
	}
	// Output:
	// ratelimit_service_rate_limit_over_limit shop client 1
	// ratelimit_service_rate_limit_total_hits shop client 3
}
