package httplimit_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

var (
	plainNames = [3]string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
	xNames     = [3]string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
)

func TestHeaderStyles(t *testing.T) {
	for _, tt := range []struct {
		name       string
		opts       *httplimit.Options
		with, none [][3]string
	}{
		{"nil options", nil, [][3]string{plainNames}, [][3]string{xNames}},
		{"default", &httplimit.Options{}, [][3]string{plainNames}, [][3]string{xNames}},
		{"X", &httplimit.Options{Headers: httplimit.XRateLimitHeaders}, [][3]string{xNames}, [][3]string{plainNames}},
		{"none", &httplimit.Options{Headers: httplimit.NoHeaders}, nil, [][3]string{plainNames, xNames}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture()
			h := f.perKey(t, 2, tt.opts)
			for _, remaining := range []string{"1", "0", "0"} {
				w := get(h)
				for _, names := range tt.with {
					wantHeaders(t, w, map[string]string{names[0]: "2", names[1]: remaining, names[2]: "40"})
				}
				for _, names := range tt.none {
					wantHeaders(t, w, map[string]string{names[0]: "", names[1]: "", names[2]: ""})
				}
			}
			if w := get(h); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "40" {
				t.Errorf("status %d with Retry-After %q, want 429 and 40 in every style", w.Code, w.Header().Get("Retry-After"))
			}
		})
	}
}

func TestResetTime(t *testing.T) {
	f := newFixture()
	h := f.perKey(t, 2, &httplimit.Options{ResetTime: true, Now: func() time.Time { return f.now }})
	wantHeaders(t, get(h), map[string]string{"RateLimit-Limit": "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "1700000040"})
}

func TestLargestNumbers(t *testing.T) {
	f := newFixture()
	f.now = time.Unix(0, 0)
	l := f.limiter(t, ratelimit.Per(4294967295, ratelimit.Year))
	h := httplimit.PerKey(l, httplimit.RemoteHost, nil)(f.handler())
	wantHeaders(t, get(h), map[string]string{
		plainNames[0]: "4294967295", plainNames[1]: "4294967294", plainNames[2]: "31536000",
	})
}

func TestRefusal(t *testing.T) {
	f := newFixture()
	h := f.perKey(t, 1, nil)
	w := get(h)
	wantStatus(t, w, http.StatusOK)
	wantHeaders(t, w, map[string]string{"Retry-After": ""})

	w = get(h)
	wantStatus(t, w, http.StatusTooManyRequests)
	wantHeaders(t, w, map[string]string{
		"Retry-After": "40", "Content-Type": "application/json",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	})
	wantBody(t, w, "too many requests: try again in 40 s")
	if f.calls != 1 {
		t.Errorf("the handler was called %d times, want 1: refused requests must not reach it", f.calls)
	}
}

func wantBody(t testing.TB, w *httptest.ResponseRecorder, message string) {
	t.Helper()
	var body map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if len(body) != 2 || body["status"] != "error" || body["message"] != message {
		t.Errorf("body %v, want status error and message %q", body, message)
	}
}

func TestWindowTurns(t *testing.T) {
	f := newFixture()
	h := f.perKey(t, 1, nil)
	get(h)
	f.now = start.Add(40*time.Second - 1)
	w := get(h)
	wantStatus(t, w, http.StatusTooManyRequests)
	wantHeaders(t, w, map[string]string{"Retry-After": "1", "RateLimit-Reset": "1"})
	f.now = start.Add(40 * time.Second)
	w = get(h)
	wantStatus(t, w, http.StatusOK)
	wantHeaders(t, w, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "60"})
}

func TestKeysAreCountedApart(t *testing.T) {
	f := newFixture()
	h := f.perKey(t, 1, nil)
	for i, addr := range []string{"192.0.2.1:1000", "192.0.2.1:2000", "192.0.2.2:1000"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = addr
		wantStatus(t, serve(h, r), []int{200, 429, 200}[i])
	}
}

func TestEmptyKeyIsNotLimited(t *testing.T) {
	f := newFixture()
	l := f.limiter(t, ratelimit.Per(0, ratelimit.Minute))
	h := httplimit.PerKey(l, func(*http.Request) string { return "" }, nil)(f.handler())
	for range 3 {
		w := get(h)
		wantStatus(t, w, http.StatusOK)
		wantHeaders(t, w, map[string]string{"RateLimit-Limit": "", "Retry-After": ""})
	}
	if len(f.store.counts) != 0 {
		t.Errorf("counted %v", f.store.counts)
	}
}

func TestUnlimitedHasNoHeaders(t *testing.T) {
	f := newFixture()
	l := f.limiter(t, ratelimit.Limit{Unlimited: true})
	w := get(httplimit.PerKey(l, httplimit.RemoteHost, nil)(f.handler()))
	wantStatus(t, w, http.StatusOK)
	wantHeaders(t, w, map[string]string{"RateLimit-Limit": "", "RateLimit-Remaining": "", "RateLimit-Reset": ""})
}

func TestLongKeysAreShortened(t *testing.T) {
	f := newFixture()
	h := httplimit.PerKey(f.limiter(t, ratelimit.Per(1, ratelimit.Minute)), httplimit.Header("X-Key"), nil)(f.handler())
	long := strings.Repeat("k", 1<<20)
	for i, key := range []string{long, long, long + "1", long[:256], long[:257]} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Key", key)
		wantStatus(t, serve(h, r), []int{200, 429, 200, 200, 200}[i])
	}
	for counter := range f.store.counts {
		if len(counter) > 300 {
			t.Errorf("a counter's name has %d bytes", len(counter))
		}
	}
	if len(f.store.counts) != 4 {
		t.Errorf("%d counters, want 4: long keys must stay apart", len(f.store.counts))
	}
}
