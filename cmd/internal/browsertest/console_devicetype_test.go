package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConsoleDeviceType: the form of a new device begins with its type, which fills the fields that it determines and
// says so. Another type replaces what was filled, and not what was typed. The racks of the location are offered first.
func TestConsoleDeviceType(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	s.create("device-types", map[string]any{"manufacturer": "Acme", "model": "Chassis 4", "height": 4})
	kind := s.create("device-types", map[string]any{"manufacturer": "Beta", "model": "Switch 24", "height": 1})
	zell := s.create("locations", map[string]any{"name": "Zell", "kind": "site"})
	room := s.create("locations", map[string]any{"name": "Zell R1", "kind": "room", "parent_id": zell})
	for name, location := range map[string]string{"A0": s.create("locations", map[string]any{"name": "Arad"}), "Z9": room} {
		s.create("racks", map[string]any{"name": name, "location_id": location})
	}
	page := s.open("admin", "/r/devices/new", nil)
	var first string
	page.Eval(`document.querySelector(".change-group input:not([type=hidden])").name`, &first)
	require.Equal(t, "device_type_id", first)
	values := func() (all []string) {
		page.Eval(`["vendor", "model", "rack_height"].map((n) => document.getElementById("f-" + n).value)`, &all)
		return all
	}
	choose := func(field, text string) {
		page.Eval(`(() => { const i = document.querySelector("#f-`+field+`"); i.value = ""; i.focus(); })()`, new(any))
		page.Type("#f-"+field, text)
		page.AwaitText(".change-list:not([hidden]) li[aria-selected=true]", text)
		page.Click(".change-list:not([hidden]) li[aria-selected=true]")
	}
	choose("device_type_id", "Chassis 4")
	page.AwaitText(".change-group", "From the device type")
	require.Equal(t, []string{"Acme", "Chassis 4", "4"}, values())
	s.looks(page, "device-type")
	page.Eval(`document.getElementById("f-model").value = ""`, new(any))
	page.Type("#f-model", "Chassis 4 B")
	choose("device_type_id", "Switch 24")
	page.Await(`#f-vendor[data-filled="Beta"]`)
	require.Equal(t, []string{"Beta", "Chassis 4 B", "1"}, values())
	choose("location_id", "Zell")
	page.Click("#f-rack_id")
	page.AwaitText(".change-list:not([hidden]) li:first-child", "Z9") // of the location, and not the first of all
	page.Type("#f-hostname", "typed-sw-01")
	page.Submit(".change-actions .button-main")
	device := s.first("/devices?hostname=typed-sw-01")
	require.Equal(t, []any{"Beta", "Chassis 4 B", kind}, []any{device["vendor"], device["model"], device["device_type_id"]})
	page.Silent()
}

// TestConsoleBegin: a new interface is not offered as up, and the position of a device in a rack has one field.
func TestConsoleBegin(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	page := s.open("admin", "/r/interfaces/new", nil)
	var value string
	page.Eval(`document.getElementById("f-status").value`, &value)
	require.Equal(t, "unknown", value)

	location := s.create("locations", map[string]any{"name": "Graz"})
	rack := s.create("racks", map[string]any{"name": "B2", "location_id": location})
	for path, has := range map[string]bool{
		"new": false,
		s.create("devices", map[string]any{"hostname": "no-position", "location_id": location}) + "/edit":                                                        false,
		s.create("devices", map[string]any{"hostname": "by-text", "location_id": location, "rack_position": "B1 U7"}) + "/edit":                                  true,
		s.create("devices", map[string]any{"hostname": "in-rack", "location_id": location, "rack_id": rack, "rack_unit": 7, "rack_position": "B2 U9"}) + "/edit": false,
	} {
		page.Goto(s.url + "/console/r/devices/" + path)
		var found bool
		page.Eval(`document.getElementById("f-rack_position") !== null`, &found)
		require.Equal(t, has, found, path)
	}
	page.Silent()
}

// TestConsoleFull: the list of racks has their used and free units, and the home page counts devices by site.
func TestConsoleFull(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	site := s.create("locations", map[string]any{"name": "Graz", "kind": "site"})
	room := s.create("locations", map[string]any{"name": "Graz R1", "kind": "room", "parent_id": site})
	rack := s.create("racks", map[string]any{"name": "B2", "location_id": room, "height": 20})
	for unit, face := range map[int]string{3: "", 7: "front"} {
		s.create("devices", map[string]any{"hostname": fmt.Sprint("graz-", unit), "location_id": room, "rack_id": rack, "rack_unit": unit, "rack_height": 2, "rack_face": face})
	}
	s.create("devices", map[string]any{"hostname": "graz-8", "location_id": room, "rack_id": rack, "rack_unit": 8, "rack_face": "back"})
	page := s.open("viewer", "/r/racks?name=B2", nil)
	require.Contains(t, visible(page, "tbody"), "4 used, 16 free")
	s.looks(page, "racks-list")
	page.Goto(s.url + "/console/")
	page.Await(`a[href$="/r/devices?below=` + site + `"]`)
	require.Contains(t, page.Text("main"), "Devices by site")
	require.NotContains(t, page.Text("#home-bars"), "Graz R1")
	s.looks(page, "home-sites")
}
