// Command inventory-feature adds a feature of its own to the inventory: maintenance of devices.
//
//	go run .
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

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// admin takes everybody for an administrator. Only this computer has access.
type admin struct{}

func (admin) Authenticate(*http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "you", Username: "you", Role: auth.Admin}, nil
}

// handler returns the API at /api/, and the pages at the other paths.
func handler() (http.Handler, error) {
	features := append(standard.Features(), maintenance())
	schema, err := inventory.NewSchema(feature.Parts(features...)...)
	if err != nil {
		return nil, err
	}
	api, err := httpapi.New(records.New(records.NewMemStore(schema), nil), admin{}, &httpapi.Options{Features: features})
	if err != nil {
		return nil, err
	}
	pages, err := console.New(api, nil)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", api))
	mux.Handle("/", pages)
	return mux, nil
}

func main() {
	addr := flag.String("addr", "localhost:8012", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h, err := handler()
	if err == nil {
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", *addr); err == nil {
			fmt.Printf("listening on http://%s; Ctrl-C ends it\n", l.Addr())
			err = httpx.Serve(ctx, l, h, nil)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
