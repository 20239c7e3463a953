//go:build unix

package e2e_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	controlplane "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

// gatewayFile is a sample of what Envoy Gateway generates: the configuration of the rate limit service, and the rate
// limits of routes that go with it.
type gatewayFile struct {
	name    string
	texts   []string // a document for each domain
	configs []gatewayConfig
	routes  []gatewayRoute
}

type gatewayConfig struct {
	Domain      string        `yaml:"domain"`
	Descriptors []gatewayRule `yaml:"descriptors"`
}

type gatewayRule struct {
	Key         string        `yaml:"key"`
	Value       string        `yaml:"value"`
	RateLimit   *gatewayLimit `yaml:"rate_limit"`
	Descriptors []gatewayRule `yaml:"descriptors"`
	ShadowMode  bool          `yaml:"shadow_mode"`
}

type gatewayLimit struct {
	RequestsPerUnit uint32 `yaml:"requests_per_unit"`
	Unit            string `yaml:"unit"`
}

type gatewayRoute struct {
	RateLimitsByDomain map[string][]struct {
		Actions []map[string]map[string]map[string]any `yaml:"actions"` // ActionSpecifier, kind, fields
	} `yaml:"rateLimitsByDomain"`
}

// gatewaySamples reads the samples, which are not part of the project.
func gatewaySamples(t *testing.T) (dir string, files []gatewayFile) {
	t.Helper()
	dir = filepath.Join(os.Getenv("ASHLAR_SAMPLES"), "envoy-gateway")
	names, err := filepath.Glob(filepath.Join(dir, "*.routes.yaml"))
	require.NoError(t, err)
	if len(names) == 0 {
		t.Skip("THIS TEST DID NOT RUN: ASHLAR_SAMPLES names no directory with samples of Envoy Gateway")
	}
	for _, name := range names {
		f := gatewayFile{name: strings.TrimSuffix(filepath.Base(name), ".routes.yaml")}
		f.configs = decodeAll[gatewayConfig](t, content(t, filepath.Join(dir, f.name+".yaml")))
		f.texts = strings.Split(content(t, filepath.Join(dir, f.name+".yaml")), "\n---\n")
		f.routes = decodeAll[gatewayRoute](t, content(t, name))
		require.NotEmpty(t, f.configs)
		require.NotEmpty(t, f.routes)
		files = append(files, f)
	}
	return dir, files
}

// TestEnvoyGatewayFiles checks that ratelimit-check accepts the samples without a warning.
func TestEnvoyGatewayFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	_, files := gatewaySamples(t)
	for _, f := range files {
		texts := map[string]string{}
		for i, text := range f.texts {
			texts[fmt.Sprintf("%d.yaml", i)] = text
		}
		p := run(t, 0, "ratelimit-check", "-strict", filepath.Join(directory(t, texts), "config"))
		require.Contains(t, p.stdout.String(), " 0 warnings\n", f.name)
	}
}

// gateway is a discovery server as Envoy Gateway runs it, and a ratelimitd with the settings of its deployment.
type gateway struct {
	t         *testing.T
	snapshots cache.SnapshotCache
	version   int
	requests  chan *discoveryv3.DiscoveryRequest
	certs     *certstest.Authority
	dir       string // with the certificates
	*server
	client ratelimitv3.RateLimitServiceClient
}

// startGateway starts both. They have certificates of one authority, and check each other's.
func startGateway(t *testing.T, deployment string) *gateway {
	t.Helper()
	g := &gateway{
		t: t, snapshots: cache.NewSnapshotCache(false, cache.IDHash{}, nil), requests: make(chan *discoveryv3.DiscoveryRequest, 1000),
		certs: certstest.NewAuthority(t), dir: t.TempDir(),
	}
	g.certs.WriteCA(g.dir, "ca.crt")
	cert, key := g.certs.Write(g.dir, "tls", "envoy-gateway", "envoy-ratelimit")
	require.NoError(t, os.Rename(cert, filepath.Join(g.dir, "tls.crt")))
	require.NoError(t, os.Rename(key, filepath.Join(g.dir, "tls.key")))
	mutual := &tls.Config{Certificates: []tls.Certificate{g.certs.Issue("envoy-gateway")}, ClientCAs: g.certs.Pool(), RootCAs: g.certs.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(mutual)))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s, controlplane.NewServer(ctx, g.snapshots, controlplane.CallbackFuncs{
		StreamRequestFunc: func(_ int64, r *discoveryv3.DiscoveryRequest) error { g.requests <- r; return nil },
	}))
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(listener) })
	t.Cleanup(func() { cancel(); s.Stop(); done.Wait() })

	environ := g.environment(deployment)
	environ["CONFIG_GRPC_XDS_SERVER_URL"], environ["REDIS_URL"] = listener.Addr().String(), redistest.Start(t, nil).Addr
	g.server = serve(t, nil, environ)
	conn, err := grpc.NewClient(g.grpc, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: g.certs.Pool()})))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	g.client = ratelimitv3.NewRateLimitServiceClient(conn)
	return g
}

