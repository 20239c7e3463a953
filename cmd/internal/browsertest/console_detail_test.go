package browsertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// create creates a record through the API, and returns its id.
func (s *consoleServer) create(resource string, fields map[string]any) string {
	s.t.Helper()
	var rec struct{ ID string }
	s.api("POST", "/"+resource, fields, &rec)
	return rec.ID
}

// nasty is a text that would change a page if it were not escaped.
const nasty = `"onmouseover='x' & 🛰️ <core-1> a<b`

// detailNetwork is a small network beside that of the demonstration: sw1 is cabled to sw2 through two patch
// panels, and is in a rack.
type detailNetwork struct {
	site, sw1, sw2, eth0, far, rack, prefix, event, cable string
}

func (s *consoleServer) detailNetwork() (n detailNetwork) {
	n.site = s.create("locations", map[string]any{"name": "Detail site", "site_code": "DS", "city": nasty, "country": "Austria"})
	s.create("locations", map[string]any{"name": "Room 1", "parent_id": n.site})
	n.rack = s.create("racks", map[string]any{"name": "R1", "location_id": n.site, "height": 24})
	s.api("POST", "/custom-fields", map[string]any{"resource": "devices", "name": "owner", "type": "text", "label": "Owner of it"}, nil)
	device := func(name string, unit int, more map[string]any) string {
		fields := map[string]any{"hostname": name, "location_id": n.site, "rack_id": n.rack, "rack_unit": unit, "status": "active", "role": "access"}
		for k, v := range more {
			fields[k] = v
		}
		return s.create("devices", fields)
	}
	n.sw1 = device("sw1", 20, map[string]any{
		"vendor": nasty, "model": nasty, "os": nasty, "os_version": nasty, "serial_number": nasty, "rack_position": nasty, "tenant": nasty,
		"tags": []string{nasty}, "notes": nasty + "\nsecond line", "owner": nasty, "rack_height": 2,
	})
	n.sw2 = device("sw2", 10, nil)
	vlan := s.create("vlans", map[string]any{"vlan_id": 10, "name": "users " + nasty, "location_id": n.site})
	n.eth0 = s.create("interfaces", map[string]any{"device_id": n.sw1, "name": "eth0", "speed": "10Gbps", "description": nasty, "mode": "access", "untagged_vlan_id": vlan, "ip_address": "10.9.0.1/24"})
	s.create("interfaces", map[string]any{"device_id": n.sw1, "name": "eth1", "status": "down"})
	n.far = s.create("interfaces", map[string]any{"device_id": n.sw2, "name": "eth0"})
	direct := s.create("interfaces", map[string]any{"device_id": n.sw2, "name": "eth1"})
	uplink := s.create("interfaces", map[string]any{"device_id": n.sw1, "name": "uplink1"})
	s.create("cables", map[string]any{"a_interface_id": uplink, "b_interface_id": direct, "label": "direct", "length": 3})
	var fronts, rears []string
	for i, name := range []string{"pp1", "pp2"} {
		panel := device(name, 1+i, nil)
		rear := s.create("rear-ports", map[string]any{"device_id": panel, "name": "rear", "positions": 4, "type": "mpo"})
		rears = append(rears, rear)
		fronts = append(fronts, s.create("front-ports", map[string]any{"device_id": panel, "name": "1", "rear_port_id": rear, "rear_port_position": 3, "type": "lc"}))
	}
	n.cable = s.create("cables", map[string]any{"a_interface_id": n.eth0, "b_front_port_id": fronts[0], "label": "A-17 " + nasty, "color": nasty, "length": 2.5, "type": "om4"})
	s.create("cables", map[string]any{"a_rear_port_id": rears[0], "b_rear_port_id": rears[1], "label": "trunk"})
	s.create("cables", map[string]any{"a_front_port_id": fronts[1], "b_interface_id": n.far, "label": "B-3", "length": 4})
	n.prefix = s.create("prefixes", map[string]any{"prefix": "10.9.0.0/29", "location_id": n.site, "description": nasty})
	for i := range 5 {
		s.create("addresses", map[string]any{"address": fmt.Sprintf("10.9.0.%d/24", 1+i), "interface_id": n.eth0, "dns_name": "sw1.example.com"})
	}
	n.event = s.create("events", map[string]any{"severity": "critical", "type": "interface", "message": "eth1 down " + nasty, "device_id": n.sw1})
	var metrics []map[string]any
	for i := range 24 {
		metrics = append(metrics, map[string]any{"device_id": n.sw1, "cpu": 20 + i, "memory": 50, "temp": 40, "uptime_seconds": 900_000, "ts": time.Now().Add(-time.Duration(i) * 2 * time.Minute)})
	}
	s.api("POST", "/metrics", metrics, nil)
	return n
}

