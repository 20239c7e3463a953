package prom

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	maxRequests    = 4
	requestTimeout = 10 * time.Second // for how long a scraping server waits by default
)

func (e *Exporter) newHandler(withRuntime bool) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	h := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            e.trouble,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxRequests,
		Timeout:             requestTimeout,
		OfferedCompressions: []promhttp.Compression{promhttp.Identity, promhttp.Gzip},
	})
	if withRuntime {
		labeled := prometheus.WrapRegistererWith(e.runtimeTags(), registry)
		for _, c := range []prometheus.Collector{
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
		e.table.close(others)
	}
	if err := registry.Register(e); err != nil {
		return nil, fmt.Errorf("prom: %w", err)
	}
	return onlyGet(h), nil
}

// runtimeTags are the tags but those that metrics of the runtime have themselves.
func (e *Exporter) runtimeTags() prometheus.Labels {
	labels := make(prometheus.Labels)
	for _, tag := range e.table.tags {
		switch tag.name {
		case "version", "code": // of go_info and promhttp_metric_handler_requests_total
		default:
			labels[tag.name] = tag.value
		}
	}
	return labels
}

func onlyGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// scrapeLog writes what goes wrong with scrapes, but not the same at each.
type scrapeLog struct {
	to *slog.Logger

	mu   sync.Mutex
	last string
}

// Println is for promhttp.
func (l *scrapeLog) Println(v ...any) { l.warn(strings.TrimSpace(fmt.Sprintln(v...))) }

func (l *scrapeLog) warn(text string, attrs ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != l.last {
		l.last = text
		l.to.Warn("scrape: "+text, attrs...)
	}
}
