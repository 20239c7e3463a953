package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/buildinfo"
	"github.com/ashlar-go/ashlar/internal/tracing"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/internal/mail"
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
	refused  *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	done     *prometheus.GaugeVec
	failed   *prometheus.CounterVec
	sent     *prometheus.CounterVec
}

// Metric describes a metric of [Server.MetricsHandler].
type Metric struct {
	Name   string
	Labels []string
	Help   string
}

// Metrics describes the metrics of a server in the order of the documentation. Its page also has those
// of the Go runtime and of the process, go_* and process_*.
func Metrics() []Metric {
	return []Metric{
		{"inventory_http_requests_total", []string{"route", "method", "status"}, "requests by route, method and status; the route other is that of requests which were refused before, or have an unknown path"},
		{"inventory_http_request_duration_seconds", []string{"route", "method"}, "histogram of their duration by route and method"},
		{"inventory_refused_requests_total", []string{"reason"}, "requests that were refused (401, 403) by reason: no_token, malformed, forged, expired, early, elsewhere, revoked (ended, or its user is gone, inactive or has another role), forbidden; without logins and other requests that need no token"},
		{"inventory_logins_total", []string{"result"}, "logins with a password by result: ok, wrong_password (also an unknown user), inactive, throttled, failed"},
		{"inventory_api_token_uses_total", []string{"result"}, "requests with an API token by result: ok, malformed, expired, revoked (also unknown), failed"},
		{"inventory_build_info", []string{"version", "revision", "goversion"}, "always 1; the labels describe the program"},
		{"inventory_database_up", nil, "1 while the database responds, else 0"},
		{"inventory_database_replica_lag_seconds", nil, "how old what the replica of DATABASE_READ_URL has is; only with one"},
		{"inventory_task_last_success_timestamp_seconds", []string{"task"}, "Unix time of the last success of a task in the background: prune (in the process that did it), backup (to BACKUP_DIR)"},
		{"inventory_task_failures_total", []string{"task"}, "failures of tasks in the background, after which they are tried again"},
		{"inventory_change_streams", nil, "open change streams and requests that wait for changes"},
		{"inventory_change_streams_max", nil, "maximum number of them"},
		{"inventory_change_lag", nil, "changes that the slowest of them has yet to read"},
		{"inventory_webhook_messages_total", []string{"webhook", "result"}, "attempts to send a message by the name of the webhook and by result: sent, failed, parked (the last failure)"},
		{"inventory_mails_waiting", nil, "mails that wait to be sent, also again"},
		{"inventory_mails_total", []string{"result"}, "mails by result: sent, failed (given up), lost (unsent at the end of the process), dropped (the queue was full)"},
		{"inventory_oidc_up", nil, "1 if the identity provider responded when its configuration was read last, else 0; only with one"},
		{"inventory_heavy_queries", []string{"state"}, "heavy queries by state: running, waiting"},
		{"inventory_database_connections", []string{"pool", "state"}, "open connections of the pool writer or reader, by state: idle, in_use"},
		{"inventory_database_connections_max", []string{"pool"}, "maximum number of open connections of the pool"},
		{"inventory_database_replica_up", nil, "0 while the replica of DATABASE_READ_URL does not respond, and reads go to DATABASE_URL instead; otherwise 1"},
		{"inventory_database_replica_fallbacks_total", nil, "reads that went to DATABASE_URL because the replica did not respond, or lagged too far behind"},
		{"inventory_database_waits_total", []string{"pool"}, "calls that waited for a connection of the pool"},
		{"inventory_database_wait_seconds_total", []string{"pool"}, "how long they waited"},
		{"inventory_records", []string{"resource"}, "records by resource"},
		{"inventory_database_size_bytes", nil, "size of the database"},
	}
}

// metric returns the description of a metric.
func metric(name string) Metric {
	all := Metrics()
	return all[slices.IndexFunc(all, func(m Metric) bool { return m.Name == "inventory_"+name })]
}

