//go:build unix

package registry_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

// BenchmarkRegistry measures requests to registries with 100,000 versions of 20,000 servers, in memory and in a
// file, through the whole handler. A request takes at most 10 ms of a processor; on a machine that does nothing else
// that is the time until the response.
func BenchmarkRegistry(b *testing.B) {
	entries := registrytest.Entries(20_000, 5)
	file, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "registry.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() })
	memory := registry.NewMemStore(nil)
	for _, s := range []registrytest.Mirror{memory, file} {
		for rest := entries; len(rest) > 0; rest = rest[5000:] {
			if err := s.Mirrored(b.Context(), rest[:5000], nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	late := registrytest.Start().Add(90_000 * time.Second)
	name := url.PathEscape(entries[777].Name)
	for store, s := range map[string]registry.Store{"memory": memory, "sqlite": file} {
		h := registry.NewHandler(s, &registry.Options{Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}})
		middle := nextCursor(b, h, "/v0.1/servers?limit=1&search=server-1000")
		for what, target := range map[string]string{
			"list-100": "/v0.1/servers?limit=100", "list-100-middle": "/v0.1/servers?limit=100&cursor=" + middle,
			"latest-100": "/v0.1/servers?limit=100&version=latest", "latest-100-middle": "/v0.1/servers?limit=100&version=latest&cursor=" + middle,
			"search-all": "/v0.1/servers?limit=100&search=tools", "search-tenth": "/v0.1/servers?limit=100&search=weather", "search-few": "/v0.1/servers?limit=100&search=harbour&version=latest",
			"search-none": "/v0.1/servers?limit=100&search=xyzxyz", "search-two-letters": "/v0.1/servers?limit=100&search=zz",
			"updated-since": "/v0.1/servers?limit=100&updated_since=" + late.Format(time.RFC3339), "updated-since-all": "/v0.1/servers?limit=100&updated_since=2020-01-01T00:00:00Z",
			"versions": "/v0.1/servers/" + name + "/versions", "version": "/v0.1/servers/" + name + "/versions/1.3.0", "version-latest": "/v0.1/servers/" + name + "/versions/latest",
		} {
			b.Run(store+"/"+what, func(b *testing.B) {
				var all []time.Duration
				before := processorTime(b)
				for b.Loop() {
					began := time.Now()
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
					if w.Code != http.StatusOK {
						b.Fatalf("%s: %d %s", target, w.Code, w.Body)
					}
					all = append(all, time.Since(began))
				}
				used := (processorTime(b) - before) / time.Duration(b.N)
				slices.Sort(all)
				b.ReportMetric(milliseconds(used), "cpu-ms/op")
				b.ReportMetric(milliseconds(all[len(all)/2]), "median-ms")
				b.ReportMetric(milliseconds(all[len(all)-1]), "longest-ms")
				if used > 10*time.Millisecond {
					b.Errorf("%s takes %v of a processor, more than 10 ms", target, used)
				}
			})
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// processorTime returns the time of processors that the process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
