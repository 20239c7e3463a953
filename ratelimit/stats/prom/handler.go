package prom

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ashlar-go/ashlar/internal/buildinfo"
)

const (
	maxRequests    = 4
	requestTimeout = 10 * time.Second // the default timeout of a scraping server
)

func (e *Exporter) newHandler(opts *Options) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	h := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            e.scrapeLog,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxRequests,
		Timeout:             requestTimeout,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip},
	})
	if !opts.NoRuntimeMetrics {
		build := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ratelimit_build_info", Help: "always 1; the labels describe the program", ConstLabels: buildinfo.Labels(),
		})
		build.Set(1)
		// Labels of these, go_info and promhttp_metric_handler_requests_total are no tags.
		labeled := prometheus.WrapRegistererWith(e.tagsExcept("version", "revision", "goversion", "code"), registry)
		for _, c := range []prometheus.Collector{
			build,
			collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		} {
			if err := labeled.Register(c); err != nil {
				return nil, fmt.Errorf("prom: metrics of the runtime: %w", err)
			}
		}
		h = promhttp.InstrumentMetricHandler(labeled, h)
		others, err := registry.Gather()
		if err != nil {
			return nil, fmt.Errorf("prom: metrics of the runtime: %w", err)
		}
		e.table.reserve(others)
	}
	if err := e.registerTopKeys(registry, opts); err != nil {
		return nil, fmt.Errorf("prom: top keys: %w", err)
	}
	if err := registry.Register(e); err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	get := http.NewServeMux()
	get.Handle("GET /", h)
	return get, nil
}

// tagsExcept returns the tags without those that have the names of a metric's own labels.
func (e *Exporter) tagsExcept(own ...string) prometheus.Labels {
	labels := maps.Clone(e.table.tags)
	maps.DeleteFunc(labels, func(name, _ string) bool { return slices.Contains(own, name) })
	return labels
}

// scrapeLog logs errors of scrapes, and omits one that equals the one before.
type scrapeLog struct {
	to *slog.Logger

	mu   sync.Mutex
	last string
}

// Println implements promhttp.Logger.
func (l *scrapeLog) Println(v ...any) { l.warn(strings.TrimSpace(fmt.Sprintln(v...))) }

func (l *scrapeLog) warn(message string, attrs ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if message != l.last {
		l.last = message
		l.to.Warn("scrape: "+message, attrs...)
	}
}
