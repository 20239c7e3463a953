// Command bookcatalog-mount serves the book catalog within a program that has routes of its
// own: it is one http.Handler, and goes where any other would.
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
	fmt.Printf("listening on http://%s; Ctrl-C ends it\n", l.Addr())
	if err := httpx.Serve(ctx, l, routes(), nil); err != nil {
		log.Fatal(err)
	}
}

// routes are the program's own, with the catalog among them.
func routes() http.Handler {
	books := httpapi.NewHandler(bookcatalog.NewMemStore(), nil)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the shop is open") })
	mux.Handle("/shop/", http.StripPrefix("/shop", books))
	return mux
}
