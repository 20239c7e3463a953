package browsertest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/browsertest"
)

// TestConsoleImport: a file with a misspelt column and bad rows is mapped, previewed, mended, and applied; the
// same file once more changes nothing.
func TestConsoleImport(t *testing.T) {
	s := startConsole(t, 3)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "devices.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	page := s.open("admin", "/import?resource=devices", nil)
	s.looks(page, "import")
	bad := "hostname,staus,Serial,colour\nimported-1,active,S1,red\nimported-2,broken,S2,red\nimported-3,active,S3\n"
	page.Upload("#file", write(bad))
	page.Submit("[name=step]")
	page.AwaitText("main", "did you mean status")
	var to []string
	page.Eval("[...document.querySelectorAll('main select')].map(s => s.value)", &to)
	require.Equal(t, []string{"hostname", "status", "serial_number", ""}, to)
	s.looks(page, "import-columns")
	page.Submit("[name=step]")
	page.AwaitText("#rejected", "broken")
	require.Regexp(t, `(?s)3\s+status\s+broken\s+must be one of active.*4\s+has 3 cells`, page.Text("#rejected"))
	s.looks(page, "import-preview")
	page.Submit("#apply [name=step]") // stop: nothing is changed
	page.Expected("422")
	page.AwaitText("#rejected", "broken")
	requireDevices(s, "imported", 0)

	page.Goto(s.url + "/console/import?resource=devices")
	good := "hostname,status,notes\nimported-1,active,\"1<2, \"\"quoted\"\"\nsecond line\"\nimported-2,active,\n"
	for _, done := range []string{"Imported.", "Nothing would change"} {
		page.Upload("#file", write(good))
		page.Submit("[name=step]")
		page.Submit("[name=step]")
		if done == "Imported." {
			page.AwaitText("main", "What would change")
			page.Submit("#apply [name=step]")
		}
		page.AwaitText(".notice", done)
		requireDevices(s, "imported", 2)
		page.Goto(s.url + "/console/import?resource=devices")
	}
	require.Equal(t, "1<2, \"quoted\"\nsecond line", s.first("/devices?hostname=imported-1")["notes"])
	page.Silent()

	plain := s.open("admin", "/import?resource=devices", &browsertest.Options{NoScript: true})
	plain.Type("#text", "hostname\npasted-1\n")
	plain.Submit("[name=step]")
	plain.Submit("[name=step]")
	plain.Submit("#apply [name=step]")
	require.Contains(t, plain.Text(".notice"), "Imported.")
	requireDevices(s, "pasted", 1)

	viewer := s.open("viewer", "/account", nil)
	viewer.Goto(s.url + "/console/import")
	viewer.AwaitText("main", "may not import")
}

// requireDevices requires a number of devices whose names begin with a text.
func requireDevices(s *consoleServer, begin string, n int) {
	s.t.Helper()
	var page struct {
		Meta struct {
			Total int `json:"total_count"`
		} `json:"meta"`
	}
	s.api(http.MethodGet, "/devices?hostname__startswith="+begin, nil, &page)
	require.Equal(s.t, n, page.Meta.Total)
}

// TestConsoleDrift: one of the differences of a pasted table is previewed and applied.
func TestConsoleDrift(t *testing.T) {
	s := startConsole(t, 3)
	device := s.first("/devices")["hostname"].(string)
	page := s.open("admin", "/drift", nil)
	s.looks(page, "drift")
	page.Type("#device", device)
	page.Type("#text", "no such table")
	page.Submit("[name=step]")
	page.Await(".problems")
	page.Expected("400")
	page.Eval("document.querySelector('#text').value = ''", new(string))
	page.Type("#text", `[{"interface":"eth98","link_status":"up","mtu":"1500"},{"interface":"eth99","link_status":"up","mtu":"9000"}]`)
	page.Submit("[name=step]")
	page.Await("#differences")
	s.looks(page, "drift-differences")
	page.Eval("[...document.querySelectorAll('.exchange-difference')].find(d => d.innerText.includes('eth99')).querySelector('input').click()", new(any))
	page.Submit("[name=step][value=preview]")
	page.AwaitText("#differences", "Would create 1 interface")
	s.looks(page, "drift-preview")
	page.Submit("[name=step][value=apply]")
	page.AwaitText(".notice", "Applied 1 difference")
	require.EqualValues(t, 9000, s.first("/interfaces?name=eth99")["mtu"])
	page.Silent()
}
