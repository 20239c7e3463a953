package server_test

import (
	"context"
	"net"
	"sync"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	controlplane "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// discovery is a configuration server for node "limits".
type discovery struct {
	t     *testing.T
	cache cache.SnapshotCache
	addr  string
}

func startDiscovery(t *testing.T) *discovery {
	t.Helper()
	d := &discovery{t: t, cache: cache.NewSnapshotCache(true, cache.IDHash{}, nil)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	g := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, controlplane.NewServer(ctx, d.cache, nil))
	var done sync.WaitGroup
	done.Go(func() { g.Serve(l) })
	t.Cleanup(func() {
		cancel()
		g.Stop()
		done.Wait()
	})
	return d
}

// publish replaces the configuration by one limit for clients of domain d; 0 publishes none.
func (d *discovery) publish(version string, requests uint32, unit configv3.RateLimitUnit) {
	d.t.Helper()
	var resources []types.Resource
	if requests > 0 {
		resources = append(resources, &configv3.RateLimitConfig{Name: "d", Domain: "d", Descriptors: []*configv3.RateLimitDescriptor{
			{Key: "client", RateLimit: &configv3.RateLimitPolicy{Unit: unit, RequestsPerUnit: requests}},
		}})
	}
	snapshot, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
	require.NoError(d.t, err)
	require.NoError(d.t, d.cache.SetSnapshot(d.t.Context(), "limits", snapshot))
}

// An invalid rule of one domain does not keep the others from changing.
func TestDiscoveryInPart(t *testing.T) {
	d := startDiscovery(t)
	r := prepare(t, nil, map[string]string{
		"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": d.addr, "CONFIG_GRPC_XDS_NODE_ID": "limits",
	}).run()
	publish := func(version string, requests uint32, unit configv3.RateLimitUnit) {
		t.Helper()
		var resources []types.Resource
		for _, name := range []string{"d", "other"} {
			limit := &configv3.RateLimitPolicy{Unit: configv3.RateLimitUnit_HOUR, RequestsPerUnit: requests}
			if name == "other" {
				limit.Unit = unit
			}
			resources = append(resources, &configv3.RateLimitConfig{Name: name, Domain: name, Descriptors: []*configv3.RateLimitDescriptor{{Key: "client", RateLimit: limit}}})
		}
		snapshot, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
		require.NoError(t, err)
		require.NoError(t, d.cache.SetSnapshot(t.Context(), "limits", snapshot))
	}
	const week = 7 // which the released type lacks
	publish("1", 3, week)
	r.await()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	limit := func(domain string) uint32 {
		out, err := client.ShouldRateLimit(t.Context(), ask(domain, "x"))
		require.NoError(t, err)
		return out.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit()
	}
	require.EqualValues(t, 3, limit("other"))
	publish("2", 5, configv3.RateLimitUnit_UNKNOWN)
	r.becomes("the valid domain changes", func() bool { return limit("d") == 5 })
	require.EqualValues(t, 3, limit("other"), "the invalid one keeps its limit")
	r.becomes("the error is counted", func() bool { return r.count(loadError) == 1 })
	require.Contains(t, r.log.String(), "descriptors[0].rate_limit.unit")
	r.end()
}

// What only the client refuses is reported by New, with its setting.
func TestBadDiscovery(t *testing.T) {
	r := prepare(t, nil, map[string]string{
		"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_NODE_ID": "\xff", "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS": "x-token:hunter2",
	})
	_, err := server.New(t.Context(), r.set, nil)
	require.ErrorContains(t, err, "CONFIG_GRPC_XDS_NODE_ID")
	require.NotContains(t, err.Error(), "hunter2")
}

// A limit that the store can't hold is rejected, and the server receives the reason.
func TestDiscoveryOfALimitThatTheStoreCantHold(t *testing.T) {
	d := startDiscovery(t)
	r := prepare(t, nil, map[string]string{
		"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": d.addr, "CONFIG_GRPC_XDS_NODE_ID": "limits",
	})
	r.store = addOnly{memstore.MustNew(nil)}
	r.run()
	d.publish("1", 3, configv3.RateLimitUnit_HOUR)
	r.await()
	limit := &configv3.RateLimitPolicy{Unit: configv3.RateLimitUnit_HOUR, RequestsPerUnit: 7}
	limit.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, xds.FieldNumber("algorithm"), protowire.BytesType), "sliding_window"))
	snapshot, err := cache.NewSnapshot("2", map[resource.Type][]types.Resource{resource.RateLimitConfigType: {
		&configv3.RateLimitConfig{Name: "d", Domain: "d", Descriptors: []*configv3.RateLimitDescriptor{{Key: "client", RateLimit: limit}}},
	}})
	require.NoError(t, err)
	require.NoError(t, d.cache.SetSnapshot(t.Context(), "limits", snapshot))
	r.becomes("the error is counted", func() bool { return r.count(loadError) == 1 })
	require.Contains(t, r.log.String(), "sliding_window")
	out, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "x"))
	require.NoError(t, err)
	require.EqualValues(t, 3, out.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit())
	r.end()
}

// A configuration from a discovery server is awaited, used, changed, rejected and removed.
func TestDiscovery(t *testing.T) {
	d := startDiscovery(t)
	r := prepare(t, nil, map[string]string{
		"CONFIG_TYPE": "GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_URL": d.addr, "CONFIG_GRPC_XDS_NODE_ID": "limits",
		"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED": "true",
	}).run()
	d.publish("1", 3, configv3.RateLimitUnit_HOUR)
	r.await()
	require.True(t, r.healthy())
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	limit := func() uint32 {
		out, err := client.ShouldRateLimit(t.Context(), ask("d", "x"))
		require.NoError(t, err)
		return out.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit()
	}
	require.EqualValues(t, 3, limit())

	d.publish("2", 5, configv3.RateLimitUnit_HOUR)
	r.becomes("the new limit takes effect", func() bool { return limit() == 5 })
	d.publish("3", 9, configv3.RateLimitUnit_UNKNOWN)
	r.becomes("the error is counted", func() bool { return r.count(loadError) == 1 })
	require.Contains(t, r.log.String(), "invalid rate limit unit")
	require.EqualValues(t, 5, limit(), "the previous configuration stays active")
	require.True(t, r.healthy())

	d.publish("4", 0, 0)
	r.becomes("without a domain it is unhealthy", func() bool {
		code, _ := r.get("/healthcheck")
		return code == 500
	})
	require.False(t, r.healthy())
	require.EqualValues(t, 3, r.count(loadSuccess))
	r.end()
}
