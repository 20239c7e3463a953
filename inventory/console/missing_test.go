package console_test

import (
	"crypto/rand"
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
		{Pattern: "GET /devices/broken", Handle: fails(errors.New("secret"))},
		{Pattern: "GET /panics", Handle: func(*site.Request) error { panic("secret") }},
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
		"edit+ams1-acc-01": {"Edit ams1-acc-01", "voice"},
		"vlan+30+history":  {"History of 30 voice", "video"},
		"acc+delete":       {"/delete", "voice"},
	} {
		status, _, shown := visit(t, pages, "/search?part=palette&q="+text)
		require.Equal(t, 200, status)
		require.Contains(t, shown, want[0], text)
		require.NotContains(t, shown, want[1], text)
	}
	_, _, shown := visit(t, pages, "/search?q=vlan+30")
	require.Contains(t, shown, "30 voice", "so does the page with results")
}

// TestPaletteShows: the palette shows the port of the switch that a server leads to, through a patch panel too, and where
// records are that have the same name.
func TestPaletteShows(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	engine, by := records.New(store, nil), records.Caller{Name: "test"}
	create := func(all ...records.Record) { require.NoError(t, engine.Create(t.Context(), by, all...)) }
	sites := []*inventory.Location{{Name: "Amsterdam"}, {Name: "Berlin"}}
	create(sites[0], sites[1])
	create(&inventory.VLAN{VLANID: 30, Name: "voice", LocationID: &sites[0].ID}, &inventory.VLAN{VLANID: 30, Name: "voice", LocationID: &sites[1].ID})
	server, panel, access := &inventory.Device{Hostname: "web-01"}, &inventory.Device{Hostname: "panel"}, &inventory.Device{Hostname: "ams1-acc-01"}
	create(server, panel, access)
	rear := &inventory.RearPort{Name: "r1", DeviceID: panel.ID}
	near, far := &inventory.Interface{Name: "eth0", DeviceID: server.ID}, &inventory.Interface{Name: "Gi1/0/1", DeviceID: access.ID}
	create(near, far)
	create(rear)
	front := &inventory.FrontPort{Name: "f1", DeviceID: panel.ID, RearPortID: rear.ID, RearPortPosition: new(int64(1))}
	create(front)
	create(&inventory.Cable{AInterfaceID: &near.ID, BFrontPortID: &front.ID}, &inventory.Cable{ARearPortID: &rear.ID, BInterfaceID: &far.ID})
	pages, _ := pagesOf(t, store)
	_, _, shown := visit(t, pages, "/search?part=palette&q=vlan+30")
	require.Contains(t, shown, "Amsterdam · VLAN")
	require.Contains(t, shown, "Berlin · VLAN")
	_, _, shown = visit(t, pages, "/search?part=palette&q=web-01")
	require.Contains(t, shown, `href="/r/interfaces/`+far.ID+`"`)
	require.Contains(t, shown, "<span>ams1-acc-01 Gi1/0/1</span><small>Port of: web-01 · Interface</small>")
	for range 4 {
		create(&inventory.Interface{Name: "eth" + rand.Text(), DeviceID: server.ID})
	}
	_, _, shown = visit(t, pages, "/search?part=palette&q=web-01")
	require.NotContains(t, shown, "Port of", "a device with many ports is no server")
}
