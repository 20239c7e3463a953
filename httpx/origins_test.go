package httpx_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

func origins(t testing.TB, list ...string) *httpx.Origins {
	t.Helper()
	o, err := httpx.NewOrigins(list)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNewOrigins(t *testing.T) {
	t.Parallel()
	origins(t, httpx.LocalOrigins()...)
	for _, wrong := range []string{"", "*", "null", "example.com", "https://", "https://example.com/", "https://Example.com", "HTTPS://example.com", "https://u@example.com", "https://example.com:443", "://"} {
		if _, err := httpx.NewOrigins([]string{wrong}); err == nil || !strings.Contains(err.Error(), "https://host") {
			t.Errorf("origin %q gives %v, want an error that says how to write it", wrong, err)
		}
	}
}

// TestProtect checks who may read and who may write. There is one list of origins for that and
// for CORS, so that the two can't contradict.
func TestProtect(t *testing.T) {
	t.Parallel()
	h := origins(t, "http://localhost:3000").Protect(text("ok"))
	for _, tc := range []struct {
		why, method    string
		origin, site   string
		status         int
		messageMatches string
	}{
		{"no browser", "POST", "", "", 200, ""},
		{"a listed page reads", "GET", "http://localhost:3000", "same-site", 200, ""},
		{"a listed page writes", "POST", "http://localhost:3000", "cross-site", 200, ""},
		{"a page of the same host writes", "POST", "http://example.com", "same-origin", 200, ""},
		{"an old browser on the same host", "POST", "http://example.com", "", 200, ""},
		{"a foreign page reads", "GET", "https://evil.example", "cross-site", 403, "origin https://evil.example"},
		{"a foreign page writes", "POST", "https://evil.example", "", 403, "origin https://evil.example"},
		{"a page without an origin", "POST", "null", "cross-site", 403, "origin null"},
		{"a listed host on another port", "GET", "http://localhost:3001", "", 403, "origin"},
		{"a listed host with another scheme", "GET", "https://localhost:3000", "", 403, "origin"},
		{"a name that only begins alike", "GET", "http://localhost:3000.evil.example", "", 403, "origin"},
		{"a link from elsewhere", "GET", "", "cross-site", 200, ""},
		{"a form from elsewhere", "POST", "", "cross-site", 403, "cross-site"},
		{"a form from a sibling", "DELETE", "", "same-site", 403, "cross-site"},
		{"a header that is forged", "GET", "x\ny://" + strings.Repeat("z", 1000), "", 403, "x?y://"},
	} {
		r := request(tc.method, "http://example.com/", "")
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if tc.site != "" {
			r.Header.Set("Sec-Fetch-Site", tc.site)
		}
		w := serve(h, r)
		if tc.status == http.StatusOK {
			if w.Code != tc.status {
				t.Errorf("%s: %d %s, want 200", tc.why, w.Code, w.Body)
			}
			continue
		}
		body := errorOf(t, w, tc.status)
		if !strings.HasPrefix(body.Message, "Forbidden: ") || !strings.Contains(body.Message, tc.messageMatches) || len(body.Message) > 200 {
			t.Errorf("%s: message %q", tc.why, body.Message)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	o := origins(t, "http://localhost:3000")
	h := httpx.Chain(o.CORS, o.Protect)(text("ok"))

	listed := serve(h, request("GET", "/", "", "Origin", "http://localhost:3000"))
	want(t, listed.Header(), "Access-Control-Allow-Origin", "http://localhost:3000")
	want(t, listed.Header(), "Access-Control-Allow-Credentials", "true")
	want(t, listed.Header(), "Vary", "Origin")
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "X-Request-ID", "ETag", "Location"} {
		if !strings.Contains(listed.Header().Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is not exposed", name)
		}
	}

	for name, r := range map[string]*http.Request{
		"a foreign page":           request("GET", "/", "", "Origin", "https://evil.example"),
		"a foreign page's request": request("OPTIONS", "/", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"),
	} {
		w := serve(h, r)
		if w.Code != 403 {
			t.Errorf("%s: %d, want 403", name, w.Code)
		}
		want(t, w.Header(), "Access-Control-Allow-Origin", "")
		if !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Origin") {
			t.Errorf("%s: Vary is %q", name, w.Header().Values("Vary"))
		}
	}
	none := serve(h, request("GET", "/", ""))
	want(t, none.Header(), "Vary", "Origin")
	want(t, none.Header(), "Access-Control-Allow-Origin", "")
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	h := origins(t, "http://localhost:3000").CORS(text("the handler"))
	w := serve(h, request("OPTIONS", "/", "", "Origin", "http://localhost:3000", "Access-Control-Request-Method", "PUT"))
	if w.Code != 204 || w.Body.Len() > 0 {
		t.Errorf("%d %q, want 204 without a body", w.Code, w.Body)
	}
	want(t, w.Header(), "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	want(t, w.Header(), "Access-Control-Max-Age", "600")
	plain := serve(h, request("OPTIONS", "/", "", "Origin", "http://localhost:3000"))
	if plain.Body.String() != "the handler" {
		t.Errorf("an OPTIONS that is no preflight: %d %q", plain.Code, plain.Body)
	}
}
