package prom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/prom"
)

// A real server scrapes the handler.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and waits for its scrapes: 6 s")
	}
	binary := needBinary(t, "prometheus")
	registry := stats.New(nil)
	e, err := prom.New(registry, &prom.Options{Tags: []stats.Tag{{Name: "zone", Value: "a"}}})
	require.NoError(t, err)
	registry.Counter("ratelimit.service.rate_limit.api.client_x.path_/.over_limit").Add(41)
	registry.Counter("ratelimit.service.rate_limit.api.a.b.c.over_limit").Add(1)
	timer := registry.Timer("ratelimit_server.ShouldRateLimit.response_time")
	for range 100 {
		timer.Record(70 * time.Microsecond)
	}
	target := httptest.NewServer(e.Handler())
	defer target.Close()
	api := startPrometheus(t, binary, target.Listener.Addr().String())

	assert.Equal(t, "41", query(t, api, `ratelimit_service_rate_limit_over_limit{domain="api",key1="client_x",key2="path_/",zone="a"}`))
	assert.Equal(t, "42", query(t, api, `sum(ratelimit_service_rate_limit_over_limit)`))
	median, err := strconv.ParseFloat(query(t, api, `histogram_quantile(0.5, ratelimit_service_response_time_seconds_bucket)`), 64)
	require.NoError(t, err)
	assert.InDelta(t, 75e-6, median, 1e-9, "halfway into the bucket from 50 to 100 microseconds")
	assert.Equal(t, "100", query(t, api, `ratelimit_service_response_time_seconds_bucket{le="0.005"}`))
	assert.Equal(t, "1", query(t, api, `up == 1`)) // a busy machine may miss a scrape and then not the next
}

// listening matches the line of the server's log that contains its port.
var listening = regexp.MustCompile(`msg="Listening on".* address=(\S+)`)

// startPrometheus returns the address of a server that scrapes target and ends with the
// test.
func startPrometheus(t *testing.T, binary, target string) string {
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs:
- {job_name: ratelimit, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q]}]}
`, target), 0o600))
	log := new(logtest.Log)
	server := exec.Command(binary, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(10*time.Second, func() { _ = server.Process.Kill() })
		defer kill.Stop()
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	var found []string
	require.Eventually(t, func() bool {
		found = listening.FindStringSubmatch(log.String())
		return found != nil
	}, 60*time.Second, 20*time.Millisecond, "the server does not log its address")
	return "http://" + found[1]
}

// query waits until a query has a result of one series, and returns its value.
func query(t *testing.T, api, query string) (value string) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	require.Eventually(t, func() bool {
		response, err := client.Get(api + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var reply struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		if json.NewDecoder(response.Body).Decode(&reply) != nil || len(reply.Data.Result) != 1 {
			return false
		}
		value = fmt.Sprint(reply.Data.Result[0].Value[1])
		return value != "NaN"
	}, 60*time.Second, 50*time.Millisecond, query)
	return value
}

// The server's own tool may object only to names of counters without "_total", which
// are those of the reference service.
func TestPromtool(t *testing.T) {
	binary := needBinary(t, "promtool")
	registry := stats.New(nil)
	e, err := prom.New(registry, nil)
	require.NoError(t, err)
	for _, name := range []string{
		"ratelimit.service.rate_limit.d.k.over_limit", "ratelimit.service.rate_limit.d.\"\\\n.over_limit",
		"ratelimit.service.rate_limit.é.domain_not_found", "x.a", "x-a",
	} {
		registry.Counter(name).Add(1)
		registry.Gauge(name).Set(1)
	}
	registry.Timer("ratelimit_server.M.response_time").Record(time.Second)
	registry.Timer("ratelimit_server.unmapped").Record(time.Second)
	check := exec.Command(binary, "check", "metrics")
	check.Stdin = strings.NewReader(text(t, e))
	out, err := check.CombinedOutput()
	const lint = 3 // its exit status if it objects
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(t, err, &exit, "%s", out)
		require.Equal(t, lint, exit.ExitCode(), "%s", out)
	}
	for line := range strings.Lines(string(out)) {
		expected := strings.Contains(line, `counter metrics should have "_total" suffix`) ||
			strings.Contains(line, "metric name should not include type") || // two kinds that clash
			strings.Contains(line, "metric names should not contain abbreviated units") // the domain d
		assert.True(t, expected, line)
	}
	assert.Contains(t, string(out), "ratelimit_service_rate_limit_over_limit", "the check has seen the metrics")
}
