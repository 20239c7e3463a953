package catalog_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/catalog"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
)

// get returns the status and the page of a path.
func get(t *testing.T, store *registry.MemStore, target string) (int, string) {
	t.Helper()
	pages, err := catalog.New(store, nil)
	require.NoError(t, err)
	h := registry.NewHandler(store, &registry.Options{Pages: pages, Chain: &httpx.StandardOptions{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w.Code, w.Body.String()
}

// TestHostile: what a manifest says is text, its links are https or none, and the line to copy is one command.
func TestHostile(t *testing.T) {
	t.Parallel()
	const markup = `</pre><script>alert(1)</script><img src=x onerror=alert(1)>`
	store := registry.NewMemStore(nil)
	e, err := registry.NewEntry(fmt.Appendf(nil, `{"name":"a.b/c%[1]s","title":%[2]q,"description":%[2]q,"version":"1.0.0&x=%[1]s","websiteUrl":"javascript:alert(1)",
		"repository":{"url":"http://example.com/\"onclick=alert(1)","source":%[2]q},
		"packages":[{"registryType":"npm","identifier":"x","version":"1","transport":{"type":"stdio"},"packageArguments":[
			{"type":"positional","value":"$(touch hacked); 'x' %[1]s"},{"type":"positional","valueHint":"file","isRequired":true}]},
			{"registryType":"npm","identifier":"y","version":"1","transport":{"type":"stdio"},"packageArguments":[{"type":"positional","value":"a\u202eb"}]},
			{"registryType":%[2]q,"identifier":%[2]q,"transport":{"type":"stdio"}}],
		"remotes":[{"type":"sse","url":"https://example.com/%[1]s"}]}`, markup, markup))
	require.NoError(t, err)
	require.NoError(t, store.Publish(t.Context(), e, registry.Limits{Versions: 1000, Bytes: 64 << 20}))
	for _, target := range []string{"/", "/?q=%3Cscript%3E", "/server?name=" + strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20", "=", "%3D", "/", "%2F", "(", "%28").Replace(e.Name), "/server?name=%3Cscript%3Ealert(1)"} {
		_, page := get(t, store, target)
		assert.NotContains(t, page, "<script>alert", target)
		assert.NotContains(t, page, "<img", target)
		assert.NotContains(t, strings.ToLower(page), `href="javascript`, target)
		assert.NotContains(t, page, `href="http://example`, target)
	}
	status, page := get(t, store, "/server?name="+strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20", "=", "%3D", "/", "%2F", "(", "%28").Replace(e.Name))
	require.Equal(t, 200, status)
	assert.Contains(t, page, "invisible ones")
	line := regexp.MustCompile(`(?s)<pre id="launch-0"[^>]*>(.*?)</pre>`).FindStringSubmatch(page)
	require.NotNil(t, line)
	shell := strings.NewReplacer("&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`, "npx", "printf '%s|'").Replace(line[1])
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", shell).CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, `-y|x@1|$(touch hacked); 'x' `+markup+`|YOUR_FILE|`, string(out), shell)
}

// TestPages: lists have all servers, search finds them, and other requests get a page that says why.
func TestPages(t *testing.T) {
	t.Parallel()
	store := registry.NewMemStore(nil)
	require.NoError(t, store.Mirrored(t.Context(), registrytest.Entries(70, 2), nil))
	seen, target := map[string]bool{}, "/"
	for range 5 {
		_, page := get(t, store, target)
		for _, name := range regexp.MustCompile(`/server\?name=([^"]+)"`).FindAllStringSubmatch(page, -1) {
			seen[name[1]] = true
		}
		next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)
		if next == nil {
			break
		}
		target = strings.ReplaceAll(next[1], "&amp;", "&")
	}
	require.Len(t, seen, 70)
	_, page := get(t, store, "/?q=harbour")
	require.Equal(t, 1, strings.Count(page, "data-row"))
	_, page = get(t, store, "/?q=nothing-like-this")
	require.Contains(t, page, "No server matches")
	for target, want := range map[string]int{"/?cursor=x": 400, "/?q=" + strings.Repeat("x", 101): 422, "/server": 404, "/server?name=a%2Fb": 404, "/nothing": 404} {
		status, page := get(t, store, target)
		assert.Equal(t, want, status, target)
		assert.Contains(t, page, "<html", target)
	}
}

// TestBesideAPI: unknown paths and methods of the API get its errors, not pages.
func TestBesideAPI(t *testing.T) {
	t.Parallel()
	store := registry.NewMemStore(nil)
	pages, err := catalog.New(store, nil)
	require.NoError(t, err)
	h := registry.NewHandler(store, &registry.Options{Pages: pages})
	for _, c := range []struct {
		method, path, contentType, allow string
		status                           int
	}{
		{"GET", "/v0.1/nowhere", "application/problem+json", "", 404},
		{"GET", "/v0/nowhere", "application/problem+json", "", 404},
		{"PUT", "/v0.1/servers", "application/problem+json", "GET, HEAD", 405},
		{"GET", "/servers", "application/problem+json", "", 404},
		{"GET", "/servers/a.b%2Fc/versions", "application/problem+json", "", 404},
		{"POST", "/publish", "application/problem+json", "", 404},
		{"GET", "/v0.1", "application/problem+json", "", 404},
		{"GET", "/nowhere", "text/html; charset=utf-8", "", 404},
		{"GET", "/", "text/html; charset=utf-8", "", 200},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, http.NoBody))
		assert.Equal(t, c.status, w.Code, c.path)
		assert.Equal(t, c.contentType, w.Header().Get("Content-Type"), c.path)
		assert.Equal(t, c.allow, w.Header().Get("Allow"), c.path)
		if c.status == 404 && c.contentType == "application/problem+json" {
			assert.Contains(t, w.Body.String(), "/v0.1/", c.path)
		}
	}
}
