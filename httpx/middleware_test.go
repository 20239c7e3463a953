package httpx_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

func TestChain(t *testing.T) {
	t.Parallel()
	middleware := func(name string) httpx.Middleware {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, name)
				next.ServeHTTP(w, r)
			})
		}
	}
	h := httpx.Chain(middleware("a"), nil, httpx.Chain(middleware("b"), middleware("c")), httpx.Chain())(text("!"))
	if got := serve(h, request("GET", "/", "")).Body.String(); got != "abc!" {
		t.Errorf("the middleware came as %q, want abc!", got)
	}
}

func TestResponseTime(t *testing.T) {
	t.Parallel()
	handlers := map[string]http.HandlerFunc{
		"writes":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") },
		"sets a status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
		"flushes":       func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"does nothing":  func(http.ResponseWriter, *http.Request) {},
	}
	for name, handler := range handlers {
		synctest.Test(t, func(t *testing.T) {
			slow := func(w http.ResponseWriter, r *http.Request) {
				<-time.After(1500 * time.Microsecond)
				handler(w, r)
			}
			w := serve(httpx.ResponseTime(http.HandlerFunc(slow)), request("GET", "/", ""))
			if got := w.Result().Header.Get("X-Response-Time"); got != "1.500ms" {
				t.Errorf("a handler that %s: X-Response-Time is %q, want 1.500ms", name, got)
			}
		})
	}
}

// TestAnnouncement checks that 1xx is not taken for the response by any middleware.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	h := httpx.Standard(nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
	}))
	server := httptest.NewServer(h)
	defer server.Close()
	response, err := http.Get(server.URL) // which accepts gzip
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted || response.Header.Get("X-Response-Time") == "" {
		t.Errorf("%d %v, want 202 and the time", response.StatusCode, response.Header)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	var seen string
	h := httpx.RequestID(&httpx.RequestIDOptions{New: func() string { return "made" }})(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = httpx.RequestIDFrom(r.Context()) }))
	for sent, used := range map[string]string{
		"":                                     "made",
		"abc-DEF_1.2:3":                        "abc-DEF_1.2:3",
		"6f2c1c1e-8f0b-4d4e-9a39-bd6e4f2b1c55": "6f2c1c1e-8f0b-4d4e-9a39-bd6e4f2b1c55",
		"two words":                            "made",
		"line\nfeed":                           "made",
		"<b>":                                  "made",
		"ä":                                    "made",
		strings.Repeat("x", 128):               strings.Repeat("x", 128),
		strings.Repeat("x", 129):               "made",
	} {
		w := serve(h, request("GET", "/", "", "X-Request-ID", sent))
		if got := w.Header().Get("X-Request-ID"); got != used || seen != used {
			t.Errorf("sent %q: answered %q, handler saw %q, want %q", sent, got, seen, used)
		}
	}
}

func TestRequestIDMade(t *testing.T) {
	t.Parallel()
	h := httpx.RequestID(nil)(httpx.RequestID(nil)(text("")))
	one, two := serve(h, request("GET", "/", "")), serve(h, request("GET", "/", ""))
	a, b := one.Header().Values("X-Request-ID"), two.Header().Values("X-Request-ID")
	if len(a) != 1 || len(a[0]) != 26 || a[0] == b[0] {
		t.Errorf("ids are %q and %q, want one each, of 26 characters, not the same", a, b)
	}
}

func TestWithRequestID(t *testing.T) {
	t.Parallel()
	ctx := httpx.WithRequestID(t.Context(), "one")
	if ctx = httpx.WithRequestID(ctx, "two words"); httpx.RequestIDFrom(ctx) != "one" {
		t.Errorf("the id is %q, want the last valid one", httpx.RequestIDFrom(ctx))
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := httpx.SecurityHeaders(nil)(text("x"))
	header := serve(h, request("GET", "/", "")).Header()
	want(t, header, "X-Content-Type-Options", "nosniff")
	want(t, header, "X-Frame-Options", "DENY")
	want(t, header, "Cache-Control", "no-store")
	want(t, header, "Strict-Transport-Security", "")
	want(t, header, "X-XSS-Protection", "")
	overTLS := serve(h, request("GET", "https://example.com/", "")).Header()
	want(t, overTLS, "Strict-Transport-Security", "max-age=31536000; includeSubDomains")
}

func TestSecurityHeadersOptions(t *testing.T) {
	t.Parallel()
	h := httpx.SecurityHeaders(&httpx.SecurityOptions{
		ContentSecurityPolicy: "default-src 'self'",
		OverTLS:               func(r *http.Request) bool { return r.Header.Get("X-Forwarded-Proto") == "https" },
	})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Cache-Control", "private")
	}))
	for range 2 { // what one response adds must not show in the next
		header := serve(h, request("GET", "/", "", "X-Forwarded-Proto", "https")).Header()
		want(t, header, "Content-Security-Policy", "default-src 'self'")
		want(t, header, "Cache-Control", "no-store|private")
		want(t, header, "Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := httpx.Recover(logTo(&log))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret\nforged") }))
	w := serve(h, request("GET", "/a%0Ab", ""))
	if body := errorOf(t, w, 500); body.Message != "Internal Server Error" {
		t.Errorf("the panic is shown: %+v", body)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `value=secret\nforged `) || !strings.Contains(got, "path=/a%0Ab") {
		t.Errorf("the log is %q, want one line with the panic's value, escaped, and the path", got)
	}
}

