package xds_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// An engine that is told what to do by a control plane.
func Example() {
	client, err := xds.New("config.internal:18000", &xds.Options{
		NodeID:       "edge-7",
		NodeMetadata: map[string]string{"zone": "a"},
		Headers:      []xds.Header{{Name: "authorization", Value: "Bearer " + os.Getenv("CONFIG_TOKEN")}},
		TLS:          &tls.Config{MinVersion: tls.VersionTLS12},
		Backoff:      xds.Backoff{Initial: time.Second, Max: time.Minute, Jitter: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	engine := ratelimit.New(memstore.New(nil), nil)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client.Run(ctx, func(u *xds.Update) error {
		engine.Use(u.Ruleset)
		log.Printf("version %s: %d domains", u.Version, u.Ruleset.Len())
		return nil
	}, func(err error) {
		log.Print(err)
	})
}

// The test of a control plane finds out what a client would say to its resources.
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
	// mongo: descriptors[0].rate_limit.unit: invalid rate limit unit 'UNKNOWN': use SECOND, MINUTE, HOUR or DAY
	// mongo: descriptors[1].key: descriptor has empty key
}

func ExampleBackoff() {
	for failures := range 7 {
		fmt.Print(xds.Backoff{}.Wait(failures, 0), " ")
	}
	// Output: 10s 15s 22.5s 33.75s 50.625s 1m0s 1m0s
}
