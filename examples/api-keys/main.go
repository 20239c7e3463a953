// Command api-keys limits API keys by the tiers of their accounts, and rejects unknown keys.
//
//	go run ./examples/api-keys
//	curl -i localhost:8007/ -H 'X-Api-Key: free-key'
//	curl -i localhost:8007/ -H 'X-Api-Key: pro-key'
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/go-chi/chi/v5"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

// tiers returns a limit for each account of a tier. The rules could also be loaded from a YAML file.
func tiers() []ratelimit.Domain {
	return []ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: "tier", Value: "free", Rules: []ratelimit.Rule{{Key: "account", Limit: new(ratelimit.Per(5, ratelimit.Minute))}}},
		{Key: "tier", Value: "pro", Rules: []ratelimit.Rule{{Key: "account", Limit: new(ratelimit.Per(600, ratelimit.Minute))}}},
	}}}
}

// routes returns a chi router whose limits count in a Redis server, or in this process if that is "".
func routes(known accounts, redis string) (http.Handler, error) {
	engine, err := counters(redis)
	if err != nil {
		return nil, err
	}
	rules, err := ratelimit.Compile(tiers(), nil)
	if err := errors.Join(err, engine.Use(rules)); err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(httpx.Standard(nil), known.require, httplimit.PerRequest(engine, "api", func(r *http.Request, d *httplimit.Descriptors) {
		who, _ := known.of(r)
		d.Add(ratelimit.Entry{Key: "tier", Value: who.tier}, ratelimit.Entry{Key: "account", Value: who.name})
	}, nil))
	r.Get("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	return r, nil
}

func main() {
	addr := flag.String("addr", "localhost:8007", "listen on `host:port`")
	redis := flag.String("redis", "", "count in the Redis server at `host:port`, together with other processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := routes(accounts{sha256.Sum256([]byte("free-key")): {"ann", "free"}, sha256.Sum256([]byte("pro-key")): {"bob", "pro"}}, *redis)
	l, failed := net.Listen("tcp", *addr)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try, more than five times:\n\n  curl -i http://%[1]s/ -H 'X-Api-Key: free-key'\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}
