package browsertest_test

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// campus creates a network of a location: two cores with two links between them, distribution switches with
// a link to each core, and access switches with a link to one of these. It returns the ids by hostname.
func (s *consoleServer) campus(site string, distributions, accesses int) map[string]string {
	s.t.Helper()
	location := s.create("locations", map[string]any{"name": site})
	ids := map[string]string{}
	var devices []map[string]any
	add := func(name, role string) {
		status := "active"
		switch {
		case strings.HasSuffix(name, "acc-7"):
			status = "maintenance"
		case strings.HasSuffix(name, "acc-9"):
			status = "offline"
		}
		devices = append(devices, map[string]any{"hostname": name, "role": role, "status": status, "location_id": location})
	}
	name := func(kind string, i int) string { return fmt.Sprintf("%s-%s-%d", strings.ToLower(site), kind, i) }
	add(name("core", 1), "core")
	add(name("core", 2), "core")
	for d := range distributions {
		add(name("dist", d+1), "distribution")
	}
	for a := range accesses {
		add(name("acc", a+1), "access")
	}
	var made struct {
		Results []struct{ ID, Hostname string }
	}
	s.api("POST", "/devices", devices, &made)
	for _, d := range made.Results {
		ids[d.Hostname] = d.ID
	}
	var ends [][2]string
	ends = append(ends, [2]string{name("core", 1), name("core", 2)}, [2]string{name("core", 1), name("core", 2)})
	for d := range distributions {
		ends = append(ends, [2]string{name("core", 1), name("dist", d+1)}, [2]string{name("core", 2), name("dist", d+1)})
	}
	for a := range accesses {
		ends = append(ends, [2]string{name("dist", a%distributions+1), name("acc", a+1)})
	}
	s.wire(ids, ends)
	return ids
}

// wire creates links between devices, of which every ninth is down, and the interfaces for them.
func (s *consoleServer) wire(ids map[string]string, ends [][2]string) {
	s.t.Helper()
	ports := map[string]int{}
	var interfaces, links []map[string]any
	for _, pair := range ends {
		for _, host := range pair {
			ports[host]++
			interfaces = append(interfaces, map[string]any{"device_id": ids[host], "name": fmt.Sprintf("Ethernet1/%d", ports[host])})
		}
	}
	var wired struct{ Results []struct{ ID string } }
	for len(interfaces) > 0 {
		few := interfaces[:min(len(interfaces), 500)]
		interfaces = interfaces[len(few):]
		wired.Results = nil
		s.api("POST", "/interfaces", few, &wired)
		for i := 0; i < len(wired.Results); i += 2 {
			status := "up"
			if len(links)%9 == 4 {
				status = "down"
			}
			links = append(links, map[string]any{"a_interface_id": wired.Results[i].ID, "b_interface_id": wired.Results[i+1].ID, "status": status})
		}
	}
	s.api("POST", "/links", links, nil)
}

// devicesOnMap waits for the map and returns the number of its devices.
func devicesOnMap(page *Page) (n int) {
	page.Await("#maps-canvas[data-ready]")
	page.Eval(`ashlar.map.cy.nodes().filter((n) => !n.isParent()).length`, &n)
	return n
}

