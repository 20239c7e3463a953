package apidocs_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
)

// mounted serves the page below a prefix.
func mounted(opts *apidocs.Options) http.Handler {
	docs := http.StripPrefix("/network/docs", apidocs.New(opts))
	mux := http.NewServeMux()
	mux.Handle("/network/docs", docs)
	mux.Handle("/network/docs/", docs)
	return mux
}

func ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(data)
}

// files are the names of what the page loads.
func files(t *testing.T, page string) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+-[0-9a-f]{16}\.[a-z]+)"`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestPage(t *testing.T) {
	t.Parallel()
	h := mounted(&apidocs.Options{Title: `A & "B"`, DocumentURL: "../v1/openapi.json?a=1&b=2"})
	response := ask(h, "GET", "/network/docs/")
	page := body(t, response)
	assert.Equal(t, 200, response.StatusCode)
	assert.Contains(t, page, "<title>A &amp; &#34;B&#34;</title>")
	assert.Contains(t, page, `data-document="../v1/openapi.json?a=1&amp;b=2"`)
	assert.Contains(t, page, `<html lang="en">`)
	assert.NotContains(t, page, "http:")
	assert.NotContains(t, page, "https:")
	assert.NotRegexp(t, `<script>|<style|style=|onload=`, page, "nothing is inline")
	assert.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
	assert.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", response.Header.Get("Content-Security-Policy"))
	assert.Equal(t, strconv.Itoa(len(page)), response.Header.Get("Content-Length"))

	again := ask(h, "GET", "/network/docs/", "If-None-Match", response.Header.Get("Etag"))
	assert.Equal(t, 304, again.StatusCode)
	assert.Empty(t, body(t, again))
	assert.Equal(t, 200, ask(mounted(nil), "GET", "/network/docs/", "If-None-Match", response.Header.Get("Etag")).StatusCode)
}

// The form to log in is there on request, and sends passwords to the page's own origin only.
func TestLoginURL(t *testing.T) {
	t.Parallel()
	assert.NotContains(t, body(t, ask(mounted(nil), "GET", "/network/docs/")), "<form")
	page := body(t, ask(mounted(&apidocs.Options{LoginURL: "../users/login?a=1&b=2"}), "GET", "/network/docs/"))
	assert.Contains(t, page, `data-login="../users/login?a=1&amp;b=2"`)
	assert.NotRegexp(t, `<script>|<style|style=|onsubmit=|action=`, page, "nothing is inline")
	for _, login := range []string{"https://evil.example/login", "//evil.example/login", "javascript:alert(1)", "%zz"} {
		assert.Panics(t, func() { apidocs.New(&apidocs.Options{LoginURL: login}) }, login)
	}
}

// The page loads files that may be kept for good, in either form.
func TestFiles(t *testing.T) {
	t.Parallel()
	h := mounted(nil)
	names := files(t, body(t, ask(h, "GET", "/network/docs/")))
	require.Len(t, names, 5)
	for _, name := range names {
		target := "/network/docs/" + name
		plain, zipped := ask(h, "GET", target), ask(h, "GET", target, "Accept-Encoding", "gzip, br")
		require.Equal(t, []int{200, 200}, []int{plain.StatusCode, zipped.StatusCode}, name)
		assert.Empty(t, plain.Header.Get("Content-Encoding"), name)
		text := body(t, plain)
		assert.Equal(t, strconv.Itoa(len(text)), plain.Header.Get("Content-Length"), name)
		if zipped.Header.Get("Content-Encoding") == "gzip" {
			unzip, err := gzip.NewReader(zipped.Body)
			require.NoError(t, err)
			zipped.Body = unzip
			assert.NotEqual(t, plain.Header.Get("Etag"), zipped.Header.Get("Etag"), name)
			assert.Equal(t, "Accept-Encoding", plain.Header.Get("Vary"), name)
			assert.Equal(t, "Accept-Encoding", zipped.Header.Get("Vary"), name)
		}
		assert.Equal(t, text, body(t, zipped), name)
		for _, response := range []*http.Response{plain, zipped} {
			assert.Equal(t, "public, max-age=31536000, immutable", response.Header.Get("Cache-Control"), name)
			assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"), name)
			again := ask(h, "GET", target, "If-None-Match", response.Header.Get("Etag"))
			assert.Equal(t, 304, again.StatusCode, name)
			assert.Empty(t, body(t, again), name)
		}
		head := ask(h, "HEAD", target)
		assert.Equal(t, plain.Header.Get("Content-Length"), head.Header.Get("Content-Length"), name)
	}
}

// The two large files travel compressed, and no middleware around does it once more.
func TestCompressed(t *testing.T) {
	t.Parallel()
	h := httpx.Gzip(nil)(mounted(nil))
	sum, large := 0, 0
	for _, name := range files(t, body(t, ask(h, "GET", "/network/docs/"))) {
		response := ask(h, "GET", "/network/docs/"+name, "Accept-Encoding", "gzip")
		if response.Header.Get("Content-Encoding") == "gzip" {
			large++
		}
		sum += len(body(t, response))
	}
	assert.GreaterOrEqual(t, large, 2)
	assert.Less(t, sum, 600_000)
}

// Without the slash, the page's relative links would lead astray.
func TestRedirect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(mounted(nil))
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	response, err := client.Get(server.URL + "/network/docs")
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	assert.Equal(t, 200, response.StatusCode)
	assert.Equal(t, "/network/docs/", response.Request.URL.Path)

	h := http.StripPrefix("/evil.example/docs", apidocs.New(nil))
	response = ask(h, "GET", "//evil.example/docs") // a path that looks like a host
	assert.NotContains(t, response.Header.Get("Location"), "evil")
	r := httptest.NewRequest("GET", "/javascript:docs", nil)
	w := httptest.NewRecorder()
	http.StripPrefix("/javascript:docs", apidocs.New(nil)).ServeHTTP(w, r)
	assert.Equal(t, "./javascript:docs/", w.Header().Get("Location"))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	h := mounted(nil)
	for _, target := range []string{"/network/docs/x.js", "/network/docs/x/", "/network/docs/file.go", "/network/docs/assets/init.js", "/network/docs/%2e%2e/file.go"} {
		assert.Equal(t, 404, ask(h, "GET", target).StatusCode, target)
	}
	response := ask(h, "POST", "/network/docs/")
	assert.Equal(t, 405, response.StatusCode)
	assert.Equal(t, "GET, HEAD", response.Header.Get("Allow"))
	assert.JSONEq(t, `{"status":"error","code":"method_not_allowed","message":"Method Not Allowed: use GET or HEAD"}`, body(t, response))
}

// The document may be on another server, and nowhere else.
func TestDocumentURL(t *testing.T) {
	t.Parallel()
	response := ask(mounted(&apidocs.Options{DocumentURL: "https://api.example.org:8443/openapi.json"}), "GET", "/network/docs/")
	assert.Contains(t, response.Header.Get("Content-Security-Policy"), "connect-src 'self' https://api.example.org:8443; ")
	for _, document := range []string{"javascript:alert(1)", "//evil.example/x", "https://a;b/", "https://a b/", "%zz", "data:,{}"} {
		assert.Panics(t, func() { apidocs.New(&apidocs.Options{DocumentURL: document}) }, document)
	}
}
