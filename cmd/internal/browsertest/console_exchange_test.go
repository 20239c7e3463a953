package browsertest_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/netboxtest"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// writeFile writes a file to import.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// number returns the number of records that a list of the API has.
func (s *consoleServer) number(path string) int {
	s.t.Helper()
	var page struct {
		Meta struct {
			Total int `json:"total_count"`
		}
	}
	s.api("GET", path, nil, &page)
	return page.Meta.Total
}

// TestConsoleImport: a file with a wrong column and wrong rows is mapped, its wrong rows are shown with line and
// column and downloaded, corrected and applied. A second import changes nothing.
func TestConsoleImport(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 4)
	known := s.first("/devices?limit=1")
	rows := "Hostnam,status,Serial numbr,rack_height,Bezel\n" +
		known["hostname"].(string) + ",maintenance,SN-1,2,known\n" +
		"import-1,active,SN-2,2,new\n" +
		"import-2,broken,SN-3,2,\"a status\nthat is wrong\"\n" +
		"import-3,active,SN-4,tall,no number\n"
	page := s.open("admin", "/import", nil)
	s.looks(page, "import-file")
	page.Upload("#file", writeFile(t, "net.csv", rows))
	page.Submit("#import-form .button-main")
	page.AwaitText("main", "Did you mean Hostname?")
	page.AwaitText("main", "Did you mean Serial number?")
	page.AwaitText("main", "3 columns are unknown")
	s.looks(page, "import-columns")
	page.Submit("#import-form .button-main")
	page.AwaitText("#problems", "must be a whole number")
	var cells [][]string
	page.Eval(`[...document.querySelectorAll("#problems tbody tr")].map(r => [...r.cells].map(c => c.innerText))`, &cells)
	require.Len(t, cells, 2, "%q", cells)
	require.Equal(t, []string{"4", "status", "broken"}, cells[0][:3])
	require.Contains(t, cells[0][3], "maintenance", "the values that would be right")
	require.Equal(t, []string{"6", "rack_height", "tall"}, cells[1][:3])
	page.AwaitText("main", "2 of 4 rows are wrong")
	page.AwaitText(".steps-changes", "maintenance")
	s.looks(page, "import-preview")
	require.Zero(t, s.number("/devices?hostname=import-1"), "a preview has changed something")

	var rejected string
	page.Eval(`fetch("/console/import/rejected", {method: "POST", body: new FormData(document.querySelector("form[action$=rejected]"))}).then(r => r.ok && r.headers.get("Content-Disposition").includes("devices-rejected.csv") ? r.text() : "")`, &rejected)
	require.Equal(t, "hostname,status,serial_number,rack_height,_Bezel\nimport-2,broken,SN-3,2,\"a status\nthat is wrong\"\nimport-3,active,SN-4,tall,no number\n", rejected)

	page.Submit(`button[value="apply-good"]`)
	page.AwaitText("main", "Imported: 1 created, 1 changed.")
	page.AwaitText(".import-links", "import-1")
	s.looks(page, "import-result")
	require.Equal(t, "maintenance", s.first("/devices?id__in=" + known["id"].(string))["status"])

	page.Goto(s.url + "/console/import?resource=devices")
	page.Upload("#file", writeFile(t, "mended.csv", strings.NewReplacer("broken", "active", "tall", "3").Replace(rejected)))
	page.Submit("#import-form .button-main")
	page.AwaitText("main", "All rows can be applied")
	page.Submit(`button[value="apply"]`)
	page.AwaitText("main", "Imported: 2 created, 0 changed.")
	require.Equal(t, 3, s.number("/devices?hostname__startswith=import-"))

	page.Goto(s.url + "/console/import?resource=devices")
	page.Upload("#file", writeFile(t, "mended.csv", strings.NewReplacer("broken", "active", "tall", "3").Replace(rejected)))
	page.Submit("#import-form .button-main")
	page.AwaitText("main", "Nothing would change: all 2 rows are as in the inventory.")

	page.Goto(s.url + "/console/import?resource=devices")
	page.Upload("#file", writeFile(t, "book.csv", "PK\x03\x04\x00\x00 an archive"))
	page.Submit("#import-form .button-main")
	page.AwaitText(".problems", "ZIP archive")
	page.Expected("400")
	page.Silent()
}

// TestConsoleImportPlain: without JavaScript, rows that are pasted are imported. Viewers do not have the pages.
func TestConsoleImportPlain(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 2)
	page := s.open("admin", "/import?resource=locations", &Options{NoScript: true, Width: 390, Height: 844})
	page.Type("#text", "name,site_code\nPasted place,PASTE-1\n")
	page.Submit("#import-form .button-main")
	page.Await(`button[value="apply"]`)
	page.Submit(`button[value="apply"]`)
	require.Contains(t, page.Text("main"), "Imported: 1 created, 0 changed.")
	require.Equal(t, "Pasted place", s.first("/locations?site_code=PASTE-1")["name"])

	viewer := s.open("viewer", "/account", nil)
	for _, path := range []string{"/import", "/import/template?resource=devices"} {
		var status int
		viewer.Eval(`fetch("/console`+path+`").then(r => r.status)`, &status)
		require.Equal(t, http.StatusForbidden, status, path)
		viewer.Expected("403")
	}
	for _, path := range []string{"/import", "/import/rejected"} {
		var status int
		viewer.Eval(`(() => { const form = new FormData(); form.append("_token", ashlar.token()); form.append("text", "x"); return fetch("/console`+path+`", {method: "POST", body: form}).then(r => r.status); })()`, &status)
		require.Equal(t, http.StatusForbidden, status, path)
		viewer.Expected("403")
	}
	require.NotContains(t, viewer.HTML(), `href="/console/import"`)
	viewer.Silent()
}

