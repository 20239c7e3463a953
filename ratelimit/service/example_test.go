package service_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// One service, registered with a gRPC server and a router of the program.
func ExampleNew() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{
		{Key: "user", Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Minute}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	engine := ratelimit.MustNew(memstore.MustNew(&memstore.Options{Now: noon}), &ratelimit.Options{Now: noon})
	engine.Use(rules)
	s := service.New(engine, nil)

	grpcServer := grpc.NewServer(grpc.ForceServerCodecV2(service.Codec())) // grpcServer.Serve(listener)
	s.Register(grpcServer)
	mux := http.NewServeMux() // http.Serve(listener, mux)
	mux.Handle("/json", s.JSON())

	for range 2 {
		body := `{"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "ann"}]}]}`
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/json", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.Contains(w.Body.String(), `"OVER_LIMIT"`))
	}
	// Output:
	// 200 false
	// 429 true
}

// A service reports that it is ready, and that it is not some time before it ends: load
// balancers need time to react.
func ExampleNewHealth() {
	health := service.NewHealth(nil)
	health.Register(grpc.NewServer())
	mux := http.NewServeMux()
	mux.Handle("/healthcheck", health)
	ask := func() {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/healthcheck", nil))
		fmt.Printf("%d %q\n", w.Code, w.Body)
	}

	ask()
	health.Set(true) // the rules are loaded, the store responds
	ask()
	health.Close() // for good; then grpcServer.GracefulStop()
	ask()
	// Output:
	// 500 ""
	// 200 "OK"
	// 500 ""
}
