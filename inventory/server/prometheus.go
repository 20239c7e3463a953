package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second // the default timeout of a scraping server
)

// statistics are the metrics of a server, in a registry of its own.
type statistics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
}

func newStatistics() *statistics {
	s := &statistics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "inventory_http_requests_total", Help: "Requests by route, method and status; other is a request that reached no route.",
		}, []string{"route", "method", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "inventory_http_request_duration_seconds", Help: "Duration of requests by route and method.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
	}
	s.registry.MustRegister(s.requests, s.latency, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// observe counts a request. The label values are those of the routes and the statuses.
func (s *statistics) observe(o httpapi.Observation) {
	s.requests.WithLabelValues(o.Route, o.Method, strconv.Itoa(o.Status)).Inc()
	s.latency.WithLabelValues(o.Route, o.Method).Observe(o.Took.Seconds())
}

// watch adds what is read when the page is: the store, its connections and the heavy queries.
func (s *statistics) watch(store records.Store, api *httpapi.API) {
	s.registry.MustRegister(&storeCollector{store, api})
}

// handler returns the page.
func (s *statistics) handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout,
	})
}

// storeCollector reads the state of a store and an API.
type storeCollector struct {
	store records.Store
	api   *httpapi.API
}

// descriptions of what a storeCollector collects.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("inventory_"+name, help, labels, nil)
}

// Describe describes nothing, which allows any metrics.
func (c *storeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect collects the metrics. One that can't be read is an error of the page.
func (c *storeCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	running, waiting := c.api.HeavyQueries()
	heavy := describe("heavy_queries", "Heavy queries by state: running or waiting.", "state")
	gauge(heavy, float64(running), "running")
	gauge(heavy, float64(waiting), "waiting")
	if pools, ok := c.store.(interface {
		Stats() (writer, reader sql.DBStats)
	}); ok {
		c.pools(to, pools.Stats)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout/2)
	defer cancel()
	c.content(ctx, to, gauge)
}

// pools collects the statistics of the connections.
func (c *storeCollector) pools(to chan<- prometheus.Metric, stats func() (writer, reader sql.DBStats)) {
	connections := describe("database_connections", "Open connections by pool and state: idle or in_use.", "pool", "state")
	limit := describe("database_connections_max", "Maximum number of open connections by pool.", "pool")
	waits := describe("database_waits_total", "Calls that waited for a connection, by pool.", "pool")
	waited := describe("database_wait_seconds_total", "Time that calls waited for a connection, by pool.", "pool")
	writer, reader := stats()
	for pool, s := range map[string]sql.DBStats{"writer": writer, "reader": reader} {
		to <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(s.Idle), pool, "idle")
		to <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(s.InUse), pool, "in_use")
		to <- prometheus.MustNewConstMetric(limit, prometheus.GaugeValue, float64(s.MaxOpenConnections), pool)
		to <- prometheus.MustNewConstMetric(waits, prometheus.CounterValue, float64(s.WaitCount), pool)
		to <- prometheus.MustNewConstMetric(waited, prometheus.CounterValue, s.WaitDuration.Seconds(), pool)
	}
}

// content collects the number of records, if the store keeps it, and the size of the database.
func (c *storeCollector) content(ctx context.Context, to chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string)) {
	number := describe("records", "Records by resource.", "resource")
	if store, ok := c.store.(records.Summarizer); ok {
		for _, r := range c.store.Schema().Resources() {
			s, err := store.Summarize(ctx, r, nil)
			if err != nil {
				to <- prometheus.NewInvalidMetric(number, err)
				break
			}
			gauge(number, float64(s.Total), r.Name)
		}
	}
	size := describe("database_size_bytes", "Size of the database.")
	if store, ok := c.store.(interface {
		Size(ctx context.Context) (int64, error)
	}); ok {
		n, err := store.Size(ctx)
		if err != nil {
			to <- prometheus.NewInvalidMetric(size, err)
			return
		}
		gauge(size, float64(n))
	}
}

// MetricsHandler returns the page with the metrics of the server for Prometheus. It needs no
// token: mount it where only the monitoring can read it.
func (s *Server) MetricsHandler() http.Handler { return s.statistics.handler() }

// serveMetrics serves MetricsHandler at PROMETHEUS_ADDR until ctx ends.
func (s *Server) serveMetrics(ctx context.Context) error {
	if s.settings.PrometheusAddr == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.settings.PrometheusAddr)
	if err != nil {
		return fmt.Errorf("PROMETHEUS_ADDR: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.MetricsHandler())
	s.log.Info("metrics for Prometheus", "url", "http://"+l.Addr().String()+"/metrics")
	if err := httpx.Serve(ctx, l, mux, &httpx.ServeOptions{MaxConnections: 16, Log: s.log}); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
