package browsertest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
)

// gallery serves the page with all components.
func gallery(t *testing.T) string {
	t.Helper()
	kit, err := ui.New(nil)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", httpx.HandlerFunc(kit.Gallery))
	mux.Handle("GET /assets/", kit.Assets())
	mux.HandleFunc("POST /theme", kit.SetTheme)
	server := httptest.NewServer(httpx.Standard(&httpx.StandardOptions{RenderError: kit.RenderError})(kit.Protect(mux)))
	t.Cleanup(server.Close)
	return server.URL
}

// TestGallery: all components are accessible in light and dark, wide and narrow.
func TestGallery(t *testing.T) {
	t.Parallel()
	(&consoleServer{t: t}).looks(Open(t, gallery(t), nil), "gallery")
}

// TestTheme: a chosen theme counts more than that of the system, on every page from then on.
func TestTheme(t *testing.T) {
	t.Parallel()
	page := Open(t, gallery(t), nil)
	page.Click(`summary[aria-label="Theme"]`)
	page.Submit(`button[value="dark"]`)
	page.Await(`html[data-theme="dark"]`)
	var colour string
	page.Eval(`getComputedStyle(document.body).backgroundColor`, &colour)
	require.Equal(t, "rgb(18, 21, 23)", colour)
	page.Silent()
}
