// Command bookcatalog-store stores the book catalog in a JSON file, books.json. A store has five
// methods; package bookcatalog/storetest tests them.
//
//	go run ./examples/bookcatalog-store
//	curl localhost:8002/api/books -d '{"title":"Emma"}' -H 'Content-Type: application/json'
//	curl localhost:8002/api/books
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
)

func main() {
	addr := flag.String("addr", "localhost:8002", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, "books.json")
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/api/books\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, httpapi.NewHandler(store, nil), nil); err != nil {
		log.Fatal(err)
	}
}
