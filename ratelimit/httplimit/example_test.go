package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

// noon stands still, so that the output does.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func ExamplePerKey() {
	limiter, err := ratelimit.NewLimiter("logins", memstore.MustNew(nil), ratelimit.Per(2, ratelimit.Minute), &ratelimit.Options{Now: noon})
	if err != nil {
		fmt.Println(err)
		return
	}
	limit := httplimit.PerKey(limiter, httplimit.RemoteHost, nil)

	handler := limit(hello)
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Print(w.Code, " ", w.Header().Get("RateLimit-Remaining"), " left: ", w.Body)
	}
	// Output:
	// 200 1 left: hello
	// 200 0 left: hello
	// 429 0 left: {"status":"error","message":"too many requests: try again in 60 s"}
}

// Behind two proxies the one that matters is who called the outer one.
func ExampleForwardedFor() {
	key := httplimit.ForwardedFor(2)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Forwarded-For", "10.9.9.9, 198.51.100.7, 203.0.113.1") // the first is what the client claims
	fmt.Println(key(r))
	r.Header.Set("X-Forwarded-For", "203.0.113.1") // it has passed by one of them
	fmt.Println(key(r) == httplimit.RemoteHost(r))
	// Output:
	// 198.51.100.7
	// true
}

func ExampleHeader() {
	key := httplimit.Header("X-API-Key")
	r := httptest.NewRequest("GET", "/", nil)
	fmt.Printf("%q\n", key(r)) // not limited
	r.Header.Set("x-api-key", "k-17")
	fmt.Printf("%q\n", key(r))
	// Output:
	// ""
	// "k-17"
}

func ExamplePerRequest() {
	reads, writes := ratelimit.Per(1000, ratelimit.Minute), ratelimit.Per(1, ratelimit.Hour)
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: "method", Value: "GET", Rules: []ratelimit.Rule{{Key: "remote_address", Limit: &reads}}},
		{Key: "method", Value: "POST", Rules: []ratelimit.Rule{{Key: "remote_address", Limit: &writes}}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), &ratelimit.Options{Now: noon})
	engine.Use(rules)
	limit := httplimit.PerRequest(engine, "api", func(r *http.Request, d *httplimit.Descriptors) {
		d.Add(ratelimit.Entry{Key: "method", Value: r.Method},
			ratelimit.Entry{Key: "remote_address", Value: httplimit.RemoteHost(r)})
	}, nil)

	handler := limit(hello)
	for _, method := range []string{"GET", "POST", "POST", "DELETE"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		fmt.Printf("%s: %d, limit %q, retry after %q\n", method, w.Code,
			w.Header().Get("RateLimit-Limit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// GET: 200, limit "1000", retry after ""
	// POST: 200, limit "1", retry after ""
	// POST: 429, limit "1", retry after "3600"
	// DELETE: 200, limit "", retry after ""
}

// A search costs as much as the pages that it asks for, which only its handler knows.
func ExampleRespond() {
	limiter, err := ratelimit.NewLimiter("searches", memstore.MustNew(nil), ratelimit.Per(10, ratelimit.Minute), &ratelimit.Options{Now: noon})
	if err != nil {
		fmt.Println(err)
		return
	}
	search := func(w http.ResponseWriter, r *http.Request) {
		pages, err := strconv.ParseUint(r.URL.Query().Get("pages"), 10, 8)
		if err != nil {
			http.Error(w, "pages must be a number", http.StatusBadRequest)
			return
		}
		status, err := limiter.AllowN(r.Context(), httplimit.RemoteHost(r), pages)
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		if !httplimit.Respond(w, r, status, nil) {
			return
		}
		fmt.Fprintln(w, "results")
	}
	for _, pages := range []string{"8", "3"} {
		w := httptest.NewRecorder()
		search(w, httptest.NewRequest("GET", "/?pages="+pages, nil))
		fmt.Print(w.Code, " ", w.Header().Get("RateLimit-Remaining"), " left: ", w.Body)
	}
	// Output:
	// 200 2 left: results
	// 429 0 left: {"status":"error","message":"too many requests: try again in 60 s"}
}
