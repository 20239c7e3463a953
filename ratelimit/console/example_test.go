package console_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/console"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// Pages about the limits of a program, beside its own.
func ExampleNew() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: "client", Limit: new(ratelimit.Per(10, ratelimit.Second))},
	}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Stats: stats.New(nil), TopKeys: true})
	engine.Use(rules)
	pages, err := console.New(engine, &console.Options{Prefix: "/limits"})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/limits/", http.StripPrefix("/limits", pages))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/limits/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "10 per second"))
	// Output: 200 true
}
