// Command notes is a small JSON API: notes are created, listed by page and read. Errors name the invalid fields; bodies,
// connections and memory have limits; and requests in progress finish before the program ends.
//
//	go run ./examples/notes
//	curl -i localhost:8010/notes -H 'Content-Type: application/json' -d '{"title":"Call Ann","text":"before noon"}'
//	curl localhost:8010/notes -H 'Content-Type: application/json' -H 'Accept: application/problem+json' -d '{"text":"?"}'
//	curl 'localhost:8010/notes?page=1&limit=20'
//	curl localhost:8010/notes/1
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/ashlar-go/ashlar/httpx"
)

func main() {
	addr := flag.String("addr", "localhost:8010", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/notes\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, routes(), nil); err != nil {
		log.Fatal(err)
	}
}