// text returns the text of the page without runs of blanks.
func visible(page *Page, selector string) string {
	return strings.Join(strings.Fields(page.Text(selector)), " ")
}

// TestConsoleDetailHome: the numbers of the home page are those of the API, bars lead to filtered lists, and an event
// is acknowledged there. Whoever may not read the audit log sees no changes; limited users see their locations only.
func TestConsoleDetailHome(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 60)
	n := s.detailNetwork()
	page := s.open("admin", "/", nil)
	for _, resource := range []string{"devices", "interfaces", "links", "prefixes", "addresses"} {
		var list struct {
			Meta struct {
				Total int `json:"total_count"`
			}
		}
		s.api("GET", "/"+resource+"?limit=1", nil, &list)
		require.Equal(t, fmt.Sprint(list.Meta.Total), page.Text(`[data-fact="`+resource+`"] strong`), resource)
	}
	var counts struct{ By map[string]map[string]int }
	s.api("GET", "/summary?resource=devices&by=status", nil, &counts)
	bar := `#home-bars a[href$="/console/r/devices?status=active"]`
	require.Equal(t, fmt.Sprint(counts.By["status"]["active"]), page.Text(bar+" .bars-value"))
	require.Regexp(t, `create event eth1 down .* admin, (now|\d s ago)`, visible(page, "#home-changes"))
	require.Contains(t, visible(page, "#home-prefixes"), "10.9.0.0/29")
	s.looks(page, "detail-home")
	page.Submit(`form[action*="` + n.event + `"] button`)
	page.AwaitText(".notice", "Acknowledged")
	var open int
	page.Eval(`document.querySelectorAll('form[action*="`+n.event+`"]').length`, &open)
	require.Zero(t, open, "an acknowledged event is no open event")
	page.Submit(bar)
	require.Equal(t, s.url+"/console/r/devices?status=active", page.Address())

	s.api("POST", "/users", map[string]any{"username": "local", "email": "local@example.com", "password": consolePassword, "role": "viewer", "location_ids": []string{n.site}}, nil)
	page = s.open("local", "/", nil)
	require.Equal(t, "4", page.Text(`[data-fact="devices"] strong`))
	require.NotContains(t, page.HTML(), `id="home-changes"`)
	require.NotContains(t, page.HTML(), "/acknowledge")
	page.Silent()
	page.Goto(s.url + "/console/r/devices/" + s.first("/devices?location_id__ne=" + n.site)["id"].(string))
	page.AwaitText("h1", "There is nothing here")
	page.Expected(fmt.Sprint(http.StatusNotFound))
	page.Goto(s.url + "/console/r/devices/" + n.sw1)
	require.Contains(t, visible(page, "h1"), "sw1")
	page.Silent()
}

