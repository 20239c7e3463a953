// Command inventory-mount serves the inventory in a program with its own users, permissions and rate limit.
//
//	go run ./examples/inventory-mount
//	curl localhost:8003/network/locations -H 'X-Api-Key: reader'
//	curl localhost:8003/network/locations -H 'X-Api-Key: writer' -H 'Content-Type: application/json' \
//	  -d '{"name":"Berlin 1","city":"Berlin","country":"DE","address":"Allee 1"}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func routes() (http.Handler, error) {
	keys := apiKeys{
		"reader": {UserID: "dashboard", Username: "dashboard", Role: auth.Viewer},
		"writer": {UserID: "importer", Username: "importer", Role: auth.Admin, Scopes: []string{"*:read", "locations:write"}},
		"wrench": {UserID: "jane", Username: "jane", Role: "technician"},
	}
	limiter, err := ratelimit.NewLimiter("clients", memstore.MustNew(nil), ratelimit.Per(60, ratelimit.Minute), nil)
	if err != nil {
		return nil, err
	}
	limit := httplimit.PerKey(limiter, httplimit.RemoteHost, nil) // in the chain, so that a 429 response has the headers of all others
	network, err := httpapi.New(records.New(records.NewMemStore(inventory.Schema()), nil), keys,
		&httpapi.Options{Permit: permit, Chain: &httpx.StandardOptions{Limit: limit}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the portal is open") })
	mux.Handle("/network/", http.StripPrefix("/network", network))
	return mux, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	addr := flag.String("addr", "localhost:8003", "listen on `host:port`")
	flag.Parse()
	handler, err := routes()
	l, failed := net.Listen("tcp", *addr)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/network/locations -H 'X-Api-Key: reader'\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}