func counterVec(name string) *prometheus.CounterVec {
	m := metric(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
}

func gaugeVec(name string) *prometheus.GaugeVec {
	m := metric(name)
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
}

func newStatistics() *statistics {
	duration := metric("http_request_duration_seconds")
	build := gaugeVec("build_info")
	build.With(buildinfo.Labels()).Set(1)
	s := &statistics{
		registry: prometheus.NewRegistry(),
		requests: counterVec("http_requests_total"),
		refused:  counterVec("refused_requests_total"),
		failed:   counterVec("task_failures_total"),
		sent:     counterVec("webhook_messages_total"),
		done:     gaugeVec("task_last_success_timestamp_seconds"),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: duration.Name, Help: duration.Help, Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, duration.Labels),
	}
	for _, task := range []string{"prune", "backup"} {
		s.failed.WithLabelValues(task) // at 0, so that the first failure is an increase
	}
	s.registry.MustRegister(s.requests, s.refused, s.latency, s.done, s.failed, s.sent, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// ran notes the end of a task in the background.
func (s *statistics) ran(task string, err error) {
	if err != nil {
		s.failed.WithLabelValues(task).Inc()
		return
	}
	s.succeeded(task, time.Now())
}

// count counts what a job of a feature does.
func (s *statistics) count(name string, labels ...string) {
	if name == "webhook_messages_total" {
		s.sent.WithLabelValues(labels...).Inc()
	}
}

func (s *statistics) succeeded(task string, at time.Time) {
	s.done.WithLabelValues(task).Set(float64(at.Unix()))
}

// observe counts a request. The label values are those of the routes and the statuses.
func (s *statistics) observe(ctx context.Context, o httpapi.Observation) {
	tracing.Name(ctx, o.Method, o.Route)
	s.requests.WithLabelValues(o.Route, o.Method, strconv.Itoa(o.Status)).Inc()
	s.latency.WithLabelValues(o.Route, o.Method).Observe(o.Took.Seconds())
	if o.Refusal != "" {
		s.refused.WithLabelValues(o.Refusal).Inc()
	}
}

// storeCollector reads the state of a store and of what works with it.
type storeCollector struct {
	store    records.Store
	api      *httpapi.API
	users    *accounts.Service
	mails    *mail.Queue
	provider *oidc.Provider // nil for none
}

// describe returns the description of a metric that a storeCollector collects.
func describe(name string) *prometheus.Desc {
	m := metric(name)
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

// Describe describes nothing, which allows any metrics.
func (c *storeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect collects the metrics. One that can't be read is an error of the page.
func (c *storeCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(describe(name), prometheus.GaugeValue, value, labels...)
	}
	counter := func(name string, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(describe(name), prometheus.CounterValue, value, labels...)
	}
	running, waiting := c.api.HeavyQueries()
	gauge("heavy_queries", float64(running), "running")
	gauge("heavy_queries", float64(waiting), "waiting")
	counted := c.users.Statistics()
	for name, results := range map[string]map[string]int64{"logins_total": counted.Logins, "api_token_uses_total": counted.APITokens} {
		for result, n := range results {
			counter(name, float64(n), result)
		}
	}
	if pools, ok := c.store.(interface {
		Stats() (writer, reader sql.DBStats)
	}); ok {
		writer, reader := pools.Stats()
		for pool, s := range map[string]sql.DBStats{"writer": writer, "reader": reader} {
			gauge("database_connections", float64(s.Idle), pool, "idle")
			gauge("database_connections", float64(s.InUse), pool, "in_use")
			gauge("database_connections_max", float64(s.MaxOpenConnections), pool)
			counter("database_waits_total", float64(s.WaitCount), pool)
			counter("database_wait_seconds_total", s.WaitDuration.Seconds(), pool)
		}
	}
	streams := c.api.ChangeStreams()
	gauge("change_streams", float64(streams.Open))
	gauge("change_streams_max", float64(streams.Max))
	gauge("change_lag", float64(streams.Lag))
	mails := c.mails.Stats()
	gauge("mails_waiting", float64(mails.Waiting))
	for result, n := range map[string]uint64{"sent": mails.Sent, "failed": mails.Failed, "lost": mails.Lost, "dropped": mails.Dropped} {
		counter("mails_total", float64(n), result)
	}
	if c.provider != nil {
		gauge("oidc_up", one(c.provider.Up()))
	}
	if store, ok := c.store.(interface {
		Replica() (up bool, fallbacks int64)
	}); ok {
		up, fallbacks := store.Replica()
		gauge("database_replica_up", one(up))
		counter("database_replica_fallbacks_total", float64(fallbacks))
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout/2)
	defer cancel()
	if !c.database(ctx, gauge) {
		return // what else is read of it would wait
	}
	c.content(ctx, to, gauge)
}

// database collects whether the database responds, and the lag of its replica.
func (c *storeCollector) database(ctx context.Context, gauge func(string, float64, ...string)) (up bool) {
	up = true
	if p, ok := c.store.(records.Pinger); ok {
		ctx, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		up = p.Ping(ctx) == nil
	}
	gauge("database_up", one(up))
	if replica, ok := c.store.(interface {
		ReplicaLag(ctx context.Context) (lag time.Duration, ok bool, err error)
	}); ok && up {
		if lag, ok, err := replica.ReplicaLag(ctx); ok && err == nil {
			gauge("database_replica_lag_seconds", lag.Seconds())
		}
	}
	return up
}

// one returns 1 for true.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// content collects the number of records, if the store keeps it, and the size of the database.
func (c *storeCollector) content(ctx context.Context, to chan<- prometheus.Metric, gauge func(string, float64, ...string)) {
	if store, ok := c.store.(records.Summarizer); ok {
		for _, r := range c.store.Schema().Resources() {
			s, err := store.Summarize(ctx, r, nil)
			if err != nil {
				to <- prometheus.NewInvalidMetric(describe("records"), err)
				break
			}
			gauge("records", float64(s.Total), r.Name)
		}
	}
	if store, ok := c.store.(interface {
		Size(ctx context.Context) (int64, error)
	}); ok {
		n, err := store.Size(ctx)
		if err != nil {
			to <- prometheus.NewInvalidMetric(describe("database_size_bytes"), err)
			return
		}
		gauge("database_size_bytes", float64(n))
	}
}

// MetricsHandler returns the page with the metrics of the server for Prometheus. It needs no
// token: mount it where only the monitoring can read it.
func (s *Server) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(s.statistics.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout,
	})
}

// listenMetrics listens at PROMETHEUS_ADDR. The listener is nil without one.
func (s *Server) listenMetrics(ctx context.Context) (net.Listener, error) {
	if s.settings.PrometheusAddr == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.settings.PrometheusAddr)
	if err != nil {
		return nil, fmt.Errorf("PROMETHEUS_ADDR: %w: choose another address with -prometheus-addr, port 0 for any free one", err)
	}
	return l, nil
}

// serveMetrics serves MetricsHandler and the probes until ctx ends. l may be nil.
func (s *Server) serveMetrics(ctx context.Context, l net.Listener) error {
	if l == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.MetricsHandler())
	s.log.Info("metrics for Prometheus", "url", "http://"+l.Addr().String()+"/metrics")
	if err := httpx.Serve(ctx, l, httpx.Probes(s.ready, "/healthz")(mux), &httpx.ServeOptions{MaxConnections: 16, Log: s.log}); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
