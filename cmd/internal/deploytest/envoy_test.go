package deploytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3" // types in Any
	connectionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// parseEnvoy decodes a configuration of Envoy with its own types, and checks their rules for values.
func parseEnvoy(text string) (*bootstrapv3.Bootstrap, error) {
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	b := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(data, b); err != nil {
		return nil, err
	}
	return b, validateAll(b.ProtoReflect())
}

// validateAll validates a message, and the messages in its Any fields, which Validate skips.
func validateAll(m protoreflect.Message) (err error) {
	if packed, ok := m.Interface().(*anypb.Any); ok {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			return err
		}
		return validateAll(inner.ProtoReflect())
	}
	if v, ok := m.Interface().(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			return err
		}
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				err = validateAll(v.Message())
				return err == nil
			})
		case field.IsList() && field.Message() != nil:
			for i := 0; i < value.List().Len() && err == nil; i++ {
				err = validateAll(value.List().Get(i).Message())
			}
		case !field.IsMap() && field.Message() != nil:
			err = validateAll(value.Message())
		}
		return err == nil
	})
	return err
}

// front is what the listener with the rate limit filter has.
type front struct {
	port   uint32
	filter *ratelimitfilterv3.RateLimit
	routes []*routev3.Route
}

// unpacked returns the message in an Any field.
func unpacked[M proto.Message](packed *anypb.Any, into M) (M, error) {
	return into, packed.UnmarshalTo(into)
}

// findFront returns the listener named front.
func findFront(b *bootstrapv3.Bootstrap) (*front, error) {
	for _, l := range b.GetStaticResources().GetListeners() {
		if l.GetName() != "front" {
			continue
		}
		manager, err := unpacked(l.GetFilterChains()[0].GetFilters()[0].GetTypedConfig(), &connectionv3.HttpConnectionManager{})
		if err != nil {
			return nil, err
		}
		f := &front{port: l.GetAddress().GetSocketAddress().GetPortValue()}
		f.filter, err = unpacked(manager.GetHttpFilters()[0].GetTypedConfig(), &ratelimitfilterv3.RateLimit{})
		for _, host := range manager.GetRouteConfig().GetVirtualHosts() {
			f.routes = append(f.routes, host.GetRoutes()...)
		}
		return f, err
	}
	return nil, fmt.Errorf("no listener front")
}

