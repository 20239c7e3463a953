// Command api-keys limits API keys by the tiers of their accounts, and rejects unknown keys.
//
//	go run ./examples/api-keys
//	curl -i localhost:8007/ -H 'X-Api-Key: free-key'
//	curl -i localhost:8007/ -H 'X-Api-Key: pro-key'
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

type account struct{ name, tier string }

// accounts are stored by the hash of their key: a program that stores no keys can't leak them.
type accounts map[[sha256.Size]byte]account

func (a accounts) of(r *http.Request) (account, bool) {
	found := a[sha256.Sum256([]byte(r.Header.Get("X-Api-Key")))]
	return found, found.tier != ""
}

// tiers returns a limit for each account of a tier. The rules could also be loaded from a YAML file.
func tiers() []ratelimit.Domain {
	return []ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: "tier", Value: "free", Rules: []ratelimit.Rule{{Key: "account", Limit: new(ratelimit.Per(5, ratelimit.Minute))}}},
		{Key: "tier", Value: "pro", Rules: []ratelimit.Rule{{Key: "account", Limit: new(ratelimit.Per(600, ratelimit.Minute))}}},
	}}}
}

func routes(known accounts) (http.Handler, error) {
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	rules, err := ratelimit.Compile(tiers(), nil)
	if err := errors.Join(err, engine.Use(rules)); err != nil {
		return nil, err
	}
	limit := httplimit.PerRequest(engine, "api", func(r *http.Request, d *httplimit.Descriptors) {
		who, _ := known.of(r)
		d.Add(ratelimit.Entry{Key: "tier", Value: who.tier}, ratelimit.Entry{Key: "account", Value: who.name})
	}, nil)
	hello := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	return httpx.Standard(nil)(httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if _, ok := known.of(r); !ok {
			return httpx.Errorf(http.StatusUnauthorized, "Set the header X-Api-Key to your API key")
		}
		hello.ServeHTTP(w, r)
		return nil
	})), nil
}

func main() {
	addr := flag.String("addr", "localhost:8007", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := routes(accounts{sha256.Sum256([]byte("free-key")): {"ann", "free"}, sha256.Sum256([]byte("pro-key")): {"bob", "pro"}})
	l, failed := net.Listen("tcp", *addr)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try, more than five times:\n\n  curl -i http://%[1]s/ -H 'X-Api-Key: free-key'\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}