// TestRecoverHalfWay checks that a client never takes half a response for a whole one.
func TestRecoverHalfWay(t *testing.T) {
	t.Parallel()
	chain := httpx.Chain(httpx.AccessLog(slog.New(slog.DiscardHandler), nil), httpx.Gzip(nil), httpx.Recover(slog.New(slog.DiscardHandler)))
	server := httptest.NewServer(chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("half", 1000))
		w.(http.Flusher).Flush()
		panic("in the middle")
	})))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("the response looks whole")
	}
}

func TestRecoverAbort(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("http.ErrAbortHandler did not come through")
		}
	}()
	h := httpx.Recover(nil)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	serve(h, request("GET", "/", ""))
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	h := httpx.BodyLimit(4)(httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = w.Write(body)
		}
		return err
	}))
	if w := serve(h, request("POST", "/", "1234")); w.Body.String() != "1234" {
		t.Errorf("a body of the limit's size: %d %s", w.Code, w.Body)
	}
	if w := serve(h, request("GET", "/", "")); w.Code != 200 {
		t.Errorf("no body: %d", w.Code)
	}
	announced := serve(h, request("POST", "/", "12345"))
	errorOf(t, announced, 413)
	want(t, announced.Header(), "Connection", "close")
	r := request("POST", "/", "12345")
	r.ContentLength = -1
	if body := errorOf(t, serve(h, r), 413); !strings.Contains(body.Message, "4 bytes") {
		t.Errorf("the message %q does not name the limit", body.Message)
	}
}

func TestSingleParams(t *testing.T) {
	t.Parallel()
	h := httpx.SingleParams("sortby", "tags")(text("ok"))
	for query, message := range map[string]string{
		"":                         "",
		"a=1&b=1":                  "",
		"sortby=a&sortby=b&tags=&": "",
		// The specification prescribes "Duplicate query parameter forbidden" word for word.
		"a=1&a=2":                  "Duplicate query parameter forbidden: a",
		"b=1&a=1&b=1&a=1":          "Duplicate query parameter forbidden: b",
		"a=1&%61=2":                "Duplicate query parameter forbidden: a",
		"a=1&A=2":                  "",
		"a=%zz":                    "query %25 %26 %3B",
		"a=1;b=2":                  "query %25 %26 %3B",
		"%0A=1&%0A=1":              "Duplicate query parameter forbidden: ?",
		strings.Repeat("a&", 1000): "parameters 1000",
	} {
		w := serve(h, request("GET", "/?"+query, ""))
		if message == "" {
			if w.Code != 200 {
				t.Errorf("?%s: %d %s, want 200", query, w.Code, w.Body)
			}
		} else if body := errorOf(t, w, 400); !errtest.Names(body.Message, message) {
			t.Errorf("?%s: %q, want %q", query, body.Message, message)
		}
	}
}

func TestMux(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /books/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.PathValue("id")+r.Pattern)
	})
	mux.HandleFunc("DELETE /books/{id}", func(http.ResponseWriter, *http.Request) {})
	h := httpx.Mux(mux)
	if got := serve(h, request("GET", "/books/7", "")).Body.String(); got != "7GET /books/{id}" {
		t.Errorf("the handler saw %q", got)
	}
	if body := errorOf(t, serve(h, request("GET", "/no%0Asuch", "")), 404); body.Message != "No such path: /no?such" {
		t.Errorf("404 says %q", body.Message)
	}
	w := serve(h, request("PUT", "/books/7", ""))
	if body := errorOf(t, w, 405); !errtest.Names(body.Message, "PUT DELETE, GET, HEAD") {
		t.Errorf("405 says %q", body.Message)
	}
	want(t, w.Header(), "Allow", "DELETE, GET, HEAD")
	errorOf(t, serve(h, request("GET", "/nowhere/../at/all", "")), 404)
	if w := serve(h, request("GET", "/x/../books/7", "")); w.Code != 307 {
		t.Errorf("a path that is not clean: %d, want 307", w.Code)
	}
}

func TestMethodNotAllowedAlone(t *testing.T) {
	t.Parallel()
	w := serve(http.HandlerFunc(httpx.MethodNotAllowed), request("PUT", "/", ""))
	if body := errorOf(t, w, 405); !errtest.Names(body.Message, "PUT") {
		t.Errorf("405 without Allow says %q", body.Message)
	}
}
