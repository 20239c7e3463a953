// Command mux protects an http.ServeMux: one limit per client applies to all routes, and one
// route has additional rules.
//
//	go run ./examples/mux
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// protected returns an ordinary mux behind rate limits.
func protected() (http.Handler, error) {
	perClient, err := ratelimit.NewLimiter("clients", memstore.MustNew(nil), ratelimit.Per(20, ratelimit.Minute), nil)
	if err != nil {
		return nil, err
	}
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "login", Rules: []ratelimit.Rule{
		{Key: "user", Limit: new(ratelimit.Per(3, ratelimit.Minute))},
		{Key: "remote_address", Limit: new(ratelimit.Per(5, ratelimit.Minute))},
	}}}, nil)
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	if err := errors.Join(err, engine.Use(rules)); err != nil {
		return nil, err
	}
	// Two limits apply to a login: one for the user name, and one for the address.
	limitLogin := httplimit.PerRequest(engine, "login", func(r *http.Request, d *httplimit.Descriptors) {
		d.Add(ratelimit.Entry{Key: "user", Value: r.URL.Query().Get("user")})
		d.Add(ratelimit.Entry{Key: "remote_address", Value: httplimit.RemoteHost(r)})
	}, nil)

	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	mux.Handle("POST /login", limitLogin(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "welcome") })))
	return httplimit.PerKey(perClient, httplimit.RemoteHost, nil)(mux), nil
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8082", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	handler, err := protected()
	l, failed := net.Listen("tcp", *addr)
	if err = errors.Join(err, failed); err == nil {
		fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try, more than three times:\n\n  curl -i -X POST 'http://%[1]s/login?user=ann'\n\n", l.Addr())
		err = httpx.Serve(ctx, l, handler, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mux:", err)
		os.Exit(1)
	}
}
