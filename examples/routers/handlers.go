package main

import (
	"crypto/subtle"
	"net/http"

	"github.com/ashlar-go/ashlar/bookcatalog"
	books "github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/catalog"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// system is a handler and the prefix below which the routers mount it. The handler gets paths without
// the prefix.
type system struct {
	prefix  string
	handler http.Handler
}

// handlers returns the handlers of all systems.
func handlers() ([]system, error) {
	api, err := httpapi.New(records.New(records.NewMemStore(inventory.Schema()), nil), users{}, nil)
	if err != nil {
		return nil, err
	}
	pages, err := console.New(api, &console.Options{Prefix: "/console"}) // for the links of its pages
	if err != nil {
		return nil, err
	}
	servers, err := manifests("/registry")
	if err != nil {
		return nil, err
	}
	limits, err := decisions()
	if err != nil {
		return nil, err
	}
	return []system{
		{"/inventory", api},
		{"/console", pages},
		{"/registry", servers},
		{"/limits", limits},
		{"/shop", books.NewHandler(bookcatalog.NewMemStore(), nil)},
	}, nil
}

// limitClients returns a middleware that limits the requests of each address.
func limitClients(perHour uint32) (func(http.Handler) http.Handler, error) {
	limiter, err := ratelimit.NewLimiter("clients", memstore.MustNew(nil), ratelimit.Per(perHour, ratelimit.Hour), nil)
	if err != nil {
		return nil, err
	}
	return httplimit.PerKey(limiter, httplimit.RemoteHost, nil), nil
}

// users identifies the senders of requests to the inventory and its console: everyone may read, and who
// has the token may write. A real program would ask its database.
type users struct{}

// Authenticate implements [httpapi.Authenticator].
func (users) Authenticate(r *http.Request) (*auth.Identity, error) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer writer")) == 1 {
		return &auth.Identity{UserID: "writer", Username: "writer", Role: auth.Admin}, nil
	}
	return &auth.Identity{UserID: "guest", Username: "guest", Role: auth.Viewer}, nil
}

// manifests returns a registry of manifests, with its pages.
func manifests(prefix string) (http.Handler, error) {
	store := registry.NewMemStore(nil)
	pages, err := catalog.New(store, &catalog.Options{Prefix: prefix, Docs: true})
	if err != nil {
		return nil, err
	}
	tokens, err := registry.Tokens(map[string][]string{"a-token-of-example-0123456789": {"com.example"}})
	if err != nil {
		return nil, err
	}
	return registry.NewHandler(store, &registry.Options{Authorize: tokens, Docs: apidocs.New(nil), Pages: pages}), nil
}

// decisions returns the rate limit service as JSON over HTTP. Two logins a day are allowed to each user.
func decisions() (http.Handler, error) {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "demo", Rules: []ratelimit.Rule{
		{Key: "user", Limit: new(ratelimit.Per(2, ratelimit.Day))},
	}}}, nil)
	if err != nil {
		return nil, err
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	if err := engine.Use(rules); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/json", service.New(engine, nil).JSON())
	return httpx.Standard(nil)(httpx.Mux(mux)), nil
}
