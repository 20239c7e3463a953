//go:build unix

package e2e_test

import (
	"bufio"
	"context"
	"flag"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

var update = flag.Bool("update", false, "write the golden files")

// The replacement drill starts ratelimitd with an environment and a configuration written for
// envoyproxy/ratelimit. Clients, dashboards and probes must see the same as before. The golden files
// follow ratelimit/REFERENCE.md, sections 3 to 5 and 8.

// drill is one run of the drill.
type drill struct {
	*process
	t                         *testing.T
	grpc, http, debug, scrape string
	redis                     *redistest.Server
}

// startDrill starts a ratelimitd on ports chosen beforehand, as an operator does. It retries with other
// ports if another process has taken one.
func startDrill(t *testing.T, more map[string]string) *drill {
	t.Helper()
	d := &drill{t: t, redis: redistest.Start(t, nil)}
	for range 5 {
		d.launch(more)
		if d.stderr.await(`(?m)"@message":"ratelimitd is ready"`, d.ended) != nil {
			return d
		}
		require.Contains(t, d.stderr.String(), "address already in use")
	}
	t.Fatal("other processes took the free ports in every attempt")
	return nil
}

func (d *drill) launch(more map[string]string) {
	t := d.t
	t.Helper()
	ports := freePorts(t, 4)
	d.http, d.grpc, d.debug, d.scrape = "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1], "127.0.0.1:"+ports[2], "127.0.0.1:"+ports[3]
	environ := map[string]string{
		"HOST": "127.0.0.1", "PORT": ports[0], "GRPC_HOST": "127.0.0.1", "GRPC_PORT": ports[1], "DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": ports[2],
		"RUNTIME_ROOT": runtimeRoot(t), "RUNTIME_SUBDIRECTORY": "ratelimit", "RUNTIME_WATCH_ROOT": "false", "RUNTIME_IGNOREDOTFILES": "true",
		"REDIS_SOCKET_TYPE": "tcp", "REDIS_TYPE": "SINGLE", "REDIS_URL": d.redis.Addr, "REDIS_POOL_SIZE": "5", "REDIS_POOL_ON_EMPTY_BEHAVIOR": "WAIT",
		"LOCAL_CACHE_SIZE_IN_BYTES": "1048576", "LIMIT_RESPONSE_HEADERS_ENABLED": "true", "EXPIRATION_JITTER_MAX_SECONDS": "60",
		"LOG_LEVEL": "warn", "LOG_FORMAT": "json",
	}
	maps.Copy(environ, more)
	for key, value := range environ {
		environ[key] = strings.ReplaceAll(value, "SCRAPE", d.scrape)
	}
	d.process = start(t, environ, "ratelimitd")
}

// runtimeRoot returns a directory with the configuration behind a symbolic link, as in deployments.
func runtimeRoot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "release", "ratelimit", "config"), os.DirFS("testdata/replacement/config")))
	require.NoError(t, os.Symlink("release", filepath.Join(dir, "current")))
	return filepath.Join(dir, "current")
}

// freePorts returns unused ports.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	ports := make([]string, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports[i] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// calls sends the requests in calls.txt with ratelimit-client and returns the responses.
func (d *drill) calls() string {
	d.t.Helper()
	text, err := os.ReadFile("testdata/replacement/calls.txt")
	require.NoError(d.t, err)
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		args := []string{"-json", "-dial_string", d.grpc, "-domain", words[0]}
		for _, w := range words[1:] {
			args = append(args, "-descriptors", w)
		}
		p := run(d.t, 0, "ratelimit-client", args...)
		response := p.waitFor(p.stdout, `(?m)^(.+)$`)[1]
		out.WriteString(strings.TrimSpace(line) + "\n  " + untimed(response) + "\n")
	}
	return out.String()
}

