package browsertest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/browsertest"
)

// id returns the id of a new record.
func (s *consoleServer) create(resource string, body map[string]any) string {
	s.t.Helper()
	var rec struct{ ID string }
	s.api("POST", "/"+resource, body, &rec)
	return rec.ID
}

// campus creates a network of a location: two cores with two links between them, distribution switches with
// a link to each core, and access switches with a link to one of these. It returns the ids by hostname.
func (s *consoleServer) campus(site string, distributions, accesses int) map[string]string {
	s.t.Helper()
	location := s.create("locations", map[string]any{"name": site})
	ids, ports := map[string]string{}, map[string]int{}
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
	var made struct{ Results []struct{ ID, Hostname string } }
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
	return ids
}

// count returns the number of nodes of the map.
func count(page *browsertest.Page) (n int) {
	page.Await("#maps-canvas[data-ready]")
	page.Eval(`ashlar.map.cy.nodes().filter((n) => !n.isParent()).length`, &n)
	return n
}

// choose selects a value of a form field whose change submits its form.
func choose(page *browsertest.Page, selector, value string) {
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
	s := startConsole(t, 4)
	ids := s.campus("Vienna", 3, 12)
	page := s.open("editor", "/map", nil)
	var whole graphOf
	s.api("GET", "/topology", nil, &whole)
	require.Equal(t, len(whole.Nodes), count(page))
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
	exports(t, page)

	choose(page, "select[name=role]", "distribution")
	page.AwaitText(".chips", "role: distribution")
	require.Equal(t, 3, count(page))
	page.Goto(s.url + "/console/map?device=" + ids["vienna-dist-1"] + "&depth=1&failures=1")
	require.Equal(t, 7, count(page), "itself, two cores and four access switches")
	page.AwaitText(".maps-failures", "vienna-dist-1")
	s.looks(page, "map-neighbourhood")
	s.showsPaths(page, ids)
}

// savesPositions checks that a dragged device stays where it is for everybody once it is saved, and that a
// viewer cannot save.
func (s *consoleServer) savesPositions(page *browsertest.Page, id string) {
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
	count(other)
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

// exports checks the files of the map.
func exports(t *testing.T, page *browsertest.Page) {
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
func (s *consoleServer) showsPaths(page *browsertest.Page, ids map[string]string) {
	t := s.t
	t.Helper()
	from, to := ids["vienna-acc-1"], ids["vienna-acc-3"]
	page.Goto(s.url + "/console/map?from=" + from)
	page.AwaitText(".notice", "Choose the other end")
	page.Type("#maps-search", "vienna-acc-3\n")
	page.AwaitText("#maps-panel", "Path to here")
	page.Submit("#maps-panel .button-main")
	count(page)
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
	count(page)
	page.Eval(`[...document.querySelectorAll(".maps-path")].map((p) => [...p.querySelectorAll("li a")].map((a) => a.textContent))`, &got)
	require.GreaterOrEqual(t, len(got), 2, "disjoint paths")
	s.looks(page, "map-paths")
}

// TestConsoleMapLarge: a network of 500 devices is drawn with labels that do not overlap.
func TestConsoleMapLarge(t *testing.T) {
	s := startConsole(t, 10)
	for _, site := range []string{"Vienna", "Graz", "Linz", "Bonn"} {
		s.campus(site, 8, 113)
	}
	page := s.open("admin", "/map", nil)
	require.Equal(t, 502, count(page))
	s.looks(page, "map-large")
	var labels, overlaps int
	page.Eval(`ashlar.map.cy.nodes(".labelled").length`, &labels)
	page.Eval(`(() => { const all = ashlar.map.cy.nodes(".labelled").map((n) => { const p = n.renderedPosition(), half = n.data("label").length * 2.6; return [p.x - half, p.y, p.x + half]; });
		return all.filter((a, i) => all.some((b, j) => j > i && a[0] < b[2] && b[0] < a[2] && Math.abs(a[1] - b[1]) < 9)).length; })()`, &overlaps)
	require.Greater(t, labels, 20)
	require.LessOrEqual(t, overlaps, labels/20)
	page.Goto(s.url + "/console/map?location=" + s.first("/locations?name=Graz")["id"].(string))
	require.Equal(t, 123, count(page))
	page.Keep("map-large-location")
}
