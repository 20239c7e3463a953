package browsertest_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// byProxy trusts the headers that a proxy sets.
type byProxy struct{}

func (byProxy) Authenticate(r *http.Request) (*auth.Identity, error) {
	if r.Header.Get("X-User") == "" {
		return nil, auth.Unauthorized(auth.TokenMissing, "")
	}
	return &auth.Identity{UserID: r.Header.Get("X-User"), Username: r.Header.Get("X-User"), Role: auth.Role(r.Header.Get("X-Role"))}, nil
}

// TestConsoleBehindProxy: the console works for the users of a program whose proxy sends their name in a header, without
// a page to sign in: pages, forms, rights and changes as they happen. Forms of other pages are refused.
func TestConsoleBehindProxy(t *testing.T) {
	t.Parallel()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	api, err := httpapi.New(engine, byProxy{}, &httpapi.Options{Features: standard.Features()})
	require.NoError(t, err)
	t.Cleanup(api.EndStreams)
	pages, err := console.New(api, &console.Options{Prefix: "/network"})
	require.NoError(t, err)
	mounted := http.StripPrefix("/network", pages)
	proxy := func(user, role string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-User", user)
			r.Header.Set("X-Role", role)
			mounted.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		return server.URL + "/network"
	}

	at := proxy("jane", "admin")
	page := Open(t, at+"/", nil)
	page.AwaitText(".menu-name", "jane")
	page.Goto(at + "/r/locations/new")
	page.Type("#f-name", "Berlin 1")
	page.Submit(mainButton)
	page.AwaitText("main", "Created.")
	page.AwaitText("#record-history", "jane")
	page.Goto(at + "/r/locations")
	page.AwaitText("main", "Berlin 1")
	page.Await(`[data-live-state="open"]`)
	require.NoError(t, engine.Create(t.Context(), records.Caller{Name: "joe"}, &inventory.Location{Name: "Vienna"}))
	page.AwaitText("main", "Vienna")
	(&consoleServer{t: t}).looks(page, "proxy")
	page.Silent()

	other := proxy("vic", "viewer")
	page = Open(t, other+"/r/locations", nil)
	page.AwaitText(".menu-name", "vic")
	page.AwaitText("main", "Berlin 1")
	require.NotContains(t, page.HTML(), "/r/locations/new")
	page.Silent()

	for _, address := range []string{at, proxy("", "")} {
		w, err := http.PostForm(address+"/r/locations/new", url.Values{"name": {"forged"}})
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, w.StatusCode, "without the token of a page")
		require.NoError(t, w.Body.Close())
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/r/locations", nil))
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.True(t, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), w.Header())
}

// TestConsoleOfContracts: the console of the example inventory-contracts works for the users and roles of the program, who
// send a password with each request.
func TestConsoleOfContracts(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "inventory-contracts")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.FromSlash("../../../examples/inventory-contracts")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	process := servertest.Start(t, program, func(port string) []string { return []string{"-addr", "127.0.0.1:" + port} }, func(_ context.Context, addr string) error {
		l, err := net.Dial("tcp", addr)
		if err == nil {
			err = l.Close()
		}
		return err
	})
	at := "http://" + process.Addr + "/console"
	signIn := func(user, key string) *Page {
		page := Open(t, "http://"+user+":"+key+"@"+process.Addr+"/console/", nil)
		page.AwaitText(".menu-name", user)
		return page
	}
	page := signIn("jane", "secret")
	page.Goto(at + "/r/devices/new")
	page.Type("#f-hostname", "core-1")
	page.Type("#f-cost_centre", "4711")
	page.Submit(mainButton)
	page.AwaitText("main", "Created.")
	page.AwaitText("main", "4711")
	page.AwaitText("main", "Warranties")
	page.Silent()
	page = signIn("joe", "ledger")
	page.Goto(at + "/r/devices?cost_centre=4711")
	page.AwaitText("main", "core-1")
	require.NotContains(t, page.HTML(), "/r/devices/new")
	require.NotContains(t, page.HTML(), "/r/warranties")
	page.Silent()
}
