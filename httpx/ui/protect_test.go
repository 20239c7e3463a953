package ui_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
)

// TestProtect: requests that change something need the token of the page: as a header, as a value of a form, or
// as a query parameter of a form with files, which is not read.
func TestProtect(t *testing.T) {
	kit, err := ui.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", httpx.HandlerFunc(kit.Gallery))
	mux.HandleFunc("POST /", func(http.ResponseWriter, *http.Request) {})
	handler := kit.Protect(mux)
	first := httptest.NewRecorder()
	handler.ServeHTTP(first, httptest.NewRequest(http.MethodGet, "/", nil))
	token := regexp.MustCompile(`name="_token" value="([0-9a-f]{64})"`).FindStringSubmatch(first.Body.String())[1]
	const form, files = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	for _, c := range []struct {
		why, target, kind, body, header, origin string
		status                                  int
	}{
		{"a form", "/", form, "_token=" + token, "", "", 200},
		{"a header", "/", form, "", token, "", 200},
		{"a form with files", "/?_token=" + token, files, "", "", "", 200},
		{"no token", "/", form, "", "", "", 403},
		{"files without a token", "/", files, "_token=" + token, "", "", 403},
		{"a query with another form", "/?_token=" + token, form, "", "", "", 403},
		{"a query with JSON", "/?_token=" + token, "application/json", "", "", "", 403},
		{"another token", "/", form, "_token=" + strings.Repeat("0", 64), "", "", 403},
		{"another origin", "/", form, "_token=" + token, "", "https://evil.example", 403},
		{"a large form", "/", form, "_token=" + token + "&x=" + strings.Repeat("x", 1<<20), "", "", 400},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Cookie", first.Header().Get("Set-Cookie"))
		if c.header != "" {
			r.Header.Set(ui.TokenHeader, c.header)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.why, w.Code, c.status, w.Body)
		}
	}
}
