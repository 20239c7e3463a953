package httpx_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

// TestOddRequests checks that every request that net/http accepts gets its response from the
// chain: with security headers, rate limit and a record of the access.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("GET /x", text("x"))
	mux.Handle("GET /dir/", text("dir"))
	mux.Handle("GET /docs/{name}/page", text("page"))
	mux.Handle("example.com/host", text("host"))
	var handling sync.Mutex // held until the record of a request is in log
	var log bytes.Buffer
	var limitedBy sync.Map
	limit := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			limitedBy.Store(r.Header.Get("X-Request-Id"), true)
			limited(next).ServeHTTP(w, r)
		})
	}
	h := httpx.Standard(&httpx.StandardOptions{Log: logTo(&log), Limit: limit})(httpx.Mux(mux))
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handling.Lock()
		defer handling.Unlock()
		h.ServeHTTP(w, r)
	}), &httpx.ServeOptions{})
	for _, line := range []string{
		"GET /x", "GET //x", "GET ///x//", "GET /a/../x", "GET /./x", "GET /../../x", "GET /x/..", "GET /%2e%2e/x", "GET /%2F/x",
		"GET /dir", "GET //dir", "GET /dir//y", "HEAD /dir/../x", "POST //x", "DELETE /dir/../x", "GET /docs//page", "GET /%00%0a%1b", "GET /x;y",
		"OPTIONS *", "OPTIONS /x", "GET *", "CONNECT x:80", "CONNECT /x", "CONNECT //x", "GET http://x/x", "GET http://x//x", "GET http://x",
		"GET http://example.com/host", "GET http://example.com//host", "GET /host", "PRI /x", "ODD /x", "TRACE /x", "GET /?a=1&a=2", "GET /x?%zz", "GET /",
	} {
		id := strings.NewReplacer(" ", "_", "/", "-", "%", ".", "*", "star", ";", ".", "?", ".", "&", ".", "=", ".").Replace(line)
		log.Reset()
		response := dial(t, r.url, line+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-ID: "+id+"\r\n\r\n")
		header, _, _ := strings.Cut(response, "\r\n\r\n")
		for _, name := range []string{"X-Frame-Options", "X-Response-Time", "X-Ratelimit-Limit"} {
			if !strings.Contains(header, "\r\n"+name+":") {
				t.Errorf("%s: %s is missing in %q", line, name, header)
			}
		}
		if _, counted := limitedBy.Load(id); !counted {
			t.Errorf("%s: the limiter has not seen the request", line)
		}
		handling.Lock()
		record := log.String()
		handling.Unlock()
		if !strings.Contains(record, "msg=request") || !strings.Contains(record, "request_id="+id) {
			t.Errorf("%s: the log is %q", line, record)
		}
		if strings.ContainsFunc(strings.TrimSuffix(record, "\n"), func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("%s: there is a control character in the log: %q", line, record)
		}
	}
}

// plainHandler is a log handler that writes values as they are, and NUL after each.
type plainHandler struct{ out *bytes.Buffer }

func (plainHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h plainHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "stack" && a.Key != "duration" {
			h.out.WriteString(a.Value.String() + "\x00")
		}
		return true
	})
	return nil
}

func (h plainHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h plainHandler) WithGroup(string) slog.Handler      { return h }

// TestOddValuesInLogs checks that no value of a request brings control characters into a record,
// even if the log handler does not escape them.
func TestOddValuesInLogs(t *testing.T) {
	t.Parallel()
	const odd = "a\nb\x1b[31m\x7f\u2028\x9b\xff"
	var out bytes.Buffer
	log := slog.New(plainHandler{&out})
	h := httpx.Chain(httpx.RequestID(nil), httpx.AccessLog(log, nil), httpx.Recover(log))
	r := request("GET", "/", "", "X-Request-ID", odd, "X-Forwarded-For", odd, "User-Agent", odd)
	r.Method, r.RemoteAddr = odd, odd
	r.URL.Path, r.URL.RawPath = "/"+odd, "/"+odd
	serve(h(failing(httpx.Errorf(500, "user %s", odd))), r)
	serve(h(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(odd) })), r)
	values := strings.Split(out.String(), "\x00")
	for _, value := range values {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c >= 0x7f }) {
			t.Errorf("a value is %q", value)
		}
	}
	if len(values) < 12 {
		t.Errorf("the values are %q", values)
	}
}
