package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

// sink is a response writer that costs nothing.
type sink struct{ h http.Header }

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// subjects are the handlers to compare, the bare one among them.
func subjects(t testing.TB, n uint32) map[string]http.Handler {
	f := newFixture()
	bare := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	limiter := f.limiter(t, ratelimit.Per(n, ratelimit.Minute))
	engine := f.engine(t, nil, ratelimit.Rule{Key: "path", Limit: perMinute(n)}, ratelimit.Rule{Key: "remote_address", Limit: perMinute(n)})
	describe := func(r *http.Request, d *httplimit.Descriptors) {
		d.Add(ratelimit.Entry{Key: "path", Value: r.URL.Path})
		d.Add(ratelimit.Entry{Key: "remote_address", Value: httplimit.RemoteHost(r)})
	}
	silent := &httplimit.Options{Headers: httplimit.NoHeaders}
	return map[string]http.Handler{
		"bare":                  bare,
		"PerKey":                httplimit.PerKey(limiter, httplimit.RemoteHost, nil)(bare),
		"PerKey-no-headers":     httplimit.PerKey(limiter, httplimit.RemoteHost, silent)(bare),
		"PerRequest":            httplimit.PerRequest(engine, "api", describe, nil)(bare),
		"PerRequest-no-headers": httplimit.PerRequest(engine, "api", describe, silent)(bare),
	}
}

func TestAllocations(t *testing.T) {
	if scaletest.Race() {
		t.Log("the race detector drops pooled memory at random: only run, not counted")
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for name, h := range subjects(t, 1_000_000) {
		most := 2.0 // the numbers' text, and the array of values
		if name == "bare" || name == "PerKey-no-headers" || name == "PerRequest-no-headers" {
			most = 0
		}
		w := &sink{h: http.Header{}}
		if n := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); n > most && !scaletest.Race() {
			t.Errorf("%s: %v allocations for a request that passes, want at most %v", name, n, most)
		}
	}
}

func BenchmarkPass(b *testing.B) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for name, h := range subjects(b, 4_000_000_000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			w := &sink{h: http.Header{}}
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}

func BenchmarkRefuse(b *testing.B) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	h := subjects(b, 0)["PerKey"]
	b.ReportAllocs()
	w := &sink{h: http.Header{}}
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
