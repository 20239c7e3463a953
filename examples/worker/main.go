// Command worker calls an API that allows 20 calls a second: its goroutines wait for their turn, in the order in which
// they come. With -redis, so do all processes that are started with the same server.
//
//	go run ./examples/worker
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// client returns an HTTP client that sends 20 requests a second to each host. close ends it.
func client(redis string) (c *http.Client, close func() error, err error) {
	var store ratelimit.Store = memstore.MustNew(nil)
	close = func() error { return nil }
	if redis != "" {
		shared, err := redisstore.New(redis, nil)
		if err != nil {
			return nil, nil, err
		}
		store, close = shared, shared.Close
	}
	// One at a time: Burst 1 sends them evenly.
	limit := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 20, Burst: 1, Unit: ratelimit.Second}
	limiter, err := ratelimit.NewLimiter("calls", store, limit, nil)
	return &http.Client{Transport: &httplimit.Transport{Limiter: limiter}}, close, err
}

// work makes calls in goroutines, and returns how many succeeded.
func work(ctx context.Context, c *http.Client, url string, goroutines, calls int) int64 {
	var done atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range calls {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
				if err != nil {
					return
				}
				if response, err := c.Do(r); err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	return done.Load()
}

func main() {
	url := flag.String("url", "", "the `URL` to call; without it one of this process")
	redis := flag.String("redis", "", "share the limit with other processes, by the Redis server at `host:port`")
	flag.Parse()
	c, closeStore, err := client(*redis)
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	if *url == "" {
		*url = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).URL
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	fmt.Println(work(ctx, c, *url, 10, 6), "of 60 calls succeeded in", time.Since(began).Round(time.Millisecond), "- try two at once, with -redis 127.0.0.1:6379")
	_ = closeStore() // never fails
}
