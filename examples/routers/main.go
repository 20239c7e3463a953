// Command routers mounts the handlers of all systems below prefixes in net/http, chi or gin. It is a
// module of its own, so that gin is no dependency of the other packages.
//
//	cd examples/routers
//	go run . -router gin
//	curl -i localhost:8009/shop/api/books
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

	"github.com/gin-gonic/gin"

	"github.com/ashlar-go/ashlar/httpx"
)

// routes returns the systems in a router: net/http, chi or gin. A client may send a number of requests
// per hour.
func routes(router string, perHour uint32) (http.Handler, error) {
	systems, err := handlers()
	if err != nil {
		return nil, err
	}
	limit, err := limitClients(perHour)
	if err != nil {
		return nil, err
	}
	switch router {
	case "net/http":
		return netHTTP(systems, limit), nil
	case "chi":
		return inChi(systems, limit), nil
	case "gin":
		return inGin(systems, limit), nil
	}
	return nil, fmt.Errorf("unknown router %q: use net/http, chi or gin", router)
}

func main() {
	addr := flag.String("addr", "localhost:8009", "listen on `host:port`")
	router := flag.String("router", "net/http", "mount the handlers in `router`: net/http, chi or gin")
	flag.Parse()
	gin.SetMode(gin.ReleaseMode)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := routes(*router, 1000)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/shop/api/books\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}
