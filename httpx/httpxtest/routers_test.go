package httpxtest_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/httpx/sanitize"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func origins(t testing.TB) *httpx.Origins {
	t.Helper()
	o, err := httpx.NewOrigins(httpx.LocalOrigins())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// middleware lists all middleware, each with a request and a check that detect it.
func allMiddleware(t testing.TB) map[string]httpx.Middleware {
	o := origins(t)
	quiet := slog.New(slog.DiscardHandler)
	return map[string]httpx.Middleware{
		"ResponseTime":    httpx.ResponseTime,
		"RequestID":       httpx.RequestID(nil),
		"AccessLog":       httpx.AccessLog(quiet, nil),
		"SecurityHeaders": httpx.SecurityHeaders(nil),
		"Gzip":            httpx.Gzip(nil),
		"Recover":         httpx.Recover(quiet),
		"CORS":            o.CORS,
		"Protect":         o.Protect,
		"SingleParams":    httpx.SingleParams(),
		"BodyLimit":       httpx.BodyLimit(100),
		"Check":           sanitize.New(nil).Middleware,
		"Standard":        httpx.Standard(&httpx.StandardOptions{Log: quiet, Check: sanitize.New(nil).Middleware}),
	}
}

// TestInChi checks that each middleware works in another router: as its middleware, for
// its own 404 and 405 as well, with its path values, and with streams.
func TestInChi(t *testing.T) {
	t.Parallel()
	for name, middleware := range allMiddleware(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			router := chi.NewRouter()
			router.Use(middleware)
			router.NotFound(httpx.NotFound)
			router.MethodNotAllowed(httpx.MethodNotAllowed)
			router.Get("/books/{id}", func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, chi.URLParam(r, "id"))
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			})
			router.Method("POST", "/books", echo)
			client := httpxtest.New(t, router)
			if got := client.Send("GET", "/books/7", nil).Want(200).Body.String(); got != "7" {
				t.Errorf("the handler answered %q", got)
			}
			client.Send("POST", "/books", book{"AT&T"}).Want(201)
			client.Send("GET", "/nowhere", nil).WantError(404, "/nowhere")
			client.Send("PUT", "/books", nil).WantError(405, "PUT")
		})
	}
}

// everything returns the chain with a limiter and a sanitizer. The limiter's clock stands still,
// so that no window ends during a test.
func everything(t testing.TB, log io.Writer, limit uint32) httpx.Middleware {
	now := func() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }
	limiter, err := ratelimit.NewLimiter("clients", memstore.MustNew(&memstore.Options{Now: now}), ratelimit.Per(limit, ratelimit.Minute), &ratelimit.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	var clients httpx.Clients
	return httpx.Standard(&httpx.StandardOptions{
		Log: slog.New(slog.NewTextHandler(log, nil)), Origins: origins(t), Check: sanitize.New(nil).Middleware,
		Limit: httplimit.PerKey(limiter, clients.Key, &httplimit.Options{
			Headers: httplimit.XRateLimitHeaders, Now: now,
			Denied: httpx.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
				return httpx.Errorf(http.StatusTooManyRequests, "Too many requests")
			}),
		}),
	})
}

// TestEverything checks the positions of limiter and sanitizer: their refusals have all headers.
func TestEverything(t *testing.T) {
	t.Parallel()
	client := httpxtest.New(t, everything(t, io.Discard, 3)(echo))
	client.Send("POST", "/", book{"O'Brien & <3"}).Want(201).WantHeader("X-RateLimit-Remaining", "2")
	client.Send("POST", "/", book{"<script>"}).WantError(400, "title")
	client.Send("POST", "/", book{"x"}, "Origin", "https://evil.example").WantError(403, "evil")
	refused := client.Send("POST", "/", book{"x"}, "Origin", "http://localhost:3000")
	if body := refused.WantError(429, "Too many requests"); body.RequestID == "" {
		t.Error("the refusal has no request id")
	}
	refused.WantHeader("X-RateLimit-Remaining", "0").WantHeader("X-Frame-Options", "DENY").
		WantHeader("Access-Control-Allow-Origin", "http://localhost:3000")
	if refused.Header().Get("Retry-After") == "" || refused.Header().Get("X-Response-Time") == "" {
		t.Errorf("the refusal's header is %v", refused.Header())
	}
}

// BenchmarkEverything measures the whole chain with limiter and sanitizer on a small GET.
func BenchmarkEverything(b *testing.B) {
	body := strings.Repeat("x", 30)
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = io.WriteString(w, body)
	})
	for name, h := range map[string]http.Handler{"bare": bare, "chain": everything(b, io.Discard, 1<<30)(bare)} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "http://localhost:8000/api/books?limit=5", nil)
			r.Header.Set("Accept-Encoding", "gzip")
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				clear(w.Header())
				w.Body.Reset()
				h.ServeHTTP(w, r)
			}
		})
	}
}
