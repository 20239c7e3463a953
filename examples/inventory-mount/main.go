// Command inventory-mount serves the inventory within a program that has routes, and users,
// of its own: an [httpapi.Authenticator] identifies the sender of a request.
//
//	go run ./examples/inventory-mount
//	curl localhost:8003/network/locations -H 'X-Api-Key: reader'
//	curl localhost:8003/network/locations -H 'X-Api-Key: writer' -H 'Content-Type: application/json' \
//	  -d '{"name":"Berlin 1","city":"Berlin","country":"DE","address":"Allee 1"}'
package main

import (
	"context"
	"crypto/subtle"
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
)

// apiKeys are the program's own users, by their keys. Real ones come from elsewhere.
type apiKeys map[string]auth.Identity

// Authenticate is the gate of the inventory.
func (keys apiKeys) Authenticate(r *http.Request) (*auth.Claims, error) {
	sent := r.Header.Get("X-Api-Key")
	for key, who := range keys {
		if subtle.ConstantTimeCompare([]byte(sent), []byte(key)) == 1 {
			return &auth.Claims{Identity: who}, nil
		}
	}
	return nil, &auth.Error{Kind: auth.TokenMissing, Message: "Send a header X-Api-Key with a key of yours"}
}

// routes are the program's own, with the inventory among them.
func routes() (http.Handler, error) {
	keys := apiKeys{
		"reader": {UserID: "dashboard", Username: "dashboard", Role: auth.Viewer},
		"writer": {UserID: "importer", Username: "importer", Role: auth.Admin},
	}
	network, err := httpapi.New(inventory.NewMemStore(), keys, nil)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the portal is open") })
	mux.Handle("/network/", http.StripPrefix("/network", network))
	return mux, nil
}

func main() {
	addr := flag.String("addr", "localhost:8003", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := routes()
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s; Ctrl-C ends it\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}
