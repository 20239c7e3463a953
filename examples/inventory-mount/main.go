// Command inventory-mount serves the inventory in a program with its own routes and users. An
// [httpapi.Authenticator] identifies the sender of a request.
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
	"github.com/ashlar-go/ashlar/inventory/records"
)

// apiKeys maps API keys to users. A real program would load them from a database.
type apiKeys map[string]auth.Identity

// Authenticate implements [httpapi.Authenticator].
func (keys apiKeys) Authenticate(r *http.Request) (*auth.Claims, error) {
	sent := r.Header.Get("X-Api-Key")
	for key, who := range keys {
		if subtle.ConstantTimeCompare([]byte(sent), []byte(key)) == 1 {
			return &auth.Claims{Identity: who}, nil
		}
	}
	return nil, &auth.Error{Kind: auth.TokenMissing, Message: "Set the header X-Api-Key to your API key"}
}

// routes returns the routes of the program, with the inventory below /network.
func routes() (http.Handler, error) {
	keys := apiKeys{
		"reader": {UserID: "dashboard", Username: "dashboard", Role: auth.Viewer},
		"writer": {UserID: "importer", Username: "importer", Role: auth.Admin},
	}
	network, err := httpapi.New(records.NewMemStore(inventory.Schema()), keys, nil)
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
