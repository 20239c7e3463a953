package httpx_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

// limited is a stand-in for a rate limit: it counts nothing, and refuses who asks for it.
func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "100")
		if r.Header.Get("X-Refuse-Me") != "" {
			w.Header().Set("Retry-After", "1")
			httpx.WriteError(w, r, httpx.Errorf(429, "Too many requests"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checked is a stand-in for a check of contents, which reads the body.
func checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte("<script")) {
			err = httpx.Errorf(400, "HTML is not allowed")
		}
		if err != nil {
			httpx.WriteError(w, r, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// service is a small one behind the standard chain.
func service(t testing.TB, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /hello", text("hello"))
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("no") })
	mux.HandleFunc("GET /nil", func(w http.ResponseWriter, _ *http.Request) {})
	mux.Handle("POST /books", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		v, err := httpx.ReadJSON[map[string]any](r)
		if err != nil {
			return err
		}
		return httpx.WriteJSON(w, 201, v)
	}))
	return httpx.Standard(&httpx.StandardOptions{
		Log: log, Origins: origins(t, "http://localhost:3000"), Limit: limited, Check: checked,
	})(httpx.Mux(mux))
}

// TestStandardMiddleware checks that all middleware applies to every response, whichever middleware it
// comes from, and also where there is no route.
func TestStandardMiddleware(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat(" ", 1<<20) + "{}"
	const page = "http://localhost:3000"
	jsonType := []string{"Content-Type", "application/json"}
	for _, tc := range []struct {
		why                  string
		method, target, body string
		headers              []string
		status               int
	}{
		{"a response", "GET", "/hello", "", nil, 200},
		{"an empty response", "GET", "/nil", "", nil, 200},
		{"created", "POST", "/books", `{"a":"b"}`, jsonType, 201},
		{"a bad query", "GET", "/hello?a=1&a=2", "", nil, 400},
		{"bad JSON", "POST", "/books", `{`, jsonType, 400},
		{"refused contents", "POST", "/books", `{"a":"<script>"}`, jsonType, 400},
		{"cross-site", "POST", "/books", `{}`, []string{"Sec-Fetch-Site", "cross-site", "Origin", "null"}, 403},
		{"a foreign page", "GET", "/hello", "", []string{"Origin", "https://evil.example"}, 403},
		{"no such path", "GET", "/nowhere", "", nil, 404},
		{"no such method", "DELETE", "/hello", "", nil, 405},
		{"too large", "POST", "/books", huge, jsonType, 413},
		{"no JSON", "POST", "/books", `x`, nil, 415},
		{"too many", "GET", "/hello", "", []string{"X-Refuse-Me", "1"}, 429},
		{"a panic", "GET", "/panic", "", nil, 500},
	} {
		var log bytes.Buffer
		r := request(tc.method, tc.target, tc.body, append(tc.headers, "X-Request-ID", "id-1")...)
		foreign := r.Header.Get("Origin")
		if foreign == "" {
			r.Header.Set("Origin", page)
		}
		w := serve(service(t, logTo(&log)), r)
		if w.Code != tc.status {
			t.Errorf("%s: %d %s, want %d", tc.why, w.Code, w.Body, tc.status)
		}
		t.Run(tc.why, func(t *testing.T) { checkMiddleware(t, w, foreign == "", log.String()) })
	}
}

// checkMiddleware looks for what each middleware leaves on a response.
func checkMiddleware(t *testing.T, w *httptest.ResponseRecorder, listed bool, log string) {
	t.Helper()
	header := w.Result().Header
	if header.Get("X-Response-Time") == "" {
		t.Error("there is no X-Response-Time")
	}
	want(t, header, "X-Request-Id", "id-1")
	want(t, header, "X-Content-Type-Options", "nosniff")
	want(t, header, "X-Frame-Options", "DENY")
	want(t, header, "X-RateLimit-Limit", "100")
	if got := strings.Contains(header.Get("Access-Control-Expose-Headers"), "X-RateLimit-Limit"); got != listed {
		t.Errorf("exposed headers: %q, for a page that is listed: %v", header.Get("Access-Control-Expose-Headers"), listed)
	}
	if !strings.Contains(log, "msg=request") || !strings.Contains(log, "request_id=id-1") {
		t.Errorf("the log is %q", log)
	}
	if w.Code >= 400 {
		if body := errorOf(t, w, w.Code); body.RequestID != "id-1" {
			t.Errorf("the body's request id is %q", body.RequestID)
		}
	}
	if w.Code == 405 {
		want(t, header, "Allow", "GET, HEAD")
	}
}

func TestStandardDefaults(t *testing.T) {
	t.Parallel()
	h := httpx.Standard(nil)(text(large))
	w := serve(h, request("GET", "/?sortby=a&sortby=b&tags=&tags=", "", "Accept-Encoding", "gzip"))
	if got := unzip(t, w.Body); got != large {
		t.Errorf("%d, and the body is another", w.Code)
	}
	if got := serve(h, request("GET", "http://example.com/", "", "Origin", "http://example.com")).Code; got != 200 {
		t.Errorf("the service's own page: %d", got)
	}
	errorOf(t, serve(h, request("GET", "/", "", "Origin", "http://localhost:3000")), 403)
}

// TestStandardTwice checks that a handler that has the chain may be mounted in one that
// has it as well.
func TestStandardTwice(t *testing.T) {
	t.Parallel()
	chain := httpx.Standard(&httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)})
	w := serve(chain(chain(text(large))), request("GET", "/", "", "Accept-Encoding", "gzip"))
	if got := unzip(t, w.Body); got != large {
		t.Error("the body is another")
	}
	for _, name := range []string{"X-Request-Id", "X-Response-Time", "Content-Security-Policy"} {
		if got := w.Header().Values(name); len(got) != 1 {
			t.Errorf("%s is there %d times", name, len(got))
		}
	}
}

// middleware are all that work by themselves.
func allMiddleware(t testing.TB) map[string]httpx.Middleware {
	o := origins(t, "http://localhost:3000")
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	return map[string]httpx.Middleware{
		"DrainBody":       httpx.DrainBody,
		"Budget":          httpx.NewBudget(nil).Middleware(nil),
		"ResponseTime":    httpx.ResponseTime,
		"RequestID":       httpx.RequestID(nil),
		"AccessLog":       httpx.AccessLog(log, nil),
		"SecurityHeaders": httpx.SecurityHeaders(nil),
		"Gzip":            httpx.Gzip(nil),
		"Recover":         httpx.Recover(log),
		"CORS":            o.CORS,
		"Protect":         o.Protect,
		"SingleParams":    httpx.SingleParams(),
		"BodyLimit":       httpx.BodyLimit(0),
	}
}

// TestMiddlewareAlone checks that each middleware is fit to be the only one.
func TestMiddlewareAlone(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	for name, middleware := range allMiddleware(t) {
		mux.Handle("POST /"+name, middleware(httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			v, err := httpx.ReadJSON[map[string]int](r)
			if err != nil {
				return err
			}
			return httpx.WriteJSON(w, 200, v)
		})))
	}
	for name := range allMiddleware(t) {
		w := serve(mux, request("POST", "/"+name, `{"a":1}`, "Content-Type", "application/json", "Accept-Encoding", "gzip"))
		if w.Code != 200 || w.Body.String() != "{\"a\":1}\n" {
			t.Errorf("%s alone: %d %s", name, w.Code, w.Body)
		}
		errorOf(t, serve(mux, request("POST", "/"+name, `{`, "Content-Type", "application/json")), 400)
	}
}
