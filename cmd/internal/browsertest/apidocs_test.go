package browsertest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// document returns the OpenAPI document of a small API.
func document(t *testing.T) []byte {
	t.Helper()
	r := records.Of[inventory.Location](inventory.Schema())
	page, parts := openapi.PageOrPart(r)
	doc, err := openapi.Document(openapi.Info{Title: "Small network", Version: "1.0.0"}, []openapi.Operation{
		{
			Method: "GET", Path: "/locations", ID: "listLocations", Tag: "locations", Summary: "List locations", List: r,
			Access:    "Everyone with a token.",
			Responses: []openapi.Response{{Status: 200, Schema: page}, {Status: 200, Schema: parts, ContentType: openapi.PartType}},
		},
		{
			Method: "POST", Path: "/locations", ID: "createLocation", Tag: "locations", Summary: "Add a location",
			Access: "Admins.", Body: openapi.OneOf("LocationInput", openapi.Draft(r), openapi.Array(openapi.Draft(r), 1, 1000).Named("LocationDrafts")),
			Responses: []openapi.Response{{Status: 201, Schema: openapi.Record(r)}},
		},
		{
			Method: "GET", Path: "/count", ID: "count", Tag: "system", Summary: "Count them", Public: true,
			Access: "Everyone.", Responses: []openapi.Response{{Status: 200, Schema: openapi.Object("Count", openapi.Required("count", openapi.Integer("", 0)))}},
		},
	})
	require.NoError(t, err)
	return doc
}

// startNetwork serves the API and its documentation below a prefix, with the middleware of the servers.
func startNetwork(t *testing.T) string {
	t.Helper()
	doc := document(t)
	docs := http.StripPrefix("/network/docs", apidocs.New(&apidocs.Options{Title: "Network: API", LoginURL: "../users/login"}))
	mux := http.NewServeMux()
	mux.Handle("/network/docs", docs)
	mux.Handle("/network/docs/", docs)
	mux.HandleFunc("GET /network/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
	})
	mux.HandleFunc("GET /network/locations", func(w http.ResponseWriter, r *http.Request) {
		_ = httpx.WriteJSON(w, http.StatusOK, r.FormValue("limit")+" of 20 for "+r.Header.Get("Authorization"))
	})
	mux.Handle("POST /network/users/login", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		sent, err := io.ReadAll(r.Body)
		if string(sent) != `{"username":"jane","password":"a \"good\" one"}` {
			return errors.Join(httpx.Errorf(http.StatusUnauthorized, "Invalid credentials"), err)
		}
		http.SetCookie(w, &http.Cookie{Name: "Bearer", Value: "x", Path: "/"})
		return httpx.WriteJSON(w, http.StatusOK, map[string]string{"token": "t.o.k"})
	}))
	mux.HandleFunc("GET /network/count", func(w http.ResponseWriter, r *http.Request) {
		_ = httpx.WriteJSON(w, http.StatusOK, map[string]any{"status": "success", "count": 4711})
	})
	server := httptest.NewServer(httpx.Chain(httpx.SecurityHeaders(nil), httpx.Gzip(nil))(mux))
	t.Cleanup(server.Close)
	return server.URL + "/network"
}

// TestAPIPage checks that the documentation below a prefix shows all operations and parameters,
// can try out an operation, and causes neither errors nor requests to other origins.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	base := startNetwork(t)
	page := Open(t, base+"/docs", nil) // redirects to the path with a slash
	page.AwaitText("h2.title, h1.title", "Small network")
	assert.Equal(t, base+"/docs/", page.Address())
	var title, lang string
	page.Eval("document.title", &title)
	page.Eval("document.documentElement.lang", &lang)
	assert.Equal(t, [2]string{"Network: API", "en"}, [2]string{title, lang})
	for _, want := range []string{"List locations", "Add a location", "Count them", "/locations", "/count"} {
		page.AwaitText("#docs", want)
	}

	assert.NotContains(t, page.Text("#docs"), "Warning")
	page.Click("#operations-locations-listLocations .opblock-summary-control")
	page.AwaitText("#operations-locations-listLocations", "__startswith")
	page.Click("#operations-locations-listLocations .try-out__btn")
	page.Click("#operations-locations-listLocations .execute")
	page.AwaitText("#operations-locations-listLocations .live-responses-table", "10 of 20")
	assert.Contains(t, page.Requests(), base+"/locations?page=1&limit=10", "no made-up filters are sent")
	page.Click("#operations-locations-createLocation .opblock-summary-control")
	page.AwaitText("#operations-locations-createLocation", "site_code")
	page.Click("#operations-system-count .opblock-summary-control")
	page.Click("#operations-system-count .try-out__btn")
	page.Click("#operations-system-count .execute")
	page.AwaitText("#operations-system-count .live-responses-table", "4711")
	page.Click(".auth-wrapper .authorize")
	page.AwaitText(".dialog-ux", "bearer")
	page.Silent()
	assert.Contains(t, page.Requests(), base+"/count")
}

