package console_test

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

var tagPattern = regexp.MustCompile(`<[^>]*>`)

// sentences returns the text of a page within its main element.
func sentences(t testing.TB, page string) string {
	t.Helper()
	_, main, ok := strings.Cut(page, "<main")
	require.True(t, ok)
	return strings.Join(strings.Fields(html.UnescapeString(tagPattern.ReplaceAllString(main, " "))), " ")
}

// TestActivity: the audit log says in sentences who did what, one row for each request, by day, person and kind.
func TestActivity(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	engine := records.New(store, nil)
	by := func(name, request string) records.Caller { return records.Caller{Name: name, RequestID: request} }
	vienna, graz := &inventory.Location{Name: "Vienna"}, &inventory.Location{Name: "Graz"}
	require.NoError(t, engine.Create(t.Context(), by("zoe", "r1"), vienna, graz))
	core := &inventory.Device{Hostname: "core-1", Status: inventory.DeviceActive, LocationID: &vienna.ID, Notes: "old"}
	require.NoError(t, engine.Create(t.Context(), by("ann", "r2"), core))
	change := func(request, patch string) {
		p := records.Patch{}
		require.NoError(t, json.Unmarshal([]byte(patch), &p))
		devices := records.Of[inventory.Device](store.Schema())
		_, err := engine.Update(t.Context(), by("ann", request), devices, records.Edit{ID: core.ID, Apply: devices.Patch(p)})
		require.NoError(t, err)
	}
	change("r3", `{"status":"offline"}`)
	change("r4", `{"location_id":"`+graz.ID+`"}`)
	change("r5", `{"vendor":"Acme","model":"X1","os":"os"}`)
	change("r6", `{"notes":""}`)
	var many []records.Record
	for i := range 130 {
		many = append(many, &inventory.Location{Name: "Room " + string(rune('a'+i%26)) + string(rune('a'+i/26)), ParentID: &graz.ID})
	}
	require.NoError(t, engine.Create(t.Context(), by("bob", "r7"), many...))
	require.NoError(t, engine.Delete(t.Context(), by("bob", "r8"), records.Of[inventory.Location](store.Schema()), records.Edit{ID: vienna.ID}))
	pages, _ := pagesOf(t, store)
	read := func(target string) string {
		status, _, page := visit(t, pages, target)
		require.Equal(t, 200, status, target)
		return page
	}
	first := read("/activity")
	require.Contains(t, sentences(t, first), "bob deleted location Vienna")
	require.Contains(t, sentences(t, first), "bob created 130 locations")
	older := regexp.MustCompile(`href="([^"]*cursor=[^"]*)"`).FindStringSubmatch(first)
	require.NotNil(t, older)
	second := sentences(t, read(html.UnescapeString(older[1])))
	require.NotContains(t, second, "Room", "the rest of a request that the first page has counted")
	for _, want := range []string{
		"ann removed notes of device core-1 which was old", "ann changed model, vendor, and OS of device core-1", "ann changed location of device core-1 from one that is gone, or that you may not see to Graz",
		"ann changed status of device core-1 from active to offline", "ann created device core-1", "zoe created location Vienna and created location Graz",
	} {
		require.Contains(t, second, want)
	}
	require.NotContains(t, sentences(t, read("/activity?by=zoe")), "core-1 from")
	require.Contains(t, sentences(t, read("/activity?day=today&by=zoe")), "created location Graz")
	require.Contains(t, sentences(t, read("/activity?day=yesterday")), "Nothing was done")
	require.Contains(t, sentences(t, read("/activity?kind=others&by=root")), "root read /audit-logs?")
	for _, odd := range []string{"?cursor=x", "?day=never", "?kind=x&by=" + url.QueryEscape("<a>"), "?skip=" + strings.Repeat("r", 200)} {
		status, _, _ := visit(t, pages, "/activity"+odd)
		require.Less(t, status, 500, odd)
	}
}
