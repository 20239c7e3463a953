package httpx_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

var large = strings.Repeat("large enough. ", 200)

// answering is a handler with headers, given as name, value, and a body.
func answering(status int, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// TestGzip checks what is compressed: neither small responses nor those without a body, and
// caches are told.
func TestGzip(t *testing.T) {
	t.Parallel()
	const kind, jsonType = "Content-Type", "application/json"
	for _, tc := range []struct {
		why     string
		handler http.Handler
		zipped  bool
		vary    string
	}{
		{"large JSON", answering(200, large, kind, jsonType), true, "Accept-Encoding"},
		{"large JSON of a known length", answering(200, large, kind, jsonType, "Content-Length", "2800"), true, "Accept-Encoding"},
		{"an error", answering(500, large, kind, "application/problem+json; charset=utf-8"), true, "Accept-Encoding"},
		{"text of a type that is not said", text(large), true, "Accept-Encoding"},
		{"small JSON", answering(200, "{}", kind, jsonType), false, "Accept-Encoding"},
		{"small JSON of a known length", answering(200, "{}", kind, jsonType, "Content-Length", "2"), false, "Accept-Encoding"},
		{"what is an image", answering(200, large, kind, "image/png"), false, ""},
		{"what is coded already", answering(200, large, kind, jsonType, "Content-Encoding", "br"), false, ""},
		{"a part", answering(206, large, kind, jsonType, "Content-Range", "bytes 0-9/10"), false, ""},
		{"a stream of events", answering(200, large, kind, "text/event-stream"), false, ""},
		{"no content", answering(204, ""), false, ""},
		{"not modified", answering(304, ""), false, "Accept-Encoding"},
		{"nothing written", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), false, ""},
	} {
		w := serve(httpx.Gzip(nil)(tc.handler), request("GET", "/", "", "Accept-Encoding", "gzip"))
		plain := serve(tc.handler, request("GET", "/", ""))
		if w.Code != plain.Code {
			t.Errorf("%s: status %d, want %d", tc.why, w.Code, plain.Code)
		}
		want(t, w.Header(), "Vary", tc.vary)
		if !tc.zipped {
			if got := w.Body.String(); got != plain.Body.String() {
				t.Errorf("%s: the body was changed", tc.why)
			}
			want(t, w.Header(), "Content-Encoding", plain.Header().Get("Content-Encoding"))
			continue
		}
		if got := unzip(t, w.Body); got != plain.Body.String() {
			t.Errorf("%s: the body is another", tc.why)
		}
		want(t, w.Header(), "Content-Encoding", "gzip")
		want(t, w.Header(), "Content-Length", "")
	}
}

// TestGzipWithout checks that a client without gzip gets the same response, that caches
// learn it, and that q-values count.
func TestGzipWithout(t *testing.T) {
	t.Parallel()
	h := httpx.Gzip(nil)(text(large))
	for accept, zipped := range map[string]bool{
		"":                         false,
		"br":                       false,
		"gzip;q=0":                 false,
		"gzip;q=0, *":              false,
		"identity, gzip;q=0.5":     false,
		"notgzip":                  false,
		"gzip":                     true,
		"GZIP;q=0.001":             true,
		"br, gzip; q=0.5":          true,
		"gzip;q=NaN":               true, // that is none
		"*":                        true,
		"identity;q=0.5, *;q=0.5":  true,
		"gzip;q=1, identity;q=0.5": true,
	} {
		w := serve(h, request("GET", "/", "", "Accept-Encoding", accept))
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != zipped {
			t.Errorf("Accept-Encoding: %s gives %q", accept, w.Header().Get("Content-Encoding"))
		}
		want(t, w.Header(), "Vary", "Accept-Encoding")
	}
}

func TestGzipHead(t *testing.T) {
	t.Parallel()
	h := httpx.Gzip(nil)(answering(200, "", "Content-Type", "application/json", "Content-Length", "99999"))
	header := serve(h, request("HEAD", "/", "", "Accept-Encoding", "gzip")).Header()
	want(t, header, "Content-Encoding", "")
	want(t, header, "Content-Length", "99999")
	want(t, header, "Vary", "Accept-Encoding")
}

func TestGzipTag(t *testing.T) {
	t.Parallel()
	for tag, zipped := range map[string]string{`"1"`: `"1-gzip"`, `W/"1"`: `W/"1"`, `"1-gzip"`: `"1-gzip"`, `x`: `x`} {
		h := httpx.Gzip(nil)(answering(200, large, "Content-Type", "text/plain", "Etag", tag))
		want(t, serve(h, request("GET", "/", "", "Accept-Encoding", "gzip")).Header(), "Etag", zipped)
		want(t, serve(h, request("GET", "/", "")).Header(), "Etag", tag)
	}
}

func TestGzipTwice(t *testing.T) {
	t.Parallel()
	h := httpx.Chain(httpx.Gzip(nil), httpx.Gzip(nil))(text(large))
	if got := unzip(t, serve(h, request("GET", "/", "", "Accept-Encoding", "gzip")).Body); got != large {
		t.Error("two middleware compress twice")
	}
}

// TestGzipInParts checks that neither the size of writes nor flushing matters.
func TestGzipInParts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 7, 1023, 1024, 1025} {
		for _, flush := range []bool{false, true} {
			h := httpx.Gzip(nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for rest := large; rest != ""; {
					n := min(size, len(rest))
					_, _ = io.WriteString(w, rest[:n])
					if rest = rest[n:]; flush {
						w.(http.Flusher).Flush()
					}
				}
			}))
			w := serve(h, request("GET", "/", "", "Accept-Encoding", "gzip"))
			if got := unzip(t, w.Body); got != large {
				t.Errorf("parts of %d, flushed %v: the body is another", size, flush)
			}
		}
	}
}

func TestGzipFlushFirst(t *testing.T) {
	t.Parallel()
	flush := func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); _, _ = io.WriteString(w, "x") }
	for _, accept := range []string{"gzip", ""} {
		w := serve(httpx.Gzip(nil)(http.HandlerFunc(flush)), request("GET", "/", "", "Accept-Encoding", accept))
		if !w.Flushed || w.Body.Len() == 0 {
			t.Errorf("Accept-Encoding %q: a flush before the body did not come through", accept)
		}
	}
}

func TestGzipOptions(t *testing.T) {
	t.Parallel()
	h := httpx.Gzip(&httpx.GzipOptions{MinSize: 2, Level: 9})(text("ab"))
	if got := unzip(t, serve(h, request("GET", "/", "", "Accept-Encoding", "gzip")).Body); got != "ab" {
		t.Errorf("the body is %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a level of 17 is accepted")
		}
	}()
	httpx.Gzip(&httpx.GzipOptions{Level: 17})
}

func FuzzAcceptEncoding(f *testing.F) {
	f.Add("gzip;q=0.5, *;q=0")
	f.Add(";,=;q")
	h := httpx.Gzip(nil)(text(large))
	f.Fuzz(func(t *testing.T, accept string) {
		w := serve(h, request("GET", "/", "", "Accept-Encoding", accept))
		got := w.Body.String()
		if w.Header().Get("Content-Encoding") == "gzip" {
			if !strings.Contains(strings.ToLower(accept), "gzip") && !strings.Contains(accept, "*") {
				t.Errorf("%q asks for no gzip", accept)
			}
			got = unzip(t, w.Body)
		}
		if got != large {
			t.Errorf("%q changes the body", accept)
		}
	})
}
