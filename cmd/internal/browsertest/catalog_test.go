package browsertest_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/catalog"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
)

const catalogMarkup = `<img src=x onerror=alert(1)>`

// startCatalog serves the sample servers of ashlar and 40 made-up ones, under a prefix.
func startCatalog(t *testing.T) string {
	t.Helper()
	sample, err := os.ReadFile("../../ashlar/sample/servers.ndjson")
	require.NoError(t, err)
	entries, _, err := registry.ReadEntries(bytes.NewReader(sample))
	require.NoError(t, err)
	for i := range entries {
		entries[i].Publish(registrytest.Start())
	}
	store := registry.NewMemStore(nil)
	require.NoError(t, store.Mirrored(t.Context(), append(entries, registrytest.Entries(40, 3)...), nil))
	require.NoError(t, store.Publish(t.Context(), registrytest.Entry("com.example/hostile", "1.0.0", catalogMarkup+strings.Repeat("x", 60), registrytest.Start()), registry.Limits{Versions: 1000, Bytes: 64 << 20}))
	_, err = store.SetStatus(t.Context(), "com.example.lab/files", "", &registry.Change{Status: registry.Deprecated, Message: "Use com.example.lab/documents", At: registrytest.Start()})
	require.NoError(t, err)
	pages, err := catalog.New(store, &catalog.Options{Prefix: "/registry", Docs: true})
	require.NoError(t, err)
	h := registry.NewHandler(store, &registry.Options{
		Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}, Docs: apidocs.New(nil), Pages: pages,
	})
	server := httptest.NewServer(http.StripPrefix("/registry", h))
	t.Cleanup(server.Close)
	return server.URL + "/registry"
}

// TestCatalog: the list is searched as one types, leads from page to page, and the page of a server has its
// launch lines and inputs.
func TestCatalog(t *testing.T) {
	t.Parallel()
	url := startCatalog(t)
	looks := (&consoleServer{t: t}).looks
	page := Open(t, url+"/", nil)
	page.AwaitText("main", "Tickets")
	looks(page, "catalog-list")
	page.Submit(`a[rel=next]`)
	page.AwaitText("main", "First page")
	page.AwaitText("main", catalogMarkup)
	page.Type("#catalog-q", "Files below")
	page.AwaitText("#servers", "1 server")
	page.AwaitText("#servers", "deprecated")
	page.Submit("#servers h2 a")
	page.AwaitText("main", "This version is deprecated: Use com.example.lab/documents")
	page.AwaitText("#launch-0", "uvx --from example-files==0.9.1 example-files /path/to/directory")
	page.AwaitText("#launch-1", "docker run -i --rm docker.io/example/files:0.9.1")
	looks(page, "catalog-packages")
	page.Goto(url + "/server?name=com.example.desk/tickets")
	page.AwaitText("main", "https://{tenant}.tickets.example.com/mcp")
	looks(page, "catalog-remote")
	page.Goto(url + "/server?name=com.example/weather")
	page.AwaitText(".catalog-versions", "1.4.2")
	page.AwaitText("main", "WEATHER_API_KEY")
	page.Click(`button[data-copy-from="#launch-0"]`)
	page.Await("#toasts p")
	looks(page, "catalog-server")
	page.Submit(`.catalog-versions li:nth-child(1) a`)
	page.Goto(url + "/?q=nothing-like-this")
	page.AwaitText("main", "No server matches")
	looks(page, "catalog-empty")
	page.Goto(url + "/docs/")
	page.AwaitText("body", "/servers")
}
