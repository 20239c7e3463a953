// Command bookcatalog-mount serves the book catalog, which is an http.Handler, beside other
// routes of a program.
//
//	go run ./examples/bookcatalog-mount
//	curl localhost:8001/
//	curl localhost:8001/shop/api/books -d '{"title":"Emma"}' -H 'Content-Type: application/json'
//	curl localhost:8001/shop/api/books
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

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
)

func main() {
	addr := flag.String("addr", "localhost:8001", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/shop/api/books\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, routes(), nil); err != nil {
		log.Fatal(err)
	}
}

// routes returns the routes of the program, with the catalog below /shop.
func routes() http.Handler {
	books := httpapi.NewHandler(bookcatalog.NewMemStore(), nil)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the shop is open") })
	mux.Handle("/shop/", http.StripPrefix("/shop", books))
	return mux
}
