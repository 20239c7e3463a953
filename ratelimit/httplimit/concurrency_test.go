package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// atOnce is a limit of n requests in progress.
func atOnce(n uint32) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.Concurrency, RequestsPerUnit: n, Unit: ratelimit.Hour}
}

// atOnceLimits returns each middleware with a limit of one request in progress.
func atOnceLimits(t testing.TB, store ratelimit.Store, opts *httplimit.Options) map[string]func(http.Handler) http.Handler {
	t.Helper()
	limiter, err := ratelimit.NewLimiter("test", store, atOnce(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{{Key: "path", Limit: new(atOnce(1))}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	engine := ratelimit.MustNew(store, nil)
	engine.Use(rules)
	return map[string]func(http.Handler) http.Handler{
		"PerKey":     httplimit.PerKey(limiter, func(*http.Request) string { return "key" }, opts),
		"PerRequest": httplimit.PerRequest(engine, "api", byPath, opts),
	}
}

// A request holds its permit while its handler runs, however that ends.
func TestPlaceIsHeldWhileTheHandlerRuns(t *testing.T) {
	for name, limit := range atOnceLimits(t, memstore.MustNew(nil), nil) {
		t.Run(name, func(t *testing.T) {
			var inner http.Handler
			ends := map[string]http.HandlerFunc{
				"returns": func(http.ResponseWriter, *http.Request) {},
				"panics":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
				"hijacks": func(w http.ResponseWriter, _ *http.Request) {
					c, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
					_ = c.Close()
				},
				"exits": func(http.ResponseWriter, *http.Request) { runtime.Goexit() },
			}
			for end, handler := range ends {
				calls, denied := 0, 0
				h := limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					calls++
					rec := httptest.NewRecorder()
					inner.ServeHTTP(rec, r) // the only permit is in use
					if rec.Code == http.StatusTooManyRequests {
						denied++
					}
					handler(w, r)
				}))
				inner = limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("two at once") }))
				var handlers sync.WaitGroup
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					handlers.Add(1)
					defer handlers.Done()
					h.ServeHTTP(w, r)
				}))
				for range 3 {
					response, err := server.Client().Get(server.URL + "/path")
					if err == nil {
						_ = response.Body.Close()
					}
					handlers.Wait() // a response can arrive before its handler has returned
				}
				server.Close() // waits for the handlers
				if calls != 3 || denied != 3 {
					t.Errorf("%s: the handler ran %d times, and was refused at the same time %d times, want 3 and 3", end, calls, denied)
				}
			}
		})
	}
}

// A WebSocket or an upload ends when its client disconnects: the canceled context must not keep
// the permit.
func TestPlaceIsGivenBackAfterTheClientDisconnected(t *testing.T) {
	for name, limit := range atOnceLimits(t, memstore.MustNew(nil), nil) {
		ctx, cancel := context.WithCancel(t.Context())
		h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d after the client of the request before had disconnected", name, w.Code)
		}
	}
}

// failingRelease is a store whose permits can't be released.
type failingRelease struct{ *memstore.Store }

func (s failingRelease) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	for i := range charges {
		if charges[i].Refund {
			return errDown
		}
	}
	return s.Store.Charge(ctx, charges)
}

func TestFailedReleaseIsReported(t *testing.T) {
	var failed []error
	opts := &httplimit.Options{OnError: func(_ *http.Request, err error) { failed = append(failed, err) }}
	for name, limit := range atOnceLimits(t, failingRelease{memstore.MustNew(nil)}, opts) {
		failed = nil
		w := httptest.NewRecorder()
		limit(hello).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != http.StatusOK || len(failed) != 1 || !errors.Is(failed[0], errDown) {
			t.Errorf("%s: status %d, errors %v", name, w.Code, failed)
		}
	}
}

// A token bucket refuses until the next token, not until the bucket is full.
func TestRetryAfterOfATokenBucket(t *testing.T) {
	limiter, err := ratelimit.NewLimiter("test", memstore.MustNew(nil),
		ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 2, Unit: ratelimit.Minute}, &ratelimit.Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	h := httplimit.PerKey(limiter, httplimit.RemoteHost, nil)(hello)
	get(h)
	get(h)
	wantHeaders(t, get(h), map[string]string{"Retry-After": "30", "RateLimit-Reset": "60"})
}

// A client may have one download in progress. The permit is released when the handler
// has returned.
func ExamplePerKey_concurrency() {
	limiter, err := ratelimit.NewLimiter("downloads", memstore.MustNew(nil), ratelimit.Limit{
		Algorithm: ratelimit.Concurrency, RequestsPerUnit: 1, Unit: ratelimit.Hour,
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	limit := httplimit.PerKey(limiter, httplimit.RemoteHost, nil)

	var handler http.Handler
	handler = limit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		second := httptest.NewRecorder()
		handler.ServeHTTP(second, r) // while the first is in progress
		fmt.Println("during the download:", second.Code)
	}))
	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println("download:", w.Code)
	}
	// Output:
	// during the download: 429
	// download: 200
	// during the download: 429
	// download: 200
}