// descriptors returns what Envoy sends for a request of a client that a route matches.
func descriptors(r *routev3.Route, client string) (all []ratelimit.Descriptor, err error) {
	for _, limit := range r.GetRoute().GetRateLimits() {
		var d ratelimit.Descriptor
		for _, action := range limit.GetActions() {
			switch {
			case action.GetRemoteAddress() != nil:
				d.Entries = append(d.Entries, ratelimit.Entry{Key: "remote_address", Value: client})
			case action.GetGenericKey() != nil:
				key := action.GetGenericKey()
				d.Entries = append(d.Entries, ratelimit.Entry{Key: key.GetDescriptorKey(), Value: key.GetDescriptorValue()})
			default:
				return nil, fmt.Errorf("action %v: unknown here", action)
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// checkEnvoy reports faults of a configuration of Envoy with the limits of ratelimitd. Each route must be
// limited, and refused above the limit.
func checkEnvoy(text, limits string) (faults []string) {
	b, err := parseEnvoy(text)
	if err != nil {
		return []string{err.Error()}
	}
	f, err := findFront(b)
	if err != nil {
		return []string{err.Error()}
	}
	loaded, err := config.Parse([]config.File{{Name: "limits.yaml", Data: []byte(limits)}}, nil)
	if err != nil {
		return []string{err.Error()}
	}
	clusters := map[string]*clusterv3.Cluster{}
	for _, c := range b.GetStaticResources().GetClusters() {
		clusters[c.GetName()] = c
	}
	service := f.filter.GetRateLimitService().GetGrpcService().GetEnvoyGrpc().GetClusterName()
	faults = append(faults, checkGRPCCluster(service, clusters[service])...)
	for _, r := range f.routes {
		if to := r.GetRoute().GetCluster(); clusters[to] == nil {
			faults = append(faults, fmt.Sprintf("route %v: unknown cluster %q", r.GetMatch(), to))
		}
		faults = append(faults, checkRefused(r, f.filter.GetDomain(), loaded)...)
	}
	if len(f.routes) == 0 {
		faults = append(faults, "no routes")
	}
	return faults
}

// checkGRPCCluster requires the address of ratelimitd and HTTP/2.
func checkGRPCCluster(name string, c *clusterv3.Cluster) (faults []string) {
	if c == nil {
		return []string{fmt.Sprintf("unknown cluster %q of the rate limit service", name)}
	}
	address := c.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress().GetSocketAddress()
	if at := fmt.Sprintf("%s:%d", address.GetAddress(), address.GetPortValue()); at != "ratelimitd:8081" {
		faults = append(faults, "the rate limit service is at ratelimitd:8081, not "+at)
	}
	options := &upstreamv3.HttpProtocolOptions{}
	packed := c.GetTypedExtensionProtocolOptions()["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
	if packed.UnmarshalTo(options) != nil || options.GetExplicitHttpConfig().GetHttp2ProtocolOptions() == nil {
		faults = append(faults, "gRPC needs http2_protocol_options")
	}
	return faults
}

// checkRefused reports a route whose requests are never refused.
func checkRefused(r *routev3.Route, domain string, limits *config.Config) (faults []string) {
	fault := func(format string, args ...any) []string {
		return []string{fmt.Sprintf("route %v: %s", r.GetMatch(), fmt.Sprintf(format, args...))}
	}
	sent, err := descriptors(r, "192.0.2.1")
	if err != nil || len(sent) == 0 {
		return fault("no rate limits: %v", err)
	}
	request := &ratelimit.Request{Domain: domain, Descriptors: sent}
	x, err := explain.Decision(limits.Ruleset, request, nil)
	if err != nil {
		return fault("%v", err)
	}
	if !x.Configured {
		return fault("the limits have no domain %s", domain)
	}
	for _, d := range x.Descriptors {
		if d.Outcome != explain.OutcomeLimit {
			return fault("%s", d.Reason)
		}
	}
	engine := ratelimit.New(memstore.New(nil), nil)
	engine.Use(limits.Ruleset)
	for range 200 { // three windows of a minute
		decision, err := engine.Decide(context.Background(), request)
		if err != nil {
			return fault("%v", err)
		}
		if decision.Code == ratelimit.OverLimit {
			return nil
		}
	}
	return fault("200 requests pass")
}

func TestComposeEnvoy(t *testing.T) {
	t.Parallel()
	file := readCompose(t)
	service, limited := file.Services["envoy"], file.Services["ratelimitd"]
	text := read(t, service.mounted("/etc/envoy/envoy.yaml"))
	limits := read(t, limited.mounted("/etc/ratelimitd/config/front.yaml"))
	report(t, checkEnvoy(text, limits))
	b, err := parseEnvoy(text)
	require.NoError(t, err)
	f, err := findFront(b)
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("127.0.0.1:%d:%[1]d", f.port)}, service.Ports)
	require.True(t, strings.HasSuffix(service.Healthcheck.Test[len(service.Healthcheck.Test)-1], fmt.Sprintf("/%d", f.port)))
}

func TestBrokenEnvoy(t *testing.T) {
	t.Parallel()
	text, limits := read(t, composeDir+"/envoy.yaml"), read(t, composeDir+"/limits/front.yaml")
	for from, broken := range map[string][2]string{
		"stat_prefix: front":                 {"stat_prefixes: front", `unknown field "stat_prefixes"`},
		"name: envoy.filters.http.ratelimit": {`name: ""`, "Name"},
		"domain: front\n":                    {"domain: back\n", "the limits have no domain back"},
		"cluster_name: ratelimitd }":         {"cluster_name: limits }", `unknown cluster "limits" of the rate limit service`},
		"port_value: 8081":                   {"port_value: 8080", "not ratelimitd:8080"},
		"http2_protocol_options":             {"http_protocol_options", "gRPC needs http2_protocol_options"},
		"descriptor_key: path":               {"descriptor_key: paths", "/login"},
		"descriptor_value: /login":           {"descriptor_value: /logon", "/login"},
		"cluster: upstream\n":                {"cluster: up\n", `unknown cluster "up"`},
		"connect_timeout: 1s\n":              {"connect_timeout: 0s\n", "ConnectTimeout"},
		"RateLimit\n":                        {"RateLimits\n", "RateLimits"},
		"- generic_key: { descriptor_key: path, descriptor_value: /login }": {"- destination_cluster: {}", "no rate limits"},
	} {
		finds(t, checkEnvoy(changed(t, text, from, broken[0]), limits), broken[1])
	}
	finds(t, checkEnvoy(text, changed(t, limits, "key: remote_address", "key: address")), "route")
	finds(t, checkEnvoy(text, changed(t, limits, "requests_per_unit: 60", "requests_per_unit: 60000")), "200 requests pass")
}
