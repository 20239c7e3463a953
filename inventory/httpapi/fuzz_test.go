package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
)

// fuzzed is an API with a discarded log, and the Authorization header of an admin.
type fuzzed struct {
	*harness
	admin string
}

func quiet(t testing.TB) fuzzed {
	g := newHarness(t, &choices{options: func(o *httpapi.Options) { o.Chain = &httpx.StandardOptions{Log: discard()} }})
	return fuzzed{g, "Bearer " + g.token("root")}
}

// send sends a request and requires a JSON response without a 5xx status.
func (g fuzzed) send(t testing.TB, method, path, query, body string) {
	t.Helper()
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.URL = &url.URL{Path: path, RawQuery: query}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", g.admin)
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, r)
	if w.Code >= http.StatusInternalServerError || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %s?%s %q: %d %s", method, path, query, body, w.Code, w.Body)
	}
}

func FuzzBody(f *testing.F) {
	g := quiet(f)
	id := g.users["viewer"].ID
	for _, seed := range []string{
		`{}`, `[]`, `[{"id":"` + id + `","if_version":1,"first_name":"x"}]`, `{"acknowledged":true}`, `["` + id + `"]`,
		`{"username":"a","email":"a@example.org","password":"a long password","role":"viewer"}`,
		`{"hostname":"a","ip":"::1","model":"m","vendor":"v","os":"o","status":"active","tags":["a"]}`,
		`{"device_id":"` + id + `","speed":"10Gbps","speed_mbps":1}`, `{"new_password":"a","confirm_password":"b"}`, `[null,{"id":null}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/devices", "/interfaces", "/events", "/users", "/metrics"} {
			g.send(t, "POST", path, "dry_run=true", body)
			g.send(t, "PATCH", path, "", body)
		}
		g.send(t, "DELETE", "/users", "dry_run=true", body)
		g.send(t, "PUT", "/users/"+id, "dry_run=true", body)
		g.send(t, "PATCH", "/users/"+id, "dry_run=true", body)
		g.send(t, "PUT", "/users/"+id+"/password", "dry_run=true", body)
	})
}

func FuzzQuery(f *testing.F) {
	g := quiet(f)
	for _, seed := range []string{
		"", "sort=value:desc", "latest=false&sortby=cpu:asc", "cursor=", "cursor=abc", "fields=id,cpu&count=false", "cpu__in=1,2&q=x",
		"page=0", "sort=%00:asc", "limit=100&page=2147483647", "sort=cpu:desc&sort=cpu:asc", "dry_run=true", "%zz",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/metrics", "/devices", "/audit-logs", "/debug/count", "/devices/" + unknown + "/interfaces"} {
			g.send(t, "GET", path, query, "")
		}
	})
}

func FuzzPath(f *testing.F) {
	g := quiet(f)
	for _, seed := range []string{"/", "//", "/devices/../users", "/users/reset-password/", "/users/reset-password/a/b", "/devices/%2e%2e", "/docs", "*", "", "/metrics/device/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if path == "/" {
			t.Skip("which responds with plain text")
		}
		g.send(t, "GET", path, "", "")
		g.send(t, "POST", path, "", "{}")
	})
}

// TestPreflight checks that pages may send and read the headers of this API.
func TestPreflight(t *testing.T) {
	t.Parallel()
	origins, err := httpx.NewOrigins(httpx.LocalOrigins())
	ok(t, err)
	g := newHarness(t, &choices{options: func(o *httpapi.Options) { o.Chain = &httpx.StandardOptions{Origins: origins, Log: discard()} }})
	c := httpxtest.New(t, g.api)
	a := c.Send("OPTIONS", "/devices", nil, "Origin", "http://localhost:5173", "Access-Control-Request-Method", "PATCH").Want(204)
	for _, name := range []string{"Authorization", "Idempotency-Key", "If-Match", "If-None-Match"} {
		if !strings.Contains(a.Header().Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("header %s may not be sent", name)
		}
	}
	a = c.Send("GET", "/debug/count", nil, "Origin", "http://localhost:5173").Want(200)
	for _, name := range []string{"ETag", "Location", "Idempotent-Replayed", "Dry-Run", "Retry-After"} {
		if !strings.Contains(a.Header().Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("header %s may not be read", name)
		}
	}
	c.Send("GET", "/devices", nil, "Origin", "https://evil.example").WantError(403, "evil.example")
	c.Send("POST", "/users/login", object{"username": "root", "password": password}, "Sec-Fetch-Site", "cross-site").WantError(403, "cross-site")
}