// environment returns the settings of a deployment, with the certificates of the test and a free port.
func (g *gateway) environment(deployment string) map[string]string {
	g.t.Helper()
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Env []struct {
							Name  string `yaml:"name"`
							Value string `yaml:"value"`
						} `yaml:"env"`
					} `yaml:"containers"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	require.NoError(g.t, yaml.Unmarshal([]byte(content(g.t, deployment)), &d))
	environ := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		environ[v.Name] = strings.Replace(v.Value, "/certs/", g.dir+"/", 1)
	}
	require.Equal(g.t, "envoy-ratelimit", environ["CONFIG_GRPC_XDS_NODE_ID"])
	environ["PROMETHEUS_ADDR"], environ["DISABLE_STATS"] = "127.0.0.1:0", "false"
	return environ
}

// publish sends the configurations of a sample, and waits until they are in use. None may be rejected.
func (g *gateway) publish(f *gatewayFile) {
	g.t.Helper()
	var resources []types.Resource
	for _, c := range f.configs {
		resources = append(resources, &configv3.RateLimitConfig{Name: c.Domain, Domain: c.Domain, Descriptors: gatewayDescriptors(g.t, c.Descriptors)})
	}
	g.version++
	version := fmt.Sprint(g.version)
	s, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
	require.NoError(g.t, err)
	require.NoError(g.t, g.snapshots.SetSnapshot(g.t.Context(), "envoy-ratelimit", s))
	for {
		select {
		case r := <-g.requests:
			require.Nil(g.t, r.GetErrorDetail(), f.name)
			if r.GetVersionInfo() == version {
				return
			}
		case <-g.ended:
			g.t.Fatal("ratelimitd ended")
		}
	}
}

// gatewayDescriptors returns rules as resources of the discovery protocol.
func gatewayDescriptors(t *testing.T, rules []gatewayRule) (all []*configv3.RateLimitDescriptor) {
	t.Helper()
	for _, r := range rules {
		d := &configv3.RateLimitDescriptor{Key: r.Key, Value: r.Value, ShadowMode: r.ShadowMode, Descriptors: gatewayDescriptors(t, r.Descriptors)}
		if r.RateLimit != nil {
			unit, ok := ratelimitv3.RateLimitResponse_RateLimit_Unit_value[r.RateLimit.Unit]
			require.True(t, ok, r.RateLimit.Unit)
			d.RateLimit = &configv3.RateLimitPolicy{Unit: configv3.RateLimitUnit(unit), RequestsPerUnit: r.RateLimit.RequestsPerUnit}
		}
		all = append(all, d)
	}
	return all
}

// decision returns the limit of the rule for a descriptor, and whether it is in shadow mode.
func (f *gatewayFile) decision(domain string, d *commonv3.RateLimitDescriptor) (limit *gatewayLimit, shadow bool) {
	var rules []gatewayRule
	for _, c := range f.configs {
		if c.Domain == domain {
			rules = c.Descriptors
		}
	}
	for _, e := range d.GetEntries() {
		i := slices.IndexFunc(rules, func(r gatewayRule) bool { return r.Key == e.GetKey() && (r.Value == "" || r.Value == e.GetValue()) })
		if i < 0 {
			return nil, false
		}
		rules, limit, shadow = rules[i].Descriptors, rules[i].RateLimit, rules[i].ShadowMode
	}
	return limit, shadow
}

// gatewayRequest is a request for which all actions of a rate limit make their entries.
type gatewayRequest struct {
	method, query string
	headers       map[string]string
	descriptor    *commonv3.RateLimitDescriptor
	impossible    bool // no request of HTTP is as the matchers of the sample want it
}

// add makes the request as an action wants it.
func (r *gatewayRequest) add(t *testing.T, kind string, fields map[string]any) {
	t.Helper()
	text := func(path ...string) string {
		var node any = fields
		for _, name := range path {
			if list, ok := node.([]any); ok {
				node = list[0]
			}
			node, _ = node.(map[string]any)[name]
		}
		s, _ := node.(string)
		return s
	}
	value := text("descriptor_value")
	if expect, ok := fields["expect_match"].(map[string]any); ok && expect["value"] != true {
		t.Fatalf("a matcher that must not match: %v", fields)
	}
	switch kind {
	case "GenericKey":
	case "QueryParameters":
		value = "someone"
		r.query = "?" + text("query_parameter_name") + "=" + value
	case "RequestHeaders":
		value = "someone"
		r.header(text("header_name"), value)
	case "HeaderValueMatch":
		r.header(text("headers", "name"), text("headers", "HeaderMatchSpecifier", "StringMatch", "MatchPattern", "Exact"))
	case "QueryParameterValueMatch":
		r.query = "?" + text("query_parameters", "name") + "=" + text("query_parameters", "QueryParameterMatchSpecifier", "StringMatch", "MatchPattern", "Exact")
	case "RemoteAddressMatch":
		address := text("address_matcher", "ranges", "address_prefix")
		if at, ok := fields["address_matcher"].(map[string]any)["invert_match"].(bool); ok && at {
			address = "203.0.113.7"
		}
		r.headers["X-Forwarded-For"] = address
		value = strings.ReplaceAll(value, "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%", address)
	default:
		t.Fatalf("unknown action %s", kind)
	}
	r.descriptor.Entries = append(r.descriptor.Entries, &commonv3.RateLimitDescriptor_Entry{Key: text("descriptor_key"), Value: value})
}

func (r *gatewayRequest) header(name, value string) {
	if name == ":method" {
		r.method = value
		return
	}
	before, twice := r.headers[name]
	r.impossible = r.impossible || name == ":path" || twice && before != value
	r.headers[name] = value
}

// each calls a function for each rate limit of each route, in any order.
func (f *gatewayFile) each(t *testing.T, call func(route int, domain string, r *gatewayRequest)) {
	t.Helper()
	for i, route := range f.routes {
		for domain, limits := range route.RateLimitsByDomain {
			for _, limit := range limits {
				r := &gatewayRequest{method: http.MethodGet, headers: map[string]string{}, descriptor: &commonv3.RateLimitDescriptor{}}
				for _, action := range limit.Actions {
					for kind, fields := range action["ActionSpecifier"] {
						r.add(t, kind, fields)
					}
				}
				call(i, domain, r)
			}
		}
	}
}

// asEnvoy returns what Go prints of a protocol message as Envoy reads it.
func asEnvoy(node any) any {
	switch n := node.(type) {
	case []any:
		out := make([]any, len(n))
		for i := range n {
			out[i] = asEnvoy(n[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, v := range n {
			switch {
			case v == nil:
			case strings.HasSuffix(key, "Specifier") || key == "MatchPattern": // one of several fields
				maps.Copy(out, asEnvoy(v).(map[string]any))
			case key == "prefix_len" || key == "expect_match" || key == "number": // a value that may be absent
				if out[key] = v.(map[string]any)["value"]; out[key] == nil {
					out[key] = 0
				}
			default:
				out[strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(key, "${1}_$2"))] = asEnvoy(v)
			}
		}
		return out
	}
	return node
}

// gatewayRoutes returns the routes of a sample for Envoy, and the domains.
func (f *gatewayFile) gatewayRoutes(t *testing.T, domains map[string]bool) (routes []string) {
	t.Helper()
	for i, route := range f.routes {
		filters := map[string]any{}
		for domain, limits := range route.RateLimitsByDomain {
			domains[domain] = true
			var all any
			text, err := yaml.Marshal(limits)
			require.NoError(t, err)
			require.NoError(t, yaml.Unmarshal(text, &all))
			filters["limit/"+domain] = map[string]any{
				"@type":  "type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute",
				"domain": domain, "rate_limits": asEnvoy(all),
			}
		}
		text, err := json.Marshal(map[string]any{
			"match": map[string]any{"path": f.path(i)}, "route": map[string]any{"cluster": "backend"}, "typed_per_filter_config": filters,
		})
		require.NoError(t, err)
		routes = append(routes, string(text))
	}
	return routes
}

func (f *gatewayFile) path(route int) string { return fmt.Sprintf("/%s/%d", f.name, route) }

// startEnvoy starts Envoy with the routes of all samples and a filter for each domain, as Envoy Gateway has it.
func (g *gateway) startEnvoy(files []gatewayFile) *envoyProxy {
	g.t.Helper()
	domains := map[string]bool{}
	var routes []string
	for i := range files {
		routes = append(routes, files[i].gatewayRoutes(g.t, domains)...)
	}
	tls := fmt.Sprintf("common_tls_context: {tls_certificates: [{certificate_chain: {filename: %[1]s/tls.crt}, private_key: {filename: %[1]s/tls.key}}], "+
		"validation_context: {trusted_ca: {filename: %[1]s/ca.crt}}}", g.dir)
	return startEnvoy(g.t, []envoyListener{{
		Name: "first-listener", Service: "ratelimit_cluster", Deny: true, Domains: slices.Sorted(maps.Keys(domains)), Routes: routes,
		Options: []string{"enable_x_ratelimit_headers: DRAFT_VERSION_03", "disable_x_envoy_ratelimited_header: true"},
	}}, []envoyCluster{{Name: "ratelimit_cluster", Addrs: []string{g.grpc}, TLS: tls}})
}

// TestEnvoyGateway sends the samples as the control plane of Envoy Gateway does, to a ratelimitd with the settings of
// its deployment. What the routes send is decided by the rule for it, also through Envoy.
func TestEnvoyGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	dir, files := gatewaySamples(t)
	g := startGateway(t, filepath.Join(dir, "deployments", "default.yaml"))
	e := g.startEnvoy(files)
	decided, sent := 0, 0
	for i := range files {
		f := &files[i]
		g.publish(f)
		f.each(t, func(route int, domain string, r *gatewayRequest) {
			limit, shadow := f.decision(domain, r.descriptor)
			require.NotNil(t, limit, "%s: no rule for %v", f.name, r.descriptor)
			decided++
			g.exhaust(domain, r.descriptor, limit, shadow)
			if r.impossible {
				return
			}
			sent++
			var headers []string
			for name, value := range r.headers {
				headers = append(headers, name+": "+value)
			}
			code, header, err := e.send(t.Context(), r.method, "first-listener", f.path(route)+r.query, headers...)
			require.NoError(t, err)
			window := map[string]int{"SECOND": 1, "HOUR": 3600, "MONTH": 30 * 86400, "YEAR": 365 * 86400}[limit.Unit]
			require.Contains(t, strings.Join(header.Values("X-Ratelimit-Limit"), ", ")+", ", fmt.Sprintf("%d;w=%d, ", limit.RequestsPerUnit, window), "%s %v", f.name, r)
			if limit.Unit != "SECOND" && !shadow {
				require.Equal(t, http.StatusTooManyRequests, code, f.name)
			}
		})
	}
	require.Positive(t, sent)
	t.Logf("%d files: %d rate limits decided by their rule, %d also through Envoy", len(files), decided, sent)
	require.Zero(t, e.stat(`cluster.backend.ratelimit.first-listener.error`))
	for _, line := range regexp.MustCompile(`level=(WARN|ERROR).*`).FindAllString(g.stderr.String(), -1) {
		// The first is no setting of envoyproxy/ratelimit either, and the second names a file of an optional ConfigMap.
		require.Regexp(t, "GRPC_SERVER_TLS_CA_CERT|PROMETHEUS_MAPPER_YAML", line)
	}
	g.signal(syscall.SIGTERM)
	require.Zero(t, g.code())
}

// exhaust sends more hits for a descriptor than its limit, and requires that this limit decides.
func (g *gateway) exhaust(domain string, d *commonv3.RateLimitDescriptor, limit *gatewayLimit, shadow bool) {
	g.t.Helper()
	want := ratelimitv3.RateLimitResponse_OVER_LIMIT
	if shadow {
		want = ratelimitv3.RateLimitResponse_OK
	}
	all := &commonv3.RateLimitDescriptor{Entries: d.GetEntries(), HitsAddend: wrapperspb.UInt64(uint64(limit.RequestsPerUnit) + 1)}
	out, err := g.client.ShouldRateLimit(g.t.Context(), &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: []*commonv3.RateLimitDescriptor{all}})
	require.NoError(g.t, err)
	status := out.GetStatuses()[0]
	require.Equal(g.t, []any{want, want, limit.RequestsPerUnit, limit.Unit},
		[]any{out.GetOverallCode(), status.GetCode(), status.GetCurrentLimit().GetRequestsPerUnit(), status.GetCurrentLimit().GetUnit().String()}, "%s %v", domain, d)
}
