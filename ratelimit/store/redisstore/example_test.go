package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func ExampleNew() {
	_, err := redisstore.New("localhost", &redisstore.Options{PoolSize: -1})
	fmt.Println(err)

	store, err := redisstore.New("localhost:6379", &redisstore.Options{OnEmpty: redisstore.Fail})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("connections:", store.Stats().Active) // WaitReady connects
	fmt.Println(store.Close())
	// Output:
	// redisstore: address "localhost": must be host:port
	// connections: 0
	// <nil>
}

// The nodes are where to ask first: what is in the cluster is looked up there. Nothing
// is connected yet.
func ExampleNewCluster() {
	cluster, err := redisstore.NewCluster([]string{"10.0.0.1:6379", "10.0.0.2:6379"}, &redisstore.Options{
		Timeout: 200 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	// Limits per second can have servers of their own.
	near, err := redisstore.New("localhost:6379", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer near.Close()
	engine := ratelimit.New(cluster, &ratelimit.Options{PerSecond: near})
	fmt.Println(engine != nil, cluster.Stats().Active)

	_, err = redisstore.NewCluster(nil, nil)
	fmt.Println(err)
	// Output:
	// true 0
	// redisstore: no nodes: give the address of one at least, host:port
}

// Sentinels know the master by its name, and where it is now. Close ends the goroutine
// that asks them.
func ExampleNewSentinel() {
	store, err := redisstore.NewSentinel("counters", []string{"10.0.0.1:26379", "10.0.0.2:26379", "10.0.0.3:26379"},
		&redisstore.Options{Auth: os.Getenv("REDIS_AUTH"), SentinelAuth: os.Getenv("SENTINEL_AUTH")})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := store.WaitReady(ctx, nil); err != nil {
		log.Print(err) // which sentinel said what
		return
	}
	limiter, err := ratelimit.NewLimiter(store, ratelimit.Per(100, ratelimit.Minute), nil)
	if err != nil {
		log.Print(err)
		return
	}
	status, err := limiter.Take(ctx, "192.0.2.1")
	fmt.Println(status.Remaining, err)
}
