package console_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// TestMissing: an error has the navigation, and the way back.
func TestMissing(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(*site.Request) error { return func(*site.Request) error { return err } }
	api, err := httpapi.New(records.New(records.NewMemStore(inventory.Schema()), nil), anyone{}, &httpapi.Options{Features: []*feature.Feature{{Pages: site.Pages{Routes: []site.Route{
		{Pattern: "GET /devices/broken", Handle: fails(errors.New("secret"))}, {Pattern: "GET /panics", Handle: func(*site.Request) error { panic("secret") }},
		{Pattern: "GET /busy", Handle: fails(&site.Fault{Status: http.StatusServiceUnavailable, RetryAfter: "3"})},
		{Pattern: "POST /wrong", Handle: fails(&site.Fault{Status: http.StatusBadRequest, Message: "Validation failed", Fields: []httpx.FieldError{{Field: "location_id", Reason: "is required"}}})},
		{Pattern: "GET /closed", Handle: fails(httpx.Errorf(http.StatusForbidden, "Not for you"))},
	}}}}})
	require.NoError(t, err)
	pages, err := console.New(api, &console.Options{Log: slog.New(slog.DiscardHandler), Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}})
	require.NoError(t, err)
	const id = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	for target, want := range map[string]struct {
		status int
		near   string
	}{
		"/nowhere": {404, ""}, "/r/nothings": {404, ""}, "/r/devices/" + id: {404, "/r/devices"}, "/r/front-ports/" + id + "/edit": {404, "/r/front-ports"}, "/r/metrics/x/nowhere": {404, "/r/metrics"},
		"/devices/broken": {500, ""}, "/panics": {500, ""}, "/busy": {503, ""}, "/closed": {403, ""},
	} {
		status, _, page := visit(t, pages, target)
		require.Equal(t, want.status, status, target)
		require.Contains(t, page, `aria-label="Main`, target)
		_, main, _ := strings.Cut(page, "<main")
		require.Contains(t, main, `<a class="button" href="/">`, target)
		require.NotContains(t, page, "secret")
		require.Equal(t, want.near != "", strings.Contains(main, `<a class="button button-main" href="`+want.near+`">`), target)
	}
	first := httptest.NewRecorder()
	pages.ServeHTTP(first, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	for target, want := range map[string]int{"/nowhere": 405, "/wrong": 400} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", target, nil)
		r.AddCookie(first.Result().Cookies()[0])
		r.Header.Set("X-Form-Token", regexp.MustCompile(`X-Form-Token":"([^"]*)`).FindStringSubmatch(first.Body.String())[1])
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		require.Equal(t, want, w.Code)
		require.Contains(t, w.Body.String(), `aria-label="Main`, target)
		require.NotContains(t, w.Body.String(), "location_id")
	}
}

// TestPaletteWords: the palette finds a record behind the name of its kind, and does what a word behind its name says.
func TestPaletteWords(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	engine, by := records.New(store, nil), records.Caller{Name: "test"}
	require.NoError(t, engine.Create(t.Context(), by, &inventory.VLAN{VLANID: 30, Name: "voice"}, &inventory.VLAN{VLANID: 31, Name: "video"}))
	require.NoError(t, engine.Create(t.Context(), by, &inventory.Device{Hostname: "ams1-acc-01"}))
	pages, _ := pagesOf(t, store)
	for text, want := range map[string][2]string{
		"vlan+30":          {"30 voice", "video"},
		"vlan+video":       {"31 video", "voice"},
		"devices+acc":      {"ams1-acc-01", "voice"},
		"ams1-acc-01+edit": {"Edit ams1-acc-01", "voice"},
		"vlan+30+history":  {"History of 30 voice", "video"},
		"acc+delete":       {"/delete", "voice"},
	} {
		status, _, shown := visit(t, pages, "/search?part=palette&q="+text)
		require.Equal(t, 200, status)
		require.Contains(t, shown, want[0], text)
		require.NotContains(t, shown, want[1], text)
	}
}
