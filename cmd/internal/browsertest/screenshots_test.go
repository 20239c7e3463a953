package browsertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/browsertest"
)

// TestScreenshots writes the pictures of the documentation into the directory of ASHLAR_DOC_SCREENSHOTS
// ("make screenshots"). Without that variable it is skipped.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("ASHLAR_DOC_SCREENSHOTS")
	if dir == "" {
		t.Skip("ASHLAR_DOC_SCREENSHOTS is not set")
	}
	require.NoError(t, os.MkdirAll(dir, 0o750))
	keep := func(page *browsertest.Page, name string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), page.Screenshot(), 0o600))
	}
	s := startConsole(t, 400)
	device := s.first("/devices?role=core-router&status=active&sortby=hostname:asc")
	rack := s.first("/devices?rack_id__isnull=false&sortby=hostname:asc")["rack_id"]
	s.campus("Campus", 4, 24)
	campus := s.first("/locations?name=Campus")["id"]
	page := s.open("admin", "/", &browsertest.Options{Height: 860})
	for _, shot := range []struct{ name, path, wait string }{
		{"home", "/", ".facts"},
		{"devices", "/r/devices?status=active&limit=20", ".chip"},
		{"device", fmt.Sprintf("/r/devices/%v", device["id"]), "main h1"},
		{"edit", fmt.Sprintf("/r/devices/%v/edit", device["id"]), "form"},
		{"map", fmt.Sprintf("/map?location=%v", campus), "canvas"},
		{"rack", fmt.Sprintf("/elevation/%v", rack), "main h1"},
		{"prefixes", "/prefixes", "main h1"},
	} {
		page.Goto(s.url + "/console" + shot.path)
		page.Await(shot.wait)
		keep(page, shot.name)
	}
	page.Goto(s.url + "/console/import?resource=devices")
	page.Upload("input[type=file]", writeFile(t, "devices.csv", "hostname,staus,Serial,colour\nedge-1,active,S1,red\nedge-2,broken,S2,red\n"))
	page.Submit("main form .button-main")
	keep(page, "import")

	limits := startLimits(t)
	rules := browsertest.Open(t, limits.url+"/", &browsertest.Options{Height: 640})
	for range 5 {
		limits.ask(20, "bob")
		rules.AwaitText(`.limits-facts [data-rate-part="allowed"]`, ".")
	}
	keep(rules, "limits")
}
