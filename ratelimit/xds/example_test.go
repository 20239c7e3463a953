package xds_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// An engine gets its rules from a control plane. The example ends with the first update.
func Example() {
	target, shut := controlPlaneOf("edge-7", &ratelimitv3.RateLimitConfig{
		Name:   "mongo",
		Domain: "mongo",
		Descriptors: []*ratelimitv3.RateLimitDescriptor{
			{Key: "database", RateLimit: &ratelimitv3.RateLimitPolicy{Unit: ratelimitv3.RateLimitUnit_SECOND, RequestsPerUnit: 500}},
		},
	})
	defer shut()

	client, err := xds.New(target, &xds.Options{ // such as config.internal:18000
		NodeID:       "edge-7",
		NodeMetadata: map[string]string{"zone": "a"},
		Headers:      []xds.Header{{Name: "authorization", Value: "Bearer " + os.Getenv("CONFIG_TOKEN")}},
		Backoff:      xds.Backoff{Initial: time.Second, Max: time.Minute, Jitter: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client.Run(ctx, func(u *xds.Update) error {
		engine.Use(u.Ruleset)
		fmt.Printf("version %s: %d domain, mongo: %t\n", u.Version, u.Ruleset.Len(), u.Ruleset.Has("mongo"))
		stop()
		return nil
	}, func(err error) {
		log.Print(err)
	})
	// Output: version 1: 1 domain, mongo: true
}

// controlPlaneOf starts a control plane with one resource for a node.
func controlPlaneOf(node string, config *ratelimitv3.RateLimitConfig) (target string, shut func()) {
	resources := map[resource.Type][]types.Resource{resource.RateLimitConfigType: {config}}
	snapshot, err := cache.NewSnapshot("1", resources)
	if err != nil {
		log.Fatal(err)
	}
	nodes := cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	if err := nodes.SetSnapshot(context.Background(), node, snapshot); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	g := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, server.NewServer(ctx, nodes, nil))
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(listener) }()
	return listener.Addr().String(), func() {
		stop()
		g.Stop()
		<-ended
	}
}

// The test of a control plane validates its resources like a client.
func ExampleParse() {
	resource, err := anypb.New(&ratelimitv3.RateLimitConfig{
		Name:   "mongo",
		Domain: "mongo",
		Descriptors: []*ratelimitv3.RateLimitDescriptor{
			{Key: "database", RateLimit: &ratelimitv3.RateLimitPolicy{RequestsPerUnit: 500}},
			{Value: "users"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = xds.Parse([]*anypb.Any{resource}, nil)
	fmt.Println(err)
	// Output:
	// mongo: descriptors[0].rate_limit.unit: invalid rate limit unit '': use second, minute, hour, day, week, month or year
	// mongo: descriptors[1].key: descriptor has empty key
}
