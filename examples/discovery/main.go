// Command discovery runs a discovery server and an engine that gets its limits from it.
//
//	go run ./examples/discovery
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

func run(ctx context.Context) error {
	plane := cache.NewSnapshotCache(true, cache.IDHash{}, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	defer s.Stop()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s, server.NewServer(ctx, plane, nil))
	go s.Serve(listener)
	client, err := xds.New(listener.Addr().String(), &xds.Options{NodeID: "edge", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	engine, loaded := ratelimit.MustNew(memstore.MustNew(nil), nil), make(chan string)
	go client.Run(ctx, func(u *xds.Update) error {
		err := engine.Use(u.Ruleset) // calls in flight use the previous rules
		loaded <- u.Version
		return err
	}, nil)
	for version, limit := range []uint32{1, 3} {
		if err := publish(ctx, plane, fmt.Sprint(version+1), limit); err != nil {
			return err
		}
		fmt.Printf("version %s:", <-loaded)
		for range 4 {
			var d ratelimit.Decision
			user := []ratelimit.Entry{{Key: "user", Value: fmt.Sprint("ann", version)}}
			if err := engine.DecideInto(ctx, &ratelimit.Request{Domain: "shop", Descriptors: []ratelimit.Descriptor{{Entries: user}}}, &d); err != nil {
				return err
			}
			fmt.Print(" ", d.Code)
		}
		fmt.Println()
	}
	return nil
}

// publish sets the limit in the snapshot of the node.
func publish(ctx context.Context, plane cache.SnapshotCache, version string, limit uint32) error {
	daily := &ratelimitv3.RateLimitPolicy{RequestsPerUnit: limit, Unit: ratelimitv3.RateLimitUnit_DAY}
	shop := &ratelimitv3.RateLimitConfig{Name: "shop", Domain: "shop", Descriptors: []*ratelimitv3.RateLimitDescriptor{{Key: "user", RateLimit: daily}}}
	snapshot, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: {shop}})
	if err != nil {
		return err
	}
	return plane.SetSnapshot(ctx, "edge", snapshot)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