// TestConsoleDetailDevice: the page of a device shows its ports with their far ends, its neighbours, rack, events,
// measurements and history, and escapes every text. A trace leads through patch panels.
func TestConsoleDetailDevice(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 20)
	n := s.detailNetwork()
	s.api("PATCH", "/devices/"+n.sw1, map[string]any{"status": "maintenance"}, nil)
	page := s.open("admin", "/r/devices/"+n.sw1, nil)
	ports := visible(page, "#device-interfaces")
	for _, want := range []string{"eth0", "10Gbps", "10 users", "10.9.0.1/24", "pp1 1 by A-17", "uplink1", "sw2 eth1 by direct", "down"} {
		require.Contains(t, ports, want)
	}
	require.Contains(t, visible(page, "#device-neighbours"), "sw2")
	require.Contains(t, visible(page, "#device-rack"), "pp1")
	require.Contains(t, visible(page, "#record-values"), "Owner of it")
	require.Contains(t, visible(page, "#record-foot"), "version 2")
	for _, of := range []string{"Vendor", "Model", "OS", "OS version", "Serial number", "Tenant", "Tags", "Owner of it"} {
		var shown string
		page.Eval(`[...document.querySelectorAll("#record-values dt")].find(d => d.textContent === "`+of+`").nextElementSibling.textContent.trim()`, &shown)
		require.Equal(t, nasty, shown, of)
	}
	var handlers int
	page.Eval(`[...document.querySelectorAll("*")].filter(e => e.hasAttribute("onmouseover")).length`, &handlers)
	require.Zero(t, handlers)
	require.NotContains(t, visible(page, "#record-values"), "Rack position", "the rack and the unit say it")
	s.looks(page, "detail-device")
	for _, tab := range []struct{ name, part, has string }{
		{"addresses", "#device-addresses", "eth0 10.9.0.1/24"},
		{"cables", "#device-cables", "uplink1 direct up – sw2 eth1"},
		{"events", "#device-events", "eth1 down"},
		{"history", "#record-history", "Status active maintenance"},
		{"measurements", "#device-metrics", "CPU"},
	} {
		page.Submit(`.record-main > .tabs a[href$="tab=` + tab.name + `"]`)
		require.Contains(t, visible(page, tab.part), tab.has)
		s.looks(page, "detail-device-"+tab.name)
	}
	page.Submit(`.tabs a[href*="range=1h"]`)
	page.Await(".chart canvas")
	page.Await(`.tabs a[href*="range=1h"][aria-current]`)
	page.Submit(`.record-main > .tabs a:first-child`)
	page.Submit(`a[href$="/console/trace/interfaces/` + n.eth0 + `"]`)
	path := visible(page, ".detail-path")
	require.Regexp(t, `^sw1 eth0 .*A-17.*pp1 1 .*pp1 rear .*trunk.*pp2 rear .*pp2 1 .*B-3.*sw2 eth0`, path)
	require.Contains(t, visible(page, "h1"), "complete")
	s.looks(page, "detail-trace")
	for name, at := range map[string]string{
		"interface": "/r/interfaces/" + n.eth0, "rack": "/r/racks/" + n.rack, "location": "/r/locations/" + n.site, "cable": "/r/cables/" + n.cable,
		"user": "/r/users/" + s.first("/users?username=viewer")["id"].(string), "event": "/r/events/" + n.event, "history": "/r/devices/" + n.sw1 + "/history", "prefix": "/r/prefixes/" + n.prefix,
	} {
		page.Goto(s.url + "/console" + at)
		s.looks(page, "detail-"+name)
	}
	page.Goto(s.url + "/console/r/prefixes/" + n.prefix)
	page.Submit(`a[href$="/next-address"]`)
	page.Await(`#f-address[value="10.9.0.6/29"]`)
}

// TestConsoleDetailViewer: a viewer has no buttons that change something, and pages work without JavaScript.
func TestConsoleDetailViewer(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	n := s.detailNetwork()
	page := s.open("viewer", "/r/devices/"+n.sw1, &Options{NoScript: true})
	require.Contains(t, visible(page, "#device-interfaces"), "pp1 1")
	html := page.HTML()
	for _, not := range []string{"/edit", "/delete", "/new?", "/acknowledge", `id="record-history"`} {
		require.NotContains(t, html, not)
	}
	page.Goto(s.url + "/console/r/devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
	require.Contains(t, page.Text("main"), "Device not found")
}

// TestWhoChangedWhat: two clicks say in sentences who changed what on a day, those of one request in one row.
func TestWhoChangedWhat(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 100)
	device := s.first("/devices?sortby=hostname:asc")
	s.api("PATCH", fmt.Sprint("/devices/", device["id"]), map[string]any{"status": "maintenance", "notes": nasty, "role": "core"}, nil)
	var rooms []map[string]any
	for i := range 60 {
		rooms = append(rooms, map[string]any{"name": fmt.Sprint("Room ", i)})
	}
	s.api("POST", "/locations", rooms, nil)
	page := s.open("admin", "/", nil)
	page.Click(`nav a[href$="/activity"]`)
	page.AwaitText("main", "created 60 locations")
	s.looks(page, "activity")
	page.Click(`.tabs a[href*="day=yesterday"]`)
	page.AwaitText("main", "changed")
	page.Spent(2)
	text := visible(page, "main")
	require.NotContains(t, text, "Room")
	require.Contains(t, text, "of device "+strings.Split(fmt.Sprint(device["hostname"]), "-")[0])
	s.looks(page, "activity-yesterday")
	page.Eval(`(() => { const by = document.querySelector("#activity-by"); by.selectedIndex = 1; by.dispatchEvent(new Event("change", {bubbles: true})) })()`, new(any))
	page.Await(`.tabs a[href*="by="]`)
	page.Silent()
}
