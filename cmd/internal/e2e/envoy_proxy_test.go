//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// envoyListener is a listener of Envoy that asks a cluster of ratelimitd about each request or connection.
// Fields that hold YAML are in flow style.
type envoyListener struct {
	Name    string
	Service string   // the cluster
	Deny    bool     // failure_mode_deny
	Timeout string   // of a call, 10s if empty
	Domains []string // with a rate limit filter each, named limit/DOMAIN
	Before  []string // HTTP filters before these
	Options []string // more fields of these filters
	Routes  []string // of the virtual host
	// RateLimits are those of the virtual host.
	RateLimits string
	TCP        string // descriptors of the network filter, which then replaces the HTTP filters
}

// envoyCluster is a cluster of ratelimitd.
type envoyCluster struct {
	Name   string
	Addrs  []string // host:port, or the path of a socket
	Health bool     // with a gRPC health check
	TLS    string   // fields of UpstreamTlsContext
}

// envoyProxy is a running Envoy in front of a backend.
type envoyProxy struct {
	*process
	admin  string            // address
	addrs  map[string]string // of the listeners
	client *http.Client
}

var envoyTemplate = template.Must(template.New("").Funcs(template.FuncMap{"address": envoyAddress}).Parse(`
{{- define "service"}}rate_limit_service: {transport_api_version: V3, grpc_service: {envoy_grpc: {cluster_name: {{.}}}}}{{end -}}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
static_resources:
  listeners:
{{- range $l := .Listeners}}
  - name: {{.Name}}
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
{{- if .TCP}}
      - name: limit
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.ratelimit.v3.RateLimit
          stat_prefix: {{.Name}}
          domain: shop
          descriptors: {{.TCP}}
          timeout: {{.Timeout}}
          failure_mode_deny: {{.Deny}}
          {{template "service" .Service}}
      - name: tcp
        typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy, stat_prefix: {{.Name}}, cluster: backend}
{{- else}}
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: {{.Name}}
          http_filters:
{{- range .Before}}
          - {{.}}
{{- end}}
{{- range .Domains}}
          - name: limit/{{.}}
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: {{.}}
              stat_prefix: {{$l.Name}}
              timeout: {{$l.Timeout}}
              failure_mode_deny: {{$l.Deny}}
              {{template "service" $l.Service}}
{{- range $l.Options}}
              {{.}}
{{- end}}
{{- end}}
          - {name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
          route_config:
            name: all
            virtual_hosts:
            - name: all
              domains: ["*"]
              rate_limits: {{or .RateLimits "[]"}}
              routes:
{{- range .Routes}}
              - {{.}}
{{- end}}
{{- end}}
{{- end}}
  clusters:
  - name: backend
    load_assignment: {cluster_name: backend, endpoints: [{lb_endpoints: [{endpoint: {address: {{address .Backend}}}}]}]}
{{- range .Clusters}}
  - name: {{.Name}}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: {{.Name}}
      endpoints: [{lb_endpoints: [{{range .Addrs}}{endpoint: {address: {{address .}}}}, {{end}}]}]
{{- if .Health}}
    health_checks:
    - {timeout: 1s, interval: 0.1s, no_traffic_interval: 0.1s, unhealthy_threshold: 1, healthy_threshold: 1, grpc_health_check: {service_name: ratelimit}}
{{- end}}
{{- with .TLS}}
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, {{.}}}
{{- end}}
{{- end}}
`))

// envoyAddress returns an address as Envoy writes it.
func envoyAddress(addr string) (string, error) {
	if strings.HasPrefix(addr, "/") {
		return "{pipe: {path: " + addr + "}}", nil
	}
	host, port, err := net.SplitHostPort(addr)
	return "{socket_address: {address: " + host + ", port_value: " + port + "}}", err
}

// envoyProgram returns the path of Envoy. Tests with it, but for one, are not in the short form.
func envoyProgram(t *testing.T) string {
	t.Helper()
	program := os.Getenv("ASHLAR_ENVOY")
	if program == "" {
		require.NotEqual(t, "1", os.Getenv("ASHLAR_REQUIRE_SERVICES"), "ASHLAR_ENVOY must name Envoy")
		t.Skip("THIS TEST DID NOT RUN: ASHLAR_ENVOY does not name Envoy")
	}
	return program
}

