package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

// A handler that decides itself responds as the middleware does.
func TestRespond(t *testing.T) {
	for _, opts := range []*httplimit.Options{
		nil,
		{Headers: httplimit.XRateLimitHeaders, ResetTime: true},
		{Headers: httplimit.StructuredHeaders},
		{Headers: httplimit.NoHeaders, Denied: http.NotFoundHandler()},
	} {
		f, g, h := newFixture(), newFixture(), newFixture()
		middleware := f.perKey(t, 1, opts)
		limiter := g.limiter(t, ratelimit.Per(1, ratelimit.Minute))
		byStatus := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, err := limiter.Allow(r.Context(), "key")
			if err != nil {
				t.Error(err)
			}
			if httplimit.Respond(w, r, status, opts) {
				g.handler().ServeHTTP(w, r)
			}
		})
		engine := h.engine(t, nil, ratelimit.Rule{Key: "path", Limit: perMinute(1)})
		byDecision := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d, err := engine.Decide(r.Context(), &ratelimit.Request{
				Domain: "api", Descriptors: []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "path", Value: "/"}}}},
			})
			if err != nil {
				t.Error(err)
			}
			if httplimit.RespondDecision(w, r, d, opts) {
				h.handler().ServeHTTP(w, r)
			}
		})
		for range 2 {
			want := get(middleware)
			for name, handler := range map[string]http.Handler{"Respond": byStatus, "RespondDecision": byDecision} {
				got := get(handler)
				for key := range want.Header() {
					if key != "X-Ratelimit-Reset" && got.Header().Get(key) != want.Header().Get(key) { // a time that passes
						t.Errorf("%s: %s is %q, want %q", name, key, got.Header().Get(key), want.Header().Get(key))
					}
				}
				if got.Code != want.Code || got.Body.String() != want.Body.String() || len(got.Header()) != len(want.Header()) {
					t.Errorf("%s: %d %v %s, want %d %v %s", name, got.Code, got.Header(), got.Body, want.Code, want.Header(), want.Body)
				}
			}
		}
		if f.calls != 1 || g.calls != 1 || h.calls != 1 {
			t.Errorf("handlers ran %d, %d and %d times, want once", f.calls, g.calls, h.calls)
		}
	}
}

// The Status beside an error, and options that are invalid, let nothing pass.
func TestRespondWithoutADecision(t *testing.T) {
	defaultLog(t)
	for status, opts := range map[int]*httplimit.Options{
		http.StatusServiceUnavailable: nil, http.StatusInternalServerError: {Headers: 9},
	} {
		w := httptest.NewRecorder()
		if httplimit.Respond(w, httptest.NewRequest("GET", "/", nil), ratelimit.Status{}, opts) || w.Code != status {
			t.Errorf("the request may go on, or its status is %d, want %d", w.Code, status)
		}
	}
}

// Pages can read every header about limits, in every style.
func TestHeadersAreExposedToPages(t *testing.T) {
	origins, err := httpx.NewOrigins([]string{"https://app.example"})
	if err != nil {
		t.Fatal(err)
	}
	for style := httplimit.RateLimitHeaders; style <= httplimit.StructuredHeaders; style++ {
		h := origins.CORS(newFixture().perKey(t, 0, &httplimit.Options{Headers: style}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Origin", "https://app.example")
		w := serve(h, r)
		wantStatus(t, w, http.StatusTooManyRequests)
		exposed := strings.Split(strings.ToLower(w.Header().Get("Access-Control-Expose-Headers")), ", ")
		for name := range w.Header() {
			name = strings.ToLower(name)
			if (strings.Contains(name, "ratelimit") || name == "retry-after") && !slices.Contains(exposed, name) {
				t.Errorf("style %d sends %s, which pages can't read", style, name)
			}
		}
	}
}

// item is an item of a list of structured fields.
type item struct {
	name   string
	params map[string]string
}

// parseList parses a list of strings with parameters (RFC 9651, 4.2.1).
func parseList(t *testing.T, w *httptest.ResponseRecorder, header string) (items []item) {
	t.Helper()
	values := w.Result().Header.Values(header)
	if len(values) != 1 {
		t.Fatalf("%s: %q, want one", header, values)
	}
	rest := values[0]
	fail := func(what string) { t.Fatalf("%s: %q: %s before %q", header, values[0], what, rest) }
	text := func() string {
		var b strings.Builder
		for rest = rest[1:]; rest != "" && rest[0] != '"'; rest = rest[1:] {
			if rest[0] == '\\' {
				if rest = rest[1:]; rest == "" || rest[0] != '"' && rest[0] != '\\' {
					fail("bad escape")
				}
			}
			if rest[0] < 0x20 || rest[0] > 0x7e {
				fail("bad byte")
			}
			b.WriteByte(rest[0])
		}
		if rest == "" {
			fail("no closing quote")
		}
		rest = rest[1:]
		return b.String()
	}
	for {
		if rest == "" || rest[0] != '"' {
			fail("no string")
		}
		i := item{name: text(), params: make(map[string]string)}
		for strings.HasPrefix(rest, ";") {
			key, after, ok := strings.Cut(rest[1:], "=")
			if rest = after; !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz") != "" {
				fail("bad parameter")
			}
			if strings.HasPrefix(rest, `"`) {
				i.params[key] = text()
				continue
			}
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			if i.params[key], rest = digits, rest[len(digits):]; digits == "" || len(digits) > 15 {
				fail("bad integer")
			}
		}
		items = append(items, i)
		if rest == "" {
			return items
		}
		trimmed := strings.TrimLeft(rest, " ")
		if rest = strings.TrimLeft(strings.TrimPrefix(trimmed, ","), " "); !strings.HasPrefix(trimmed, ",") {
			fail("no comma")
		}
	}
}

func wantItems(t *testing.T, got []item, want ...item) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d items %v, want %v", len(got), got, want)
	}
	for i := range want {
		if got[i].name != want[i].name {
			t.Errorf("item %d is %q, want %q", i, got[i].name, want[i].name)
		}
		for key, value := range want[i].params {
			if got[i].params[key] != value {
				t.Errorf("item %q: %s is %q, want %q", want[i].name, key, got[i].params[key], value)
			}
		}
		if len(got[i].params) != len(want[i].params) {
			t.Errorf("item %q: parameters %v, want %v", want[i].name, got[i].params, want[i].params)
		}
	}
}

