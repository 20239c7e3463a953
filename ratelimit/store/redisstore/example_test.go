package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
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
	// redisstore: "localhost" is not an address: use host:port, with a port from 1 to 65535
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
	engine := ratelimit.MustNew(cluster, &ratelimit.Options{PerSecond: near})
	fmt.Println(engine != nil, cluster.Stats().Active)

	_, err = redisstore.NewCluster(nil, nil)
	fmt.Println(err)
	// Output:
	// true 0
	// redisstore: no servers: give at least one address, host:port
}

// Sentinels know the master by its name, and where it is now. Close ends the goroutine
// that asks them. Here none of them can be reached.
func ExampleNewSentinel() {
	store, err := redisstore.NewSentinel("counters", []string{"10.0.0.1:26379", "10.0.0.2:26379", "10.0.0.3:26379"},
		&redisstore.Options{
			Auth: os.Getenv("REDIS_AUTH"), SentinelAuth: os.Getenv("SENTINEL_AUTH"), // two passwords
			Dial: func(context.Context, string, string) (net.Conn, error) { // yours is the default
				return nil, errors.New("no route to host")
			},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	// A program calls WaitReady, which tries again. The reasons come one to a line.
	what, reasons, _ := strings.Cut(store.Ping(context.Background()).Error(), ": sentinel ")
	fmt.Println(what)
	fmt.Println(strings.Count(reasons, "no route to host"), "reasons")

	_, err = redisstore.NewSentinel("", []string{"10.0.0.1:26379"}, nil)
	fmt.Println(err)
	// Output:
	// redisstore: no sentinel knows the master "counters"
	// 3 reasons
	// redisstore: no master name: give the name that the sentinels know the master by
}