// TestImportSpreadsheet: sixty devices copied from a spreadsheet take two clicks once they are pasted: its words are known, and
// the preview says which ports come along. A name that several rooms have is asked once.
func TestImportSpreadsheet(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 4)
	site := s.create("locations", map[string]any{"name": "Lisbon", "kind": "site"})
	other := s.create("locations", map[string]any{"name": "Porto", "kind": "site"})
	for _, in := range []string{site, other} {
		s.create("locations", map[string]any{"name": "Cage", "kind": "room", "parent_id": in})
		s.create("racks", map[string]any{"name": "R1", "location_id": in})
	}
	model := s.create("device-types", map[string]any{"manufacturer": "Acme", "model": "AX-48"})
	var ports []map[string]any
	for i := range 49 {
		ports = append(ports, map[string]any{"device_type_id": model, "kind": "interface", "name": fmt.Sprint("ge-", i)})
	}
	s.api("POST", "/port-templates", ports, nil)
	rows := "Device Name\tMgmt IP\tSerial No.\tManufacturer\tType\tSite\tRack\tU\tStatus\tComments\n"
	for i := range 60 {
		rows += fmt.Sprintf("lis-sw%02d\t198.18.0.%d/24\tLS%04d\tAcme\tAX-48\t%s\tR1\t%d\tActive\t19\" rack\n", i, i+1, i, []string{"Lisbon", "Porto"}[i/30], i%30+1)
	}
	page := s.open("admin", "/import", nil)
	page.Paste("#text", rows)
	page.Click("#import-form .button-main")
	page.AwaitText("main", "Would create 60 devices and 2\u202f940 interfaces")
	s.looks(page, "import-sheet-preview")
	page.Click(`button[value="apply"]`)
	page.AwaitText("main", "Imported: 60 created")
	page.Spent(2)
	require.Equal(t, 30, s.number("/devices?hostname__startswith=lis-sw&location_id="+site))

	page.Goto(s.url + "/console/import?resource=devices")
	page.Paste("#text", "Name\tRoom\nlis-r1\tCage\nlis-r2\tCage\nlis-r3\tKage\n")
	page.Click("#import-form .button-main")
	page.AwaitText("#import-names", "is the name of several")
	s.looks(page, "import-names")
	var asked int
	page.Eval(`document.querySelectorAll("#import-names select").length`, &asked)
	require.Equal(t, 2, asked)
	page.Eval(`[...document.querySelectorAll("#import-names select")].forEach(s => s.value = [...s.options].find(o => o.text.includes("Cage") && o.text.includes("Porto")).value)`, new([]string))
	page.Click("#import-names .button-main")
	page.AwaitText("main", "Would create 3 devices")
	page.Click(`button[value="apply"]`)
	page.AwaitText("main", "Imported: 3 created")
	page.Spent(3)
	page.Silent()
}

// TestImportNetBoxPage: an administrator reads a NetBox by its address and a token, sees what it would change, and applies it.
// The token is on no page, and nobody else has the form.
func TestImportNetBoxPage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a NetBox")
	}
	t.Parallel()
	box := netboxtest.Start(t)
	box.Add("dcim/sites", map[string]any{"name": "Lisbon", "slug": "lis", "facility": "LX1"})
	s := startConsoleWith(t, 4, func(settings *server.Settings, _ string) { settings.ImportPrivate = true })
	page := s.open("admin", "/import", nil)
	page.Type("#netbox-url", box.URL)
	page.Type("#netbox-token", box.Token)
	page.Click("#netbox-form button")
	page.AwaitText("main", "Would create 1 location")
	require.NotContains(t, page.HTML(), box.Token)
	s.looks(page, "import-netbox")
	page.Click(`button[value="apply"]`)
	page.AwaitText("main", "Imported: 1 created")
	page.Spent(2)
	require.Equal(t, "lis", s.first("/locations?name=Lisbon")["site_code"])
	page.Goto(s.url + "/console/import")
	page.Type("#netbox-url", box.URL)
	page.Type("#netbox-token", "nbt_wrong.wrong")
	page.Click("#netbox-form button")
	page.AwaitText(".problems", "token")
	require.NotContains(t, page.HTML(), "nbt_wrong")
	page.Expected("422")
	page.Silent()
	require.NotContains(t, s.open("editor", "/import", nil).HTML(), "netbox")
}