// chooseOnMap selects a value of a form field whose change submits its form.
func chooseOnMap(page *Page, selector, value string) {
	page.Eval(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; setTimeout(() => s.dispatchEvent(new Event("change", {bubbles: true})), 0); })()`, selector, value), new(any))
}

// graphOf is the part of the API's topology that tests compare with.
type graphOf struct {
	Nodes []struct{ ID, Hostname string }
	Edges []struct{ ID string }
}

// TestConsoleMap: the map has the devices of the API; it is searched and filtered, shows the neighbours and the
// paths of devices, keeps saved positions for everybody, and is exported.
func TestConsoleMap(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 4)
	ids := s.campus("Vienna", 3, 12)
	page := s.open("editor", "/map", nil)
	var whole graphOf
	s.api("GET", "/topology", nil, &whole)
	require.Equal(t, len(whole.Nodes), devicesOnMap(page))
	var edges int
	page.Eval(`ashlar.map.cy.edges().length`, &edges)
	require.Equal(t, len(whole.Edges), edges)
	s.looks(page, "map")

	page.Type("#maps-search", "vienna-acc-7\n")
	page.AwaitText("#maps-panel", "vienna-dist-1")
	var at [4]float64
	page.Eval(`new Promise((done) => { const c = ashlar.map.cy, n = c.$(":selected"), wait = () => c.animated() ? setTimeout(wait, 20) : done([n.renderedPosition("x"), n.renderedPosition("y"), c.width(), c.height()]); wait(); })`, &at)
	assert.InDelta(t, at[2]/2, at[0], 2, "the found device is in the middle")
	assert.InDelta(t, at[3]/2, at[1], 2)
	s.looks(page, "map-device")

	s.savesPositions(page, ids["vienna-acc-7"])
	checkMapFiles(t, page)

	chooseOnMap(page, "select[name=role]", "distribution")
	page.AwaitText(".chips", "role: distribution")
	require.Equal(t, 3, devicesOnMap(page))
	page.Goto(s.url + "/console/map?device=" + ids["vienna-dist-1"] + "&depth=1&failures=1")
	require.Equal(t, 7, devicesOnMap(page), "itself, two cores and four access switches")
	page.AwaitText(".maps-failures", "vienna-dist-1")
	s.looks(page, "map-neighbourhood")
	s.showsPaths(page, ids)
}

// savesPositions checks that a dragged device stays where it is for everybody once it is saved, and that a
// viewer cannot save.
func (s *consoleServer) savesPositions(page *Page, id string) {
	t := s.t
	t.Helper()
	page.Eval(fmt.Sprintf(`(() => { const n = ashlar.map.cy.getElementById(%q); n.position({x: -777, y: 333}); n.emit("dragfree"); })()`, id), new(any))
	page.Click("[data-map=save]:enabled")
	page.AwaitText("#toasts", "saved for everybody")
	var kept struct {
		Data []struct{ X, Y float64 }
	}
	s.api("GET", "/map-positions?view=all&device_id="+id, nil, &kept)
	require.Len(t, kept.Data, 1)
	require.Equal(t, [2]float64{-777, 333}, [2]float64{kept.Data[0].X, kept.Data[0].Y})
	other := s.open("viewer", "/map", nil)
	devicesOnMap(other)
	var x, status int
	other.Eval(fmt.Sprintf(`ashlar.map.cy.getElementById(%q).position("x")`, id), &x)
	require.Equal(t, -777, x, "others see the saved position")
	var buttons int
	other.Eval(`document.querySelectorAll("[data-map=save]").length`, &buttons)
	require.Zero(t, buttons)
	other.Eval(fmt.Sprintf(`fetch("/console/map/positions", {method: "POST", headers: {"Content-Type": "application/json", "X-Form-Token": ashlar.token()}, body: JSON.stringify({view: "all", positions: {%q: [1, 2]}})}).then((r) => r.status)`, id), &status)
	require.Equal(t, 403, status)
	other.Expected("403")
	other.Silent()
}

// checkMapFiles checks the files of the map.
func checkMapFiles(t *testing.T, page *Page) {
	t.Helper()
	var svg struct {
		Text          string
		Devices, Bad  int
		Width, Height float64
	}
	page.Eval(`ashlar.map.file("svg").then((b) => b.text()).then((text) => { const d = new DOMParser().parseFromString(text, "image/svg+xml"); return {Text: text.slice(0, 40), Devices: d.querySelectorAll("g > title").length, Bad: d.querySelectorAll("parsererror").length} })`, &svg)
	require.True(t, strings.HasPrefix(svg.Text, "<svg "), svg.Text)
	require.Zero(t, svg.Bad, "the SVG is well formed")
	var nodes int
	page.Eval(`ashlar.map.cy.nodes().filter((n) => !n.isParent()).length`, &nodes)
	require.Equal(t, nodes, svg.Devices)
	page.Eval(`ashlar.map.file("png").then((b) => createImageBitmap(b)).then((i) => ({Width: i.width, Height: i.height}))`, &svg)
	require.Greater(t, svg.Width, 400.0)
	require.Greater(t, svg.Height, 200.0)
}

// showsPaths picks two devices, and compares the hops with those of the API.
func (s *consoleServer) showsPaths(page *Page, ids map[string]string) {
	t := s.t
	t.Helper()
	from, to := ids["vienna-acc-1"], ids["vienna-acc-3"]
	page.Goto(s.url + "/console/map?from=" + from)
	page.AwaitText(".notice", "Choose the other end")
	page.Type("#maps-search", "vienna-acc-3\n")
	page.AwaitText("#maps-panel", "Path to here")
	page.Submit("#maps-panel .button-main")
	devicesOnMap(page)
	var found struct {
		Paths []struct {
			Nodes []struct{ Hostname string }
		}
	}
	s.api("GET", "/topology/path?"+url.Values{"from": {from}, "to": {to}}.Encode(), nil, &found)
	require.NotEmpty(t, found.Paths)
	var want, got [][]string
	for _, p := range found.Paths {
		var hops []string
		for _, n := range p.Nodes {
			hops = append(hops, n.Hostname)
		}
		want = append(want, hops)
	}
	page.Eval(`[...document.querySelectorAll(".maps-path")].map((p) => [...p.querySelectorAll("li a")].map((a) => a.textContent))`, &got)
	require.Equal(t, want, got)
	s.looks(page, "map-path")
	page.Goto(s.url + "/console/map?state=any&disjoint=node&from=" + ids["vienna-core-1"] + "&to=" + ids["vienna-core-2"])
	devicesOnMap(page)
	page.Eval(`[...document.querySelectorAll(".maps-path")].map((p) => [...p.querySelectorAll("li a")].map((a) => a.textContent))`, &got)
	require.GreaterOrEqual(t, len(got), 2, "disjoint paths")
	s.looks(page, "map-paths")
}

// TestConsoleMapStrands: devices in a chain and in a ring are visible and in the window, with their roles; files and paper
// are light in the dark theme.
func TestConsoleMapStrands(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	for _, name := range []string{"Chain", "Ring"} {
		location := s.create("locations", map[string]any{"name": name})
		devices := make([]map[string]any, 60)
		for i := range devices {
			devices[i] = map[string]any{"hostname": fmt.Sprintf("%s-sw-%02d", strings.ToLower(name), i+1), "role": []string{"access", "aggregation", "core"}[i%15/6], "location_id": location}
		}
		var made struct {
			Results []struct{ ID, Hostname string }
		}
		s.api("POST", "/devices", devices, &made)
		ids, ends := map[string]string{}, [][2]string{}
		for i, d := range made.Results {
			ids[d.Hostname] = d.ID
			if i > 0 || name == "Ring" {
				ends = append(ends, [2]string{d.Hostname, made.Results[(i+59)%60].Hostname})
			}
		}
		s.wire(ids, ends)
		page := s.open("viewer", "/map?location="+location, nil)
		page.Resize(1280, 800, true)
		require.Equal(t, 60, devicesOnMap(page))
		var seen struct {
			Smallest, Left, Right, Top, Bottom, Width, Height float64
			Letters                                           []string
		}
		page.Eval(`new Promise((done) => setTimeout(() => { const c = ashlar.map.cy, all = c.nodes().filter((n) => !n.isParent()), b = all.renderedBoundingBox({includeLabels: false});
			done({Smallest: Math.min(...all.map((n) => n.renderedWidth())), Left: b.x1, Right: b.x2, Top: b.y1, Bottom: b.y2, Width: c.width(), Height: c.height(), Letters: [...new Set(all.map((n) => n.data("letters")))].sort()}); }, 300))`, &seen)
		require.Greater(t, seen.Smallest, 6.0)
		require.True(t, seen.Left >= 0 && seen.Right <= seen.Width && seen.Top >= 0 && seen.Bottom <= seen.Height, seen)
		require.LessOrEqual(t, seen.Height, 1.1*seen.Width)
		require.Equal(t, []string{"A", "Ag", "C"}, seen.Letters)
		require.Contains(t, page.Text(".maps-legend"), "aggregation")
		var file, paper string
		page.Eval(`ashlar.map.file("svg").then((b) => b.text())`, &file)
		require.Contains(t, file, `fill="#ffffff"`)
		require.NotContains(t, file, "#1b1f22", "the colour of dark surfaces")
		page.Eval(`ashlar.map.file("png").then((b) => createImageBitmap(b)).then((i) => { const c = new OffscreenCanvas(i.width, i.height).getContext("2d"); c.drawImage(i, 0, 0); return c.getImageData(2, 2, 1, 1).data.join(" "); })`, &paper)
		require.Equal(t, "255 255 255 255", paper)
		page.Eval(`(dispatchEvent(new Event("beforeprint")), document.querySelector(".maps-paper").innerHTML)`, &paper)
		require.Contains(t, paper, `fill="#ffffff"`)
		page.KeepPDF("map-" + strings.ToLower(name))
		s.looks(page, "map-"+strings.ToLower(name))
	}
}

// TestConsoleMapLarge: a network of 500 devices is drawn with labels that do not overlap.
func TestConsoleMapLarge(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 10)
	for _, site := range []string{"Vienna", "Graz", "Linz", "Bonn"} {
		s.campus(site, 8, 113)
	}
	page := s.open("admin", "/map", nil)
	require.Equal(t, 502, devicesOnMap(page))
	s.looks(page, "map-large")
	var labels, overlaps int
	page.Eval(`ashlar.map.cy.nodes(".labelled").length`, &labels)
	page.Eval(`(() => { const all = ashlar.map.cy.nodes(".labelled").map((n) => { const p = n.renderedPosition(), half = n.data("label").length * 2.6; return [p.x - half, p.y, p.x + half]; });
		return all.filter((a, i) => all.some((b, j) => j > i && a[0] < b[2] && b[0] < a[2] && Math.abs(a[1] - b[1]) < 9)).length; })()`, &overlaps)
	require.Greater(t, labels, 20)
	require.LessOrEqual(t, overlaps, labels/20)
	page.Goto(s.url + "/console/map?location=" + s.first("/locations?name=Graz")["id"].(string))
	require.Equal(t, 123, devicesOnMap(page))
	page.Keep("map-large-location")
}

// TestConsoleMapOverview: a network of many devices is shown as its sites, whose boxes do not overlap. A site leads to
// its devices, also those at locations within it, and a device is found by its name.
func TestConsoleMapOverview(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 700)
	page := s.open("viewer", "/map", nil)
	page.Await("#maps-canvas[data-ready]")
	var sites, below struct {
		Data []struct{ ID, Name string }
		Meta struct {
			Total int `json:"total_count"`
		}
	}
	s.api("GET", "/locations?kind=site&limit=100", nil, &sites)
	var shown []struct {
		ID, Text   string
		X, Y, W, H float64
	}
	page.Eval(`ashlar.map.cy.nodes(".place").map((n) => ({ID: n.id(), Text: n.data("text"), X: n.position("x"), Y: n.position("y"), W: n.width(), H: n.height()}))`, &shown)
	require.Len(t, shown, sites.Meta.Total)
	for i, a := range shown {
		for _, b := range shown[:i] {
			require.False(t, math.Abs(a.X-b.X) < a.W && math.Abs(a.Y-b.Y) < a.H, "%s and %s overlap", a.Text, b.Text)
		}
	}
	s.looks(page, "map-overview")
	var svg int
	page.Eval(`ashlar.map.file("svg").then((b) => b.text()).then((t) => new DOMParser().parseFromString(t, "image/svg+xml").querySelectorAll("g > title").length)`, &svg)
	require.Equal(t, len(shown), svg)

	site := sites.Data[0]
	s.api("GET", "/devices?limit=1&below="+site.ID, nil, &below)
	page.Eval(fmt.Sprintf(`(() => { ashlar.map.cy.getElementById(%q).emit("tap"); })()`, site.ID), new(any))
	page.AwaitText(".chips", "location: "+site.Name)
	require.Equal(t, below.Meta.Total, devicesOnMap(page))
	s.looks(page, "map-site")
	page.Goto(s.url + "/console/map")
	page.Await("#maps-canvas[data-ready]")
	page.Type("#maps-search", "lon1-core-01\n")
	page.AwaitText(".chips", "around lon1-core-01")
	page.Goto(s.url + "/console/map?find=nothing-like-it")
	page.AwaitText(".warning", "No device is called “nothing-like-it”.")
}

// TestConsoleRack: a device moves by the form and by dragging, after the change is shown; units that others
// have are refused; a viewer only sees the rack.
func TestConsoleRack(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 2)
	location := s.create("locations", map[string]any{"name": "Vienna"})
	rack := s.create("racks", map[string]any{"name": "A1", "location_id": location, "height": 20})
	kind := s.create("device-types", map[string]any{"manufacturer": "Acme", "model": "Chassis", "height": 3})
	device := func(name string, fields map[string]any) string {
		body := map[string]any{"hostname": name, "role": "access", "location_id": location}
		for key, value := range fields {
			body[key] = value
		}
		return s.create("devices", body)
	}
	device("chassis-1", map[string]any{"rack_id": rack, "rack_unit": 18, "device_type_id": kind, "role": "core"})
	device("sw-1", map[string]any{"rack_id": rack, "rack_unit": 5, "rack_face": "front"})
	device("panel-1", map[string]any{"rack_id": rack, "rack_unit": 5, "rack_face": "back", "status": "offline"})
	server := device("srv-1", map[string]any{"rack_id": rack, "rack_unit": 8, "rack_height": 2, "status": "maintenance", "role": "server"})
	waiting := device("sw-2", map[string]any{})
	unit := func(id string) any { return s.first("/devices?id=" + id)["rack_unit"] }

	page := s.open("admin", "/elevation/"+rack+"?device="+server, nil)
	page.AwaitText(".maps-rack", "chassis-1")
	var seen map[string]int
	page.Eval(`Object.fromEntries([...document.querySelectorAll("td[data-device]")].map((c) => [c.textContent.trim().split(" ")[0] + "/" + c.dataset.face, c.rowSpan]))`, &seen)
	require.Equal(t, map[string]int{"chassis-1/front": 3, "chassis-1/back": 3, "sw-1/front": 1, "panel-1/back": 1, "srv-1/front": 2, "srv-1/back": 2}, seen)
	require.Contains(t, page.Text(".page-head"), "14 of 20 units free")
	s.looks(page, "rack")

	place := func(id, unit, face string) {
		page.Eval(fmt.Sprintf(`(() => { const f = document.querySelector("#maps-move form"); f.elements.device.value = %q; f.elements.unit.value = %q; f.elements.face.value = %q; })()`, id, unit, face), new(any))
		page.Submit("#maps-move button")
	}
	place(waiting, "5", "front")
	page.AwaitText(".problems", "conflicts with device sw-1")
	page.Expected("409")
	require.Nil(t, unit(waiting))
	place(waiting, "12", "")
	page.AwaitText(".maps-confirm", "Move sw-2 to unit 12?")
	require.Nil(t, unit(waiting), "nothing has changed yet")
	s.looks(page, "rack-confirm")
	page.Submit(".maps-confirm .button-main")
	page.AwaitText(".notice", "Moved.")
	require.EqualValues(t, 12, unit(waiting))

	drag := func(unit string) {
		page.Drag(fmt.Sprintf("td[data-device=%q]", server), "tr[data-unit='"+unit+"'] .maps-slot")
	}
	drag("6")
	page.AwaitText("#maps-confirm .problems", "is occupied")
	drag("15")
	page.AwaitText(".maps-confirm", "Move srv-1 to unit 14?")
	page.Submit(".maps-confirm .button-main")
	page.AwaitText(".notice", "Moved.")
	require.EqualValues(t, 14, unit(server))
	page.Silent()

	plain := s.open("viewer", "/elevation/"+rack, &Options{NoScript: true})
	require.Contains(t, plain.Text(".maps-rack"), "chassis-1")
	require.NotContains(t, plain.HTML(), "Move a device")
}

// networks replaces the prefixes of the demo by some at several levels and in two tables, 5,000 of them within
// one, and creates addresses. It returns the ids by prefix.
func (s *consoleServer) networks() map[string]string {
	s.t.Helper()
	var old struct{ Data []struct{ ID string } }
	s.api("GET", "/prefixes?limit=100", nil, &old)
	for _, p := range old.Data {
		s.api("DELETE", "/prefixes/"+p.ID, nil, nil)
	}
	vrf := s.create("vrfs", map[string]any{"name": "customer-a", "rd": "65000:1"})
	ids := map[string]string{}
	add := func(prefix string, fields map[string]any) {
		body := map[string]any{"prefix": prefix}
		for key, value := range fields {
			body[key] = value
		}
		ids[prefix] = s.create("prefixes", body)
	}
	add("10.0.0.0/8", map[string]any{"status": "container", "description": "Private addresses"})
	add("10.1.0.0/16", map[string]any{"status": "container", "description": "Vienna"})
	add("10.1.1.0/24", map[string]any{"description": "Servers"})
	add("10.1.1.128/25", map[string]any{"status": "reserved"})
	add("10.2.0.0/16", map[string]any{"status": "container", "description": "Many"})
	add("192.0.2.0/28", map[string]any{"description": "Public"})
	add("2001:db8::/32", map[string]any{"status": "container"})
	add("2001:db8:1::/48", nil)
	add("172.16.0.0/12", map[string]any{"vrf_id": vrf})
	var many, used []map[string]any
	for i := range 5000 {
		many = append(many, map[string]any{"prefix": fmt.Sprintf("10.2.%d.%d/29", i/32, i%32*8)})
	}
	for len(many) > 0 {
		s.api("POST", "/prefixes", many[:1000], nil)
		many = many[1000:]
	}
	for i := range 13 {
		used = append(used, map[string]any{"address": fmt.Sprintf("192.0.2.%d/28", i+1)})
	}
	s.api("POST", "/addresses", used, nil)

	return ids
}

// TestConsolePrefixes: the tree shows which prefixes contain others and how much is used, as the API says, and
// stays small however many there are.
func TestConsolePrefixes(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 2)
	ids := s.networks()
	page := s.open("admin", "/prefixes", nil)
	page.AwaitText("main", "customer-a")
	var paths []string
	const tree = `[...document.querySelectorAll(".maps-prefix a")].map((a) => { let p = a.textContent, e = a.closest("li").parentElement.closest("li"); while (e) { p = e.querySelector(".maps-prefix a").textContent + " > " + p; e = e.parentElement.closest("li"); } return p; })`
	page.Eval(tree, &paths)
	require.Equal(t, []string{"10.0.0.0/8", "192.0.2.0/28", "2001:db8::/32", "2001:db8::/32 > 2001:db8:1::/48", "172.16.0.0/12"}, paths)
	s.looks(page, "prefixes")
	row := func(prefix string) (text string) {
		page.Eval(fmt.Sprintf(`[...document.querySelectorAll(".maps-row")].find((r) => r.querySelector("a").textContent === %q).innerText.replace(/\s+/g, " ")`, prefix), &text)
		return text
	}
	var usage struct{ Percent float64 }
	s.api("GET", "/prefixes/"+ids["192.0.2.0/28"]+"/usage", nil, &usage)
	require.Contains(t, row("192.0.2.0/28"), fmt.Sprintf("%g %%", usage.Percent))
	page.Click(".maps-item details:not([open]) > summary")
	page.AwaitText(".maps-tree .maps-tree", "10.2.0.0/16")
	page.Eval(tree, &paths)
	require.Contains(t, paths, "10.0.0.0/8 > 10.1.0.0/16")
	require.NotContains(t, paths, "10.0.0.0/8 > 10.1.1.0/24", "only the next level is loaded")

	page.Goto(s.url + "/console/prefixes?under=" + ids["10.1.0.0/16"])
	page.AwaitText(".crumbs", "10.0.0.0/8")
	page.Eval(tree, &paths)
	require.Equal(t, []string{"10.1.1.0/24", "10.1.1.0/24 > 10.1.1.128/25"}, paths)
	s.looks(page, "prefixes-under")
	page.Submit(`.maps-under form[action$="/next-prefix"] button`)
	page.Await(`#f-prefix[value="10.1.0.0/24"]`)
	page.Goto(s.url + "/console/prefixes?under=" + ids["10.2.0.0/16"])
	page.Eval(tree, &paths)
	require.Len(t, paths, 100)
	page.Click(".maps-tree .button")
	page.AwaitText(".maps-tree", "10.2.3.32/29")
	page.Eval(tree, &paths)
	require.Len(t, paths, 200)
	require.Equal(t, "10.2.6.56/29", paths[199])
	page.Goto(s.url + "/console/prefixes?q=vienna&vrf=global")
	page.Eval(tree, &paths)
	require.Equal(t, []string{"10.1.0.0/16"}, paths)
	page.Silent()

	plain := s.open("viewer", "/prefixes?under="+ids["10.0.0.0/8"], &Options{NoScript: true})
	require.Contains(t, plain.Text("main"), "10.1.0.0/16")
	require.NotContains(t, plain.HTML(), "New prefix")
}
