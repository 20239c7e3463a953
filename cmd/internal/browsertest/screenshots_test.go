package browsertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScreenshots writes the pictures of the documentation into the directory of ASHLAR_DOC_SCREENSHOTS
// ("make screenshots"). Without that variable it is skipped.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("ASHLAR_DOC_SCREENSHOTS")
	if dir == "" {
		t.Skip("ASHLAR_DOC_SCREENSHOTS is not set")
	}
	require.NoError(t, os.MkdirAll(dir, 0o750))
	keep := func(page *Page, name string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), page.Screenshot(), 0o600))
	}
	s := startConsole(t, 1000)
	device := s.first("/devices?hostname=ber1-core-01")
	rack := s.first("/devices?hostname=ber1-fw-01")["rack_id"]
	site := s.first("/locations?site_code=nyc1")["id"]
	panel := s.first("/devices?hostname=ber1-pp-02")["id"]
	port := s.first(fmt.Sprintf("/front-ports?device_id=%v", panel))["id"]
	page := s.open("admin", "/", &Options{Height: 860})
	for _, shot := range []struct{ name, path, wait string }{
		{"home", "/", ".facts"},
		{"devices", "/r/devices?status=active&limit=20", ".chip"},
		{"device", fmt.Sprintf("/r/devices/%v", device["id"]), "main h1"},
		{"edit", fmt.Sprintf("/r/devices/%v/edit", device["id"]), "form"},
		{"map", "/map", "#maps-canvas[data-ready]"},
		{"map-site", fmt.Sprintf("/map?location=%v", site), "#maps-canvas[data-ready]"},
		{"trace", fmt.Sprintf("/trace/front-ports/%v", port), "main h1"},
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
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); { // what the sparklines show
		limits.ask(10+40*(time.Now().Second()/7%3), "bob")
		limits.ask(5, "ann")
		<-time.After(500 * time.Millisecond)
	}
	rules := Open(t, limits.url+"/", &Options{Height: 640})
	keep(rules, "limits")
}