// untimed replaces values that depend on the time of day.
func untimed(text string) string {
	text = regexp.MustCompile(`(durationUntilReset":)"\d+s"`).ReplaceAllString(text, `$1"Ns"`)
	return regexp.MustCompile(`(RateLimit-Reset","value":)"\d+"`).ReplaceAllString(text, `$1"N"`)
}

// connections are numbers of connections: there is a second one if the server is asked for its time during a call.
var connections = regexp.MustCompile(`(?m)(redis_pool.cx_(?:active|total)\S*) [12]$`)

// build is what differs from build to build.
var build = regexp.MustCompile(`(?m)^.*ratelimit_build_info.*\n`)

// golden compares a string with a file in testdata/replacement.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = build.ReplaceAllString(connections.ReplaceAllString(got, "$1 1"), "")
	path := filepath.Join("testdata", "replacement", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s; after an intended change, run the test with -update", path)
}

// page returns the content of a debug or scrape page.
func (d *drill) page(addr, path string) string {
	d.t.Helper()
	code, text := httpDo(d.t, http.MethodGet, "http://"+addr+path, "")
	require.Equal(d.t, http.StatusOK, code, "%s: %s", path, text)
	return text
}

// TestReplacementWithStatsd uses the push protocol, as most deployments do.
func TestReplacementWithStatsd(t *testing.T) {
	t.Parallel()
	daemon := startDaemon(t)
	d := startDrill(t, map[string]string{
		"USE_STATSD": "true", "STATSD_HOST": "127.0.0.1", "STATSD_PORT": daemon.port, "STATS_FLUSH_INTERVAL": "200ms",
		"EXTRA_TAGS": "region:north,cluster:a",
	})
	code, body := httpDo(t, http.MethodGet, "http://"+d.http+"/healthcheck", "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "OK", body)

	golden(t, "responses.golden", d.calls())
	code, body = httpDo(t, http.MethodPost, "http://"+d.http+"/json", `{"domain":"edge","descriptors":[{"entries":[{"key":"remote_address","value":"192.0.2.1"}]}]}`)
	require.Equal(t, http.StatusTooManyRequests, code)
	require.Regexp(t, `^\{"overallCode":"OVER_LIMIT","statuses":\[\{"code":"OVER_LIMIT","currentLimit":\{"requestsPerUnit":3,"unit":"YEAR"\},"durationUntilReset":"\d+s"\}\],`+
		`"responseHeadersToAdd":\[\{"key":"RateLimit-Limit","value":"3"\},\{"key":"RateLimit-Remaining","value":"0"\},\{"key":"RateLimit-Reset","value":"\d+"\}\]\}$`, body)

	golden(t, "rlconfig.golden", d.page(d.debug, "/rlconfig"))
	for path := range strings.Lines("/debug/pprof/\n/debug/pprof/profile\n/debug/pprof/trace\n/rlconfig\n/stats\n") {
		require.Contains(t, d.page(d.debug, "/"), strings.TrimSpace(path)+": ")
	}
	golden(t, "counters.golden", d.counters())

	d.signal(15)
	require.Zero(t, d.code())
	eventually(t, "the daemon has read all statistics", daemon.drained)
	golden(t, "statsd.golden", daemon.counters()) // complete, because the shutdown sends the rest
	require.Contains(t, daemon.types()["ratelimit_server.ShouldRateLimit.response_time.__cluster=a.__region=north"], "ms")
	require.Contains(t, daemon.types()["ratelimit.localcache.entryCount.__cluster=a.__region=north"], "g")
	require.Contains(t, daemon.types()["ratelimit.go.numGoroutine.__cluster=a.__region=north"], "g")
	require.NotContains(t, d.stderr.String(), `"level":"error"`)
}

// TestReplacementWithPrometheus uses the scrape endpoint, for which envoyproxy/ratelimit needs
// USE_STATSD=false.
func TestReplacementWithPrometheus(t *testing.T) {
	t.Parallel()
	d := startDrill(t, map[string]string{
		"USE_STATSD": "false", "USE_PROMETHEUS": "true", "PROMETHEUS_ADDR": "SCRAPE", "PROMETHEUS_PATH": "/metrics",
	})
	golden(t, "responses.golden", d.calls())
	var lines []string
	for line := range strings.Lines(d.page(d.scrape, "/metrics")) {
		// Help texts differ between the services, and the gauge of limits is an extension.
		if !regexp.MustCompile(`^# HELP |^(# TYPE )?(go|process|promhttp|ratelimit_go)_|_bucket\{|_sum\{|_sum |^(# TYPE )?ratelimit_(localcache_averageAccessTime|service_rate_limit_limit)`).MatchString(line) {
			lines = append(lines, line)
		}
	}
	golden(t, "scrape.golden", strings.Join(lines, ""))
	code, _ := httpDo(t, http.MethodGet, "http://"+d.scrape+"/debug/pprof/", "")
	require.Equal(t, http.StatusNotFound, code, "the scrape port serves only the metrics")
	d.signal(15)
	require.Zero(t, d.code())
}

// counters returns the keys, without windows, and values of the counters in Redis.
func (d *drill) counters() string {
	d.t.Helper()
	ctx, client := context.Background(), d.redis.Client()
	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(d.t, err)
	slices.Sort(keys)
	var out strings.Builder
	for _, key := range keys {
		value, err := client.Get(ctx, key).Result()
		require.NoError(d.t, err)
		ttl, err := client.TTL(ctx, key).Result()
		require.NoError(d.t, err)
		at := strings.LastIndexByte(key, '_')
		window, err := strconv.ParseInt(key[at+1:], 10, 64)
		require.NoError(d.t, err, key)
		unit := int64(31536000)
		if strings.HasPrefix(key, "mail_to_") {
			unit = 2592000
		}
		require.Zero(d.t, window%unit, key)
		left := window + unit - time.Now().Unix()
		require.InDelta(d.t, unit/2, left, float64(unit/2), "%s: the key must have the current window", key)
		// envoyproxy/ratelimit keeps a counter for a whole unit after each hit. The difference is not
		// visible to it, because the next window has another key.
		require.InDelta(d.t, float64(left)+30, ttl.Seconds(), 35, "%s: expiry at the end of the window plus a jitter of up to 60 seconds", key)
		out.WriteString(key[:at+1] + "WINDOW " + value + "\n")
	}
	return out.String()
}

// daemon is a statsd daemon over TCP that sums counters.
type daemon struct {
	port string

	mu             sync.Mutex
	opened, closed int // connections
	sums           map[string]int64
	kind           map[string]string
}

func startDaemon(t *testing.T) *daemon {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &daemon{port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port), sums: map[string]int64{}, kind: map[string]string{}}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			d.count(&d.opened)
			done.Go(func() {
				d.read(conn)
				d.count(&d.closed)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		done.Wait()
	})
	return d
}

func (d *daemon) count(n *int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*n++
}

// drained reports whether there were connections, and all are closed and read completely.
func (d *daemon) drained() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened > 0 && d.opened == d.closed
}

func (d *daemon) read(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		value, kind, _ := strings.Cut(rest, "|")
		n, _ := strconv.ParseInt(value, 10, 64)
		d.mu.Lock()
		d.kind[name] = kind
		if kind == "c" {
			d.sums[name] += n
		}
		d.mu.Unlock()
	}
}

func (d *daemon) types() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.kind)
}

// counters returns the sums of all counters except those of the Go runtime and of configuration loads,
// whose number depends on file notifications.
func (d *daemon) counters() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.sums)) {
		if !strings.HasPrefix(name, "ratelimit.go.") && !strings.Contains(name, "load_") {
			out.WriteString(name + " " + strconv.FormatInt(d.sums[name], 10) + "\n")
		}
	}
	return out.String()
}
