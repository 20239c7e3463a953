package httpx_test

import (
	"net/http"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

func TestIfMatch(t *testing.T) {
	t.Parallel()
	tag := httpx.VersionTag("id", 3)
	for match, ok := range map[string]bool{
		`"id.3"`:              true,
		`"id.3-gzip"`:         true,
		`*`:                   true,
		`"x", "id.3"`:         true,
		`"with,comma","id.3"`: true,
		`"id.2"`:              false,
		`W/"id.3"`:            false, // only strong ones compare strongly
		`id.3`:                false,
		`"id.3`:               false,
		``:                    false,
		`nonsense, "id.3"`:    false,
	} {
		err := httpx.IfMatch(request("PUT", "/", "", "If-Match", match), tag)
		if (err == nil) != ok {
			t.Errorf("If-Match: %s gives %v", match, err)
		}
		if err != nil {
			errorOf(t, serve(failing(err), request("PUT", "/", "")), 412)
		}
	}
	if err := httpx.IfMatch(request("PUT", "/", ""), tag); err != nil {
		t.Errorf("no If-Match: %v", err)
	}
}

func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		header, tag string
		ok          bool
	}{
		{`*`, `"1"`, false},
		{`*`, ``, true},
		{`"1"`, `"1"`, false},
		{`"2"`, `"1"`, true},
		{``, `"1"`, true},
	} {
		err := httpx.IfNoneMatch(request("PUT", "/", "", "If-None-Match", tc.header), tc.tag)
		if (err == nil) != tc.ok {
			t.Errorf("If-None-Match: %s with the tag %s gives %v", tc.header, tc.tag, err)
		}
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	h := httpx.Gzip(nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		httpx.SetTag(w, `"3"`)
		if !httpx.NotModified(w, r, `"3"`) {
			_, _ = w.Write([]byte(large))
		}
	}))
	for _, tc := range []struct {
		method, header, accept string
		status                 int
		tag                    string
	}{
		{"GET", ``, "gzip", 200, `"3-gzip"`},
		{"GET", `"3-gzip"`, "gzip", 304, `"3-gzip"`},
		{"GET", `"3"`, "gzip", 304, `"3"`},
		{"GET", `W/"3"`, "", 304, `"3"`},
		{"GET", `"2", *`, "", 304, `"3"`},
		{"HEAD", `"3"`, "", 304, `"3"`},
		{"GET", `"2"`, "", 200, `"3"`},
		{"POST", `"3"`, "", 200, `"3"`},
	} {
		w := serve(h, request(tc.method, "/", "", "If-None-Match", tc.header, "Accept-Encoding", tc.accept))
		if w.Code != tc.status || w.Header().Get("Etag") != tc.tag || tc.status == 304 && w.Body.Len() > 0 {
			t.Errorf("%s with %s: %d, tag %s; want %d, %s", tc.method, tc.header, w.Code, w.Header().Get("Etag"), tc.status, tc.tag)
		}
		want(t, w.Header(), "Cache-Control", "private, no-cache")
		want(t, w.Header(), "Vary", "Accept-Encoding")
	}
}

// TestNotModifiedWeakly checks that a weak tag stays one: 304 has the tag that 200 would have.
func TestNotModifiedWeakly(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpx.SetTag(w, `W/"3"`)
		httpx.NotModified(w, r, `W/"3"`)
	})
	for _, header := range []string{`W/"3"`, `"3"`, `*`} {
		w := serve(h, request("GET", "/", "", "If-None-Match", header))
		if w.Code != 304 {
			t.Errorf("If-None-Match: %s: %d, want 304", header, w.Code)
		}
		want(t, w.Header(), "Etag", `W/"3"`)
	}
}

func FuzzTags(f *testing.F) {
	f.Add(`"a", W/"b", *`)
	f.Add(`W/`)
	f.Fuzz(func(t *testing.T, header string) {
		// A tag that is sent alone is found, whatever came before it in another line.
		r := request("PUT", "/", "", "If-Match", header, "If-Match", `"own"`)
		if err := httpx.IfMatch(r, `"own"`); err != nil {
			t.Error(err)
		}
	})
}
