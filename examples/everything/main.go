// Command everything serves the inventory, the book catalog and manifest validation in one
// process, on one port and with one rate limit.
//
//	go run ./examples/everything
//	curl localhost:8005/books/api/books
//	curl -i localhost:8005/network/devices
//	curl localhost:8005/manifests --data-binary @manifest/testdata/examples/local.json
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

	"github.com/ashlar-go/ashlar/bookcatalog"
	books "github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// routes returns the handler of all systems. The caller must close the returned server.
func routes(ctx context.Context, settings *server.Settings) (http.Handler, *server.Server, error) {
	limiter, err := ratelimit.NewLimiter("api", memstore.MustNew(nil), ratelimit.Per(600, ratelimit.Minute), nil)
	if err != nil {
		return nil, nil, err
	}
	settings.RateLimit = 0 // the limit above applies to all routes
	network, err := server.New(ctx, settings, nil)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/books/", http.StripPrefix("/books", books.NewHandler(bookcatalog.NewMemStore(), nil)))
	mux.Handle("/network/", http.StripPrefix("/network", network.Handler()))
	mux.Handle("POST /manifests", httpx.Standard(nil)(httpx.HandlerFunc(validate)))
	return httplimit.PerKey(limiter, httplimit.RemoteHost, nil)(mux), network, nil
}

// validate responds with the validation result of a manifest.
func validate(w http.ResponseWriter, r *http.Request) error {
	body, err := httpx.ReadBody(r, 0)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, manifest.Validate(body, nil))
}

func main() {
	addr := flag.String("addr", "localhost:8005", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	settings := server.Default()
	settings.DatabaseURL = ":memory:"
	handler, network, err := routes(ctx, settings)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/books/api/books\n\n", l.Addr())
	if err := errors.Join(httpx.Serve(ctx, l, handler, nil), network.Close()); err != nil {
		log.Fatal(err)
	}
}
