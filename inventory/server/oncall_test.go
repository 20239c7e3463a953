package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestDrain: after the end of its context a server is alive and serves for SHUTDOWN_DRAIN_DELAY, but is not ready. The
// operator sees 503 at /readyz and /healthz, and 200 at /livez.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := settings(t, map[string]string{"SHUTDOWN_DRAIN_DELAY": "1500ms"})
	srv, err := server.New(t.Context(), s, quiet())
	require.NoError(t, err)
	defer srv.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(path string) int {
		response, err := client.Get("http://" + l.Addr().String() + path)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		require.Equal(t, 200, status(path), path)
	}
	stop()
	require.Eventually(t, func() bool { return status("/readyz") == 503 }, time.Second, time.Millisecond)
	require.Equal(t, 503, status("/healthz"))
	require.Equal(t, 200, status("/livez"))
	require.Equal(t, 200, status("/openapi.json"))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not end")
	}
	require.Equal(t, 0, status("/livez"))
}

// TestTraces: a request is a span that continues the trace of its caller and is named after its route, with one for each
// statement of the database.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	names, service := map[string][]string{}, "" // names by trace
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		in := &collector.ExportTraceServiceRequest{}
		if err != nil || proto.Unmarshal(body, in) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range in.GetResourceSpans() {
			for _, a := range resource.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					service = a.GetValue().GetStringValue()
				}
			}
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					trace := string(s.GetTraceId()[:2])
					names[trace] = append(names[trace], s.GetName())
				}
			}
		}
	}))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	srv, err := server.New(t.Context(), settings(t, map[string]string{"TRACING_ENABLED": "true"}), quiet())
	require.NoError(t, err)
	for _, call := range []string{"POST /users/login", "GET /devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "GET /livez"} {
		method, path, _ := strings.Cut(call, " ")
		r := httptest.NewRequest(method, path, strings.NewReader(`{"username":"admin","password":"`+password+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		srv.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}
	require.NoError(t, srv.Close()) // sends what was not sent
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, names, 1, "probes and jobs are not traced")
	require.Subset(t, names["\x0a\xf7"], []string{"SELECT", "INSERT", "transaction", "POST /users/login", "GET /devices/{id}"})
	require.NotContains(t, names["\x0a\xf7"], "GET /livez")
	require.Equal(t, "inventory", service)
}

// TestRequestLog: a line in JSON has the names of those of ratelimitd, the route and the user, and a duration with a unit.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	out := &logtest.Log{}
	s := settings(t, map[string]string{"LOG_FORMAT": "json"})
	opts := new(server.Options).Cheap()
	opts.Log = server.NewLog(out, s)
	r := serveWith(t, s, opts)
	token := r.login("admin", password)
	r.want(200, "GET", "/devices?limit=1", token, "")
	var line map[string]any
	require.Eventually(t, func() bool {
		for text := range strings.Lines(out.String()) {
			if strings.Contains(text, `"route":"/devices"`) {
				require.NoError(t, json.Unmarshal([]byte(text), &line))
				return true
			}
		}
		return false
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "request", line["@message"])
	require.Equal(t, "info", line["level"])
	require.Equal(t, "admin", line["user"])
	require.NotEmpty(t, line["@timestamp"])
	took, err := time.ParseDuration(line["duration"].(string))
	require.NoError(t, err)
	require.Positive(t, took)
}

// TestBackups: copies are made at once and regularly, the newest are kept, and other files stay. A failure is a line of
// the log, and the metric inventory_task_failures_total.
func TestBackups(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "copies")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	old := []string{"inventory-20240101T000000Z.db", "inventory-20240102T000000Z.db", "inventory-20240103T000000Z.db"}
	for _, name := range append(old, "notes.db") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	environ := map[string]string{"BACKUP_DIR": dir, "BACKUP_KEEP": "2"}
	r := serve(t, settings(t, environ))
	names := func() (all []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	require.Eventually(t, func() bool { return len(names()) == 3 && r.log.Count("is copied") == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{old[2], "notes.db"}, append(names()[:1], names()[2:]...))
	copied := names()[1]
	environ["DATABASE_URL"] = filepath.Join(dir, copied)
	environ["BACKUP_DIR"] = filepath.Join(dir, "notes.db", "below") // which can't be a directory
	second := serve(t, settings(t, environ))
	second.login("admin", password)
	require.Eventually(t, func() bool { return second.log.Count("level=ERROR") == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, second.log.String(), "BACKUP_DIR")
	require.Eventually(t, func() bool {
		return strings.Contains(metricsOf(second.srv), `inventory_task_failures_total{task="backup"} 1`)
	}, 10*time.Second, 10*time.Millisecond)
	require.Contains(t, metricsOf(r.srv), `inventory_task_last_success_timestamp_seconds{task="backup"} 1`)
}

// metricsOf returns the page with the metrics of a server.
func metricsOf(s *server.Server) string {
	w := httptest.NewRecorder()
	s.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// quiet returns options of a server whose output nobody reads.
func quiet() *server.Options {
	opts := new(server.Options).Cheap()
	opts.Log, opts.Output = new(logtest.Log).Logger(), io.Discard
	return opts
}

// TestMetricsExist checks that servers export each metric and label of the alerts and of the dashboard.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	url := shared.Server(t).Database(t)
	post := serve(t, settings(t, map[string]string{
		"DATABASE_URL": url, "DATABASE_READ_URL": url, "EVENT_RETENTION": "2h", "OIDC_ISSUER": "http://127.0.0.1:1", "OIDC_CLIENT_ID": "x",
		"OIDC_REDIRECT_URL": "http://127.0.0.1/users/oidc/callback", "OIDC_DEFAULT_ROLE": "viewer",
	}))
	file := serve(t, settings(t, map[string]string{"BACKUP_DIR": t.TempDir()}))
	token := post.login("admin", password)
	post.want(401, "GET", "/devices", "", "")
	post.want(201, "POST", "/webhooks", token, `{"name":"hook","url":"http://127.0.0.1/","secret":"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}`)
	scrape := ""
	require.Eventually(t, func() bool {
		scrape = metricsOf(post.srv) + metricsOf(file.srv)
		return strings.Contains(scrape, `timestamp_seconds{task="backup"}`) && strings.Contains(scrape, `timestamp_seconds{task="prune"}`) &&
			strings.Contains(scrape, `inventory_webhook_messages_total{result="failed",webhook="hook"} 1`)
	}, 30*time.Second, 50*time.Millisecond)
	require.Contains(t, scrape, "inventory_database_replica_lag_seconds 0\n")
	require.Contains(t, scrape, "inventory_oidc_up 0\n")
	found := 0
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile("../../cmd/inventoryd/deploy/" + name)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`\b(?:inventory|process|go)_[a-z_]+`).FindAllString(string(text), -1) {
			require.Regexp(t, `(?m)^`+name+`[{ ]`, scrape)
			found++
		}
		for _, label := range regexp.MustCompile(`[{,](\w+)=~?\\?"`).FindAllStringSubmatch(string(text), -1) {
			if label[1] != "job" && label[1] != "instance" {
				require.Contains(t, scrape, label[1]+`="`)
			}
		}
	}
	require.Greater(t, found, 40)
}
