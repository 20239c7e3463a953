package imports_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// devices returns the devices of the inventory by hostname.
func (i *importer) devices() map[string]*inventory.Device {
	i.t.Helper()
	found := map[string]*inventory.Device{}
	for rec, err := range records.All(i.t.Context(), i.store, &records.Query{Resource: records.Of[inventory.Device](i.store.Schema()), Limit: 100}) {
		require.NoError(i.t, err)
		found[rec.(*inventory.Device).Hostname] = rec.(*inventory.Device)
	}
	return found
}

// TestImportSheet: rows copied from a spreadsheet are previewed at once if their columns are known. Of a site and a room
// within it, the room counts.
func TestImportSheet(t *testing.T) {
	t.Parallel()
	i := newImporter(t, 256<<20)
	i.send("/import", "resource", "locations", "step", "apply", "text", "name,parent\nVienna,\nGraz,\nRoom 1,Vienna\n\"Room 1\",Graz\n")
	status, text := i.send("/import", "resource", "devices", "step", "columns", "text",
		"Device Name\tMgmt IP\tStatus\tSite\tRoom\tComments\nsw1\t192.0.2.1/24\tActive\tVienna\tRoom 1\t24\" rack\nsw2\t192.0.2.2\tMaintenance\tGraz\tRoom 1\t\nsw3\t192.0.2.3\tACTIVE\tGraz\t\t\n")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "Would create 3 devices")
	require.Contains(t, text, `<option value="location.parent" selected>`)
	fields := []string{"resource", "devices", "format", "csv", "kept", field(text, "kept"), "step", "apply"}
	for n, to := range []string{"hostname", "ip", "status", "location.parent", "location", "notes"} {
		fields = append(fields, "to."+string(rune('0'+n)), to)
	}
	_, text = i.send("/import", fields...)
	require.Contains(t, text, "Imported: 3 created")
	all := i.devices()
	require.Equal(t, "192.0.2.1", all["sw1"].IP)
	require.Equal(t, `24" rack`, all["sw1"].Notes)
	require.EqualValues(t, "maintenance", all["sw2"].Status)
	require.NotEqual(t, *all["sw1"].LocationID, *all["sw2"].LocationID)
	require.NotEqual(t, *all["sw2"].LocationID, *all["sw3"].LocationID)
}

// TestImportNames: a name that several records have, or none, is asked once for all rows.
func TestImportNames(t *testing.T) {
	t.Parallel()
	i := newImporter(t, 256<<20)
	i.send("/import", "resource", "locations", "step", "apply", "text", "name\nVienna\nGraz\n")
	i.send("/import", "resource", "racks", "step", "apply", "text", "name,location\nR1,Vienna\nR1,Graz\n")
	_, text := i.send("/import", "resource", "devices", "step", "columns", "text", "Name\tSite\tRack\nr1\tVienna\tR1\nr2\tGraz\tR1\n")
	require.Contains(t, text, "Would create 2 devices", "a rack is that of the location of the row")
	i.send("/import", "resource", "locations", "step", "apply", "text", "name,site_code\nCage,A-1\nCage,B-2\n")
	const rows = "Name\tSite\nsw1\tCage\nsw2\tCage\nsw3\tWien\nsw4\tWien\n"
	status, text := i.send("/import", "resource", "devices", "step", "columns", "text", rows)
	require.Equal(t, http.StatusOK, status)
	asked := regexp.MustCompile(`name="name\.(\d)" value="([^"]*)"`).FindAllStringSubmatch(text, -1)
	require.Len(t, asked, 2, "one question for each name")
	require.NotRegexp(t, `[0-9a-f]{8}-[0-9a-f]{4}-`, regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(text, ""))
	id := regexp.MustCompile(`<option value="([0-9a-f-]{36})">Cage · B-2`).FindStringSubmatch(text)
	require.NotNil(t, id, "the choices tell the records apart")
	again := []string{"resource", "devices", "text", rows, "to.0", "hostname", "to.1", "location", "name.0", html.UnescapeString(keyOf(text, 0)), "is.0", id[1], "name.1", html.UnescapeString(keyOf(text, 1)), "is.1", "-"}
	status, text = i.send("/import", append(again, "step", "preview")...)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "Would create 4 devices")
	require.Contains(t, text, `<option value="`+id[1]+`" selected>`, "the answer stays")
	_, text = i.send("/import", append(again, "step", "apply")...)
	require.Contains(t, text, "Imported: 4 created")
	all := i.devices()
	require.Equal(t, id[1], *all["sw1"].LocationID)
	require.Equal(t, id[1], *all["sw2"].LocationID)
	require.Nil(t, all["sw3"].LocationID)
}

// keyOf returns what a page asks about.
func keyOf(text string, n int) string {
	// The page is unescaped, so that the value has quotation marks.
	_, rest, _ := strings.Cut(text, `name="name.`+string(rune('0'+n))+`" value="`)
	value, _, _ := strings.Cut(rest, `"><select`)
	return value
}

// netBox sends the form about a NetBox.
func (i *importer) netBox(address string) (status int, text string) {
	i.t.Helper()
	form := url.Values{"_token": {i.token}, "url": {address}, "token": {"nbt_secret"}}
	r := httptest.NewRequestWithContext(i.t.Context(), "POST", "/import/netbox", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(i.cookie)
	w := httptest.NewRecorder()
	i.pages.ServeHTTP(w, r)
	require.NotContains(i.t, w.Body.String(), "nbt_secret")
	return w.Code, html.UnescapeString(w.Body.String())
}

// TestNetBoxTargets: a server reads no NetBox at a private address unless its operator allows that, whatever name leads there,
// and follows no redirect. No page has the token.
func TestNetBoxTargets(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	box := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.Header.Get("Authorization")]++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(box.Close)
	i := newImporter(t, 256<<20)
	for _, address := range []string{box.URL, strings.Replace(box.URL, "127.0.0.1", "localhost", 1), "http://[::ffff:127.0.0.1]" + box.URL[len("http://127.0.0.1"):]} {
		status, text := i.netBox(address)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Contains(t, text, "private address", address)
		require.Contains(t, text, `value="`+address+`"`)
	}
	require.Empty(t, asked)
	status, text := newImporterOf(t, &httpapi.Options{PrivateTargets: true}, 256<<20).netBox(box.URL)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, text, "302")
	require.Equal(t, map[string]int{"Bearer nbt_secret": 1}, asked)
	for _, address := range []string{"", "ftp://netbox.example.org", "netbox", "https://user:pass@netbox.example.org"} {
		status, _ = i.netBox(address)
		require.GreaterOrEqual(t, status, 400)
	}
}

// TestNetBoxBounds: a NetBox that sends more and more ends the request, and not the server.
func TestNetBoxBounds(t *testing.T) {
	t.Parallel()
	box := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat(" ", 1<<20))
		for range 100 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	t.Cleanup(box.Close)
	status, text := newImporterOf(t, &httpapi.Options{PrivateTargets: true}, 16<<20).netBox(box.URL)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, text, "inventoryd import netbox")
}
