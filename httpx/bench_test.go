package httpx_test

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

// small is a handler that responses with little JSON, and costs nothing itself.
func small() http.Handler {
	body, kind := []byte(`{"status":"success","count":7}`), []string{"application/json"}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = kind
		_, _ = w.Write(body)
	})
}

// sink is a ResponseWriter that costs nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

// browserGet is a small GET as browsers and curl send it.
func browserGet() *http.Request {
	r := httptest.NewRequest("GET", "http://localhost:8000/api/books?limit=5", nil)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "gzip, deflate, br")
	r.Header.Set("Origin", "http://localhost:3000")
	r.Header.Set("User-Agent", "benchmark")
	return r
}

func measure(b *testing.B, h http.Handler) {
	r, w := browserGet(), &sink{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

// BenchmarkMiddleware measures what each middleware costs around a handler that costs nothing.
func BenchmarkMiddleware(b *testing.B) {
	b.Run("none", func(b *testing.B) { measure(b, small()) })
	all := allMiddleware(b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) { measure(b, all[name](small())) })
	}
}

// standard is the whole chain, writing its log as text.
func standard(tb testing.TB) httpx.Middleware {
	return httpx.Standard(&httpx.StandardOptions{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Origins: origins(tb, httpx.LocalOrigins()...),
	})
}

// BenchmarkStandard is the whole chain on a small GET, next to the bare handler.
func BenchmarkStandard(b *testing.B) {
	b.Run("bare", func(b *testing.B) { measure(b, small()) })
	b.Run("chain", func(b *testing.B) { measure(b, standard(b)(small())) })
}

// TestStandardAllocations checks that the whole chain costs a small GET at most 40
// allocations more than the bare handler.
func TestStandardAllocations(t *testing.T) {
	count := func(h http.Handler) float64 {
		r, w := browserGet(), &sink{http.Header{}}
		return testing.AllocsPerRun(100, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		})
	}
	bare, chain := count(small()), count(standard(t)(small()))
	if chain-bare > 40 {
		t.Errorf("the chain makes %.0f allocations, the bare handler %.0f: at most 40 more are allowed", chain, bare)
	}
}