// startEnvoy starts Envoy in front of a backend, which responds with the header x-used: 5, and waits
// until it listens.
func startEnvoy(t *testing.T, listeners []envoyListener, clusters []envoyCluster) *envoyProxy {
	t.Helper()
	program := envoyProgram(t)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-used", "5")
		_, _ = io.WriteString(w, "the backend\n")
	}))
	t.Cleanup(backend.Close)
	for i := range listeners {
		if listeners[i].Timeout == "" {
			listeners[i].Timeout = "10s"
		}
		if listeners[i].Domains == nil {
			listeners[i].Domains = []string{"shop"}
		}
	}
	dir := t.TempDir()
	text := new(strings.Builder)
	require.NoError(t, envoyTemplate.Execute(text, map[string]any{
		"Listeners": listeners, "Clusters": clusters, "Backend": backend.Listener.Addr().String(),
	}))
	file, admin := filepath.Join(dir, "envoy.yaml"), filepath.Join(dir, "admin")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	e := &envoyProxy{addrs: map[string]string{}, client: &http.Client{Timeout: timeout, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	t.Cleanup(e.client.CloseIdleConnections)
	e.process = startBinary(t, dir, nil, program, "-c", file, "--admin-address-path", admin, "--disable-hot-restart", "--concurrency", "2", "--log-level", "error")
	eventually(t, "Envoy listens", func() bool {
		if e.exited() {
			t.Fatalf("Envoy ended:\n%s\n%s", e.stderr, text)
		}
		addr, err := os.ReadFile(admin)
		e.admin = string(addr)
		return err == nil && e.admin != "" && e.ready()
	})
	var all struct {
		Statuses []struct {
			Name  string `json:"name"`
			Local struct {
				Socket struct {
					Address string `json:"address"`
					Port    int    `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	_, page := httpDo(t, http.MethodGet, "http://"+e.admin+"/listeners?format=json", "")
	require.NoError(t, json.Unmarshal([]byte(page), &all), page)
	for _, s := range all.Statuses {
		e.addrs[s.Name] = net.JoinHostPort(s.Local.Socket.Address, strconv.Itoa(s.Local.Socket.Port))
	}
	return e
}

func (e *envoyProxy) exited() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

func (e *envoyProxy) ready() bool {
	code, _ := httpDo(e.t, http.MethodGet, "http://"+e.admin+"/ready", "")
	return code == http.StatusOK
}

// stat returns a counter or gauge of Envoy, 0 if there is none.
func (e *envoyProxy) stat(name string) int {
	e.t.Helper()
	_, page := httpDo(e.t, http.MethodGet, "http://"+e.admin+"/stats?filter=^"+name+"$", "")
	_, value, _ := strings.Cut(strings.TrimSpace(page), ": ")
	n, _ := strconv.Atoi(value) // an empty page is 0
	return n
}

// get sends a request through a listener with headers such as "x-client: ann", and returns the status
// code and the headers of the response.
func (e *envoyProxy) get(t *testing.T, listener, path string, headers ...string) (int, http.Header) {
	t.Helper()
	code, header, err := e.send(t.Context(), http.MethodGet, listener, path, headers...)
	require.NoError(t, err)
	return code, header
}

func (e *envoyProxy) send(ctx context.Context, method, listener, path string, headers ...string) (int, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+e.addrs[listener]+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header, err
}

// connects reports whether the network filter of a listener lets a new connection through.
func (e *envoyProxy) connects(t *testing.T, listener string) bool {
	t.Helper()
	code, text := httpDo(t, http.MethodGet, "http://"+e.addrs[listener]+"/", "")
	require.Contains(t, []int{0, http.StatusOK}, code, text)
	return code == http.StatusOK
}

// limitedBy returns a route of a path whose requests have a descriptor for each list of actions.
func limitedBy(path string, actions ...string) string {
	return `{match: {path: ` + path + `}, route: {cluster: backend, rate_limits: [{actions: [` + strings.Join(actions, `]}, {actions: [`) + `]}]}}`
}

// limitedAs returns a route of a path with rate limits of the domain shop that only a filter's own configuration can have.
func limitedAs(path string, limits ...string) string {
	return `{match: {path: ` + path + `}, route: {cluster: backend}, typed_per_filter_config: {limit/shop: {"@type": ` +
		`type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute, rate_limits: [` + strings.Join(limits, ", ") + `]}}}`
}

// The actions that make entries of a descriptor.
const (
	byClient = `{request_headers: {header_name: x-client, descriptor_key: client}}`
	byLoad   = `{generic_key: {descriptor_key: load, descriptor_value: x}}`
)

// by returns an action that makes an entry with a constant value.
func by(key string) string {
	return `{generic_key: {descriptor_key: ` + key + `, descriptor_value: x}}`
}

// decodeAll reads YAML documents.
func decodeAll[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, v)
	}
}