// RateLimit-Policy and RateLimit have an item for each limit. Limits that differ have different names;
// those that agree are one policy, with the tightest state.
func TestStructuredHeaders(t *testing.T) {
	type params = map[string]string
	f := newFixture()
	named := func(l *ratelimit.Limit, name string) *ratelimit.Limit { l.Name = name; return l }
	engine := f.engine(t, nil,
		ratelimit.Rule{Key: "a", Limit: named(perMinute(5), "burst")},
		ratelimit.Rule{Key: "b", Limit: perHour(2)},
		ratelimit.Rule{Key: "c", Limit: named(perHour(9), "burst")}, ratelimit.Rule{Key: "c", Value: "free"},
		ratelimit.Rule{Key: "d", Limit: &ratelimit.Limit{RequestsPerUnit: 7, Unit: ratelimit.Minute, UnitMultiplier: 15}},
	)
	h := httplimit.PerRequest(engine, "api", func(_ *http.Request, d *httplimit.Descriptors) {
		for _, e := range []ratelimit.Entry{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "c", Value: "free"}, {Key: "d"}, {Key: "a", Value: "other"}} {
			d.Add(e)
		}
		d.Add(ratelimit.Entry{Key: "a", Value: "other"})
	}, &httplimit.Options{Headers: httplimit.StructuredHeaders, ResetTime: true})(f.handler())
	w := get(h)
	wantStatus(t, w, http.StatusOK)
	wantHeaders(t, w, map[string]string{"RateLimit-Limit": "", "Retry-After": ""})
	wantItems(t, parseList(t, w, "RateLimit-Policy"),
		item{"burst", params{"q": "5", "w": "60"}}, item{"2-per-3600s", params{"q": "2", "w": "3600"}},
		item{"burst-9-per-3600s", params{"q": "9", "w": "3600"}}, item{"7-per-900s", params{"q": "7", "w": "900"}})
	wantItems(t, parseList(t, w, "RateLimit"),
		item{"burst", params{"r": "3", "t": "40"}}, item{"2-per-3600s", params{"r": "1", "t": "2800"}},
		item{"burst-9-per-3600s", params{"r": "8", "t": "2800"}}, item{"7-per-900s", params{"r": "6", "t": "100"}})
	get(h)
	w = get(h)
	wantStatus(t, w, http.StatusTooManyRequests)
	wantHeaders(t, w, map[string]string{"Retry-After": "2800"})
	if got := parseList(t, w, "RateLimit")[1].params; got["r"] != "0" || got["t"] != "2800" {
		t.Errorf("the limit that is over: %v, want nothing left for 2800 s", got)
	}
}

// Names are quoted so that any parser reads them, and different ones stay apart.
func TestStructuredNames(t *testing.T) {
	seen := make(map[string]bool)
	for name, want := range map[string]string{
		`a "b" \c`: `a "b" \c`, "a,b;q=1": "a,b;q=1", "é": "%c3%a9", "a\r\nSet-Cookie: x": "a%0d%0aSet-Cookie: x", "%c3%a9": "%25c3%25a9", "\xff\x7f": "%ff%7f",
	} {
		w := httptest.NewRecorder()
		status := ratelimit.Status{Code: ratelimit.OK, Limited: true, Name: name, RequestsPerUnit: 1, Unit: ratelimit.Second}
		httplimit.Respond(w, httptest.NewRequest("GET", "/", nil), status, &httplimit.Options{Headers: httplimit.StructuredHeaders})
		for _, header := range []string{"RateLimit", "RateLimit-Policy"} {
			if got := parseList(t, w, header)[0].name; got != want {
				t.Errorf("%s of %q: name %q, want %q", header, name, got, want)
			}
		}
		seen[want] = true
	}
	if len(seen) != 6 {
		t.Error("names collide")
	}
}

// Permits have no window.
func TestStructuredConcurrency(t *testing.T) {
	w := httptest.NewRecorder()
	status := ratelimit.Status{Code: ratelimit.OverLimit, Limited: true, RequestsPerUnit: 4, Unit: ratelimit.Hour, Algorithm: ratelimit.Concurrency, RetrySeconds: 1}
	httplimit.Respond(w, httptest.NewRequest("GET", "/", nil), status, &httplimit.Options{Headers: httplimit.StructuredHeaders})
	wantItems(t, parseList(t, w, "RateLimit-Policy"), item{"4-at-once", map[string]string{"q": "4", "qu": "concurrent-requests"}})
	wantItems(t, parseList(t, w, "RateLimit"), item{"4-at-once", map[string]string{"r": "0", "t": "1"}})
}
