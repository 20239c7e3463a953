package stats_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

func page(t *testing.T, r *stats.Registry, method, target, accept string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(method, target, nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

func small() *stats.Registry {
	r := stats.New(nil)
	r.Counter("b.count").Add(3)
	r.Counter("c.unused")
	r.Gauge("a.gauge").Set(7)
	r.Timer("d.time").Record(1500 * time.Microsecond)
	return r
}

func TestTextPage(t *testing.T) {
	w := page(t, small(), "GET", "/stats", "")
	require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, `a.gauge: 7
b.count: 3
c.unused: 0
d.time: count=1 mean=1.500ms p50=1.500ms p90=1.500ms p99=1.500ms max=1.500ms
`, w.Body.String())
	require.Equal(t, "b.count: 3\n", page(t, small(), "GET", "/stats?filter=count", "").Body.String())
	require.NotContains(t, page(t, small(), "GET", "/stats?usedonly", "").Body.String(), "unused")
}

func TestJSONPage(t *testing.T) {
	const want = `{
		"counters": {"b.count": 3, "c.unused": 0},
		"gauges": {"a.gauge": 7},
		"timers": {"d.time": {"count": 1, "sum_ms": 1.5, "mean_ms": 1.5, "p50_ms": 1.5, "p90_ms": 1.5, "p99_ms": 1.5, "max_ms": 1.5}}
	}`
	for _, w := range []*httptest.ResponseRecorder{
		page(t, small(), "GET", "/stats?format=json", ""),
		page(t, small(), "GET", "/stats", "application/json"),
	} {
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.JSONEq(t, want, w.Body.String())
	}
	empty, err := json.Marshal(stats.New(nil).Snapshot())
	require.NoError(t, err)
	require.JSONEq(t, `{"counters":{},"gauges":{},"timers":{}}`, string(empty), "empty, not null")
}

func TestPageRefuses(t *testing.T) {
	require.Equal(t, http.StatusMethodNotAllowed, page(t, small(), "POST", "/stats", "").Code)
	w := page(t, small(), "GET", "/stats?format=xml", "")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "use text or json")
}
