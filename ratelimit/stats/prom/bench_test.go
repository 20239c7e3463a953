package prom_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

// large returns a registry with 10,000 limits of six statistics that have all counted.
func large() *stats.Registry {
	registry := stats.New(nil)
	for i := range 10_000 {
		for _, stat := range []string{"total_hits", "over_limit", "near_limit", "within_limit", "shadow_mode", "over_limit_with_local_cache"} {
			registry.Counter(fmt.Sprintf("ratelimit.service.rate_limit.domain.tenant_%d.path_/v1/items.%s", i, stat)).Add(uint64(i + 1))
		}
	}
	return registry
}

// sink discards a response.
type sink struct{ header http.Header }

func (s sink) Header() http.Header       { return s.header }
func (sink) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (sink) WriteHeader(int)             {}

// BenchmarkScrape serves 60,000 statistics. B/series is the memory that the
// exporter retains.
func BenchmarkScrape(b *testing.B) {
	registry := large()
	for name, opts := range map[string]prom.Options{
		"builtin": {},
		"file":    {Mapping: []byte("mappings:\n- {match: 'ratelimit.service.rate_limit.*.*.*.*', name: $4, labels: {domain: $1, key1: $2, key2: $3}}")},
	} {
		b.Run(name, func(b *testing.B) {
			before := heap()
			opts.NoRuntimeMetrics = true
			e, err := prom.New(registry, &opts)
			require.NoError(b, err)
			request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			start := time.Now()
			e.Handler().ServeHTTP(sink{http.Header{}}, request)
			first, kept := time.Since(start), heap()-before
			for b.Loop() {
				e.Handler().ServeHTTP(sink{http.Header{}}, request)
			}
			b.ReportMetric(float64(first.Milliseconds()), "first-ms")
			b.ReportMetric(float64(kept)/60_000, "B/series")
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRecord measures what a call spends on its response time, with and without an
// exporter.
func BenchmarkRecord(b *testing.B) {
	for _, with := range []string{"nothing", "exporter"} {
		b.Run(with, func(b *testing.B) {
			registry := stats.New(nil)
			if with == "exporter" {
				exporter(b, registry, prom.Options{})
			}
			timer := registry.Timer("ratelimit_server.ShouldRateLimit.response_time")
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for d := time.Duration(0); pb.Next(); d++ {
					timer.Record(50*time.Microsecond + d&0xffff)
				}
			})
		})
	}
}
