package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// datagrams is a UDP port that stores what it receives.
func datagrams(t *testing.T) (port string, received func() string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	var all logtest.Log
	done := make(chan struct{})
	go func() {
		defer close(done)
		for buffer := make([]byte, 1<<16); ; {
			n, _, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			all.Write(append(buffer[:n:n], '\n'))
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	_, port, err = net.SplitHostPort(conn.LocalAddr().String())
	require.NoError(t, err)
	return port, all.String
}

// Push, agent and scrape export at the same time, each with the tags.
func TestSeveralSinks(t *testing.T) {
	port, received := datagrams(t)
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"DISABLE_STATS": "false", "STATS_FLUSH_INTERVAL": "20ms", "EXTRA_TAGS": "<zone:north>",
		"USE_PUSHSTATS": "true", "PUSHSTATS_HOST": "127.0.0.1", "PUSHSTATS_PORT": port, "PUSHSTATS_PROTOCOL": "udp",
		"USE_AGENTSTATS": "true", "AGENTSTATS_MOGRIFIERS": "LIMITS",
		"AGENTSTATS_MOGRIFIER_LIMITS_PATTERN": `^ratelimit\.service\.rate_limit\.(.*)\.(.*)\.(.*)$`,
		"AGENTSTATS_MOGRIFIER_LIMITS_NAME":    "limits.$3",
		"AGENTSTATS_MOGRIFIER_LIMITS_TAGS":    "domain:$1,descriptor:$2",
		"USE_SCRAPE":                          "true", "SCRAPE_ADDR": "127.0.0.1:0",
	}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	plain := regexp.MustCompile(`(?m)^ratelimit\.service\.rate_limit\.d\.client\.total_hits\.__zone=north:\d+\|c$`)
	agent := regexp.MustCompile(`(?m)^limits\.total_hits:\d+\|c\|#zone:north,domain:d,descriptor:client$`)
	calls := 0
	r.becomes("all statistics have arrived", func() bool {
		text := received()
		if plain.MatchString(text) && agent.MatchString(text) {
			return true
		}
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "x")) // again, for datagrams get lost
		require.NoError(t, err)
		calls++
		return false
	})
	code, page := r.getAt(r.addr.Scrape, "/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, page, `ratelimit_service_rate_limit_total_hits{domain="d",key1="client",zone="north"} `+fmt.Sprintln(calls))
	require.Contains(t, page, `ratelimit_service_response_time_seconds_count{grpc_method="ShouldRateLimit",zone="north"} `+fmt.Sprintln(calls))
	require.Regexp(t, `(?m)^ratelimit_build_info{goversion="go1[^"]+",revision="[^"]*",version="[^"]+",zone="north"} 1$`, page)
	code, _ = r.getAt(r.addr.Scrape, "/")
	require.Equal(t, 404, code, "this port serves only the documented paths")
	r.end()
}

// Statistics go to standard output if no other export is configured.
func TestStatisticsOnOutput(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"DISABLE_STATS": "false", "USE_PUSHSTATS": "false", "STATS_FLUSH_INTERVAL": "1h",
	})
	var out logtest.Log
	srv, err := server.New(t.Context(), r.set, &server.Options{Log: server.NewLogTo(r.log, r.set), Output: &out, Listening: func(server.Addresses) { close(r.done) }})
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), testTimeout)
	defer stop()
	go func() {
		<-r.done
		stop()
	}()
	require.NoError(t, srv.Run(ctx))
	require.Contains(t, out.String(), "ratelimit.service.config_load_success")
	for line := range strings.Lines(out.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

// Errors in a mapping file are reported at the start.
func TestBadMapping(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mapping.yaml")
	require.NoError(t, os.WriteFile(file, []byte("mappings: [{match: a.*, nam: b}]"), 0o600))
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"DISABLE_STATS": "false", "USE_SCRAPE": "true", "SCRAPE_ADDR": "127.0.0.1:0", "SCRAPE_MAPPER_YAML": file,
	})
	_, err := server.New(t.Context(), r.set, nil)
	require.ErrorContains(t, err, "SCRAPE_MAPPER_YAML")
	require.ErrorContains(t, err, file)
}

// A mapping file that does not exist does not take the decisions down: metrics have the built-in mapping, and the log
// names the setting as the user wrote it. What can't be read otherwise ends the start.
func TestMissingMapping(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conf.yaml")
	environ := map[string]string{
		"DISABLE_STATS": "false", "USE_STATSD": "false", "USE_PROMETHEUS": "true", "PROMETHEUS_ADDR": "127.0.0.1:0",
		"PROMETHEUS_MAPPER_YAML": file, "LOG_LEVEL": "error",
	}
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, environ).start()
	for _, part := range []string{"level=ERROR", "PROMETHEUS_MAPPER_YAML", file} {
		require.Contains(t, r.log.String(), part)
	}
	code, metrics := r.getAt(r.addr.Scrape, "/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, metrics, "ratelimit_service_config_load_success 1")
	r.end()

	environ["PROMETHEUS_MAPPER_YAML"] = filepath.Dir(file)
	_, err := server.New(t.Context(), prepare(t, nil, environ).set, nil)
	require.ErrorContains(t, err, "PROMETHEUS_MAPPER_YAML")
	require.NotContains(t, err.Error(), "EXTRA_TAGS")
}

// A scrape port that is in use is reported with its setting, like the others.
func TestTakenScrapePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	err = prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"DISABLE_STATS": "false", "USE_PUSHSTATS": "false", "USE_SCRAPE": "true", "SCRAPE_ADDR": l.Addr().String(),
	}).fail()
	var failed *server.ListenError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "SCRAPE_ADDR", failed.Setting)
	require.ErrorContains(t, err, l.Addr().String())
}
