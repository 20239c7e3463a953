package deploytest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

// limits have hits of every kind within a few calls, in windows that do not end meanwhile.
const limits = `domain: shop
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 5, candidate: {requests_per_unit: 3}}
  - key: leased
    rate_limit: {unit: year, requests_per_unit: 1000000, lease: true}
  - key: path
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 1}
    descriptors:
      - key: client
        shadow_mode: true
        rate_limit: {unit: year, requests_per_unit: 5, candidate: {requests_per_unit: 3}}
  - key: second
    rate_limit: {unit: second, requests_per_unit: 100}
`

// scraped contains the metrics of real servers, with their labels and the values of each label.
type scraped struct {
	labels map[string]map[string][]string
}

// add parses a page of metrics.
func (s *scraped) add(text string) {
	line := regexp.MustCompile(`^([A-Za-z_:][\w:]*)(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if s.labels[m[1]] == nil {
			s.labels[m[1]] = map[string][]string{}
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			s.labels[m[1]][l[1]] = append(s.labels[m[1]][l[1]], l[2])
		}
	}
}

// lacks returns a fault for each unknown name. The labels and series that Prometheus adds are known.
func (s *scraped) lacks(n named) (missing []string) {
	metrics := slices.Clone(n.metrics)
	for _, pattern := range n.patterns {
		matching := slices.DeleteFunc(slices.Collect(maps.Keys(s.labels)), func(name string) bool {
			return !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(name)
		})
		if len(matching) == 0 {
			missing = append(missing, "no metric matches "+pattern)
		}
	}
	known := map[string][]string{"job": nil, "instance": nil}
	for _, metric := range metrics {
		if s.labels[metric] == nil && metric != "up" {
			missing = append(missing, "unknown metric "+metric)
		}
		for name, values := range s.labels[metric] {
			known[name] = append(known[name], values...)
		}
	}
	for _, label := range n.labels {
		values, ok := known[label]
		if !ok {
			missing = append(missing, "none of its metrics has a label "+label)
		}
		for _, value := range n.values[label] {
			if label != "job" && !slices.Contains(values, value) {
				missing = append(missing, "no label "+label+" has the value "+value)
			}
		}
	}
	return missing
}

// lacksOf is like lacks, and prefixes each fault with a place.
func (s *scraped) lacksOf(place string, n named) (faults []string) {
	for _, missing := range s.lacks(n) {
		faults = append(faults, place+": "+missing)
	}
	return faults
}

// instance is a running server.
type instance struct {
	t         *testing.T
	addresses server.Addresses
	authority *certstest.Authority
}

// launch starts a server with TLS and stops it when the test ends.
func launch(t *testing.T, environ map[string]string) *instance {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "config"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "config", "shop.yaml"), []byte(limits), 0o644))
	i := &instance{t: t, authority: certstest.NewAuthority(t)}
	cert, key := i.authority.Write(root, "server", "localhost")
	all := map[string]string{
		"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0",
		"USE_PUSHSTATS": "false", "USE_SCRAPE": "true", "SCRAPE_ADDR": "127.0.0.1:0", "RUNTIME_ROOT": root,
		"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": key, "LOCAL_CACHE_SIZE_IN_BYTES": "1000000",
	}
	maps.Copy(all, environ)
	parsed, err := settings.Parse(all)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	up, done := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		done <- server.Run(ctx, parsed, &server.Options{
			Log: slog.New(slog.DiscardHandler), Listening: func(a server.Addresses) { up <- a },
		})
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	select {
	case i.addresses = <-up:
	case err := <-done:
		done <- nil // for the cleanup
		t.Fatalf("the server does not start: %v", err)
	case <-time.After(timeout):
		t.Fatal("the server does not start")
	}
	return i
}

// send sends requests, each in the form domain key value key value ... A "-" at the end gives a
// hit back.
func (i *instance) send(calls ...string) {
	i.t.Helper()
	conn, err := grpc.NewClient(i.addresses.GRPC.String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: i.authority.Pool(), ServerName: "localhost",
	})))
	require.NoError(i.t, err)
	defer conn.Close()
	client := ratelimitv3.NewRateLimitServiceClient(conn)
	for _, call := range calls {
		call, negative := strings.CutSuffix(call, " -")
		words := strings.Fields(call)
		d := &commonv3.RateLimitDescriptor{IsNegativeHits: negative}
		for at := 1; at < len(words); at += 2 {
			d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: words[at], Value: words[at+1]})
		}
		request := &ratelimitv3.RateLimitRequest{Domain: words[0]}
		if len(d.Entries) > 0 {
			request.Descriptors = append(request.Descriptors, d)
		}
		_, _ = client.ShouldRateLimit(i.t.Context(), request) // some requests are invalid
	}
}

// get returns a page at one of the addresses.
func (i *instance) get(at net.Addr, path string) string {
	i.t.Helper()
	response, err := http.Get("http://" + at.String() + path)
	require.NoError(i.t, err)
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(response.Body)
	require.NoError(i.t, err)
	require.Equal(i.t, http.StatusOK, response.StatusCode, path)
	return string(body)
}

// scrapeAll runs servers with each kind of counter store and collects their metrics.
func scrapeAll(t *testing.T) *scraped {
	t.Helper()
	all := &scraped{map[string]map[string][]string{}}
	redis, second := redistest.Start(t, nil), redistest.Start(t, nil)
	i := launch(t, map[string]string{
		"KVSTORE_URL": redis.Addr, "KVSTORE_PERSECOND": "true", "KVSTORE_PERSECOND_URL": second.Addr, "ON_STORE_FAILURE": "local",
		"STORE_BREAKER_FAILURES": "1",
	})
	hits := slices.Repeat([]string{"shop client ann", "shop path /a", "shop path /a client ann", "shop second x"}, 7)
	i.send(append(hits, "nobody client ann", "shop", "shop path /a client ann -")...)
	i.send(slices.Repeat([]string{"shop leased x"}, 500)...) // in less than a second a lease is worth it
	redis.Kill()
	i.send("shop client bob", "shop client bob")
	all.add(i.get(i.addresses.Scrape, "/metrics"))
	for _, path := range ratelimitd().paths {
		switch path {
		case "/metrics", "/json":
		case "/healthcheck":
			require.Equal(t, "OK", i.get(i.addresses.HTTP, path))
		default:
			require.NotEmpty(t, i.get(i.addresses.Debug, path))
		}
	}

	i = launch(t, map[string]string{"BACKEND_TYPE": "memstore", "MEMSTORE_HOST_PORT": "127.0.0.1:" + servertest.FreePort(t)})
	i.send("shop client ann")
	all.add(i.get(i.addresses.Scrape, "/metrics"))
	return all
}