// TestAPIPageLogin checks that the form to log in says why it fails, that the requests of the page then
// send the token, and that the page follows the colours of the system.
func TestAPIPageLogin(t *testing.T) {
	t.Parallel()
	page := Open(t, startNetwork(t)+"/docs/", &Options{Dark: true})
	page.AwaitText("#docs", "List locations")
	ground := func() (color string) {
		page.Eval("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector('.swagger-ui')).color", &color)
		return color
	}
	dark := ground()
	page.Keep("apidocs-dark")
	page.Type("#login [name=username]", "jane")
	page.Type("#login [name=password]", "wrong")
	page.Click("#login button")
	page.AwaitText("#login [role=status]", "Invalid credentials")
	page.Expected("401")
	page.Eval("document.querySelector('#login [name=password]').value = ''", new(string))
	page.Type("#login [name=password]", `a "good" one`)
	page.Click("#login button")
	page.AwaitText("#login [role=status]", "Logged in as jane")
	page.Click("#operations-locations-listLocations .opblock-summary-control")
	page.Click("#operations-locations-listLocations .try-out__btn")
	page.Click("#operations-locations-listLocations .execute")
	page.AwaitText("#operations-locations-listLocations .live-responses-table", "10 of 20 for Bearer t.o.k")
	page.Keep("apidocs-dark-open")
	var cookies string
	page.Eval("document.cookie", &cookies)
	assert.Empty(t, cookies, "the login leaves no cookie")

	page.Resize(1280, 800, false)
	require.Eventually(t, func() bool { return ground() != dark }, timeout, tick, "the page follows the system")
	page.Keep("apidocs-light")
	page.Silent()
}

// TestAPIPageOnAPhone checks that query parameters cannot select another document, and that the
// page fits the screen of a phone.
func TestAPIPageOnAPhone(t *testing.T) {
	t.Parallel()
	base := startNetwork(t)
	page := Open(t, base+"/docs/?url=/other.json&configUrl=/config.json", &Options{Width: 390, Height: 844})
	page.AwaitText("#docs", "Count them")
	assert.False(t, page.Overflows())
	page.Keep("apidocs-phone")
	for _, requested := range page.Requests()[1:] { // the first is the page with its query
		assert.NotContains(t, requested, "other.json")
		assert.NotContains(t, requested, "config.json")
	}
	page.Silent()
}

// TestAPIPageLooks: the page has the colours and the font of the others, and axe finds nothing.
func TestAPIPageLooks(t *testing.T) {
	t.Parallel()
	page := Open(t, startNetwork(t)+"/docs/", nil)
	page.AwaitText("#docs", "Count them")
	s := &consoleServer{t: t}
	s.looks(page, "apidocs")
	for _, id := range []string{"locations-listLocations", "locations-createLocation"} {
		page.Click("#operations-" + id + " .opblock-summary-control")
		page.Click("#operations-" + id + " .try-out__btn")
	}
	page.Click("#operations-locations-listLocations .execute")
	page.Await("#operations-locations-listLocations .live-responses-table")
	s.looks(page, "apidocs-open")
	page.Click(".auth-wrapper .authorize")
	page.AwaitText(".dialog-ux", "bearer")
	s.looks(page, "apidocs-authorize")
}
