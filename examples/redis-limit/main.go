// Command redis-limit limits the clients of an HTTP server: in this process, or with -redis together with all
// other instances.
//
//	go run ./examples/redis-limit
//	curl -i localhost:8091/
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8091", "listen on `host:port`")
	redis := flag.String("redis", "", "count in the Redis server at `host:port`; without it in this process")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := limited(*redis)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try, more than 20 times:\n\n  curl -i http://%[1]s/\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}

// limited returns a handler with a limit of 20 requests a day for each address.
func limited(redis string) (http.Handler, error) {
	store, err := storeAt(redis)
	if err != nil {
		return nil, err
	}
	clients, err := ratelimit.NewLimiter("clients", store, ratelimit.Per(20, ratelimit.Day), nil)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	return httplimit.PerKey(clients, httplimit.RemoteHost, nil)(mux), nil
}

// storeAt returns the counters: in Redis, or in this process.
func storeAt(redis string) (ratelimit.Store, error) {
	if redis == "" {
		return memstore.New(nil)
	}
	// While Redis is down, each request waits 100 ms at most and passes: httplimit.Options.FailClosed rejects it instead.
	return redisstore.New(redis, &redisstore.Options{Timeout: 100 * time.Millisecond})
}
