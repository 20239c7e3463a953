// Command inventory-limit serves the inventory with custom rate limits: a number of requests per
// minute for each user, and a smaller number of changes.
//
//	go run ./examples/inventory-limit
//	curl -i localhost:8004/devices -H 'X-User: ann'
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

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// trusting trusts the header X-User, for demonstration only. See inventory-mount for more.
type trusting struct{}

func (trusting) Authenticate(r *http.Request) (*auth.Identity, error) {
	name := r.Header.Get("X-User")
	if name == "" {
		return nil, &auth.Error{Kind: auth.TokenMissing, Message: "Set the header X-User to your name"}
	}
	return &auth.Identity{UserID: name, Username: name, Role: auth.Admin}, nil
}

// handler returns an inventory with rate limits.
func handler() (http.Handler, error) {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "inventory", Rules: []ratelimit.Rule{
		{Key: "user", Limit: new(ratelimit.Per(60, ratelimit.Minute)), Rules: []ratelimit.Rule{
			{Key: "change", Value: "yes", Limit: new(ratelimit.Per(5, ratelimit.Minute))},
		}},
	}}}, nil)
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	if err := errors.Join(err, engine.Use(rules)); err != nil {
		return nil, err
	}
	limits := httplimit.PerRequest(engine, "inventory", func(r *http.Request, d *httplimit.Descriptors) {
		user := ratelimit.Entry{Key: "user", Value: r.Header.Get("X-User")}
		d.Add(user)
		if r.Method != http.MethodGet {
			d.Add(user, ratelimit.Entry{Key: "change", Value: "yes"})
		}
	}, &httplimit.Options{Headers: httplimit.XRateLimitHeaders})
	// As part of the chain, so that a 429 response has the same headers as all others.
	return httpapi.New(records.New(records.NewMemStore(inventory.Schema()), nil), trusting{}, &httpapi.Options{Chain: &httpx.StandardOptions{Limit: limits}})
}

func main() {
	addr := flag.String("addr", "localhost:8004", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h, err := handler()
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/devices -H 'X-User: ann'\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, h, nil); err != nil {
		log.Fatal(err)
	}
}
