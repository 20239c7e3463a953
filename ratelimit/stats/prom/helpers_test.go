package prom_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exporter returns an exporter without metrics of the runtime, and its log.
func exporter(t require.TestingT, registry *stats.Registry, opts prom.Options) (*prom.Exporter, *logtest.Log) {
	log := new(logtest.Log)
	opts.NoRuntimeMetrics = true
	opts.Log = log.Logger()
	e, err := prom.New(registry, &opts)
	require.NoError(t, err)
	return e, log
}

func get(e *prom.Exporter, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, r)
	return w
}

// text returns a scrape.
func text(t require.TestingT, e *prom.Exporter) string {
	w := get(e)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(body)
}

// parsed returns a scrape that was parsed as strictly as a server does.
func parsed(t require.TestingT, e *prom.Exporter) map[string]*dto.MetricFamily {
	body := text(t, e)
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	require.NoError(t, err, body)
	return families
}

// samples returns the lines of a scrape without comments and the exporter's counter.
func samples(t require.TestingT, e *prom.Exporter) []string {
	var lines []string
	for line := range strings.Lines(text(t, e)) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "ratelimit_service_scrape_conflicts") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// ofKind returns the counters or gauges of a scrape by "name{label=value,...}".
func ofKind(families map[string]*dto.MetricFamily, kind dto.MetricType) map[string]float64 {
	all := make(map[string]float64)
	for name, f := range families {
		if f.GetType() != kind {
			continue
		}
		for _, m := range f.GetMetric() {
			all[name+labels(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}

func labels(m *dto.Metric) string {
	all := make(map[string]string)
	for _, l := range m.GetLabel() {
		all[l.GetName()] = l.GetValue()
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, ",%s=%q", name, all[name])
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// needBinary returns the path of a program. Without it the test is skipped, or fails if
// ASHLAR_REQUIRE_SERVICES is 1.
func needBinary(t *testing.T, name string) string {
	for _, dir := range strings.Split(os.Getenv("PATH"), ":") {
		if info, err := os.Stat(dir + "/" + name); err == nil && info.Mode()&0o111 != 0 {
			return dir + "/" + name
		}
	}
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatalf("%s is not on PATH, and ASHLAR_REQUIRE_SERVICES=1", name)
	}
	t.Skipf("NOT TESTED: %s is not on PATH", name)
	return ""
}

// rules returns the rules of one domain, with a limit for each key.
func rules(t require.TestingT, domain string, keys ...string) *ratelimit.Ruleset {
	d := ratelimit.Domain{Name: domain}
	for _, key := range keys {
		d.Rules = append(d.Rules, ratelimit.Rule{Key: key, Limit: &ratelimit.Limit{RequestsPerUnit: 10, Unit: ratelimit.Day}})
	}
	set, err := ratelimit.Compile([]ratelimit.Domain{d}, nil)
	require.NoError(t, err)
	return set
}

func decide(t require.TestingT, engine *ratelimit.Engine, domain, key string) {
	request := ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: key, Value: "v"}}},
	}}
	var decision ratelimit.Decision
	require.NoError(t, engine.DecideInto(context.Background(), &request, &decision))
}
